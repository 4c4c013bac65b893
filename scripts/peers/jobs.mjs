// The jobs that every peer is given, as programs in its language, and what proves that one was done. Pure.

export const JOBS = /** @type {const} */ (['hello', 'sequence', 'gathered', 'filtered']);

/** @typedef {typeof JOBS[number]} Job */

/** The head of its column in a table. @type {Readonly<Record<Job, string>>} */
export const TITLES = {
  hello: 'hello',
  sequence: 'ten calls in turn',
  gathered: '100 calls at once',
  filtered: '2 MB to ten lines',
};

export const CALLS_IN_TURN = 10;
export const CALLS_AT_ONCE = 100;
const LOG_LINES = 20_000;
const LINE_CHARS = 100;
const ERRORS = 10;
/** Of the numbers that the calls at once echo. */
const SUM = (CALLS_AT_ONCE * (CALLS_AT_ONCE - 1)) / 2;

/** The file that is filtered: 2,000,000 characters, of whose lines ten say ERROR. */
export function logText() {
  const every = LOG_LINES / ERRORS;
  const lines = Array.from({ length: LOG_LINES }, (_, at) => {
    const words = at % every === every - 1 ? `ERROR ${at} disk full` : `INFO ${at} all is well`;
    return `${words.padEnd(LINE_CHARS - 1, '.')}\n`;
  });
  return lines.join('');
}

/**
 * Throws where the text that a model would read does not show that the job was done.
 *
 * @param {Job} job
 * @param {string} text
 */
export function mustBeDone(job, text) {
  const isDone = {
    hello: () => text.includes('hello'),
    sequence: () => text.includes(`Echo: ${CALLS_IN_TURN - 1}`),
    gathered: () => text.includes(String(SUM)),
    filtered: () => text.match(/ERROR \d+ disk full/g)?.length === ERRORS,
  }[job]();
  if (!isDone) throw new Error(`it answered something else: ${text.slice(0, 200)}`);
}

/**
 * How a peer's programs call a tool, by its server, its name and one argument as source text; and how they hand a value back.
 *
 * @typedef {object} Dialect
 * @property {(server: string, tool: string, name: string, value: string) => string} call
 * @property {(value: string) => string} give
 */

/**
 * The jobs in Python.
 *
 * @param {Dialect} dialect
 * @param {string} file  what is filtered
 * @returns {Readonly<Record<Job, string>>}
 */
export function pythonPrograms({ call, give }, file) {
  const echo = `await ${call('everything', 'echo', 'message', 'str(n)')}`;
  const read = `await ${call('filesystem', 'read_text_file', 'path', JSON.stringify(file))}`;
  return {
    hello: give('"hello"'),
    sequence: `for n in range(${CALLS_IN_TURN}):\n    last = ${echo}\n${give('last')}`,
    gathered: `import asyncio
answers = await asyncio.gather(*[${echo.replace('await ', '')} for n in range(${CALLS_AT_ONCE})])
${give('sum([int(answer[6:]) for answer in answers])')}`,
    filtered: `text = (${read})["content"]
${give('"\\n".join([line for line in text.split("\\n") if line.startswith("ERROR")])')}`,
  };
}

/**
 * The jobs in JavaScript, as the body of an asynchronous function.
 *
 * @param {Dialect['call']} call
 * @param {string} file  what is filtered
 * @returns {Readonly<Record<Job, string>>}
 */
export function javascriptPrograms(call, file) {
  const echo = call('everything', 'echo', 'message', 'String(n)');
  const read = call('filesystem', 'read_text_file', 'path', JSON.stringify(file));
  return {
    hello: 'return "hello";',
    sequence: `let last;\nfor (let n = 0; n < ${CALLS_IN_TURN}; n++) last = await ${echo};\nreturn last;`,
    gathered: `const answers = await Promise.all(Array.from({ length: ${CALLS_AT_ONCE} }, async (_, n) => await ${echo}));
return answers.reduce((sum, answer) => sum + Number(answer.slice(6)), 0);`,
    // Some hand on what a server gives as an object, others its text.
    filtered: `const answer = await ${read};
return (answer.content ?? answer).split("\\n").filter((line) => line.startsWith("ERROR")).join("\\n");`,
  };
}

// The options of a script: read, checked, and told by --help. A wrong one ends the script with what is wrong with it, the
// usage and exit code 2; nothing has been started by then.

import { parseArgs } from 'node:util';

export const USAGE_EXIT_CODE = 2;

/**
 * The values of the command line. Each of `options` is `{ says, value?, default?, kind?, among?, multiple? }`: `value`
 * names what it takes (without one it is a switch); `kind` is 'count' for a whole number from 1; `among` is what may
 * stand in a list that is separated by commas, which is then returned as an array, whole where the option is absent.
 */
export function takeOptions({ command, about, options }) {
  const usage = usageOf(command, about, options);
  const wrong = (message) => leave(`${message}\n\n${usage}`, console.error, USAGE_EXIT_CODE);
  let values;
  try {
    ({ values } = parseArgs({
      options: { ...parserOptions(options), help: { type: 'boolean', short: 'h' } },
    }));
  } catch (thrown) {
    return wrong(thrown.message);
  }
  if (values.help) leave(usage, console.log, 0);
  const taken = Object.entries(options).map(([name, option]) => [
    name,
    checkOption(name, option, values, wrong),
  ]);
  return Object.fromEntries(taken);
}

/**
 * Ends the script because of an option whose value can only be judged later.
 * @returns {never}
 */
export function leaveWrong(message) {
  leave(`${message} See --help.`, console.error, USAGE_EXIT_CODE);
}

/** @returns {never} */
function leave(text, print, exitCode) {
  print(text);
  process.exit(exitCode);
}

const parserOptions = (options) =>
  Object.fromEntries(
    Object.entries(options).map(([name, { value, multiple = false }]) => [
      name,
      value === undefined ? { type: 'boolean' } : { type: 'string', multiple },
    ]),
  );

function checkOption(name, { value, default: usual, kind, among, multiple }, values, wrong) {
  const said = values[name];
  if (value === undefined) return said ?? false;
  if (among !== undefined) {
    const chosen = (multiple ? said : said?.split(',')) ?? among;
    const unknown = chosen.find((one) => !among.includes(one));
    if (unknown !== undefined) wrong(`--${name}: there is no '${unknown}'. There is: ${among.join(', ')}.`);
    return chosen;
  }
  if (kind !== 'count') return said ?? usual;
  if (said === undefined) return usual;
  const count = Number(said);
  if (!(Number.isSafeInteger(count) && count >= 1)) wrong(`--${name}: '${said}' is no whole number from 1.`);
  return count;
}

function usageOf(command, about, options) {
  const shown = Object.entries(options).map(([name, { value, says, default: usual, among }]) => {
    const notes = [
      ...(among === undefined ? [] : [`there is: ${among.join(', ')}`]),
      ...(usual === undefined ? [] : [`without it: ${usual}`]),
    ];
    const left = `--${name}${value === undefined ? '' : ` ${value}`}`;
    return [left, notes.length === 0 ? says : `${says} (${notes.join('; ')})`];
  });
  const rows = [...shown, ['--help', 'print this']];
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
  return `Usage: ${command} [options]\n\n${about}\n\n${lines.join('\n')}`;
}

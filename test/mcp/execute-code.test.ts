// The tool `execute_code` without a sandbox: what hosts are told of it, which arguments reach a run, and what is said of
// those that do not.

import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { executeCode } from '../../src/mcp/tools/execute-code.js';
import { runPython } from '../../src/mcp/tools/run-python.js';
import { byCommandLine } from '../../src/run/calls/call-context.js';
import type { RunInput } from '../../src/run/life/run-request.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import type { Snippet } from '../../src/run/programs/snippets.js';
import type { Program } from '../../src/run/programs/task.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { languageNamed, languages } from '../../src/settings/languages/records.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { MAX_INPUT_BYTES } from '../../src/wire/frames.js';
import { NEVER } from '../support/time.js';

const { settings } = parseSettings(
  {},
  { home: '/home/ann', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false },
);
const tool = executeCode(settings);

const ruby = languageNamed('ruby');
const SNIPPET = { name: 'hello', file: 'hello.rb', language: ruby, code: 'puts 1' } as Snippet;
const FROM_WINDOWS = { ...SNIPPET, name: 'crlf', code: 'puts 1\r\nputs 2\r\n' };
const find = (name: string): Promise<Snippet> =>
  name === 'hello' || name === 'crlf'
    ? Promise.resolve(name === 'crlf' ? FROM_WINDOWS : SNIPPET)
    : Promise.reject(
        new BridgeError('E_ARGUMENTS', `There is no snippet '${name}'.`, {
          fault: 'agent',
          remedy: 'Snippets: hello.',
        }),
      );

type Called = { readonly outcome: Outcome; readonly input: RunInput | undefined };

/** What a run is given when the tool is called with `args`, and what the tool answers. */
async function called(args: unknown, status: 'success' | 'error' = 'success'): Promise<Called> {
  let input: RunInput | undefined;
  const run = (given: RunInput) => {
    input = given;
    return Promise.resolve({
      ...outcomeWithoutRun('error', { type: 'E', message: '', remedy: undefined }, 30),
      status,
    });
  };
  const bridge = { run, snippets: { find } } as unknown as Bridge;
  const outcome = await tool.call(args, byCommandLine(NEVER), bridge);
  return { outcome, input };
}

async function programOf(args: Record<string, unknown>): Promise<Program> {
  const { outcome, input } = await called(args);
  if (input?.task.type !== 'program') throw new Error(outcome.error?.message);
  return input.task;
}

const CODE = { language: 'python', entrypoint_code: 'print(1)' };

describe('arguments that pass', () => {
  it.each([
    ['python', 'python', 'main.py'],
    ['PY', 'python', 'main.py'],
    ['js', 'javascript', 'main.js'],
    ['Node', 'javascript', 'main.js'],
    ['ts', 'typescript', 'main.ts'],
    ['golang', 'go', 'main.go'],
    ['sh', 'bash', 'main.sh'],
    [' rb ', 'ruby', 'main.rb'],
  ])('language %j is %s, in %s', async (word, name, file) => {
    const program = await programOf({ language: word, entrypoint_code: 'x' });
    expect(program).toMatchObject({ language: { name }, file, code: 'x', args: [], stdin: undefined });
  });

  it('with the line breaks of Windows, which Bash takes for parts of words', async () => {
    const entrypoint_code = 'if true; then\r\n  echo "a\rb"\r\nfi\r\n';
    const plain = 'if true; then\n  echo "a\rb"\nfi\n';
    expect((await programOf({ language: 'bash', entrypoint_code })).code).toBe(plain);
    expect((await programOf({ snippet_name: 'crlf' })).code).toBe('puts 1\nputs 2\n');
  });

  it('in a Markdown fence, which Python alone takes off itself', async () => {
    const inFence = (language: string) => programOf({ language, entrypoint_code: '```js\nf();\n```\n' });
    expect(await inFence('javascript')).toMatchObject({ code: 'f();\n' });
    expect(await inFence('python')).toMatchObject({ code: '```js\nf();\n```\n' });
  });

  it('makes a task of every argument there is', async () => {
    const { input } = await called({
      language: 'python',
      entrypoint_code: 'print(1)',
      entrypoint_filename: 'src/app.py',
      additional_files: [
        { filename: 'src/lib.py', content: 'x = "é"' },
        { filename: 'blob.bin', content: 'AP8=', encoding: 'base64' },
        { filename: 'plain.txt', content: 'AP8=', encoding: 'utf8' },
        { filename: 'too.txt', content: 'AP8=', encoding: 'utf-8' },
      ],
      stdin: 'in\0put',
      args: ['', 'a b', '"quoted"', 'é'],
      env: { GREETING: 'hé llo=1', _EMPTY: '' },
      servers: ['memory', 'memory'],
      timeout: 7,
    });
    expect(input).toEqual({
      task: {
        type: 'program',
        language: languageNamed('python'),
        code: 'print(1)',
        file: 'src/app.py',
        args: ['', 'a b', '"quoted"', 'é'],
        stdin: Buffer.from('in\0put'),
        env: { GREETING: 'hé llo=1', _EMPTY: '' },
      },
      servers: ['memory'],
      files: [
        { name: 'src/lib.py', data: Buffer.from('x = "é"').toString('base64') },
        { name: 'blob.bin', data: 'AP8=' },
        { name: 'plain.txt', data: Buffer.from('AP8=').toString('base64') },
        { name: 'too.txt', data: Buffer.from('AP8=').toString('base64') },
      ],
      timeoutSeconds: 7,
    });
  });

  it('plans a program, and a snippet too', async () => {
    expect((await called({ ...CODE, mode: 'plan' })).input).toMatchObject({ isPlan: true });
    expect((await called(CODE)).input).not.toHaveProperty('isPlan');
  });

  it('a snippet, under its own name or another', async () => {
    const { input } = await called({ snippet_name: 'hello', args: ['x'] });
    expect(input?.task).toMatchObject({ language: { name: 'ruby' }, file: 'hello.rb', code: 'puts 1' });
    expect(await programOf({ snippet_name: 'hello', entrypoint_filename: 'b.rb' })).toMatchObject({
      file: 'b.rb',
    });
  });

  it('hands variables to a program, and to a snippet too', async () => {
    expect(await programOf({ snippet_name: 'hello', env: { A: '1' } })).toMatchObject({ env: { A: '1' } });
    expect(await programOf(CODE)).toMatchObject({ env: {} });
  });

  it('an empty snippet_name, which is none', async () => {
    const { input } = await called({ ...CODE, snippet_name: '' });
    expect(input).toMatchObject({ servers: [], files: [], timeoutSeconds: settings.timeoutSeconds });
  });

  it('any extension; whoever has failed is told that it is not the usual one', async () => {
    const args = { language: 'go', entrypoint_code: 'x', entrypoint_filename: 'main.txt' };
    expect((await called(args)).outcome.note).toBeUndefined();
    expect((await called(args, 'error')).outcome.note).toBe(
      'Go files end in .go; this one is named main.txt.',
    );
    expect((await called(CODE, 'error')).outcome.note).toBeUndefined();
  });

  it('words as long as Linux takes them', async () => {
    const program = await programOf({ ...CODE, args: ['x'.repeat(131_071)] });
    expect(program.args[0]).toHaveLength(131_071);
    const { env } = await programOf({ ...CODE, env: { AB: 'x'.repeat(131_068) } });
    expect(env['AB']).toHaveLength(131_068);
  });
});

const names = languages.map(({ name }) => name);
const ALL = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
const EITHER = 'snippet_name alone, or language and entrypoint_code';
const PATH = 'a relative path such as data.csv or in/data.csv';

describe('arguments that do not', () => {
  it.each<[string, unknown, string, string?]>([
    ['neither', {}, `language: got nothing, nor a snippet_name, expected ${EITHER}.`],
    ['no object', ['go'], `arguments: got ["go"], expected an object with ${EITHER}.`],
    [
      'both',
      { ...CODE, snippet_name: 'hello' },
      `snippet_name: got "hello" together with language and entrypoint_code, expected ${EITHER}.`,
      'Leave one of the two out.',
    ],
    [
      'a snippet and a language',
      { language: 'ruby', snippet_name: 'hello' },
      `snippet_name: got "hello" together with language, expected ${EITHER}.`,
      'Leave one of the two out.',
    ],
    [
      'a snippet and code',
      { entrypoint_code: '1', snippet_name: 'hello' },
      `snippet_name: got "hello" together with entrypoint_code, expected ${EITHER}.`,
      'Leave one of the two out.',
    ],
    [
      'a language alone',
      { language: 'go' },
      `entrypoint_code: got nothing beside language "go", expected the program's source.`,
    ],
    [
      'code alone',
      { entrypoint_code: 'x' },
      `language: got nothing beside entrypoint_code, expected ${ALL}.`,
    ],
    ['an unknown language', { ...CODE, language: 'rust' }, `language: got "rust", expected ${ALL}.`],
    [
      'a mistyped language',
      { ...CODE, language: 'Typscript' },
      `language: got "Typscript", expected ${ALL}. Did you mean 'typescript'?`,
    ],
    [
      'another name, mistyped',
      { ...CODE, language: 'node.js' },
      `language: got "node.js", expected ${ALL}. Did you mean 'javascript'?`,
    ],
    ['a language of a wrong type', { ...CODE, language: 7 }, `language: got 7, expected ${ALL}.`],
    [
      'no code in it',
      { ...CODE, entrypoint_code: ' \n' },
      'entrypoint_code: got " \\n", expected well-formed text that is not empty, of at most 1000000 characters.',
    ],
    [
      'a snippet that is not there',
      { snippet_name: 'helo' },
      "snippet_name: There is no snippet 'helo'.",
      'Snippets: hello.',
    ],
    [
      "run_python's name for the code",
      { ...CODE, code: 'x' },
      "code: there is no such argument. Did you mean 'entrypoint_code'?",
      'Allowed: language, entrypoint_code, entrypoint_filename, additional_files, snippet_name, args, env, stdin, servers, mode, timeout.',
    ],
    [
      'a mistyped argument',
      { ...CODE, aditional_file: [] },
      "aditional_file: there is no such argument. Did you mean 'additional_files'?",
      'Allowed: language, entrypoint_code, entrypoint_filename, additional_files, snippet_name, args, env, stdin, servers, mode, timeout.',
    ],
    [
      'a main file outside',
      { ...CODE, entrypoint_filename: '../main.py' },
      `entrypoint_filename: got "../main.py", which has a part '..', expected ${PATH}.`,
    ],
    [
      'an absolute main file',
      { ...CODE, entrypoint_filename: '/etc/main.py' },
      `entrypoint_filename: got "/etc/main.py", which is absolute, expected ${PATH}.`,
    ],
    [
      'a main file that would be an option',
      { ...CODE, entrypoint_filename: '-c.py' },
      `entrypoint_filename: got "-c.py", which has a part that begins with a dash, expected ${PATH}.`,
    ],
    [
      'the folder for results',
      { ...CODE, entrypoint_filename: 'out' },
      `entrypoint_filename: got "out", which is the name of a folder, expected ${PATH}.`,
    ],
    [
      'a file outside',
      {
        ...CODE,
        additional_files: [
          { filename: 'a', content: '' },
          { filename: 'b/../../c', content: '' },
        ],
      },
      `additional_files[1].filename: got "b/../../c", which has a part '..', expected ${PATH}.`,
    ],
    [
      'the main file again',
      { ...CODE, additional_files: [{ filename: 'main.py', content: '' }] },
      `additional_files[0].filename: got "main.py", which is given twice, expected ${PATH}.`,
    ],
    [
      'a folder where the main file is',
      { ...CODE, additional_files: [{ filename: 'main.py/x', content: '' }] },
      `additional_files[0].filename: got "main.py/x", which needs a folder where 'main.py' is a file, expected ${PATH}.`,
    ],
    [
      "run_python's form of a file",
      { ...CODE, additional_files: [{ name: 'a', text: '' }] },
      'additional_files[0]: got {"name":"a","text":""}, expected an object {filename, content}, with encoding "base64" if content is base64.',
    ],
    [
      'no base64',
      { ...CODE, additional_files: [{ filename: 'a', content: 'a*b', encoding: 'base64' }] },
      'additional_files[0].content: got "a*b", expected base64 with padding.',
    ],
    [
      'a NUL in an argument',
      { ...CODE, args: ['a', 'b\0c'] },
      'args[1]: got "b\\u0000c", of 3 bytes, expected well-formed text without NUL of at most 131071 bytes.',
    ],
    [
      'an argument that is no text',
      { ...CODE, args: ['a', 1] },
      'args: got ["a",1], expected a list of texts, such as ["--all", "x.csv"].',
    ],
    [
      'variables in a list, as isolator’s command line has them',
      { ...CODE, env: ['A=1'] },
      'env: got ["A=1"], expected an object of texts by their names, such as {"TZ": "Asia/Tokyo"}.',
    ],
    [
      'a variable that is no text',
      { ...CODE, env: { PORT: 80 } },
      'env: got {"PORT":80}, expected an object of texts by their names, such as {"TZ": "Asia/Tokyo"}.',
    ],
    [
      'a name that holds =',
      { ...CODE, env: { 'A=B': '1' } },
      'env: got the name "A=B", expected letters, digits and _, and no digit at its beginning.',
    ],
    [
      'a variable without a name',
      { ...CODE, env: { '': '1' } },
      'env: got the name "", expected letters, digits and _, and no digit at its beginning.',
    ],
    [
      "the bridge's own variable",
      { ...CODE, env: { MCP_SANDBOX_CONVERSATION: '3,4,5' } },
      'env: got the name "MCP_SANDBOX_CONVERSATION", which the sandbox sets itself, expected another one.',
    ],
    [
      'a NUL in a variable',
      { ...CODE, env: { A: '1', B: 'c\0d' } },
      'env.B: got "c\\u0000d", of 3 bytes, expected well-formed text without NUL of at most 131069 bytes.',
    ],
    [
      'servers for a language without tools',
      { language: 'go', entrypoint_code: 'x', servers: ['memory'] },
      'servers: got ["memory"], expected none: programs in Go cannot call tools; those in python, javascript or typescript can.',
    ],
    [
      'a plan in a language without tools',
      { language: 'go', entrypoint_code: 'x', mode: 'plan' },
      'mode: got "plan", expected none: programs in Go cannot call tools, so there is nothing to plan; those in python, javascript or typescript can.',
    ],
    ['another mode', { ...CODE, mode: 'dry' }, 'mode: got "dry", expected "plan", or nothing.'],
    [
      'a timeout of no length',
      { ...CODE, timeout: 0 },
      'timeout: got 0, expected a whole number of seconds from 1 to 120.',
    ],
    [
      'a lone surrogate',
      { ...CODE, stdin: '\ud800' },
      'stdin: got "\\ud800", expected well-formed text of at most 10 MiB.',
    ],
  ])('refuses in words that help: %s', async (_name, args, message, remedy) => {
    const { outcome, input } = await called(args);
    expect(input).toBeUndefined();
    expect(outcome).toMatchObject({
      status: 'validation_error',
      error: { type: 'E_ARGUMENTS', message, remedy },
    });
  });

  it('refuses arguments that are too long for the kernel, or for one message', async () => {
    const complaint = async (args: Record<string, unknown>) =>
      (await called({ ...CODE, ...args })).outcome.error?.message;
    expect(await complaint({ args: ['x'.repeat(131_072)] })).toMatch(
      /^args\[0\]: .* of 131072 bytes, expected/,
    );
    expect(await complaint({ args: Array.from({ length: 10 }, () => 'x'.repeat(120_000)) })).toBe(
      'args: got 10 texts of 1200090 bytes together, expected at most 1048576.',
    );
    expect(await complaint({ env: { AB: 'x'.repeat(131_069) } })).toMatch(
      /^env\.AB: .* of 131069 bytes, expected .* at most 131068 bytes\.$/,
    );
    const long = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`V${n}`, 'x'.repeat(120_000)]));
    expect(await complaint({ args: Array.from({ length: 5 }, () => 'x'.repeat(120_000)), env: long })).toBe(
      'args and env: got 5 texts and 5 variables of 1200105 bytes together, expected at most 1048576.',
    );
    // Each takes a pointer too: execve() counts those.
    expect(await complaint({ args: Array.from({ length: 200_000 }, () => '') })).toMatch(/^args: got 200000/);
    expect(await complaint({ stdin: 'x'.repeat(MAX_INPUT_BYTES + 1) })).toMatch(/^stdin: .* at most 10 MiB/);
    expect(await complaint({ entrypoint_code: 'x'.repeat(1_000_001) })).toMatch(
      /^entrypoint_code: .{0,200}$/,
    );
  });

  it('a fault of the snippets’ own is no fault of the arguments', async () => {
    const bridge = { snippets: { find: () => Promise.reject(new Error('broken')) } } as unknown as Bridge;
    const context = byCommandLine(NEVER);
    await expect(tool.call({ snippet_name: 'x' }, context, bridge)).rejects.toThrow('broken');
  });
});

describe('what hosts are told', () => {
  const { inputSchema, description, annotations, _meta } = tool.definition;
  const properties = inputSchema['properties'] as Record<string, { enum?: string[] }>;

  it('weighs, with run_python, less than 3,700 characters', () => {
    const listed = (...tools: readonly { readonly definition: object }[]) =>
      JSON.stringify({ tools: tools.map(({ definition }) => definition) }).length;
    expect(listed(runPython(settings))).toBeLessThanOrEqual(1_950);
    expect(listed(tool)).toBeLessThanOrEqual(1_900);
    expect(listed(runPython(settings), tool)).toBeLessThanOrEqual(3_700);
  });

  it("has isolator's arguments by their names, and all languages", () => {
    expect(Object.keys(properties)).toEqual([
      'language',
      'entrypoint_code',
      'entrypoint_filename',
      'additional_files',
      'snippet_name',
      'args',
      'env',
      'stdin',
      'servers',
      'mode',
      'timeout',
      'wait',
      'stop',
    ]);
    expect(properties['language']?.enum).toEqual(languages.map(({ name }) => name));
    expect(inputSchema).not.toHaveProperty('required');
  });

  it('says of how far it reaches and how long its answers are what run_python says', () => {
    const other = runPython(settings).definition;
    expect(annotations).toEqual(other.annotations);
    expect(_meta['anthropic/maxResultSizeChars']).toBe(other._meta['anthropic/maxResultSizeChars']);
    expect(description).not.toContain('run_python');
  });
});

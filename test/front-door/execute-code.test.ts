// What a model reads of programs, whole, from real containers through a real client: one file per typical answer in
// test/snapshots/programs. A change here is a change of the product, and is read before it is taken. Skipped is what
// needs an image that nobody has built.

import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profiles } from '../../src/engine/images/image-name.js';
import { languageNamed } from '../../src/settings/languages/records.js';
import { isBuilt } from '../support/built-image.js';
import { type Payload, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';

type Args = Readonly<Record<string, unknown>>;
const program = (language: string, code: string, more: Args = {}): Args => ({
  language,
  entrypoint_code: code,
  ...more,
});
const file = (filename: string, content: string, more: Args = {}): Args => ({ filename, content, ...more });

/** Every byte once. */
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, n) => n)).toString('base64');
const goMain = (body: string, ...imports: readonly string[]): string =>
  `package main\n\nimport (${imports.map((name) => `"${name}"`).join('; ')})\n\nfunc main() {\n\t${body}\n}\n`;

/** It is in the snapshots, so that it is no measured one: code has printed its first word by then on any machine. */
const SECONDS = 3;
const ANSWERS: Readonly<Record<string, Args>> = {
  'hello from python': program('python', 'print("hello")'),
  'hello from javascript': program('javascript', 'console.log("hello")'),
  'hello from typescript': program('typescript', 'const word: string = "hello";\nconsole.log(word)'),
  'hello from go': program('go', goMain('fmt.Println("hello")', 'fmt')),
  'hello from bash': program('bash', 'echo hello'),
  'hello from ruby': program('ruby', 'puts "hello"'),

  'both streams': program('bash', 'echo out; echo err >&2; printf "no newline"'),
  'stdin and words': program(
    'javascript',
    'console.log(process.argv.slice(2), require("fs").readFileSync(0, "utf8"))',
    {
      args: ['', 'a b', '"quoted" \'twice\'', '$HOME *', 'é 漢', '--flag', 'two\nlines'],
      stdin: 'first\nsecond é\n',
    },
  ),
  'words in python': program('python', 'import sys\nprint(sys.argv)\nprint(sys.stdin.read())', {
    args: ['', 'a b', '$HOME'],
    stdin: 'in',
  }),
  'files beside python': program(
    'python',
    'from lib.helper import word\nprint(word, open("data.txt").read())',
    {
      entrypoint_filename: 'app.py',
      additional_files: [file('lib/helper.py', 'word = "helped"'), file('data.txt', 'datum')],
    },
  ),
  'files beside go': program('go', goMain('fmt.Println(word())', 'fmt'), {
    additional_files: [file('word.go', 'package main\n\nfunc word() string { return "helped" }\n')],
  }),
  'a binary file there and back': program(
    'ruby',
    'File.binwrite("out/back.bin", File.binread("in/there.bin").reverse)\nFile.write("out/note.txt", "reversed\\n")',
    { additional_files: [file('in/there.bin', BYTES, { encoding: 'base64' })] },
  ),
  'a file that python has not closed': program(
    'python',
    'import csv\nw = csv.writer(open("out/d.csv", "w"), lineterminator="\\n")\nw.writerow([1, 2])',
  ),
  'fifty megabytes': program('bash', 'echo begin; head -c 50000000 /dev/zero | tr "\\0" x; echo; echo end'),

  'an exit status': program('bash', 'echo before; exit 3'),
  'an exit status of python': program('python', 'import sys\nsys.exit("it did not work")'),
  'an exception of python': program('python', 'def half(n):\n    return n / 0\n\nprint("before")\nhalf(4)'),
  'an exception of javascript': program(
    'javascript',
    'function half(n) {\n  throw new RangeError("no " + n);\n}\nhalf(4);',
  ),
  'an exception of ruby': program('ruby', 'def half(n)\n  n / 0\nend\n\nhalf(4)'),
  'a panic of go': program('go', goMain('var a []int; _ = a[len(os.Args)]', 'os')),

  'no python': program('python', 'for n in range(3)\n    print(n)'),
  'no javascript': program('javascript', 'const x = ;'),
  'no typescript': program('typescript', 'const x: number = ;'),
  'no go': program('go', goMain('x := 1\n\tfmt.Println("hi" + 1)', 'fmt')),
  'no bash': program('bash', 'if true; then\necho'),
  'no ruby': program('ruby', 'def half(n)\n  n / 2\n'),

  'a timeout': program('bash', 'echo begun; sleep 60', { timeout: SECONDS }),
  'a timeout of python': program('python', 'import time\nprint("begun")\ntime.sleep(60)', {
    timeout: SECONDS,
  }),
  'too much memory': program(
    'ruby',
    'puts "begun"; $stdout.flush; kept = []; loop { kept << "x" * 8_000_000 }',
  ),
  'a signal': program('bash', 'echo begun; kill -TERM $$'),

  'no package of python': program('python', 'import requests'),
  'no package of javascript': program('javascript', 'require("express")'),
  'no package of go': program('go', goMain('gin.Default()', 'github.com/gin-gonic/gin')),
  'no gem': program('ruby', 'require "nokogiri"'),
  'no program': program('bash', 'curl https://example.com'),
  'no network': program('javascript', 'fetch("https://example.com").then(console.log)'),
  'no other place': program('go', goMain('panic(os.WriteFile("/etc/x", nil, 0o644))', 'os')),

  'a name that leads out': program('go', 'x', {
    additional_files: [file('ok.go', ''), file('../../etc/passwd', '')],
  }),
  'no language': { entrypoint_code: 'x' },
  'both a snippet and code': program('go', 'x', { snippet_name: 'hello_world' }),
};

const ENV = {
  MCP_BRIDGE_TOOLS: 'run_python,execute_code',
  MCP_BRIDGE_STATE_DIR: makeUsed(join(tempHome(), 'state')),
};

describe('answers', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    // A host that shows the text.
    bridge = await startBridge({}, { clientName: 'claude-code', env: ENV });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  const built = new Set(profiles().filter(isBuilt));
  it.for(Object.entries(ANSWERS))('reads well for a model: %s', async ([title, args], { skip }) => {
    const profile = languageNamed(String(args['language']))?.profile ?? 'base';
    // Of Python any image will do, which the bridge looks for itself.
    skip(profile !== 'base' && !built.has(profile), `no image: ${profile}`);
    const text = readable(await execute(bridge, args));
    await expect(`${text}\n`).toMatchFileSnapshot(`../snapshots/programs/${title.replaceAll(' ', '-')}.txt`);
  });

  it.skipIf(!isBuilt('ruby'))('of binary files are the very bytes', async () => {
    const { content } = await execute(bridge, ANSWERS['a binary file there and back'] ?? {});
    const text = content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n');
    const [uri = ''] = /resource:\S+/.exec(text) ?? [];
    const { contents } = await bridge.client.readResource({ uri });
    const back = Buffer.from(BYTES, 'base64').reverse().toString('base64');
    expect(contents).toMatchObject([{ blob: back }]);
  });

  it('are listed with two tools in less than 3,700 characters', async () => {
    const listed = await bridge.client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(['run_python', 'execute_code']);
    expect(JSON.stringify(listed).length).toBeLessThanOrEqual(3_700);
    expect((bridge.client.getInstructions() ?? '').length).toBeLessThanOrEqual(1_200);
  });
});

describe('execute_code alone, in the form that the operator chose', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    const env = { ...ENV, MCP_BRIDGE_TOOLS: 'execute_code', MCP_BRIDGE_OUTPUT_MODE: 'compact' };
    bridge = await startBridge({}, { env });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('speaks of no other tool', async () => {
    const { resources } = await bridge.client.listResources();
    const [capabilities] = resources;
    const { contents } = await bridge.client.readResource({ uri: capabilities?.uri ?? '' });
    const said = [bridge.client.getInstructions(), resources, contents, await bridge.client.listTools()];
    expect(JSON.stringify(said)).toContain('execute_code');
    expect(JSON.stringify(said)).not.toContain('run_python');
  });

  it('answers in it, with the same as structured content', async () => {
    const { content, structuredContent, isError } = await execute(
      bridge,
      program('python', 'print("before")\n1 / 0'),
    );
    const traceback = [
      'Traceback (most recent call last):',
      '  File "/workspace/main.py", line 2, in <module>',
      '    1 / 0',
      '    ~~^~~',
      'ZeroDivisionError: division by zero',
    ];
    expect(content).toEqual([
      {
        type: 'text',
        text: `before\n--- stderr ---\n${traceback.join('\n')}\n[error] ZeroDivisionError: division by zero`,
      },
    ]);
    expect(isError).toBe(true);
    const payload = structuredContent as Payload;
    expect(payload).toMatchObject({
      status: 'error',
      exitCode: 1,
      stdout: ['before'],
      stderr: traceback,
      error: 'ZeroDivisionError: division by zero',
    });
    expect(payload.traceback).toBeUndefined();
  });
});

const execute = async ({ client }: TestBridge, args: Args): Promise<CallToolResult> =>
  (await client.callTool({ name: 'execute_code', arguments: args }, undefined, {
    timeout: HANGS_MS,
  })) as CallToolResult;

/** The blocks of an answer as text; what differs from run to run, and from one version of a language to the next, is masked. */
function readable({ content, isError }: CallToolResult): string {
  const blocks = content.map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'resource_link')
      return `<link ${block.name} ${block.mimeType ?? ''} ${block.size ?? ''} ${block.uri}>`;
    return `<${block.type}>`;
  });
  return [...(isError === true ? ['<error>'] : []), ...blocks]
    .join('\n')
    .replaceAll(/ or \/\S+\/kept\//g, ' or <state>/kept/')
    .replaceAll(/[0-9a-f]{32}/g, '<handle>')
    .replaceAll(/x{100,}/g, (xs) => `<${xs.length} times x>`)
    .replaceAll(/^ +at .*\bnode:.*\n/gm, '')
    .replaceAll(/\b(node:[\w/]+|goroutine|\/usr\/lib\/\S+?):?\d[\d:]*/g, '$1:<n>')
    .replaceAll(/Node\.js v[\d.]+/g, 'Node.js v<version>')
    .replaceAll(/ \+0x[0-9a-f]+/g, ' +<offset>')
    .replaceAll(/0x[0-9a-f]{6,}/g, '<address>');
}

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code under test holds template strings

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runHere } from '../support/in-this-process.js';

const script = fileURLToPath(new URL('../../scripts/check-messages.mjs', import.meta.url));

/** What is said of a source tree with this one file, without the last line, which sums up. */
async function check(text: string, file = 'run/a.ts'): Promise<{ complaints: string[]; status: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-messages-'));
  try {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
    const { stderr, exitCode } = await runHere(script, [folder]);
    return { complaints: stderr.trim().split('\n').slice(0, -1), status: exitCode };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it.each([
  ['a regular expression', 'if (/^disabled/.test(error.message)) f();', '/^disabled/.test(error.message)'],
  ['a comparison', "const is = 'this bridge itself' === one.reason;", "'this bridge itself' === one.reason"],
  ['a loose comparison', 'const is = one?.reason != OURS;', 'one?.reason != OURS'],
  [
    'its beginning',
    "if ((error as Error).message.startsWith('The')) f();",
    "(error as Error).message.startsWith('The')",
  ],
  [
    'a cut',
    "const why = error.message.replace(/^The sandbox: /, '');",
    "error.message.replace(/^The sandbox: /, '')",
  ],
  ['what was thrown', "if (messageOf(thrown).includes('gone')) f();", "messageOf(thrown).includes('gone')"],
  ['advice', "const [first] = error.advice.split('.');", "error.advice.split('.')"],
  [
    'words in small letters',
    "if (one.remedy!.trim().toLowerCase() === 'x') f();",
    "one.remedy!.trim().toLowerCase() === 'x'",
  ],
  [
    'words under another name',
    'const said = clip(e.message, 9);\nif (said.match(/x/)) f();',
    'said.match(/x/)',
    2,
  ],
  [
    'words that were taken apart',
    'const f = ({ message: said }: Error) => /x/.exec(said);',
    '/x/.exec(said)',
  ],
  [
    'a variable that is called so',
    "const f = (reason: string) => reason.endsWith('x');",
    "reason.endsWith('x')",
  ],
  ['a sentence made of them', 'const all = `${e.message}.`;\nif (SEEN.has(all)) f();', 'SEEN.has(all)', 2],
  ['a table', 'const remedy = TABLE[e.message];', 'TABLE[e.message]'],
  ['a switch', "switch (e.message) { case 'a': f(); }", 'e.message'],
  ['a list', "const isOne = ['a', 'b'].includes(one.reason);", "['a', 'b'].includes(one.reason)"],
])('%s is refused with its line', async (_what, text, expression, line = 1) => {
  expect(await check(text)).toEqual({
    complaints: [`src/run/a.ts:${line}: asks what is in words: ${expression}`],
    status: 1,
  });
});

it.each([
  ['a code', "if (error.code === 'E_STATE' && error instanceof BridgeError) f();"],
  ['a kind', "if (one.reason.kind === 'disabled-in-file') f();"],
  ['whether there are words', "if (e.message !== '' && one.remedy === undefined && null != one.reason) f();"],
  [
    'words that are handed on',
    'throw new BridgeError(code, `${e.message}: ${clip(e.message, 9)}`, { cause: e });',
  ],
  ['the length', 'if (e.message.length > 9) f();'],
  ['an object of that name', "const f = (message: Message) => message.method === 'ping';"],
  ['a comment and a string', "// e.message === 'x'\nconst text = \"e.message === 'x'\";"],
])('%s may be asked for', async (_what, text) => {
  expect(await check(text)).toEqual({ complaints: [], status: 0 });
});

it('a file of the list may ask as often as the list says, neither more nor less', async () => {
  const file = 'servers/connection/link.ts';
  const question = "trouble.message.split('\\n', 1);\n";
  expect(await check(question, file)).toEqual({ complaints: [], status: 0 });
  expect((await check(question + question, file)).complaints).toHaveLength(2);
  expect(await check('', file)).toEqual({
    complaints: ['src/servers/connection/link.ts: has 0 questions, and the list allows 1'],
    status: 1,
  });
});

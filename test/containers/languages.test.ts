// The walls and the ends of a run, once more in every language: the walls are the same code for all, and here it is seen
// to be. The table of all attacks, each with its control, is test/walls. Languages whose image nobody has built are left out.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Language, languages } from '../../src/settings/languages/records.js';
import { isBuilt } from '../support/built-image.js';
import { descendants, ourSandboxes, runningHarnesses } from '../support/nothing-left.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, pause } from '../support/time.js';
import { EXPECTED, LONG_TO_COMPILE, PROGRAMS } from './language-programs.js';

const there = languages.filter(({ profile }) => isBuilt(profile));
const endlessIn = ({ name }: Language): string => PROGRAMS[name]?.endless ?? '';
const hasGo = there.some(({ name }) => name === 'go');

let bridge: TestBridge;
beforeAll(async () => {
  const env = {
    ...{ MCP_BRIDGE_TOOLS: 'execute_code', MCP_BRIDGE_WARM: '0', CANARY: 'canary' },
    MCP_BRIDGE_CONCURRENCY: String(languages.length),
  };
  bridge = await startBridge({}, { env });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const execute = (language: string, code: string, timeout: number, signal?: AbortSignal) =>
  bridge.client.callTool(
    { name: 'execute_code', arguments: { language, entrypoint_code: code, timeout } },
    undefined,
    signal === undefined ? {} : { signal },
  );
const isStarted = () => runningHarnesses().length > 0;
const isGone = () => !isStarted() && ourSandboxes().length === 0 && descendants(bridge.pid).length === 0;

it.each(there)('$title: what tries to get out is held, and what is not its own hidden', async ({ name }) => {
  const { content } = await execute(name, PROGRAMS[name]?.attacks ?? '', 20);
  const [{ text } = { text: '' }] = content as Array<{ readonly text: string }>;
  const lines = text.split('\n').filter((line) => /: (?:held|through)$/.test(line));
  expect(lines, text).toEqual(EXPECTED);
});

it.each(there)('$title: finds the variables of its call, which are nothing to us', async ({ name }) => {
  // What breaks whoever goes by it: where programs, libraries, temporary files and settings are.
  const env = {
    WORD: 'é = 1',
    PATH: '/nowhere',
    LD_PRELOAD: '/nowhere.so',
    TMPDIR: '/nowhere',
    HOME: '/nowhere',
  };
  const { content } = await bridge.client.callTool({
    name: 'execute_code',
    arguments: { language: name, entrypoint_code: PROGRAMS[name]?.variables, env, stdin: 'x', timeout: 20 },
  });
  const [{ text } = { text: '' }] = content as Array<{ readonly text: string }>;
  expect(text).toMatch(/^--- stdout ---\né = 1 \/nowhere\n/);
});

const cancelled = [
  ...there.map((language) => [language.title, language.name, endlessIn(language)] as const),
  ...(hasGo ? [['Go in its compiler', 'go', LONG_TO_COMPILE] as const] : []),
];
it.each(cancelled)('%s: cancelled, it leaves nothing', async (_title, name, code) => {
  expect(await eventually(isGone)).toBe(true);
  const controller = new AbortController();
  const answer = execute(name, code, 60, controller.signal);
  answer.catch(() => {});
  expect(await eventually(isStarted)).toBe(true);
  await pause(300);
  controller.abort();
  await expect(answer).rejects.toThrow();
  expect(await eventually(isGone)).toBe(true);
});

it('out of time in all of them at once, they leave nothing', async () => {
  const answers = await Promise.all(there.map((language) => execute(language.name, endlessIn(language), 1)));
  expect(answers.map(({ isError }) => isError)).toEqual(there.map(() => true));
  expect(await eventually(isGone)).toBe(true);
});

it('when the bridge is killed they leave nothing, compilers included', async () => {
  const answers = [
    ...there.slice(0, 1).map((language) => execute(language.name, endlessIn(language), 60)),
    ...(hasGo ? [execute('go', LONG_TO_COMPILE, 60)] : []),
  ];
  for (const answer of answers) answer.catch(() => {});
  expect(await eventually(isStarted)).toBe(true);
  await pause(600);
  process.kill(bridge.pid, 'SIGKILL');
  expect(await eventually(isGone)).toBe(true);
});

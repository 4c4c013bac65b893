// What a person sees: every command's help and output at 80 and 120 columns, and that no line is wider but one with a command or a path to copy. A change here is a
// change of the product: run it with `-u`, and read the difference.

import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EXAMPLES, GROUPS } from '../../../src/cli/help/examples.js';
import { isToCopy } from '../../../src/cli/servers/install.js';
import { shownWidth } from '../../../src/cli/terminal/wrap.js';
import { tempHome } from '../../support/start-bridge.js';
import { commandHere } from '../command.js';
import { IN_AN_EMPTY_HOME, OUTPUTS } from './outputs.js';

const WIDTHS = [80, 100, 120] as const;
/** The others are tried, and nothing is kept of them. */
const KEPT_WIDTHS: readonly number[] = [80, 120];
/** As `COLUMNS` says it to a program that is not on a terminal; colours are off there. */
const columns = (width: number) => ({ COLUMNS: `${width}`, NO_COLOR: '1' });

let home: string;
beforeAll(() => {
  home = tempHome();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));
afterEach(() => {
  vi.unstubAllEnvs();
});

const help = async (command: string, width: number): Promise<string> => {
  const words = command === '' ? [] : command.split(' ');
  const { stdout } = await commandHere([...words, '--help'], { home, env: columns(width) });
  return stdout;
};

/** Names of the commands that a help text lists below its headings, without `help` itself. */
const listedIn = (text: string): readonly string[] =>
  text
    .split('\n\n')
    .filter((block) => /^(?:Commands|Start|Run|Watch|Serve|Images):\n/.test(block))
    .flatMap((block) => [...block.matchAll(/^ {2}(\S+)/gm)])
    .flatMap(([, name = '']) => (name === 'help' ? [] : [name]));

async function allCommands(parent = ''): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of listedIn(await help(parent, 120))) {
    const command = parent === '' ? name : `${parent} ${name}`;
    found.push(command, ...(await allCommands(command)));
  }
  return found;
}

async function keep(what: string, width: number, text: string): Promise<void> {
  const laidOut = text.split('\n').filter((line) => !isToCopy(line));
  for (const line of laidOut) expect(shownWidth(line), line).toBeLessThanOrEqual(width);
  if (!KEPT_WIDTHS.includes(width)) return;
  await expect(text).toMatchFileSnapshot(
    `../../snapshots/terminal/${width}/${what.replaceAll(' ', '-')}.txt`,
  );
}

it('every command has a line in outputs.ts, and every line a command', async () => {
  expect([...(await allCommands())].sort()).toEqual(Object.keys(OUTPUTS).sort());
});

it('every command is in a group of the help, has examples, and every example is one of a command', async () => {
  const commands = await allCommands();
  const inGroups = Object.values(GROUPS).flat();
  expect(inGroups.toSorted()).toEqual(commands.filter((name) => !name.includes(' ')).toSorted());
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(['', ...commands].toSorted());
  for (const [name, examples] of Object.entries(EXAMPLES)) expect(examples.length, name).toBeGreaterThan(0);
  for (const [words] of Object.values(EXAMPLES).flat())
    expect(
      commands.some((name) => `${words} `.startsWith(`${name} `)),
      words,
    ).toBe(true);
});

it.each(['serve', 'run', 'login'])('the help of %s shows no default that is an empty list', async (name) => {
  expect(await help(name, 100)).not.toContain('default: []');
});

describe.each(WIDTHS)('at %i columns', (width) => {
  it.each(['', ...Object.keys(OUTPUTS)])('the help of "%s"', async (command) => {
    await keep(`help ${command}`.trim(), width, await help(command, width));
  });

  it.each(IN_AN_EMPTY_HOME)('%s in an empty home', async (command) => {
    const { stdout } = await commandHere(command.split(' '), { home, env: columns(width) });
    expect(stdout).not.toBe('');
    await keep(`nothing of ${command.replaceAll('--', '')}`, width, stdout);
  });

  const outputs = Object.entries(OUTPUTS).flatMap(([command, shown]) =>
    'helpOnly' in shown
      ? []
      : Object.entries(shown).map(([part, text]) => [`${command} ${part}`, text as () => string] as const),
  );
  it.each(outputs)('%s', async (what, text) => {
    for (const [name, value] of Object.entries(columns(width))) vi.stubEnv(name, value);
    await keep(what, width, text());
  });
});

it.each(
  Object.entries(OUTPUTS).flatMap(([command, shown]) =>
    'helpOnly' in shown ? [] : [[command, shown] as const],
  ),
)('in a pipe, %s has whole lines', (_command, shown) => {
  vi.stubEnv('COLUMNS', undefined);
  for (const text of Object.values(shown)) {
    const whole = text();
    vi.stubEnv('COLUMNS', '100000');
    expect(text()).toBe(whole);
    vi.stubEnv('COLUMNS', undefined);
  }
});

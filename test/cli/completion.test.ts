// `completion`: bash runs its script for real; the others have theirs read by their shell where that is installed.

import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findProgram } from '../../src/base/process/start-of.js';
import { PACKAGE_NAME } from '../../src/base/version.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const isHere = (shell: string) => findProgram(shell, process.env) !== undefined;

let home: string;
beforeAll(async () => {
  home = tempHome();
  for (const shell of SHELLS) {
    const { stdout, exitCode } = await commandHere(['completion', shell], { home });
    expect(exitCode).toBe(0);
    writeFileSync(join(home, shell), stdout);
  }
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** What bash offers at the end of this line. */
function offeredFor(line: string): readonly string[] {
  const words = [PACKAGE_NAME, ...line.split(' ')];
  const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcp_sandbox_bridge; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const said = execFileSync('bash', ['--norc', '-c', script, join(home, 'bash'), ...words], {
    encoding: 'utf8',
  });
  return said.split('\n').filter((word) => word !== '');
}

it.runIf(isHere('bash')).each([
  ['doc', ['doctor']],
  ['ser', ['servers', 'serve']],
  ['servers ', ['refresh']],
  ['image bu', ['build']],
  ['image build da', ['data']],
  ['install cod', ['codex']],
  ['run --se', ['--servers', '--session']],
  ['run x.py --req', ['--require-session']],
  ['approvals allow q-1 --fo', ['--for']],
  ['setup --approve wr', ['writes']],
  // A file: the shell offers those by itself.
  ['run x', []],
  ['shared', []],
])('bash completes "%s"', (line, offered) => {
  expect([...offeredFor(line)].sort()).toEqual([...offered].sort());
});

it.each(SHELLS.filter(isHere))('%s reads its script without a complaint', (shell) => {
  expect(execFileSync(shell, ['-n', join(home, shell)], { encoding: 'utf8' })).toBe('');
});

it('a shell that is not known is refused with those that are', async () => {
  const { stderr, exitCode } = await commandHere(['completion', 'tcsh'], { home });
  expect(stderr).toContain('Allowed choices are bash, zsh, fish.');
  expect(exitCode).toBe(2);
});

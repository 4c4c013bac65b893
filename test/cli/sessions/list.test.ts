// `sessions` without a container: what is listed of what bridges have written, and what is said where nothing can be ended.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { liveSessions } from '../../../src/cli/kept/sessions.js';
import { livingAt } from '../../../src/engine/machine/first-process.js';
import { SessionFiles, type SessionRecord } from '../../../src/run/sessions/session-file.js';
import { principalStateDir } from '../../../src/settings/files/state-dir.js';
import { tempHome } from '../../support/start-bridge.js';
import { commandHere } from '../command.js';

let home: string;
let state: string;
beforeEach(() => {
  home = tempHome();
  state = join(home, 'state');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const HOUR_MS = 3_600_000;
const handleOf = (letter: string) => `s-${letter.repeat(16)}`;

function write(letter: string, more: Partial<SessionRecord> = {}, dir = state): void {
  new SessionFiles(dir).write({
    name: 'data',
    handle: handleOf(letter),
    client: 'test 1',
    principal: null,
    scope: null,
    container: 'no-such-container',
    process: null,
    memoryLimitBytes: 512_000_000,
    createdAt: new Date(Date.now() - HOUR_MS).toISOString(),
    lastCallAt: new Date().toISOString(),
    calls: 2,
    idleSeconds: 900,
    lifeSeconds: 14_400,
    ended: null,
    ...more,
  });
}

/** As a bridge wrote it that has ended since: its number is of a process which began at another time. */
function orphan(letter: string, more: Partial<SessionRecord> = {}): void {
  write(letter, more);
  const path = join(state, 'sessions', `${handleOf(letter)}.json`);
  const record = JSON.parse(readFileSync(path, 'utf8')) as SessionRecord;
  writeFileSync(path, JSON.stringify({ ...record, owner: { ...record.owner, startTime: '1' } }));
}

describe('the list', () => {
  it('has those of live bridges, of the user and of every principal, and leaves the others where they are', async () => {
    write('a', { lastCallAt: new Date(Date.now() - HOUR_MS).toISOString() });
    write('b', { name: 'other', principal: 'token:ann#1' }, principalStateDir(state, { id: 'token:ann#1' }));
    write('c', { name: 'past', ended: 'it was idle' });
    orphan('d', { name: 'gone' });
    const { stdout } = await commandHere(['sessions', '--json'], { home });
    const { sessions } = JSON.parse(stdout) as { sessions: readonly Record<string, unknown>[] };
    expect(sessions.map(({ name, principal }) => [name, principal])).toEqual([
      ['other', 'ann'],
      ['data', undefined],
    ]);
    expect(sessions[1]).toMatchObject({
      handle: handleOf('a'),
      calls: 2,
      client: 'test 1',
      bridge: process.pid,
    });
    expect(
      new SessionFiles(state)
        .all()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['data', 'gone', 'past']);
  });

  it.runIf(process.platform === 'linux')(
    'weighs the process of the record, and no later one of its number',
    () => {
      const living = livingAt(process.pid);
      write('a', { process: living ?? null });
      write('b', { process: { pid: process.pid, startTime: '1' } });
      const held = new Map(liveSessions(state).map(({ handle, heldBytes }) => [handle, heldBytes]));
      expect(held.get(handleOf('a'))).toBeGreaterThan(1e6);
      expect(held.get(handleOf('b'))).toBeUndefined();
    },
  );

  it('says "at most" where nobody can see what is held', async () => {
    write('a');
    expect((await commandHere(['sessions'], { home })).stdout).toContain('at most 512 MB');
  });
});

describe('the end of one', () => {
  it('of no such name, with what was meant', async () => {
    write('a');
    const said = await commandHere(['sessions', 'end', 'dta'], { home });
    expect(said).toMatchObject({ exitCode: 2, stdout: '' });
    expect(said.stderr).toContain("There is no session 'dta'. Did you mean 'data'?");
  });

  it('of a name that two have: it names the handles and ends neither', async () => {
    write('a');
    write('b', { client: 'other 2' });
    const said = await commandHere(['sessions', 'end', 'data'], { home });
    expect(said.exitCode).toBe(2);
    expect(said.stderr).toContain("2 sessions have the name 'data'");
    for (const letter of ['a', 'b']) expect(said.stderr).toContain(handleOf(letter));
    expect(new SessionFiles(state).isMarkedEnded(handleOf('a'))).toBe(false);
  });

  it('that cannot be had is not told to its bridge', async () => {
    write('a', { process: { pid: process.pid, startTime: '1' } });
    const env = { MCP_BRIDGE_RUNTIME: '/nowhere/podman' };
    const said = await commandHere(['sessions', 'end', handleOf('a')], { home, env });
    expect(said.exitCode).toBe(1);
    expect(new SessionFiles(state).isMarkedEnded(handleOf('a'))).toBe(false);
  });
});

describe('what a later bridge is told', () => {
  it('is of this name and scope alone, until there is another one', () => {
    orphan('a', { scope: 'command line' });
    orphan('b', { name: 'other', scope: 'command line' });
    write('c', { name: 'past', scope: 'command line', ended: 'it was idle for 900 s' });
    write('d', { name: 'lives', scope: 'command line' });
    const files = new SessionFiles(state);
    const meant = (name: string, scope: string | null = 'command line') => ({ name, scope, client: 'any 1' });
    const handle = (...asked: Parameters<typeof meant>) => files.orphan(meant(...asked))?.handle;
    expect(handle('data', null)).toBeUndefined();
    expect(handle('data')).toBe(handleOf('a'));
    expect(files.orphan(meant('past'))?.ended).toBe('it was idle for 900 s');
    expect(handle('lives')).toBeUndefined();
    files.forgetOrphans(meant('data'));
    expect(handle('data')).toBeUndefined();
    expect(handle('other')).toBe(handleOf('b'));
  });

  it('is nothing any more after a day', () => {
    orphan('a', { lastCallAt: new Date(Date.now() - 25 * HOUR_MS).toISOString() });
    new SessionFiles(state).forgetOrphans({ name: 'another', scope: null, client: 'any 1' });
    expect(new SessionFiles(state).all()).toEqual([]);
  });
});

// Which session a name means, who has it when, how many there may be, and what is said of those that have ended.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { thisOwner } from '../../../src/base/process/owner.js';
import { type Entered, Sessions, sessionTold } from '../../../src/run/sessions/sessions.js';
import type { Sandbox, SandboxEnd } from '../../../src/sandbox/conversation/sandbox.js';
import { NEVER } from '../../support/time.js';

const LIMITS = { most: 2, idleSeconds: 60, lifeSeconds: 600, memoryBytes: 1_000_000_000, keepRunning: true };
const here = { scope: 'one', client: 'test 1' };

/** A sandbox that does nothing but end. */
function fakeSandbox(name = 'c'): { readonly sandbox: Sandbox; readonly end: (end: SandboxEnd) => void } {
  let end = (_end: SandboxEnd): void => {};
  const ended = new Promise<SandboxEnd>((resolve) => {
    end = resolve;
  });
  const kill = () => end({ how: 'lost', detail: 'it was killed' });
  const fake = {
    name,
    pid: undefined,
    spec: { memoryBytes: 1000, tmpfs: [], data: [] },
    ended,
    kill,
    rests() {},
    hold() {},
  };
  return { sandbox: fake as unknown as Sandbox, end };
}

let stateDir: string;
let sessions: Sessions;
const retired: Sandbox[] = [];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'sessions-'));
  sessions = new Sessions({
    limits: LIMITS,
    most: () => LIMITS.most,
    stateDir,
    principal: null,
    retire: (sandbox) => retired.push(sandbox),
    observer: () => {},
  });
});
afterEach(() => {
  vi.useRealTimers();
  sessions[Symbol.dispose]();
  retired.length = 0;
  rmSync(stateDir, { recursive: true, force: true });
});

async function enter(
  name: string,
  { isRequired = false, scope = 'one', signal = NEVER } = {},
): Promise<Entered> {
  const entered = await sessions.enter({ name, isRequired }, { ...here, scope }, signal, () => {});
  if ('message' in entered) throw new Error(entered.message);
  return entered;
}

/** One call of a session, with a sandbox of its own where it has none; what ends that. */
async function call(name: string, scope = 'one') {
  const entered = await enter(name, { scope });
  const fake = fakeSandbox();
  if (entered.session.sandbox === undefined) entered.adopt(fake.sandbox);
  entered.session.begins();
  entered.session.onAnswered(false);
  entered[Symbol.dispose]();
  return { ...entered, ...fake };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a name', () => {
  it('means the same session within its scope, and its handle everywhere', async () => {
    const { session } = await call('data');
    expect((await call('data')).session).toBe(session);
    expect((await call(session.handle, 'other')).session).toBe(session);
    expect((await call('data', 'other')).session).not.toBe(session);
  });

  it('whose session did not start has made none', async () => {
    const entered = await enter('data');
    entered[Symbol.dispose]();
    expect(sessions.size).toBe(0);
    const again = await call('data');
    expect(again).toMatchObject({ isNew: true, before: undefined });
  });

  it('that is required, or is a handle, makes none', async () => {
    await expect(enter('data', { isRequired: true })).rejects.toThrow("no session 'data'");
    await expect(enter(`s-${'a'.repeat(16)}`)).rejects.toThrow('of yours');
    expect(sessions.size).toBe(0);
  });
});

describe('a call', () => {
  it('waits for the one before it, in the order of their coming', async () => {
    await call('data');
    const first = await enter('data');
    const order: number[] = [];
    const others = [1, 2].map(async (number) => {
      const entered = await enter('data');
      order.push(number);
      entered[Symbol.dispose]();
    });
    await settled();
    expect(order).toEqual([]);
    first[Symbol.dispose]();
    await Promise.all(others);
    expect(order).toEqual([1, 2]);
  });

  it('that is cancelled while it waits gives its turn to the next', async () => {
    await call('data');
    const first = await enter('data');
    const ending = new AbortController();
    const cancelled = enter('data', { signal: ending.signal });
    const next = enter('data');
    ending.abort();
    await expect(cancelled).rejects.toThrow('cancelled');
    first[Symbol.dispose]();
    (await next)[Symbol.dispose]();
  });

  it('that has waited for one whose end ended the session begins it anew, and says so', async () => {
    await call('data');
    const first = await enter('data');
    const next = enter('data');
    first.session.willEnd('its code was killed');
    first[Symbol.dispose]();
    const entered = await next;
    expect(entered).toMatchObject({ isNew: true, before: 'its code was killed' });
    entered[Symbol.dispose]();
  });
});

describe('an end', () => {
  it.each([
    [{ how: 'exited', report: { code: 3, signal: null } }, /exit code 3$/],
    [{ how: 'exited', report: { code: null, signal: 'SIGSEGV' } }, /ended by SIGSEGV$/],
    [{ how: 'lost', detail: 'no word' }, /^its container is gone: no word$/],
    [{ how: 'limit', breach: { limit: 'memory', allowed: 1, seen: 2 } }, /^memory limit .* exceeded$/],
    [
      { how: 'limit', breach: { limit: 'wakes', allowed: 3, seen: 4 } },
      /^the code went on while it was paused/,
    ],
  ] satisfies [SandboxEnd, RegExp][])(
    'of its sandbox is told once, by its reason: %j',
    async (how, reason) => {
      const { end, session, sandbox } = await call('data');
      end(how);
      await settled();
      expect(sessions.size).toBe(0);
      expect(retired).toContain(sandbox);
      const next = await call('data');
      expect(next.isNew).toBe(true);
      expect(next.before).toMatch(reason);
      await expect(enter(session.handle)).rejects.toThrow(
        reason.source.replace(/^\^|\$$/g, '').split('.*')[0],
      );
      expect((await call('data')).isNew).toBe(false);
    },
  );

  it('comes when it is idle for too long, and at the end of its life in any case', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    await call('idle');
    await vi.advanceTimersByTimeAsync(61_000);
    expect((await call('idle')).before).toBe('it was idle for 60 s');
    const said: Array<string | undefined> = [];
    for (let at = 0; at < 700; at += 50) {
      await vi.advanceTimersByTimeAsync(50_000);
      said.push((await call('idle')).before);
    }
    expect(said.filter((why) => why !== undefined)).toEqual(['it had lived for 600 s']);
  });

  it('ends the sandbox, too, that its first call had not started by then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const entered = await enter('data');
    await vi.advanceTimersByTimeAsync(LIMITS.lifeSeconds * 1000);
    const { sandbox } = fakeSandbox();
    entered.adopt(sandbox);
    entered[Symbol.dispose]();
    await settled();
    expect(retired).toContain(sandbox);
    expect((await call('data')).before).toBe('it had lived for 600 s');
  });

  it('comes for the longest idle one where there are too many, and for none that is at work', async () => {
    await call('a');
    await call('b');
    await call('a');
    await call('c');
    expect((await call('b')).before).toContain('MCP_BRIDGE_SESSIONS');
    const busy = [await enter('b'), await enter('c')];
    await expect(enter('d')).rejects.toThrow('all 2 sessions');
    for (const entered of busy) entered[Symbol.dispose]();
  });
});

describe('what the first line says', () => {
  const ended = { status: 'success' } as const;
  const session = (parts: object) => ({ name: 'n', handle: 's-1', calls: 3, ended: undefined, ...parts });
  const told = (parts: object, outcome: { status: 'success' | 'timeout' } = ended, lost: string[] = []) => {
    const entered = { isNew: false, before: undefined, waitedMs: 0, session: session({}), ...parts };
    return sessionTold(entered as unknown as Entered, outcome, lost).says;
  };

  it('is nothing but the call where all is well', () => {
    expect(told({})).toEqual([]);
    expect(told({ isNew: true })).toEqual(['new']);
    expect(told({ session: session({ calls: 1 }) })).toEqual(['call 1']);
  });

  it('is what is not as the reader may think', () => {
    expect(told({ isNew: true, before: 'why' })).toEqual(['new and empty; the one before has ended: why']);
    expect(told({ session: session({ ended: 'why' }) })).toEqual(['it has ended with this call: why']);
    expect(told({}, { status: 'timeout' })).toEqual(['interrupted; its state is kept']);
    expect(told({ waitedMs: 2_400 })).toEqual(['waited 2 s for the call before it']);
    expect(told({}, ended, ['gone'])).toEqual(['without gone, which it may no longer use']);
  });
});

describe('a later bridge', () => {
  /** What a bridge that was killed has left: its process is there no more. */
  function orphaned(parts: object): void {
    const folder = join(stateDir, 'sessions');
    mkdirSync(folder, { recursive: true });
    const record = {
      handle: `s-${'b'.repeat(16)}`,
      name: 'data',
      client: 'test 0.9',
      principal: null,
      scope: null,
      container: 'c',
      process: null,
      memoryLimitBytes: 1,
      createdAt: new Date().toISOString(),
      lastCallAt: '2026-11-25T10:00:00.000Z',
      calls: 1,
      idleSeconds: 1,
      lifeSeconds: 1,
      ended: null,
      owner: { ...thisOwner(), bootId: 'another' },
      ...parts,
    };
    writeFileSync(join(folder, `${record.handle}.json`), JSON.stringify(record));
  }

  it('says that one of the same program is gone, once it is begun anew', async () => {
    orphaned({});
    await expect(enter('data', { isRequired: true })).rejects.toThrow('the bridge that ran it is gone');
    expect((await call('data')).before).toBe(
      'the bridge that ran it is gone; its last call was at 2026-11-25 10:00:00 UTC',
    );
    expect((await call('data')).before).toBeUndefined();
  });

  it.each([
    ['another program', { client: 'other 1' }],
    ['a bridge that lives', { owner: thisOwner() }],
    ['another name', { name: 'other' }],
    ['nothing that can be read', { calls: 'many' }],
  ])('says nothing of %s', async (_what, parts) => {
    orphaned(parts);
    expect((await call('data')).before).toBeUndefined();
  });
});

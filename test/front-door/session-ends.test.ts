// Every way in which a session ends, and what the next call of its name says: the reason, first, and that it is new.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
const firstLine = (result: CallToolResult): string => textOf(result).split('\n')[0] ?? '';
/** So that its first call is over by then. */
const LIFE_SECONDS = 4 * REACH_SECONDS;
const REASON = /: new and empty; the one before has ended: (.*)\]$/;

/** Why the session of this name has ended, as its next call says; fails where it says nothing. */
async function reasonOf(bridge: TestBridge, session: string): Promise<string> {
  const next = await bridge.call({ session, code: '"x" in globals()' });
  const [, reason] = REASON.exec(firstLine(next)) ?? [];
  if (reason === undefined) throw new Error(textOf(next));
  expect(textOf(next)).toMatch(/=> False$/);
  return reason;
}

type Recorded = {
  readonly handle: string;
  readonly name: string;
  readonly process: { readonly pid: number } | null;
};

/** What the state directory says of the session of this name. */
function recorded(stateDir: string, name: string): Recorded {
  const folder = join(stateDir, 'sessions');
  const records = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    // One of another test's may go between the two.
    .map((file) => readText(join(folder, file)) ?? 'null')
    .map((text) => JSON.parse(text) as Recorded | null);
  const found = records.find((record) => record?.name === name);
  if (found == null) throw new Error(`no record of ${name}`);
  return found;
}

/** Whether the state directory, which bridges of other tests have too, has no session of this name, or none yet: its bridge knows of its end then. */
function isForgotten({ stateDir }: TestBridge, name: string): boolean {
  try {
    recorded(stateDir, name);
    return false;
  } catch {
    return true;
  }
}

/** A session whose code is at work in a call that does not end by itself; `goesOn` ends the call, and gives what the next one says. */
async function occupied(bridge: TestBridge, session: string) {
  const ending = new AbortController();
  const code = 'import time; x = 1; runtime.progress(1, message="at work"); time.sleep(100)';
  let isGoing = false;
  // Before that it may be told that its sandbox is being set up.
  const onprogress = ({ message }: Progress) => {
    isGoing ||= message?.includes('at work') === true;
  };
  const call = bridge.call({ session, code, timeout: 100 }, { signal: ending.signal, onprogress });
  call.catch(() => {});
  await until(() => isGoing);
  const goesOn = async (): Promise<CallToolResult> => {
    ending.abort();
    await expect(call).rejects.toThrow();
    return await bridge.call({ session, code: 'x' });
  };
  return { goesOn };
}

describe('a session that its code has ended', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge({}, { env: { MCP_BRIDGE_SESSIONS: '20', MCP_BRIDGE_MEMORY: '192m' } });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it.each([
    ['by an exit', 'import os; os._exit(7)', 'its code has ended the interpreter, with exit code 7'],
    ['by a crash', 'import ctypes; ctypes.string_at(0)', 'its interpreter was ended by SIGSEGV'],
    [
      'by closing what tells of its end',
      'import os; os.closerange(3, 1000)',
      /^its (interpreter was ended by SIGKILL|code has ended the interpreter, with exit code \d+)$/,
    ],
  ])('says how its code has ended it: %s', async (session, code, reason) => {
    await bridge.call({ session, code: 'x = 1' });
    const last = await bridge.call({ session, code });
    expect(firstLine(last)).toMatch(/: call 2; it has ended with this call: its /);
    expect(await reasonOf(bridge, session)).toMatch(reason);
  });

  it('says that it took too much memory', async () => {
    const session = 'memory';
    await bridge.call({ session, code: 'x = 1' });
    const last = await bridge.call({ session, code: 'y = b"x" * 400_000_000', timeout: 60 });
    expect(textOf(last)).toMatch(/Memory limit .* exceeded|MemoryError/);
    // Where nothing but the sum is held to the limit, a single allocation is refused and nothing has ended.
    if (!textOf(last).includes('MemoryError'))
      expect(await reasonOf(bridge, session)).toMatch(/memory limit/);
  });

  it('by not ending when it is interrupted', async () => {
    const session = 'deaf';
    await bridge.call({ session, code: 'x = 1' });
    const code = `import time
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException: pass`;
    const last = await bridge.call({ session, code, timeout: 1 });
    expect(textOf(last)).toContain('[timeout]');
    expect(await reasonOf(bridge, session)).toBe(
      'its code did not end within 2 s after it was interrupted, and was killed',
    );
  });

  it('and refuses a call that requires it, which tells the reason too', async () => {
    const session = 'required';
    await bridge.call({ session, code: 'x = 1' });
    await bridge.call({ session, code: 'import os; os._exit(1)' });
    const refused = await bridge.call({ session, code: 'x', require_session: true });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain(
      "there is no session 'required': it has ended: its code has ended the interpreter, with exit code 1",
    );
    expect(await reasonOf(bridge, session)).toContain('exit code 1');
  });

  it.skipIf(engineUnderTest.kind !== 'local')('by a kill from outside', async () => {
    const session = 'killed';
    await bridge.call({ session, code: 'x = 1' });
    const { pid } = recorded(bridge.stateDir, session).process ?? { pid: 0 };
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, 'SIGKILL');
    await until(() => isForgotten(bridge, session));
    expect(await reasonOf(bridge, session)).toMatch(/^its container is gone: /);
  });
});

describe.concurrent('a session that its limits have ended', () => {
  it('because it was idle, or had lived for long', async () => {
    await using idle = await startBridge({}, { env: { MCP_BRIDGE_SESSION_IDLE: '1' } });
    await using old = await startBridge({}, { env: { MCP_BRIDGE_SESSION_LIFE: String(LIFE_SECONDS) } });
    await idle.call({ session: 'idle', code: 'x = 1' });
    await old.call({ session: 'old', code: 'x = 1; runtime.keep_running()' });
    // Whoever calls before its time is up has made it live anew.
    await until(() => isForgotten(idle, 'idle') && isForgotten(old, 'old'));
    expect(await reasonOf(idle, 'idle')).toBe('it was idle for 1 s');
    expect(await reasonOf(old, 'old')).toBe(`it had lived for ${LIFE_SECONDS} s`);
  });

  it('because another one needed its place, which takes that of the longest idle one', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_SESSIONS: '2' } });
    const busy = await occupied(bridge, 'busy');
    await bridge.call({ session: 'a', code: 'x = 1' });
    await bridge.call({ session: 'b', code: 'x = 1' });
    const reason = await reasonOf(bridge, 'a');
    expect(reason).toBe(
      'only 2 sessions may exist at once (MCP_BRIDGE_SESSIONS), and it was idle for longest',
    );
    const next = await busy.goesOn();
    expect(firstLine(next)).toMatch(/: call 2\]$/);
    expect(textOf(next)).toMatch(/=> 1$/);
  });

  it('but not while all are at work: then no other one begins', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_SESSIONS: '1' } });
    const busy = await occupied(bridge, 'alone');
    const refused = await bridge.call({ session: 'other', code: '1' });
    expect(textOf(refused)).toContain(
      'session: all 1 sessions (MCP_BRIDGE_SESSIONS sets the limit) are busy.',
    );
    expect(textOf(await busy.goesOn())).toMatch(/=> 1$/);
  });

  it('ends the one that was idle for longest where all of them held too much memory together', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_SESSION_MEMORY: '100m' } });
    const code = 'x = b"x" * 80_000_000';
    await bridge.call({ session: 'a', code });
    await bridge.call({ session: 'b', code });
    expect(await reasonOf(bridge, 'a')).toMatch(
      /^sessions held 1[6-9]\d MB together, more than 105 \(MCP_BRIDGE_SESSION_MEMORY\), and it was idle for longest$/,
    );
  });

  it('is offered nowhere that none may be', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_SESSIONS: '0' } });
    const { tools } = await bridge.client.listTools();
    expect(tools[0]?.inputSchema.properties).not.toHaveProperty('session');
    const refused = await bridge.call({ session: 'data', code: '1' });
    expect(textOf(refused)).toContain('session: sessions are switched off here (MCP_BRIDGE_SESSIONS is 0).');
  });
});

it('is told by the next bridge where its own has ended, once', async () => {
  const home = tempHome();
  const env = { MCP_BRIDGE_STATE_DIR: join(home, 'state') };
  const first = await startBridge({}, { env });
  await first.call({ session: 'data', code: 'x = 1' });
  await first[Symbol.asyncDispose]();
  await using second = await startBridge({}, { env });
  expect(await reasonOf(second, 'data')).toMatch(
    /^the bridge that ran it is gone; its last call was at .* UTC$/,
  );
  await until(() => readdirSync(join(env.MCP_BRIDGE_STATE_DIR, 'sessions')).length === 1);
});

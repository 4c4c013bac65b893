import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { isOnlyOurs } from '../../../src/base/files/only-ours.js';
import { buildOf, compareBuilds, greetingIn } from '../../../src/service/windows/greeting.js';
import {
  lockStart,
  removeLeftStarts,
  sharedFolder,
  sharedSocket,
  sharedSockets,
} from '../../../src/service/windows/place.js';
import { tempHome } from '../../support/start-bridge.js';

/** What happens right after a folder was looked at. Modules are loaded anew with it, and once more without it for the files that run afterwards. */
const meanwhile = vi.hoisted((): Array<() => void> => {
  vi.resetModules();
  return [];
});
afterAll(() => void vi.resetModules());
vi.mock('../../../src/base/files/only-ours.js', async (original) => {
  const real = await original<typeof import('../../../src/base/files/only-ours.js')>();
  const looked = (...asked: Parameters<typeof isOnlyOurs>) => {
    const isOurs = real.isOnlyOurs(...asked);
    if (basename(asked[0]) === 'mcp-sandbox-bridge') meanwhile.shift()?.();
    return isOurs;
  };
  return { ...real, isOnlyOurs: looked };
});

const PATH = '/usr/bin:/bin';

function runtimeFolder(): string {
  const folder = join(tempHome(), 'runtime');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

describe('the place of a shared bridge', () => {
  it('is the same for the same settings, and another for others', () => {
    const env = { PATH, HOME: '/home/ann', XDG_RUNTIME_DIR: runtimeFolder() };
    const socket = sharedSocket(env);
    expect(socket).toMatch(/\/runtime\/mcp-sandbox-bridge\/[0-9a-f]{14}\.sock$/);
    const same = [
      { TERM: 'xterm', HTTPS_PROXY: 'http://proxy', PWD: '/elsewhere' },
      { MCP_BRIDGE_LOG_LEVEL: 'debug', MCP_BRIDGE_SHARED: 'on' },
      { PATH: `/nonexistent:${PATH}` },
    ];
    for (const more of same) expect(sharedSocket({ ...env, ...more })).toBe(socket);
    const others = [
      { MCP_BRIDGE_TIMEOUT: '7' },
      { HOME: '/home/eve' },
      { DOCKER_HOST: 'tcp://elsewhere' },
      { NODE_EXTRA_CA_CERTS: '/ca.pem' },
      { XDG_STATE_HOME: '/state' },
    ];
    const sockets = others.map((more) => sharedSocket({ ...env, ...more }));
    expect(new Set([socket, ...sockets]).size).toBe(1 + others.length);
    expect(statSync(join(socket ?? '', '..')).mode & 0o777).toBe(0o700);
  });

  it('is below the folder for temporary files, with the user in its name, where there is no other', () => {
    expect(basename(sharedFolder({}, 4711))).toBe('mcp-sandbox-bridge-shared-4711');
    expect(basename(sharedFolder({ XDG_RUNTIME_DIR: 'relative' }, 4712))).toBe(
      'mcp-sandbox-bridge-shared-4712',
    );
    expect(basename(sharedFolder({ XDG_RUNTIME_DIR: '/nonexistent' }, 4713))).toBe(
      'mcp-sandbox-bridge-shared-4713',
    );
  });

  it('is nowhere that others own, may enter, or lead to by a link', () => {
    const runtime = runtimeFolder();
    const folder = join(runtime, 'mcp-sandbox-bridge');
    mkdirSync(folder, { mode: 0o700 });
    const env = { PATH, HOME: '/home/ann', XDG_RUNTIME_DIR: runtime };
    expect(sharedSocket(env)).toBeDefined();
    for (const mode of [0o750, 0o705, 0o777]) {
      chmodSync(folder, mode);
      expect(sharedSocket(env)).toBeUndefined();
      expect(sharedSockets(env)).toEqual([]);
    }
    const other = runtimeFolder();
    symlinkSync(folder, join(other, 'mcp-sandbox-bridge'));
    chmodSync(folder, 0o700);
    expect(sharedSocket({ ...env, XDG_RUNTIME_DIR: other })).toBeUndefined();
    expect(isOnlyOurs(folder, 4711)).toBe(false);
    expect(sharedSocket(env)).toBeDefined();
    // Whoever may write the folder above could put another one in its place.
    chmodSync(join(runtime, '..'), 0o777);
    expect(sharedFolder(env).startsWith(runtime)).toBe(false);
    expect(isOnlyOurs(folder)).toBe(false);
  });

  it('has no sockets where the last bridge takes the folder along while somebody looks', () => {
    const env = { PATH, HOME: '/home/ann', XDG_RUNTIME_DIR: runtimeFolder() };
    const socket = sharedSocket(env) ?? '';
    writeFileSync(socket, '');
    expect(sharedSockets(env)).toEqual([socket]);
    meanwhile.push(() => rmSync(dirname(socket), { recursive: true }));
    expect(sharedSockets(env)).toEqual([]);
    expect(meanwhile).toEqual([]);
    // What others have left in it has gone with it.
    removeLeftStarts(dirname(socket));
  });
});

describe('the lock of a start', () => {
  it('is held by one at a time', () => {
    const socket = join(runtimeFolder(), 'a.sock');
    const lock = lockStart(socket);
    expect(lock).toBeDefined();
    expect(lockStart(socket)).toBeUndefined();
    lock?.[Symbol.dispose]();
    const again = lockStart(socket);
    expect(again).toBeDefined();
    again?.[Symbol.dispose]();
  });

  it('goes with the files beside it where its holder has ended, and stays where it has not', () => {
    const folder = runtimeFolder();
    const lock = lockStart(join(folder, 'held.sock'));
    for (const name of ['a.sock.starts', 'b.sock.starts.999999999', 'c.sock.starts.999999999.aside'])
      writeFileSync(join(folder, name), '999999999 of a dead holder');
    removeLeftStarts(folder);
    expect(readdirSync(folder)).toEqual(['held.sock.starts']);
    // While its holder lives nobody else gets it, and once that has ended anybody does.
    writeFileSync(join(folder, 'a.sock.starts'), `${process.ppid} of a living holder`);
    expect(lockStart(join(folder, 'a.sock'))).toBeUndefined();
    writeFileSync(join(folder, 'a.sock.starts'), '999999999 of a dead holder');
    const taken = lockStart(join(folder, 'a.sock'));
    expect(taken).toBeDefined();
    taken?.[Symbol.dispose]();
    lock?.[Symbol.dispose]();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('builds', () => {
  const build = (version: string, builtAtMs = 0) => ({ version, builtAtMs });

  it('are compared by version, then by when they were written', () => {
    expect(compareBuilds(build('0.10.0'), build('0.9.9'))).toBeGreaterThan(0);
    expect(compareBuilds(build('1.0.0'), build('1.0.1'))).toBeLessThan(0);
    expect(compareBuilds(build('1.0.0', 2), build('1.0.0', 1))).toBeGreaterThan(0);
    expect(compareBuilds(build('1.0.0', 1), build('1.0.0', 1))).toBe(0);
  });

  it('of a file that is not there were written never', () => {
    expect(buildOf('1.0.0', '/nonexistent')).toEqual(build('1.0.0'));
  });
});

describe('a greeting', () => {
  const whole = {
    ask: 'join',
    build: { version: '1.0.0', builtAtMs: 1 },
    pid: 7,
    cwd: '/',
    env: { A: 'b' },
    isTerminal: false,
    isBack: false,
    isCommandLine: false,
  };

  it('is read where it is whole', () => {
    expect(greetingIn(whole)).toEqual(whole);
    expect(greetingIn({ ask: 'status' })).toEqual({ ask: 'status' });
  });

  it.each([
    [undefined],
    [{}],
    [{ ...whole, ask: 'enter' }],
    [{ ...whole, env: { A: 1 } }],
    [{ ...whole, build: {} }],
    [{ ...whole, cwd: undefined }],
  ])('is none as %j', (message) => {
    expect(greetingIn(message)).toBeUndefined();
  });
});

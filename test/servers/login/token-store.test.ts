import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOCK_HELD_AT_MOST_MS } from '../../../src/base/files/file-lock.js';
import type { Login } from '../../../src/servers/login/token-store.js';
import { HANGS_MS, pause } from '../../support/time.js';
import { stateDir, store, useTokenFolder } from './token-folder.js';

const URL_A = 'https://a.example/mcp';
const login: Login = {
  name: 'a',
  url: URL_A,
  issuer: 'https://auth.example',
  metadata: {
    issuer: 'https://auth.example',
    authorization_endpoint: 'https://auth.example/auth',
    token_endpoint: 'https://auth.example/token',
    response_types_supported: ['code'],
  },
  client: { client_id: 'c' },
  scopes: ['read'],
  accessToken: 'access-token-1',
  refreshToken: 'refresh-token-1',
  expiresAtMs: 2,
  obtainedAtMs: 1,
};
const { signal } = new AbortController();

useTokenFolder();

it('keeps a login for its server, however the address is spelled, and for no other', () => {
  expect(store.read(URL_A)).toEqual({ state: 'absent' });
  store.write(login);
  expect(store.read('HTTPS://A.example:443/mcp#x')).toEqual({ state: 'kept', login });
  for (const other of ['https://a.example/', 'https://a.example/mcp2', 'https://a.example/mcp?x=1'])
    expect(store.read(other)).toEqual({ state: 'absent' });
  store.forget(URL_A);
  expect(store.read(URL_A)).toEqual({ state: 'absent' });
});

describe('a file that is not used', () => {
  const spoil: Record<string, (file: string) => void> = {
    'can be read or written by other users': (file) => chmodSync(file, 0o640),
    'is damaged': (file) => writeFileSync(file, '{"name": "a", "accessToken": "acc'),
    'belongs to another server': (file) => {
      store.write({ ...login, url: 'https://b.example/mcp' });
      writeFileSync(file, JSON.stringify({ ...login, url: 'https://b.example/mcp' }));
    },
    'is not a regular file': (file) => {
      rmSync(file);
      mkdirSync(file, { mode: 0o700 });
    },
    'is a symbolic link': (file) => {
      rmSync(file);
      symlinkSync('/etc/passwd', file);
    },
  };
  it.each(Object.keys(spoil))('%s', (reason) => {
    store.write(login);
    const file = store.fileOf(URL_A);
    spoil[reason]?.(file);
    expect(store.read(URL_A)).toEqual({ state: 'unusable', file, reason: expect.stringContaining(reason) });
    // It costs one login.
    rmSync(file, { recursive: true });
    store.write(login);
    expect(store.read(URL_A)).toMatchObject({ state: 'kept' });
  });

  it('is replaced by a login, as a link too', () => {
    mkdirSync(join(stateDir, 'tokens'));
    const target = join(stateDir, 'other');
    writeFileSync(target, 'mine');
    symlinkSync(target, store.fileOf(URL_A));
    store.write(login);
    expect(store.read(URL_A)).toMatchObject({ state: 'kept' });
  });
});

it('a folder that others could look into is closed', () => {
  const folder = join(stateDir, 'tokens');
  mkdirSync(folder, { mode: 0o777 });
  chmodSync(folder, 0o777);
  store.write(login);
  expect(readdirSync(folder)).toHaveLength(1);
});

it('lists all of them, the unusable too', () => {
  store.write({ ...login, name: 'z', url: 'https://z.example/' });
  store.write(login);
  writeFileSync(store.fileOf('https://x.example/'), '', { mode: 0o600 });
  writeFileSync(join(stateDir, 'tokens', 'notes.txt'), '');
  expect(store.list().map((one) => (one.state === 'kept' ? one.login.name : one.reason))).toEqual([
    'is damaged',
    'a',
    'z',
  ]);
});

it('a folder that cannot be written is named, before a token is spent', async () => {
  writeFileSync(join(stateDir, 'tokens'), 'a file');
  const complaint = { code: 'E_STATE', message: expect.stringContaining(join(stateDir, 'tokens')) };
  expect(() => store.write(login)).toThrow(expect.objectContaining(complaint));
  await expect(store.lock(URL_A, signal)).rejects.toMatchObject(complaint);
});

describe('the lock', () => {
  it('has one holder at a time, in the order of nobody', async () => {
    let holders = 0;
    let most = 0;
    const hold = async () => {
      using _lock = await store.lock(URL_A, signal);
      most = Math.max(most, ++holders);
      await pause(5);
      holders--;
    };
    await Promise.all([hold(), hold(), hold(), hold()]);
    expect(most).toBe(1);
    expect(readdirSync(join(stateDir, 'tokens'))).toEqual([]);
  });

  it('of one who died is broken when it is old, and not before', async () => {
    const dead = await store.lock(URL_A, signal);
    const waiting = store.lock(URL_A, AbortSignal.timeout(100));
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    const then = new Date(Date.now() - LOCK_HELD_AT_MOST_MS - 1_000);
    utimesSync(`${store.fileOf(URL_A)}.lock`, then, then);
    const next = await store.lock(URL_A, AbortSignal.timeout(HANGS_MS));
    // The dead one comes back: the lock is not its own any more.
    dead[Symbol.dispose]();
    await expect(store.lock(URL_A, AbortSignal.timeout(100))).rejects.toMatchObject({ name: 'AbortError' });
    next[Symbol.dispose]();
    (await store.lock(URL_A, AbortSignal.timeout(HANGS_MS)))[Symbol.dispose]();
    expect(readdirSync(join(stateDir, 'tokens'))).toEqual([]);
  });
});

// A configuration that changes all the time, such as one with a token that is replaced every hour: nothing of the
// servers that were replaced is kept, and what is secret now stays hidden.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { DownstreamSpec, RemoteSpec } from '../../src/hosts/downstream-spec.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import { eventually, NEVER } from '../support/time.js';
import { hostile, spec } from './hostile.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const redactor = new Redactor();
const pool = new DownstreamPool({
  specs: [],
  hostEnv: process.env,
  extraEnvNames: [],
  depth: 0,
  observer: () => {},
  redactor,
});
afterEach(() => pool.adopt([]));

const token = (server: string, turn: number) => `token-of-${server}-${turn}-end`;
const withToken = (name: string, value: string): DownstreamSpec => ({
  ...spec(name, 'never-started', []),
  env: { API_TOKEN: value },
});
const isHidden = (value: string) =>
  !redactor.redactValues(JSON.stringify(`so ${value} says`)).includes(value);

it('tokens of before are forgotten, and none that is in use', () => {
  const shared = 'token-that-two-servers-have';
  pool.adopt([withToken('a', shared), withToken('b', shared)]);
  for (let turn = 0; turn < 10; turn++)
    pool.adopt([withToken('a', token('a', turn)), withToken('b', shared)]);
  expect(isHidden(token('a', 9))).toBe(true);
  expect(isHidden(shared)).toBe(true);
  expect(isHidden(token('a', 0))).toBe(false);
});

it('a value that the environment has too stays hidden', () => {
  redactor.addSecrets({ OUR_TOKEN: 'token-of-the-environment' });
  pool.adopt([withToken('c', 'token-of-the-environment')]);
  for (let turn = 0; turn < 10; turn++) pool.adopt([withToken('c', token('c', turn))]);
  expect(isHidden('token-of-the-environment')).toBe(true);
});

it('headers of a remote server are forgotten too', () => {
  const remote = (value: string): RemoteSpec => {
    const { command: _, args: __, env: ___, cwd: ____, ...rest } = spec('r', '', []);
    return {
      ...rest,
      transport: 'http',
      url: 'http://127.0.0.1:1/',
      headers: { Authorization: `Bearer ${value}` },
    } as unknown as RemoteSpec;
  };
  for (let turn = 0; turn < 10; turn++) pool.adopt([remote(token('r', turn))]);
  expect(isHidden(`Bearer ${token('r', 9)}`)).toBe(true);
  expect(isHidden(`Bearer ${token('r', 0)}`)).toBe(false);
});

it('a server that was replaced is let go of, also one that ran', async () => {
  const replaced: Array<WeakRef<DownstreamSpec>> = [];
  const adopt = async (turn: number, isStarted: boolean) => {
    const made = { ...hostile(), name: 's', env: { TURN: String(turn) } };
    replaced.push(new WeakRef(made));
    pool.adopt([made]);
    if (isStarted) await pool.get('s', NEVER);
  };
  for (let turn = 0; turn < 8; turn++) await adopt(turn, turn > 0 && turn < 7);
  pool.adopt([]);
  const gone = () => {
    collectGarbage();
    return replaced.every((one) => one.deref() === undefined);
  };
  await eventually(gone);
  expect(replaced.map((one) => one.deref() !== undefined)).toEqual(Array.from({ length: 8 }, () => false));
});

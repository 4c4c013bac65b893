// How long the engine lets a container live whatever happens: no run may meet that clock before its own.

import { expect, it } from 'vitest';
import { type DownstreamSpec, longestStartSeconds } from '../../src/hosts/downstream-spec.js';
import { type LaunchContext, type LaunchSetUp, specOn } from '../../src/sandbox/launch/launch-set-up.js';
import { settingsOf } from '../support/plain-kind.js';

const pad = {
  image: { image: 'i' },
  files: { harnessDir: '/h', seccompFile: '/s' },
} as unknown as LaunchSetUp;
const server = (startTimeoutMs?: number) => ({ name: 's', startTimeoutMs }) as DownstreamSpec;

function clockWith(env: Readonly<Record<string, string>>, freezeSeconds?: () => number): number {
  const context = { settings: settingsOf(env), instance: 'x', observer: () => {} };
  const all: LaunchContext = freezeSeconds === undefined ? context : { ...context, freezeSeconds };
  return specOn(pad, all, 'n').deadManSeconds;
}

it('counts the longest wait, the longest run, and what stands still meanwhile', () => {
  const cold = { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_MAX_TIMEOUT: '100' };
  expect(clockWith(cold)).toBe(100 + 30);
  expect(clockWith(cold, () => 45)).toBe(100 + 30 + 45);
  expect(clockWith({ MCP_BRIDGE_WARM: '1', MCP_BRIDGE_MAX_TIMEOUT: '100' }, () => 45)).toBe(
    600 + 100 + 30 + 45,
  );
});

it.each([
  ['no server', [], 0],
  ['servers of which nothing is said', [server(), server()], 30],
  ['a quick one', [server(5_000)], 30],
  ['one that may take long', [server(), server(120_500), server(60_000)], 121],
])('opening %s', (_, servers, seconds) => {
  expect(longestStartSeconds(servers)).toBe(seconds);
});

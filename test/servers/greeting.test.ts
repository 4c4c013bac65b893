// Which era a server is taken for: one that is slow to start, one that refuses the first question although it has the
// version, one that has no version in common. And what a known one is asked: nothing that it need not be.

import { afterEach, describe, expect, it } from 'vitest';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { ErasInMemory } from '../../src/servers/connection/greet.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import type { DownstreamTimes } from '../../src/servers/server/connect.js';
import { HANGS_MS, NEVER, nodeStarts, until } from '../support/time.js';
import { call } from './hostile.js';
import { LEGACY, MODERN, scripted } from './scripted-server.js';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each[Symbol.asyncDispose]()));
});

async function get(entry: DownstreamSpec, eras = new ErasInMemory(), times: Partial<DownstreamTimes> = {}) {
  const parts = { hostEnv: process.env, extraEnvNames: [], depth: 0, observer: () => {} };
  const pool = new DownstreamPool({ ...parts, specs: [entry], redactor: new Redactor(), eras, times });
  open.push(pool);
  const server = await pool.get(entry.name, NEVER);
  expect(await call(server, 'go')).toMatchObject({ content: [{ text: 'ok' }] });
  return eras.of(entry);
}

const BOTH = { ...LEGACY, 'server/discover': MODERN['server/discover'] };
const REST = ['tools/list', 'tools/call'];

/** Whatever a start takes is no reason to lose patience. */
const PATIENT = { connectTimeoutMs: 2 * HANGS_MS, probeMs: HANGS_MS };

it('a server that needs long to start is taken for what it is, and greeted in the newer way where it knows both', async () => {
  const cases = [
    { on: MODERN, known: { era: 'modern' }, greeting: ['server/discover'] },
    { on: BOTH, known: { era: 'modern' }, greeting: ['server/discover'] },
    { on: LEGACY, known: { era: 'legacy', version: '1' }, greeting: ['server/discover', 'initialize'] },
  ];
  // What it prints while it starts, as `npx` does, says nothing of its era. All at once, since most of it is waiting.
  const banners = [{}, { banner: 'npm warn something' }];
  await Promise.all(
    cases.flatMap(({ on, known, greeting }) =>
      banners.map(async (banner) => {
        const { entry, asked } = scripted({ on, startsIn: 2_000, ...banner });
        expect(await get(entry, undefined, PATIENT)).toEqual(known);
        expect(asked()).toEqual([...greeting, ...REST]);
      }),
    ),
  );
});

it.each([
  ['modern', MODERN, { era: 'modern' }],
  ['of both eras', BOTH, { era: 'modern' }],
  ['of 2025', LEGACY, { era: 'legacy', version: '1' }],
] as const)(
  'one that starts after all patience is over works and is known afterwards: %s',
  async (_what, on, known) => {
    const { entry, asked } = scripted({ on, startsIn: 500 + nodeStarts(50) });
    const eras = new ErasInMemory();
    await get(entry, eras, { probeMs: 500 });
    expect(asked().slice(0, 2)).toEqual(['server/discover', 'initialize']);
    await until(() => eras.of(entry)?.era === known.era);
  },
);

it('a server that cancels its greeting is told of at once, with its reason', async () => {
  const params = `params: { requestId: id, reason: 'not today' }`;
  const cancels = `console.log(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', ${params} }))`;
  const { entry } = scripted({ on: { ...LEGACY, initialize: cancels } });
  await expect(get(entry, undefined, PATIENT)).rejects.toThrow('The server has cancelled it: not today');
});

it('a server with little time to start is greeted in the old way after half of it', async () => {
  const { entry } = scripted({ on: LEGACY, onOther: '' });
  expect(await get({ ...entry, startTimeoutMs: Math.max(4_000, nodeStarts(100)) })).toEqual({
    era: 'legacy',
    version: '1',
  });
});

it('a server of 2025 that is known as such is asked nothing more', async () => {
  const { entry, asked } = scripted({ on: LEGACY });
  const eras = new ErasInMemory();
  eras.learn(entry, { era: 'legacy', version: '1' });
  expect(await get(entry, eras)).toEqual({ era: 'legacy', version: '1' });
  expect(asked()).toEqual(['initialize', ...REST]);
});

it('one that was known for 2025 and has become modern may take its time', async () => {
  const { entry, counted } = scripted({ on: MODERN, startsIn: 2_000 });
  const eras = new ErasInMemory();
  eras.learn(entry, { era: 'legacy', version: '1' });
  expect(await get(entry, eras, PATIENT)).toEqual({ era: 'modern' });
  // By the same process.
  expect(counted()).toEqual(['initialize 1', 'server/discover 2', 'tools/list 3', 'tools/call 4']);
});

it('one that ends when it refuses is started once more', async () => {
  const on = {
    ...MODERN,
    initialize: `${MODERN.initialize}; process.stdout.write('', () => process.exit(1))`,
  };
  const { entry, counted } = scripted({ on });
  const eras = new ErasInMemory();
  eras.learn(entry, { era: 'legacy', version: '1' });
  expect(await get(entry, eras)).toEqual({ era: 'modern' });
  expect(counted()).toEqual(['initialize 1', 'server/discover 1', 'tools/list 2', 'tools/call 3']);
});

it('one that reads no more when it refuses is started once more, though it has not ended', async () => {
  const { entry } = scripted({ on: MODERN });
  const refusal = { jsonrpc: '2.0', id: 0, error: { code: -32602, message: 'Not so.' } };
  const once = `read greeting; exec 0<&-; echo '${JSON.stringify(refusal)}'; sleep 600`;
  const script = `if mkdir "$LOG.refused" 2>/dev/null; then ${once}; else exec "$0" "$@"; fi`;
  const refusing = { ...entry, command: '/bin/sh', args: ['-c', script, entry.command, ...entry.args] };
  const eras = new ErasInMemory();
  eras.learn(refusing, { era: 'legacy', version: '1' });
  expect(await get(refusing, eras)).toEqual({ era: 'modern' });
});

it('one that was known for modern and hangs now is greeted in the old way at its next start', async () => {
  const { entry } = scripted({ on: LEGACY, onOther: '' });
  const eras = new ErasInMemory();
  eras.learn(entry, { era: 'modern' });
  await expect(get(entry, eras, { connectTimeoutMs: 1_500 })).rejects.toThrow('was not ready within');
  expect(await get(entry, eras, { probeMs: 500 })).toEqual({ era: 'legacy', version: '1' });
});

describe('a server that refuses the version of the first request', () => {
  const refusing = (supported: readonly string[], until = 'true') =>
    `if (${until}) refuse(-32022, 'Unsupported protocol version', { supported: ${JSON.stringify(supported)} }); else answer(${MODERN['server/discover'].slice('answer('.length, -1)})`;
  const discover = (code: string, on: object = MODERN) => ({ ...on, 'server/discover': code });

  it('is asked again where it names the version, and never with initialize', async () => {
    const { entry, asked } = scripted({
      on: discover(refusing(['2026-07-28', '2027-01-01'], 'asked === 1')),
    });
    expect(await get(entry)).toEqual({ era: 'modern' });
    expect(asked()).toEqual(['server/discover', 'server/discover', ...REST]);
  });

  it('is greeted with initialize where it names versions of 2025', async () => {
    const { entry, asked } = scripted({ on: discover(refusing(['2025-06-18']), LEGACY) });
    expect(await get(entry)).toEqual({ era: 'legacy', version: '1' });
    expect(asked()).toEqual(['server/discover', 'initialize', ...REST]);
  });

  it('is greeted with initialize where it goes on refusing, and has a version of 2025 too', async () => {
    const { entry, asked } = scripted({ on: discover(refusing(['2026-07-28', '2025-06-18']), LEGACY) });
    expect(await get(entry)).toEqual({ era: 'legacy', version: '1' });
    expect(asked()).toEqual(['server/discover', 'server/discover', 'initialize', ...REST]);
  });

  it.each([
    [['2027-01-01', '2028-01-01'], 1, 'in versions that this bridge does not know: 2027-01-01, 2028-01-01'],
    [['2026-07-28'], 2, 'it refuses MCP 2026-07-28, although it names it among its versions: 2026-07-28'],
  ])('cannot be used where it has no other: %j', async (supported, times, message) => {
    const { entry, asked } = scripted({ on: discover(refusing(supported)) });
    await expect(get(entry)).rejects.toThrow(message);
    expect(asked()).toEqual(Array(times).fill('server/discover'));
  });
});

describe('a server whose own discovery names other versions', () => {
  const discovering = (versions: readonly string[]) => ({
    ...LEGACY,
    'server/discover': `answer({ resultType: 'complete', supportedVersions: ${JSON.stringify(versions)}, capabilities: {} })`,
  });

  it.each([[['2025-06-18', '2027-01-01']], [['1.0', 'x']], [[]]])(
    'is greeted with initialize where that may be understood: %j',
    async (versions) => {
      const { entry, asked } = scripted({ on: discovering(versions) });
      expect(await get(entry)).toEqual({ era: 'legacy', version: '1' });
      expect(asked()).toEqual(['server/discover', 'initialize', ...REST]);
    },
  );

  it('cannot be used where all of them are newer', async () => {
    const { entry, asked } = scripted({ on: discovering(['2027-01-01']) });
    await expect(get(entry)).rejects.toThrow('in versions that this bridge does not know: 2027-01-01');
    expect(asked()).toEqual(['server/discover']);
  });
});

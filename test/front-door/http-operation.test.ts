// A bridge over HTTP that runs code, as whoever operates it sees it: readiness goes and comes with the engine, and of two
// instances behind one address one is replaced while clients run code without pause.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { engineUnderTest } from '../support/engine-under-test.js';
import { HttpInstances } from '../support/http-instances.js';
import { bridgeEnv } from '../support/start-bridge.js';
import { TcpBalancer } from '../support/tcp-balancer.js';
import { HANGS_MS, PATIENTLY, pause, until } from '../support/time.js';

const MODERN = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
let instances: HttpInstances;
let token: string;
beforeEach(() => {
  instances = new HttpInstances((dir) => bridgeEnv(dir, { MCP_BRIDGE_WARM: '0' }));
  token = instances.command('token', 'create', 'team');
});
afterEach(() => instances[Symbol.asyncDispose]());

async function clientAt(url: URL): Promise<Client> {
  const client = new Client({ name: 'client', version: '1' }, MODERN);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}

const run = async (client: Client, code: string) =>
  (await client.callTool({ name: 'run_python', arguments: { code } }, { timeout: HANGS_MS }))
    .structuredContent as {
    readonly status: string;
    readonly result?: unknown;
  };

it.skipIf(engineUnderTest.kind !== 'local')(
  'is ready while its engine is there: not when it has gone, and again when it is back',
  async () => {
    const dead = join(instances.dir, 'dead');
    const bin = join(instances.dir, 'bin');
    mkdirSync(bin);
    const [name = 'podman'] = engineUnderTest.client;
    const real = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    const wrapper = `#!/bin/sh\nif [ -e "${dead}" ]; then echo "the engine is dead" >&2; exit 125; fi\nexec "${real}" "$@"\n`;
    writeFileSync(join(bin, name), wrapper, { mode: 0o755 });
    const bridge = instances.start(['serve', '--http', '127.0.0.1:0'], {
      PATH: `${bin}:${process.env['PATH']}`,
    });
    const url = await bridge.url();
    const readiness = async () => (await fetch(new URL('/readyz', url))).status;
    await expect.poll(readiness, PATIENTLY).toBe(200);
    const client = await clientAt(url);
    expect(await run(client, '6 * 7')).toMatchObject({ result: 42 });
    writeFileSync(dead, '');
    expect(await run(client, '6 * 7')).toMatchObject({ status: 'error' });
    await expect.poll(readiness, PATIENTLY).toBe(503);
    expect(bridge.stderr()).toContain('no sandbox can be started');
    rmSync(dead);
    await expect.poll(readiness, { ...PATIENTLY, interval: 500 }).toBe(200);
    expect(bridge.stderr()).toContain('sandboxes can be started again');
    expect(await run(client, '6 * 7')).toMatchObject({ result: 42 });
    await client.close();
  },
);

it('loses no run when one of two instances is replaced', async () => {
  await using balancer = new TcpBalancer();
  const address = await balancer.listen();
  const started = async () => {
    const instance = instances.start(['serve', '--http', '127.0.0.1:0']);
    await balancer.add(Number((await instance.url()).port));
    return instance;
  };
  const all = [await started(), await started()];
  const [old] = all;
  const wrong: unknown[] = [];
  let answered = 0;
  let isOver = false;
  // Two keep their connections, and the third has each call over a new one, which leads to the next instance.
  const calling = [0, 1, 2].map(async (at) => {
    let client: Client | undefined;
    for (let call = 0; !isOver; call++) {
      try {
        client ??= await clientAt(address);
        const given = await run(client, `import time; time.sleep(0.2); ${at} * 1000 + ${call}`);
        if (given.result === at * 1000 + call) answered++;
        else wrong.push(given);
      } catch {
        // Refused before anything began.
        await pause(100);
      }
      if (at < 2) continue;
      await client?.close();
      client = undefined;
    }
    await client?.close();
  });
  const begunAt = ({ stderr }: (typeof all)[number]) => stderr().split('"run.started"').length - 1;
  const allHaveBegun = () => until(() => all.every((one) => begunAt(one) > 0) || wrong.length > 0);
  await allHaveBegun();
  all.push(await started());
  old?.child.kill('SIGTERM');
  expect(await old?.exit).toBe(0);
  await allHaveBegun();
  isOver = true;
  await Promise.all(calling);
  expect(wrong).toEqual([]);
  // Each run that was begun was answered.
  expect(all.reduce((sum, each) => sum + begunAt(each), 0)).toBe(answered);
});

// Two instances behind one address, of which one is replaced while clients of 2026-07-28 call without pause. A call that was
// begun is answered; one that was not begun is refused, and its client tries again.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HttpInstances } from '../support/http-instances.js';
import { TcpBalancer } from '../support/tcp-balancer.js';
import { pause, until } from '../support/time.js';

const CLIENTS = 4;
let instances: HttpInstances;
let balancer: TcpBalancer;
beforeEach(() => {
  instances = new HttpInstances();
  balancer = new TcpBalancer();
});
afterEach(async () => {
  await balancer[Symbol.asyncDispose]();
  await instances[Symbol.asyncDispose]();
});

it('loses no call that it has begun, and begins none twice', async () => {
  const token = instances.command('token', 'create', 'team', '--servers', 'box');
  const begun = join(instances.dir, 'begun');
  writeFileSync(begun, '');
  const address = await balancer.listen();
  const started = async () => {
    const instance = instances.start(['serve', '--http', '127.0.0.1:0']);
    await balancer.add(Number((await instance.url()).port));
    return instance;
  };
  const [old, staying] = [await started(), await started()];

  const answered: string[] = [];
  const refused: string[] = [];
  const wrong: string[] = [];
  let isOver = false;
  const calling = Array.from({ length: CLIENTS }, async (_, at) => {
    const client = new Client(
      { name: `client ${at}`, version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    for (let call = 0; !isOver; call++) {
      const id = `${at}-${call}`;
      const script = `echo ${id} >> "${begun}"; sleep 0.1; echo ${id}`;
      try {
        const result = await client.callTool({
          name: 'execute',
          arguments: { command: 'sh', args: ['-c', script] },
        });
        const { stdout } = result.structuredContent as { readonly stdout: string };
        if (stdout === `${id}\n`) answered.push(id);
        else wrong.push(JSON.stringify(result));
      } catch (thrown) {
        refused.push(id);
        await pause(50);
        if (refused.length > 5_000) throw thrown;
      }
    }
    await client.close();
  });
  const untilAnswered = (count: number) => until(() => answered.length >= count || wrong.length > 0);
  await untilAnswered(3 * CLIENTS);
  const replacement = await started();
  const before = answered.length;
  old.child.kill('SIGTERM');
  expect(await old.exit).toBe(0);
  await untilAnswered(Math.max(before, answered.length) + 5 * CLIENTS);
  isOver = true;
  await Promise.all(calling);

  expect(wrong).toEqual([]);
  const ran = readFileSync(begun, 'utf8').trim().split('\n').sort();
  expect(ran).toEqual([...answered].sort());
  // All three took part, so that the replacement was one.
  for (const { stderr } of [old, staying, replacement]) expect(stderr()).toContain('run.started');
});

// The bridge in a cluster that has kubernetes-sigs/agent-sandbox: its pods wait in pools of the cluster and are claimed, each for one
// sandbox. `npm run test:cluster` runs it; elsewhere it is passed over.

import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { engineUnderTest } from '../support/engine-under-test.js';
import { MAIN, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, until } from '../support/time.js';
import { answerOf, kubectl, live, longRun } from './pods.js';

const KINDS = 'sandboxclaims,sandboxwarmpools,sandboxtemplates,sandboxes';
/** For one sandbox that the bridge keeps ready. */
const POOLS = 2;
type Item = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly status?: { readonly readyReplicas?: number; readonly sandbox?: { readonly name: string } };
};
const items = (kinds = KINDS): readonly Item[] => JSON.parse(kubectl(['get', kinds, '--output=json'])).items;
const poolsReady = (): number =>
  items('sandboxwarmpools').filter(({ status }) => (status?.readyReplicas ?? 0) > 0).length;
/** Pods that a claim has taken. */
const claimed = (): readonly string[] =>
  items('sandboxclaims').flatMap(({ status }) => status?.sandbox?.name ?? []);

describe.runIf(engineUnderTest.kind === 'kubernetes' && process.env['CLUSTER_AGENT_SANDBOX'] !== undefined)(
  'a cluster with agent-sandbox',
  () => {
    let bridge: TestBridge | undefined;
    /** A bridge whose pools have a pod each, and whose sandbox that waits for a call is a claimed one. */
    const started = async (): Promise<TestBridge> => {
      bridge = await startBridge({});
      // Each start makes one until there are enough, and none of these is claimed.
      while (items('sandboxwarmpools').length < POOLS) {
        const answer = await answerOf(bridge, '1');
        expect(answer.status, JSON.stringify(answer)).toBe('success');
      }
      await claimedAhead(bridge);
      await until(() => poolsReady() === POOLS);
      return bridge;
    };
    /** Has the sandbox that waits for a call be a claimed one: where a pool was empty, the bridge has made a pod itself. */
    const claimedAhead = async (of: TestBridge): Promise<void> => {
      await until(() => poolsReady() === POOLS);
      expect(await answerOf(of, '1')).toMatchObject({ status: 'success' });
      await until(() => claimed().length > 0);
    };
    afterEach(async () => {
      await bridge?.[Symbol.asyncDispose]();
      bridge = undefined;
      expect(
        await eventually(() => live().length === 0 && items().length === 0),
        JSON.stringify(items()),
      ).toBe(true);
    });

    it('is used where the account may, which doctor says', () => {
      const { environment } = engineUnderTest;
      const told = execFileSync(process.execPath, [MAIN, 'doctor', '--json'], {
        encoding: 'utf8',
        env: { ...process.env, ...environment },
      });
      const { findings } = JSON.parse(told) as { findings: { name: string; detail: string }[] };
      expect(findings.find(({ name }) => name === 'engine')?.detail).toContain('with pools of agent-sandbox');
    });

    it('a run has a claimed pod of its own, whose network was closed before its first instruction', async () => {
      const look = `
import os, socket
try:
    socket.create_connection(("10.96.0.1", 443), timeout=2).close()
    reached = True
except OSError:
    reached = False
seen = {"reached": reached, "token": os.path.exists("/var/run/secrets"), "left": os.listdir("/tmp")}
open("/tmp/mark", "w").close()
seen`;
      const of = await started();
      const [first] = claimed();
      for (let fresh = 0; fresh < 3; fresh++)
        expect(await answerOf(of, look)).toMatchObject({
          result: { reached: false, token: false, left: [] },
        });
      // Nobody gets it again.
      await until(() => items('sandboxes').every(({ metadata }) => metadata.name !== first));
      await claimedAhead(of);
    });

    it('two sandboxes that run at once are different users', async () => {
      const of = await started();
      const look = 'import os, time\ntime.sleep(3)\nos.getuid()';
      const both = await Promise.all([of.run(look), of.run(look)]);
      const users = both.map(({ result }) => Number(result));
      expect(new Set(users).size, JSON.stringify(both)).toBe(2);
      expect(users.every((user) => user > 20_000)).toBe(true);
    });

    it('a claimed pod that is deleted costs its run alone, and is not taken for the one that comes after it', async () => {
      const of = await started();
      const [pod = ''] = claimed();
      const ended = of.run('import time\ntime.sleep(300)', { timeout: 100 });
      // Another one waits for the next call when this one runs.
      await until(() => claimed().length === 2);
      kubectl(['delete', 'pod', pod, '--grace-period=1', '--wait=false']);
      expect(await ended).toMatchObject({
        status: 'error',
        errorType: 'E_SANDBOX_LOST',
        error: expect.stringContaining(`its pod ${pod} was deleted`),
      });
      expect(await answerOf(of, '1 + 1')).toMatchObject({ status: 'success', result: 2 });
    });

    it('a bridge that is killed leaves no claim, and the next one removes its pools', async () => {
      const of = await started();
      const { ended } = await longRun(of);
      process.kill(of.pid, 'SIGKILL');
      expect(await ended).toBe('gone');
      await until(() => items('sandboxclaims').length === 0);
      const pools = items('sandboxwarmpools').map(({ metadata }) => metadata.name);
      expect(pools).toHaveLength(POOLS);
      bridge = await startBridge({}, { env: { MCP_BRIDGE_WARM: '0' } });
      expect(await answerOf(bridge, '1')).toMatchObject({ status: 'success' });
      await until(() => items('sandboxwarmpools,sandboxtemplates').length === 0);
    });
  },
);

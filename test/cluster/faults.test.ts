// What breaks in a cluster, and what is told then: rights, room and images that are missing, and pods, bridges, the API server and a
// node that are lost. Each leaves no pod behind, no call without an end, and names what it was and the next step. It breaks the cluster
// under test, so `npm run test:cluster` runs it last; CLUSTER_KILLS says how many bridges are killed.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { killApiServer, killNode, restartApiServer, slowEtcd } from '../../scripts/cluster/breaking.mjs';
import { imageOf } from '../support/built-image.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually, HANGS_MS, pause, until } from '../support/time.js';
import { answerOf, kubectl, live, longRun, pods } from './pods.js';

const KILLS = Number(process.env['CLUSTER_KILLS'] ?? 20);
/** Of each five seconds etcd stands still for three: a disk that has far too much to do. */
const ETCD_STANDS_MS = 3_000;
const ETCD_EVERY_MS = 5_000;
/** Bridges that are killed at once. */
const AT_ONCE = 4;
const LASTS = { timeout: (KILLS / AT_ONCE + 2) * HANGS_MS };

describe.runIf(engineUnderTest.kind === 'kubernetes')('where a cluster breaks', () => {
  let bridge: TestBridge | undefined;
  const started = async (env: Record<string, string> = {}): Promise<TestBridge> => {
    bridge = await startBridge({}, { env: { MCP_BRIDGE_WARM: '0', ...env } });
    return bridge;
  };
  /** All that a call is told. */
  const toldBy = async (of: TestBridge): Promise<string> => {
    const { status, errorType, error, remedy } = await answerOf(of, '1');
    return `${status} ${errorType} ${error} ${remedy}`;
  };
  afterEach(async () => {
    await bridge?.[Symbol.asyncDispose]();
    bridge = undefined;
    expect(await eventually(() => live().length === 0), JSON.stringify(live())).toBe(true);
  });

  describe('a namespace without room', () => {
    beforeAll(() => {
      kubectl(['create', 'namespace', 'full']);
      kubectl(['--namespace=full', 'create', 'quota', 'none', '--hard=pods=0']);
      return () => void kubectl(['delete', 'namespace', 'full', '--wait=false']);
    });

    it('is told with its quota', async () => {
      expect(await toldBy(await started({ MCP_BRIDGE_ENGINE_URL: 'kubernetes:///full' }))).toMatch(
        /^error E_\w+ .*exceeded quota: none.*Raise the quota of the namespace/,
      );
    });
  });

  it('an image that no node has is told by its name', async () => {
    expect(await toldBy(await started({ MCP_BRIDGE_IMAGE: 'localhost/nowhere:1' }))).toMatch(
      /^error E_\w+ .*localhost\/nowhere:1.*Give the nodes the image/,
    );
  });

  describe('an account', () => {
    const rules: Readonly<Record<string, readonly object[]>> = {
      nobody: [],
      // All of the role but the exec.
      looker: [
        { apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'delete'] },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'list', 'delete'] },
        { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['create', 'get'] },
        { apiGroups: [''], resources: ['services'], verbs: ['get'] },
      ],
    };
    const metadata = (name: string) => ({ name, namespace: 'default' });
    beforeAll(() => {
      const group = 'rbac.authorization.k8s.io';
      const objects = Object.entries(rules).flatMap(([name, granted]) => [
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(name) },
        { apiVersion: `${group}/v1`, kind: 'Role', metadata: metadata(name), rules: granted },
        {
          apiVersion: `${group}/v1`,
          kind: 'RoleBinding',
          metadata: metadata(name),
          roleRef: { apiGroup: group, kind: 'Role', name },
          subjects: [{ kind: 'ServiceAccount', ...metadata(name) }],
        },
      ]);
      for (const object of objects) kubectl(['create', '--filename=-'], object);
      return () => {
        for (const { kind, metadata } of objects) kubectl(['delete', kind, metadata.name]);
      };
    });
    /** The kubeconfig of an account, by a token of its own. */
    const configOf = (account: string): string => {
      const config = JSON.parse(kubectl(['config', 'view', '--raw', '--output=json']));
      config.users[0].user = { token: kubectl(['create', 'token', account]).trim() };
      const file = join(tempHome(), 'kubeconfig');
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
      return file;
    };

    it('without a right is told so, with where the role is', async () => {
      expect(await toldBy(await started({ KUBECONFIG: configOf('nobody') }))).toMatch(
        /^error E_\w+ .*pods is forbidden.*role of docs\/kubernetes\.md/,
      );
    });

    it('without the right to exec is told so, with where the role is', async () => {
      // An account that may not look at nodes does not know which images they have.
      const env = { KUBECONFIG: configOf('looker'), MCP_BRIDGE_IMAGE: imageOf('base') };
      expect(await toldBy(await started(env))).toMatch(
        /^error E_\w+ .*the exec was refused: .*pods\/exec.*role of docs\/kubernetes\.md/,
      );
    });
  });

  it('a pod that is evicted costs its run alone, and the reason is told', async () => {
    const of = await started();
    const { ended, pod } = await longRun(of);
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod, namespace: 'default' },
    };
    kubectl(['create', '--raw', `/api/v1/namespaces/default/pods/${pod}/eviction`, '--filename=-'], eviction);
    expect(await ended).toMatchObject({
      status: 'error',
      errorType: 'E_SANDBOX_LOST',
      error: expect.stringMatching(new RegExp(`its pod ${pod} was (?:evicted|deleted)`)),
      remedy: expect.stringMatching(/check what is done|send it again/),
    });
    expect(await answerOf(of, '1 + 1')).toMatchObject({ status: 'success', result: 2 });
  });

  it('bridges that are killed at any moment leave no pod behind', LASTS, async () => {
    const killed = async (): Promise<void> => {
      const { client, pid, run } = await startBridge({}, { env: { MCP_BRIDGE_WARM: '0' } });
      const ended = run('import time\ntime.sleep(300)', { timeout: 100 }).catch(() => 'gone');
      await Promise.race([ended, pause(Math.random() * 5_000)]);
      process.kill(pid, 'SIGKILL');
      expect(await ended).toBe('gone');
      await client.close();
    };
    for (let done = 0; done < KILLS; done += AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, KILLS - done) }, killed));
    const left = pods().map(({ metadata }) => metadata.name);
    expect(await answerOf(await started(), '1')).toMatchObject({ status: 'success' });
    await until(() => pods().every(({ metadata }) => !left.includes(metadata.name)));
    console.log(`${KILLS} bridges killed; the next bridge removed ${left.length} pods`);
  });

  it('an etcd that is slow makes calls slower, and no more', async () => {
    const of = await started();
    const { ended } = await longRun(of);
    const quicken = slowEtcd(ETCD_STANDS_MS, ETCD_EVERY_MS);
    try {
      for (let calls = 0; calls < 3; calls++)
        expect(await answerOf(of, '1 + 1')).toMatchObject({ status: 'success', result: 2 });
    } finally {
      quicken();
    }
    // Nothing of it is a reason to give up a run.
    expect(await Promise.race([ended, 'still under way'])).toBe('still under way');
  });

  it('an API server that is started anew costs the runs on it, and nothing of it stays', async () => {
    const of = await started();
    const { ended } = await longRun(of);
    await killApiServer();
    const lost = await ended;
    await restartApiServer();
    expect(lost).toMatchObject({
      status: 'error',
      errorType: 'E_SANDBOX_LOST',
      error: expect.stringMatching(/the cluster does not answer/),
    });
    await until(async () => (await answerOf(of, '1 + 1')).result === 2);
  });

  // The last one: that node does not come back.
  it('a node that is gone costs the runs on it, and new ones go elsewhere', async () => {
    const of = await started();
    const { ended, pod } = await longRun(of);
    const node = pods().find(({ metadata }) => metadata.name === pod)?.spec.nodeName ?? '';
    expect(node).toMatch(/^node/);
    await killNode(node);
    expect(await ended).toMatchObject({
      status: 'error',
      errorType: 'E_SANDBOX_LOST',
      error: expect.stringContaining(node),
    });
    expect(await answerOf(of, '1 + 1')).toMatchObject({ status: 'success', result: 2 });
    // Nobody else ends what lay on it.
    kubectl(['delete', 'node', node]);
  });
});

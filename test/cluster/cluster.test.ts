// The bridge with a real cluster as its engine: the walls as code in a pod meets them, the network's from the first instruction on, and
// what becomes of a pod when the bridge, or the pod itself, is killed. `npm run test:cluster` runs it; elsewhere it is passed over.

import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cutOff } from '../../scripts/cluster/breaking.mjs';
import { engineUnderTest } from '../support/engine-under-test.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, until } from '../support/time.js';
import { answerOf, kubectl, live, longRun, pods } from './pods.js';

const POLICY = 'mcp-sandbox-bridge-no-network';

/** The API server as a service and itself, and a kubelet. */
const REACH = `
import socket
reached = []
for place in [("10.96.0.1", 443), ("10.77.0.1", 6443), ("10.77.0.11", 10250)]:
    try:
        socket.create_connection(place, timeout=2).close()
        reached.append(place[0])
    except OSError:
        pass
reached
`;

describe.runIf(engineUnderTest.kind === 'kubernetes')('a cluster', () => {
  let bridge: TestBridge | undefined;
  const started = async (env: Record<string, string> = {}): Promise<TestBridge> => {
    bridge = await startBridge({}, { env });
    return bridge;
  };
  beforeAll(() => {
    kubectl([
      'label',
      '--overwrite',
      'namespace',
      'default',
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
  });
  afterEach(async () => {
    await bridge?.[Symbol.asyncDispose]();
    bridge = undefined;
    expect(await eventually(() => live().length === 0)).toBe(true);
  });

  it('code runs in a namespace that admits the Restricted standard alone', async () => {
    expect(await answerOf(await started(), '6 * 7')).toMatchObject({ status: 'success', result: 42 });
    const ofRoot = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'of-root' },
      spec: { containers: [{ name: 'a', image: 'localhost/x', securityContext: { runAsUser: 0 } }] },
    };
    expect(() => kubectl(['create', '--filename=-'], ofRoot)).toThrow(/violates PodSecurity/);
  });

  it('nothing of the cluster is reached, from the first instruction of a fresh pod on', async () => {
    const of = await started({ MCP_BRIDGE_WARM: '0' });
    for (let fresh = 0; fresh < 3; fresh++)
      expect(await answerOf(of, REACH)).toMatchObject({ status: 'success', result: [] });
  });

  it('code has no capability, no account, no name of the cluster’s and nothing to write to but memory', async () => {
    const looks = `
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
def writes(path):
    try:
        open(path + "/probe", "w").close()
        return True
    except OSError:
        return False
{
    "capabilities": [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "privileges": [status["NoNewPrivs"].strip(), status["Seccomp"].strip()],
    "token": os.path.exists("/var/run/secrets"),
    "cluster": [name for name in os.environ if "KUBERNETES" in name],
    "root": os.getuid() == 0 or os.getgid() == 0,
    "writable": [path for path in ("/", "/etc", "/ipc", "/usr", "/var", "/root", "/tmp", "/dev/shm") if writes(path)],
}`;
    const { result } = await answerOf(await started(), looks);
    expect(result).toEqual({
      capabilities: [0, 0, 0, 0, 0],
      privileges: ['1', '2'],
      token: false,
      cluster: [],
      root: false,
      writable: ['/tmp', '/dev/shm'],
    });
  });

  it.each([
    ['', 'made'],
    ['?seccomp=mcp-sandbox-bridge/strict.json', 'refused'],
  ])('pods have the filter that the address of the cluster names behind it: %s', async (query, told) => {
    const of = await started({ MCP_BRIDGE_ENGINE_URL: `kubernetes:///default${query}` });
    // A call that runtimes allow, and the profile of the bridge does not.
    const looks = `
import os
try:
    os.close(os.memfd_create("a"))
    told = "made"
except OSError:
    told = "refused"
told`;
    expect(await answerOf(of, looks)).toMatchObject({ status: 'success', result: told });
  });

  it('a profile that a node has not is told, and no code runs', async () => {
    const of = await started({ MCP_BRIDGE_ENGINE_URL: 'kubernetes:///default?seccomp=nowhere.json' });
    const { status, error } = await answerOf(of, '1');
    expect([status, error]).toEqual(['error', expect.stringMatching(/nowhere\.json/)]);
  });

  it('nothing that code prints gets into a log of the node, and a deleted pod costs its run alone', async () => {
    const of = await started({ MCP_BRIDGE_WARM: '0' });
    const { ended, pod } = await longRun(of);
    expect(kubectl(['logs', pod])).toBe('');
    kubectl(['delete', 'pod', pod, '--grace-period=1', '--wait=false']);
    expect(await ended).toMatchObject({ status: 'error', errorType: 'E_SANDBOX_LOST' });
    expect(await answerOf(of, '1 + 1')).toMatchObject({ status: 'success', result: 2 });
  });

  it('no pod runs on when the bridge is killed, and the next bridge removes what is left of it', async () => {
    const of = await started({ MCP_BRIDGE_WARM: '0' });
    const { ended } = await longRun(of);
    process.kill(of.pid, 'SIGKILL');
    expect(await ended).toBe('gone');
    await until(() => pods().every(({ status }) => status.phase !== 'Running'));
    const left = pods().map(({ metadata }) => metadata.name);
    expect(await answerOf(await started(), '1')).toMatchObject({ status: 'success' });
    await until(() => pods().every(({ metadata }) => !left.includes(metadata.name)));
  });

  describe('where policies hold nothing', () => {
    const open = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: POLICY },
      spec: {
        podSelector: { matchLabels: { 'app.kubernetes.io/managed-by': 'mcp-sandbox-bridge' } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{}],
        egress: [{}],
      },
    };
    beforeAll(() => {
      kubectl(['replace', '--force', '--filename=-'], open);
      return () => void kubectl(['delete', 'networkpolicy', POLICY]);
    });

    it('no code runs', async () => {
      const { status, error, remedy } = await answerOf(await started(), '1');
      expect([status, `${error} ${remedy}`]).toEqual([
        'error',
        expect.stringMatching(/its network is open: .* is reached.*MCP_BRIDGE_ACCEPT_UNENFORCED=network/),
      ]);
    });

    it('no code runs on a node from which nothing is reached, so that nothing is shown there', async () => {
      const [broken = '', sound = ''] = kubectl(['get', 'nodes', '--output=name']).trim().split('\n');
      const mend = cutOff(broken.replace('node/', ''), '10.96.0.1');
      try {
        kubectl(['cordon', broken]);
        const of = await started({ MCP_BRIDGE_WARM: '0' });
        expect(await answerOf(of, '1')).toMatchObject({ error: expect.stringMatching(/network is open/) });
        kubectl(['uncordon', broken]);
        kubectl(['cordon', sound]);
        expect(await answerOf(of, '1')).toMatchObject({
          status: 'error',
          error: expect.stringMatching(/on the node node\d without .* does not reach/),
        });
      } finally {
        kubectl(['uncordon', broken, sound]);
        mend();
      }
    });

    it('code runs where that was accepted by name', async () => {
      const of = await started({ MCP_BRIDGE_ACCEPT_UNENFORCED: 'network' });
      expect(await answerOf(of, REACH)).toMatchObject({ result: ['10.96.0.1', '10.77.0.1', '10.77.0.11'] });
    });
  });
});

// The chart in a real cluster: judged by helm and by the API server, installed, called by a real client through its Service, replaced
// while runs are under way, and removed. `npm run test:cluster` runs it; elsewhere it is passed over.

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killPod } from '../../scripts/cluster/breaking.mjs';
import { openWay } from '../../scripts/cluster/way-in.mjs';
import { visit } from '../support/browser-request.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import { removeFolder } from '../support/remove-folder.js';
import { MAIN, type Payload } from '../support/start-bridge.js';
import { eventually, HANGS_MS, pause, until } from '../support/time.js';

const CHART = 'packaging/helm/mcp-sandbox-bridge';
const NAMESPACE = 'chart-test';
const NAME = 'mcp-sandbox-bridge';
/** The image of the bridge as it is built, which the nodes have; undefined where none was made for them. */
const IMAGE = process.env['TEST_BRIDGE_IMAGE'];
/** How often the replica at work is killed: a tenth of the kills of a bridge. */
const KILLS = Math.ceil(Number(process.env['CLUSTER_KILLS'] ?? 20) / 10);
/** Each takes until another one is ready. */
const LASTS = { timeout: (KILLS + 2) * HANGS_MS };
const SELECTOR = `app.kubernetes.io/instance=${NAME}`;
/** What an ingress adds: the way to it was encrypted. */
const ENCRYPTED = { 'x-forwarded-proto': 'https' };
/** Definition of the kind that Prometheus' operator brings, as far as the chart looks. */
const SERVICE_MONITORS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'servicemonitors.monitoring.coreos.com' },
  spec: {
    group: 'monitoring.coreos.com',
    names: { kind: 'ServiceMonitor', plural: 'servicemonitors', singular: 'servicemonitor' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const run = (program: string, args: readonly string[], input?: string): string =>
  execFileSync(program, args, {
    encoding: 'utf8',
    ...(input === undefined ? {} : { input }),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
const kubectl = (args: readonly string[], input?: string): string =>
  run('kubectl', ['--request-timeout=60s', `--namespace=${NAMESPACE}`, ...args], input);
const podsOf = (): readonly string[] =>
  kubectl(['get', 'pods', `--selector=${SELECTOR}`, '--output=name'])
    .trim()
    .split('\n')
    .filter(Boolean);
/** Kills a replica, and has another one come in its place. Its processes are killed before the cluster takes its network away. */
function end(pod: string): void {
  const uid = kubectl(['get', 'pod', pod, '--output=jsonpath={.metadata.uid}']);
  expect(killPod(uid)).toBeGreaterThan(0);
  kubectl(['delete', 'pod', pod, '--grace-period=0', '--force']);
}
/** Pods to which the Service leads, as a text. */
const addresses = (): string =>
  kubectl(['get', 'endpointslices', '--output=jsonpath={.items[*].endpoints[*].targetRef.name}']);
/** All of the namespace that somebody has made, as kind and name. */
const contents = (): readonly string[] =>
  kubectl([
    'get',
    'pods,deployments,services,secrets,configmaps,networkpolicies,serviceaccounts,roles,rolebindings,leases,poddisruptionbudgets',
    '--output=name',
  ])
    .trim()
    .split('\n')
    .filter((name) => !/^(?:configmap\/kube-root-ca.crt|serviceaccount\/default)$/.test(name))
    .sort();

describe.runIf(engineUnderTest.kind === 'kubernetes' && IMAGE !== undefined)('the chart in a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  const values = join(folder, 'values.json');
  const tokens = join(folder, 'http/tokens.json');
  let token = '';
  let way: Awaited<ReturnType<typeof openWay>> | undefined;
  const url = (): string => `http://127.0.0.1:${way?.port}/mcp`;
  let before: readonly string[] = [];
  const helm = (verb: string, ...flags: string[]): string[] => [
    verb,
    NAME,
    CHART,
    `--namespace=${NAMESPACE}`,
    `--values=${values}`,
    `--set-file=tokens.file=${tokens}`,
    ...flags,
  ];
  const waiting = ['--wait', `--timeout=${(2 * HANGS_MS) / 1000}s`];

  beforeAll(() => {
    token = execFileSync(process.execPath, [MAIN, 'token', 'create', 'ann', '--servers', '*'], {
      encoding: 'utf8',
      env: { ...process.env, MCP_BRIDGE_STATE_DIR: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const colon = IMAGE?.lastIndexOf(':') ?? 0;
    const image = { name: IMAGE?.slice(0, colon), tag: IMAGE?.slice(colon + 1), pullPolicy: 'Never' };
    const sandboxes = { image: engineUnderTest.environment['MCP_BRIDGE_IMAGE'] ?? BASE_IMAGE, warm: 0 };
    // Connections come by way of the nodes, whose addresses are a proxy's here.
    const proxies = ['10.0.0.0/8'];
    const settings = { MCP_BRIDGE_APPROVE: 'destructive', MCP_CATALOG_PATH: '/config/servers.json' };
    writeFileSync(values, JSON.stringify({ image, sandboxes, proxies, settings, config: 'servers' }));
    kubectl(['create', 'namespace', NAMESPACE]);
    const files = {
      'servers.json': JSON.stringify({
        mcpServers: { desk: { command: 'node', args: ['/config/desk.mjs', '/tmp/calls.log', 'desk'] } },
      }),
      'desk.mjs': readFileSync('test/fixtures/approved-server.mjs', 'utf8'),
    };
    kubectl(
      ['create', '--filename=-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'servers' }, data: files }),
    );
    kubectl(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
    before = contents();
  });
  afterAll(async () => {
    await way?.close();
    kubectl(['delete', 'crd', '--ignore-not-found', SERVICE_MONITORS.metadata.name]);
    kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
    await removeFolder(folder);
  });

  it('helm finds nothing to object to, and the API server takes every object of it', () => {
    expect(run('helm', ['lint', '--strict', CHART, `--set-file=tokens.file=${tokens}`])).toContain(
      '0 chart(s) failed',
    );
    const everything = [
      '--set=replicas=3,autoscaling.enabled=true,sandboxes.readNodes=true,config=settings,state.claim=kept',
      '--set=tls.secret=tls,metrics.secret=metrics,sandboxes.runtimeClass=gvisor,sandboxes.namespace=default',
      '--set=networkPolicy.from[0].podSelector.matchLabels.app=ingress,hosts={mcp.example.com},secrets={ours}',
    ];
    for (const flags of [[], everything]) {
      const made = run('helm', helm('template', ...flags));
      const judged = run('kubectl', ['apply', '--dry-run=server', '--filename=-'], made);
      expect(judged.match(/\(server dry run\)/g)?.length).toBe(made.match(/^kind: /gm)?.length);
    }
    expect(run('helm', helm('template', ...everything))).toMatch(
      /HorizontalPodAutoscaler[\s\S]+|PodDisruptionBudget/,
    );
    expect(() => run('helm', ['template', NAME, CHART])).toThrow(/nobody could call the bridge/);
  });

  it('is installed, and a client reaches a run through its Service', async () => {
    run('helm', helm('install', ...waiting));
    way = await openWay(kubectl(['get', 'service', NAME, '--output=jsonpath={.spec.clusterIP}']), 8808);
    await using client = await clientOf(url(), token);
    expect(await client.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });
  });

  it('watches for Prometheus only where the cluster knows how', () => {
    kubectl(['create', 'secret', 'generic', 'metrics', '--from-literal=token=0123456789abcdef01234567']);
    const made = (): string =>
      run('helm', [...helm('upgrade', '--set=metrics.secret=metrics', '--dry-run=server')]);
    expect(made()).not.toContain('kind: ServiceMonitor');
    kubectl(['create', '--filename=-'], JSON.stringify(SERVICE_MONITORS));
    kubectl(['wait', '--for=condition=Established', `crd/${SERVICE_MONITORS.metadata.name}`]);
    expect(made()).toContain('kind: ServiceMonitor');
    kubectl(['delete', 'crd', SERVICE_MONITORS.metadata.name]);
    kubectl(['delete', 'secret', 'metrics']);
  });

  it('reaches a session of one replica whichever is asked, and a principal has one replica at a time', async () => {
    await using client = await clientOf(url(), token);
    expect(await client.run('kept = 41', { session: 'a' })).toMatchObject({ status: 'success' });
    // Each request comes on a connection of its own, and half of them to the replica that has no such session.
    for (let asked = 0; asked < 12; asked++)
      expect(await client.run('kept + 1', { session: 'a' })).toMatchObject({ status: 'success', result: 42 });
    const leases = JSON.parse(kubectl(['get', 'leases', '--output=json'])).items as Lease[];
    expect(leases.map(({ spec }) => `pod/${spec.holderIdentity}`)).toEqual([
      expect.stringMatching(podsOf().join('|')),
    ]);
    const logs = podsOf().map((pod) => kubectl(['logs', pod, '--container=bridge']));
    // Both were asked, and one has run all of it.
    expect(logs.map((log) => /"http.request".+"tools\/call"/.test(log))).toEqual([true, true]);
    expect(logs.filter((log) => log.includes('"run.started"')).length).toBe(1);
  });

  it('has a question of a run answered at a replica that does not hold it, and its run begun there, too', async () => {
    const [lease] = JSON.parse(kubectl(['get', 'leases', '--output=json'])).items as Lease[];
    const holder = `pod/${lease?.spec.holderIdentity}`;
    const other = podsOf().find((pod) => pod !== holder) ?? '';
    const wayTo = (pod: string): ReturnType<typeof openWay> =>
      openWay(kubectl(['get', pod, '--output=jsonpath={.status.podIP}']), 8808);
    const [toHolder, toOther] = await Promise.all([wayTo(holder), wayTo(other)]);
    try {
      for (const [asked, answered] of [
        [toHolder, toOther],
        [toOther, toHolder],
        [toOther, toOther],
      ] as const) {
        const questions: string[] = [];
        // A message with a result is an answer of the client's.
        const portOf = (body: string): number => (/"result":/.test(body) ? answered : asked).port;
        await using client = await clientOf(url(), token, {
          portOf,
          onQuestion: (message) => questions.push(message),
        });
        const answer = await client.run('await mcp_desk.erase(id=1)', { servers: ['desk'] });
        expect(answer).toMatchObject({ status: 'success', result: 'did erase' });
        expect(questions).toEqual([expect.stringContaining("Server 'desk', tool 'erase'")]);
      }
      // One replica has made all of these calls.
      const calls = [holder, other].map((pod) =>
        kubectl(['exec', pod, '--container=bridge', '--', 'sh', '-c', 'cat /tmp/calls.log || true']),
      );
      expect(calls.map((text) => text.match(/^erase /gm)?.length ?? 0)).toEqual([3, 0]);
    } finally {
      await toHolder.close();
      await toOther.close();
    }
  });

  it('shows what its principals have run on the page of a replica, through a port of its pod', async () => {
    const [lease] = JSON.parse(kubectl(['get', 'leases', '--output=json'])).items as Lease[];
    const pod = `pod/${lease?.spec.holderIdentity}`;
    const forward = spawn('kubectl', [`--namespace=${NAMESPACE}`, 'port-forward', pod, ':8808'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = await once(createInterface(forward.stdout), 'line');
      const [origin = ''] = /127\.0\.0\.1:\d+/.exec(line) ?? [];
      const words = ['mcp-sandbox-bridge', 'ui', '--no-browser', '--service', `http://${origin}`];
      const link = kubectl(['exec', pod, '--container=bridge', '--', ...words]);
      const { data } = await visit(/http:\S+/.exec(link)?.[0] ?? '');
      expect(await data('runs')).toContainEqual(expect.objectContaining({ client: 'chart-test 1' }));
    } finally {
      forward.kill();
      await once(forward, 'exit');
    }
  });

  it('has another replica take over from one that is gone, and says what was lost with it', async () => {
    await using client = await clientOf(url(), token);
    expect(await client.run('kept = 41', { session: 'b' })).toMatchObject({ status: 'success' });
    const [lease] = JSON.parse(kubectl(['get', 'leases', '--output=json'])).items as Lease[];
    const gone = lease?.spec.holderIdentity ?? '';
    end(gone);
    // Until the Service leads nobody to it: a request that is just on its way there is lost with its connection.
    await until(() => !addresses().includes(gone), 'the Service to lead elsewhere');
    // The session of MCP has gone with it, which a client learns by 404, and opens another.
    let told = '';
    await until(async () => {
      told = await client.run('kept').then(({ status }) => status, String);
      return !told.includes('fetch failed');
    }, 'a replica that answers');
    expect(told).toMatch(/no such session|initialize|404|lost|replica/i);
    await until(async () => {
      const next = await clientOf(url(), token).catch(() => undefined);
      const answer = await next?.run('6 * 7').catch(() => undefined);
      await next?.[Symbol.asyncDispose]();
      return answer?.result === 42;
    });
    kubectl(['rollout', 'status', `deployment/${NAME}`]);
  });

  it(
    'is killed under load again and again, and each call has an answer or the word that it is lost',
    LASTS,
    async () => {
      let isOver = false;
      const ends: string[] = [];
      const callers = Array.from({ length: CALLERS }, async () => {
        while (!isOver) ends.push(await endOf(url(), token));
      });
      const succeed = async (more: number): Promise<void> => {
        const before = ends.filter((end) => end === 'success').length;
        if (await eventually(() => ends.filter((end) => end === 'success').length >= before + more)) return;
        isOver = true;
        throw new Error(`no ${more} runs succeeded; the ends so far: ${count(ends)}`);
      };
      for (let killed = 0; killed < KILLS; killed++) {
        await succeed(2);
        const [lease] = JSON.parse(kubectl(['get', 'leases', '--output=json'])).items as Lease[];
        const holder = lease?.spec.holderIdentity ?? '';
        end(holder);
        // A Deployment whose replicas are all killed at once serves nobody, whatever they are.
        kubectl([
          'rollout',
          'status',
          `deployment/${NAME}`,
          `--timeout=${HANGS_MS / 1000}s`,
          '--request-timeout=0',
        ]);
      }
      await succeed(CALLERS + 1);
      isOver = true;
      await Promise.all(callers);
      kubectl(['rollout', 'status', `deployment/${NAME}`]);
      console.log(`${KILLS} replicas killed: ${count(ends)}`);
      expect(ends.filter((end) => !TOLD.has(end))).toEqual([]);
    },
  );

  it('is replaced while runs are under way, and none is lost', async () => {
    const old = podsOf();
    let isOver = false;
    const answers: Payload[] = [];
    // Each goes on until the other bridge has answered it.
    const callers = [0, 1].map(async (caller) => {
      for (let count = 0; !isOver; count++)
        answers.push(await answered(url(), token, `import time\ntime.sleep(2)\n${caller * 1000 + count}`));
    });
    await until(() => answers.length > 1, 'the first answers');
    await promisify(execFile)('helm', helm('upgrade', '--set=podAnnotations.round=second', ...waiting));
    await until(() => !podsOf().some((pod) => old.includes(pod)), 'the end of the first replicas');
    const atEnd = answers.length;
    await until(() => answers.length > atEnd + 2, 'answers of the second replicas');
    isOver = true;
    await Promise.all(callers);
    expect(answers.filter(({ status }) => status !== 'success')).toEqual([]);
  });

  it('is removed, and with the one command of the document nothing of it is left', async () => {
    run('helm', ['uninstall', NAME, `--namespace=${NAMESPACE}`, ...waiting]);
    await until(() => podsOf().length === 0, 'the end of all replicas');
    const document = readFileSync('docs/kubernetes.md', 'utf8');
    const [, words = ''] = /kubectl --namespace sandboxes (delete .+)/.exec(document) ?? [];
    kubectl(words.split(' '));
    expect(contents()).toEqual(before);
    expect(
      run('kubectl', ['get', 'clusterroles,clusterrolebindings', `--selector=${SELECTOR}`, '--output=name']),
    ).toBe('');
    expect(
      run('kubectl', [
        '--namespace=default',
        'get',
        'roles,rolebindings',
        `--selector=${SELECTOR}`,
        '--output=name',
      ]),
    ).toBe('');
  });
});

const CALLERS = 3;
/** Ends of a call of which a client knows what it is to do. A connection that ends is told by the client's own machine. */
const TOLD: ReadonlySet<string> = new Set(['success', 'told that it is lost', 'the connection has ended']);

const count = (ends: readonly string[]): string =>
  [...new Set(ends)].map((end) => `${ends.filter((each) => each === end).length} ${end}`).join(', ');

/** How one run ended, by a client that waits no longer than whatever hangs. */
async function endOf(url: string, token: string): Promise<string> {
  try {
    const { status, summary, errorType, error } = await answered(url, token, 'import time\ntime.sleep(1)\n1');
    if (status === 'success') return status;
    if (errorType !== undefined) return `${errorType}: ${error}`;
    // A stream that ends is whole for fetch, where the request asked for the end of its connection, also after keepalives.
    if (/^(?:: keepalive\s*)*$/.test(String(summary))) return 'the connection has ended';
    return /lost with it|no such session/.test(String(summary)) ? 'told that it is lost' : String(summary);
  } catch (thrown) {
    return Object(thrown).name === 'TimeoutError' ? 'hung' : 'the connection has ended';
  }
}

const BASE_IMAGE = 'localhost/mcp-sandbox-bridge/python:0.1.0';

type Lease = { readonly spec: { readonly holderIdentity: string } };

/** The first call of a new bridge may be told to come again, since the image is looked at: no code has run. */
const isSettingUp = ({ errorType }: Payload): boolean => errorType === 'E_SETTING_UP';

type CallerOfRuns = AsyncDisposable & {
  readonly client: Client;
  readonly run: (code: string, more?: object) => Promise<Payload>;
};

/** By whom each request is taken, and who hears of each question, all of which are allowed. */
type Ways = {
  readonly portOf: (body: string) => number;
  readonly onQuestion: (message: string) => void;
};

async function clientOf(url: string, token: string, ways?: Ways): Promise<CallerOfRuns> {
  const capabilities = ways === undefined ? {} : { elicitation: {} };
  const client = new Client({ name: 'chart-test', version: '1' }, { capabilities });
  if (ways !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      ways.onQuestion(params.message);
      // Whoever answers sooner is taken for a host without a screen.
      await pause(1_000);
      return { action: 'accept', content: { decision: 'once' } };
    });
  const headers = { authorization: `Bearer ${token}`, ...ENCRYPTED };
  // Each request has a connection of its own, and so comes to any replica.
  const each: typeof fetch = (to, init) => {
    const own = new Headers(init?.headers);
    own.set('connection', 'close');
    const place = new URL(String(to));
    if (ways !== undefined) place.port = String(ways.portOf(String(init?.body ?? '')));
    return fetch(place, { ...init, headers: own });
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: each,
  });
  await client.connect(transport);
  return {
    client,
    run: async (code, more = {}) => {
      const call = { name: 'run_python', arguments: { code, ...more } };
      for (;;) {
        const { structuredContent } = await client.callTool(call, undefined, { timeout: HANGS_MS });
        const answer = structuredContent as Payload;
        if (!isSettingUp(answer)) return answer;
      }
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The answer to a call without a session, on a connection of its own, asked again where a bridge says that it did nothing. */
async function answered(url: string, token: string, code: string): Promise<Payload> {
  for (;;) {
    const answer = await fetch(url, {
      method: 'POST',
      signal: AbortSignal.timeout(HANGS_MS),
      headers: {
        ...ENCRYPTED,
        authorization: `Bearer ${token}`,
        connection: 'close',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'run_python', arguments: { code } },
      }),
    });
    const text = await answer.text();
    if (answer.status === 503) {
      await pause(1000 * Number(answer.headers.get('retry-after') ?? 1));
      continue;
    }
    const message = [...text.matchAll(/^data: ?(\{.+)$/gm)]
      .map(([, data = '']) => JSON.parse(data))
      .find(({ id }) => id === 1);
    const given: Payload = message?.result?.structuredContent ?? { status: 'lost', summary: text };
    if (!isSettingUp(given)) return given;
  }
}

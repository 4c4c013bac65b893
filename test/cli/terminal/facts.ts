// Made-up facts of the outputs that are kept: long enough that they do not fit 80 columns as they are.

import type { Finding } from '../../../src/cli/doctor/examination.js';
import type { runsText } from '../../../src/cli/kept/runs.js';
import type { ListedSession } from '../../../src/cli/kept/sessions.js';
import type { ProbeReport } from '../../../src/cli/probe/report.js';
import type { snippetsText } from '../../../src/cli/run/snippets.js';
import type { loginsText } from '../../../src/cli/servers/login.js';
import type { Tested } from '../../../src/cli/servers/policy-test.js';
import type { ServerTrouble } from '../../../src/cli/servers/server-trouble.js';
import type { ServerChange } from '../../../src/cli/servers/servers-refresh.js';
import type { ListedToken } from '../../../src/cli/servers/token.js';
import type { Discovery } from '../../../src/hosts/discovery/discover.js';
import type { Question } from '../../../src/policy/approvals/question.js';
import type { SurveyedFile } from '../../../src/run/artifacts/kept-files.js';
import type { LoginLine } from '../../../src/run/audit/audit-line.js';
import { SessionFiles } from '../../../src/run/sessions/session-file.js';
import type { ServingBridge } from '../../../src/service/endpoint/serving-record.js';
import type { SharedStatus } from '../../../src/service/windows/greeting.js';
import type { Refreshed } from '../../../src/tenant/refresh.js';

export const NOW_MS = Date.UTC(2026, 0, 2, 12);
const HANDLE = '0123456789abcdef0123456789abcdef';

export const FINDINGS: readonly Finding[] = [
  { name: 'settings', status: 'ok', detail: 'all variables are understood' },
  {
    name: 'engine',
    status: 'ok',
    detail:
      'podman 5.4.2 at /usr/bin/podman, rootless, cgroup v2, overlay, runc 1.1.15, seccomp profile of our own',
  },
  {
    name: 'image',
    status: 'warn',
    detail: 'localhost/mcp-sandbox-bridge/base:0.1.0-0123456789ab is older than its recipe, by 40 days',
    remedy: 'Build it again: `mcp-sandbox-bridge image build`. What is there goes on to be used until then.',
  },
  {
    name: 'sandbox',
    status: 'fail',
    detail: `the container did not start within 30 s: ${'newuidmap: write to uid_map failed: Operation not permitted; '.repeat(3)}`,
    remedy:
      'Give this user a range of ids: `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ann`.',
  },
  { name: 'server a-server-with-a-long-name', status: 'warn', detail: 'npx is not on PATH' },
];

const control = (
  name: string,
  requested: string,
  observed: string,
  verdict: ProbeReport['controls'][number]['verdict'],
): ProbeReport['controls'][number] => ({
  control: name,
  requested,
  observed,
  how: 'an attempt from inside, in a process of its own',
  verdict,
  required: true,
  ...(verdict === 'NOT ENFORCED'
    ? { remedy: 'Set MCP_BRIDGE_OCI_RUNTIME=runsc, or update runc to 1.1.12 or later.' }
    : {}),
});

export const PROBE: ProbeReport = {
  version: '0.1.0',
  probedAt: '2026-01-02T03:04:05.000Z',
  durationMs: 41_234,
  engine: {
    binary: 'podman',
    version: '5.4.2',
    ociRuntime: 'runc',
    ociFlags: [],
    mode: 'rootless',
    cgroups: 'v2',
  },
  seccomp: 'strict',
  image: 'localhost/mcp-sandbox-bridge/base:0.1.0',
  summary: { enforced: 3, watchdog: 1, notEnforced: 1, unknown: 0, maxOvershootMb: 41 },
  controls: [
    control(
      'no network',
      'no interface but lo',
      '127.0.0.1 alone; 4 addresses of the host refused',
      'ENFORCED',
    ),
    control('capabilities', 'none', 'CapEff 0000000000000000, CapBnd 0000000000000000', 'ENFORCED'),
    control('no new privileges', '1', '1', 'ENFORCED'),
    {
      ...control('memory, files in tmpfs', '256 MB', 'ended after 297 MB, 12 ms late', 'WATCHDOG'),
      overshootMb: 41,
    },
    control('OCI runtime', 'none with a known escape', 'runc 1.1.5 has CVE-2024-21626', 'NOT ENFORCED'),
  ],
};

const source = (file: string) => ({ host: 'Claude Code', scope: 'user', file, pointer: '/x' }) as const;
const program = (name: string, command: string) =>
  ({
    name,
    description: '',
    callTimeoutMs: undefined,
    startTimeoutMs: undefined,
    toolFilter: { only: undefined, except: [] },
    source: source('/home/ann/.claude.json'),
    transport: 'stdio',
    command,
    args: [],
    env: {},
    cwd: undefined,
  }) as unknown as Discovery['ready'][number];

export const DISCOVERY: Discovery = {
  ready: [
    program('github', 'npx'),
    program(
      'a-server-with-a-rather-long-name',
      '/home/ann/a/folder/with/a/long/name/and/one/more/bin/server',
    ),
  ],
  skipped: [
    {
      name: 'project-tools',
      reason: { kind: 'unapproved-project', host: 'Claude Code' },
      source: source('/home/ann/work/a-project-with-a-long-name/in-a-folder/and-another/one/.mcp.json'),
    },
  ] as unknown as Discovery['skipped'],
  problems: [],
  files: [],
};

export const CHANGES: ReadonlyMap<string, ServerChange> = new Map([
  [
    'github',
    {
      changed: 'the description of create_issue is another than on 2026-01-01',
      remedy: 'Read it: `mcp-sandbox-bridge servers refresh github`.',
    } as ServerChange,
  ],
]);

export const TROUBLES: ReadonlyMap<string, ServerTrouble> = new Map([
  [
    'a-server-with-a-rather-long-name',
    {
      state: 'failed',
      trouble:
        "its last start failed (2026-01-02 03:04): Server 'a-server-with-a-rather-long-name' ended with exit code 3",
      remedy: 'Try it again with `mcp-sandbox-bridge servers refresh a-server-with-a-rather-long-name`.',
    },
  ],
]);

const listed = {
  state: 'listed',
  added: [],
  removed: [],
  changed: [],
  accepted: false,
  problems: [],
} as const;
export const REFRESHED: readonly Refreshed[] = [
  { ...listed, server: 'github', tools: 51, added: ['create_issue', 'list_issues', 'search_code'] },
  {
    state: 'failed',
    server: 'a-server-with-a-long-name',
    reason: 'it ended with exit status 127 before it answered: sh: 1: uvx: not found',
    remedy: 'Install uv, or name the whole path of uvx.',
  } as Refreshed,
];

export const TOKENS: readonly ListedToken[] = [
  {
    id: '0123456789abcdef',
    name: 'ci',
    hash: '',
    servers: ['github', 'files', 'a-server-with-quite-a-long-name'],
    scopes: [],
    createdAtMs: NOW_MS - 40 * 86_400_000,
    expiresAtMs: NOW_MS + 30 * 86_400_000,
    lastUsedMs: NOW_MS - 3_600_000,
  },
  {
    id: '0123456789abcdee',
    name: 'old',
    hash: '',
    servers: [],
    scopes: ['mail:send'],
    createdAtMs: NOW_MS - 90 * 86_400_000,
    expiresAtMs: NOW_MS - 86_400_000,
    lastUsedMs: undefined,
  },
  {
    id: '0123456789abcded',
    name: 'first-start',
    hash: '',
    servers: '*',
    scopes: [],
    createdAtMs: NOW_MS - 86_400_000,
    lastUsedMs: undefined,
  },
];

export const LOGINS = [
  {
    state: 'kept',
    login: {
      name: 'linear',
      url: 'https://mcp.linear.app/mcp',
      issuer: 'https://mcp.linear.app',
      scopes: [],
      refreshToken: 'x',
    },
  },
  {
    state: 'unusable',
    file: `/home/ann/.local/state/mcp-sandbox-bridge/tokens/${HANDLE}.json`,
    reason: 'is not JSON',
  },
] as unknown as Parameters<typeof loginsText>[0];

export const SNIPPETS = {
  snippets: [
    {
      name: 'weekly_report',
      language: { name: 'python' },
      file: 'weekly_report.py',
      description: 'Fetches the open issues of a repository and makes a table of them by age',
    },
    { name: 'hello', language: { name: 'go' }, file: 'hello.go', description: '' },
  ],
  skipped: [{ file: 'a-link-to-somewhere-else.py', reason: 'it leads out of the folder' }],
} as unknown as Parameters<typeof snippetsText>[1];

const line = {
  kind: 'run',
  at: '2026-01-02T03:04:05.678Z',
  client: 'claude-code 2.1.330',
  language: 'python',
  servers: ['github', 'memory', 'filesystem', 'linear', 'sentry'],
  status: 'success',
  durationMs: 1234,
  calls: 2,
  notListed: 0,
};
const call = {
  kind: 'call',
  at: '2026-01-02T03:04:06.000Z',
  call: 1,
  server: 'github',
  tool: 'search_pull_requests_of_an_organisation',
  verdict: 'allowed',
  rule: 'allowed by the pattern github.*',
  durationMs: 321,
  arguments: { bytes: 120 },
  result: { bytes: 40_321 },
};
const error = {
  kind: 'ModuleNotFoundError',
  message:
    "ModuleNotFoundError: No module named 'sklearn', which the image that runs code here does not hold",
};
export const RUNS = [
  { run: '4f1c2a9b-12', line, calls: [call, { ...call, call: 2, error: 'E_TOOL_FAILED' }] },
  { run: '4f1c2a9b-13', line: { ...line, status: 'error', calls: 0, error }, calls: [] },
  {
    run: '4f1c2a9b-14',
    line: {
      ...line,
      language: 'javascript',
      status: 'timeout',
      durationMs: 30_000,
      error: { kind: 'E_TIMEOUT', message: 'Timed out after 30 s.' },
    },
    calls: [],
  },
] as unknown as Parameters<typeof runsText>[0];
export const RUNS_OVER_HTTP = [
  ...RUNS.slice(0, 1),
  {
    run: '77aa01ff-3',
    line: {
      ...line,
      principal: 'token:ann#0123456789abcdef',
      status: 'refused',
      durationMs: 0,
      calls: 0,
      error: { kind: 'E_BUSY', message: 'Nothing has run: 20 of your runs wait already.' },
    },
    calls: [],
  },
] as unknown as Parameters<typeof runsText>[0];

export const LOGINS_OVER_HTTP: readonly LoginLine[] = [
  {
    kind: 'login',
    at: line.at,
    principal: 'token:ann#0123456789abcdef',
    outcome: 'accepted',
    remote: '10.0.0.5',
    method: 'POST',
  },
  {
    kind: 'login',
    at: line.at,
    outcome: 'refused',
    remote: '2001:db8::17',
    method: 'POST',
    status: 401,
    reason: 'The token is mistyped or cut: its checksum is wrong. Copy the whole token again.',
    notListed: 12,
  },
];

const asked: Question = {
  id: 'q-abcdefgh23456789',
  object: {
    kind: 'tool',
    server: 'github',
    tool: 'create_issue',
    calls: [
      {
        arguments: `{"owner":"ann","title":"Broken\\nlink","body":"${'It leads nowhere, 例えば. '.repeat(8)}","labels":["bug",1.0]}`,
      },
    ],
  },
  rule: "the pattern 'github.create_*' of ask in the policy file",
  run: '4f1c2a9b-12',
  client: 'claude-code 2.1.330',
  principal: undefined,
  session: undefined,
  offers: ['once', 'run', 'always', 'no'],
  askedAt: new Date(NOW_MS - 42_000).toISOString(),
  expiresAt: new Date(NOW_MS + 558_000).toISOString(),
};
export const QUESTIONS: readonly Question[] = [
  asked,
  {
    ...asked,
    id: 'q-23456789abcdefgh',
    object: {
      ...asked.object,
      server: 'a-server-with-a-long-name',
      tool: 'delete_all_the_things_of_a_project',
      calls: [{ arguments: '{"path":"a"}' }, { arguments: '{"path":"\u202eb"}' }],
    },
    ...{ principal: 'ann', session: 'figures', offers: ['once', 'no'] },
  },
];

const file = (name: string, sizeBytes: number, mimeType: string, agoSeconds: number): SurveyedFile => ({
  uri: `resource://mcp-sandbox-bridge/kept/${HANDLE}/${name}`,
  name,
  mimeType,
  sizeBytes,
  path: `/home/ann/state/kept/${HANDLE}/0`,
  run: '4f1c2a9b-12',
  atMs: NOW_MS - agoSeconds * 1000,
});
export const KEPT: readonly SurveyedFile[] = [
  file('out/chart.png', 20_480, 'image/png', 42),
  file('stdout.txt', 4_800_000, 'text/plain', 600),
  file(`out/${'a-long-name-'.repeat(8)}.csv`, 9, 'text/csv', 3_500),
];

const session = (
  name: string,
  letter: string,
  agoSeconds: number,
  more: Partial<ListedSession> = {},
): ListedSession => ({
  name,
  handle: `s-${letter.repeat(16)}`,
  client: 'claude-code 2.1.0',
  principal: null,
  scope: null,
  owner: { pid: 4711, startTime: '1', bootId: '', machine: '' },
  container: 'mcp-sandbox-bridge-0123456789ab-1',
  process: null,
  memoryLimitBytes: 536_870_912,
  createdAt: new Date(NOW_MS - 7_000_000).toISOString(),
  lastCallAt: new Date(NOW_MS - agoSeconds * 1000).toISOString(),
  calls: 3,
  idleSeconds: 900,
  lifeSeconds: 14_400,
  ended: null,
  files: new SessionFiles('/nowhere'),
  heldBytes: 310_000_000,
  ...more,
});
export const SESSIONS: readonly ListedSession[] = [
  session('data', 'a', 4),
  session('plots of the third quarter, and of the fourth', 'b', 130, { client: 'command line 0.1.0' }),
  session('main', 'c', 800, { principal: 'token:ann#0123', heldBytes: undefined, calls: 120 }),
];

export const IMAGES = [
  {
    image: 'localhost/mcp-sandbox-bridge/data:0.1.0-0123456789ab',
    id: `sha256:${HANDLE}`,
    sizeBytes: 290e6,
    chosen: true,
    age: 'made from Debian bookworm; the recipe now takes Debian trixie',
  },
  {
    image: 'docker.io/library/python:3.13-slim',
    id: HANDLE,
    sizeBytes: 150e6,
    chosen: false,
    age: undefined,
  },
];

export const SHARED_BRIDGE: SharedStatus = {
  pid: 4711,
  build: { version: '0.1.0', builtAtMs: 0 },
  socket: '/run/user/1000/mcp-sandbox-bridge/0123456789abcd.sock',
  startedAtMs: Date.UTC(2026, 10, 23, 8),
  isClosing: false,
  windows: [
    {
      window: 1,
      pid: 4700,
      client: 'claude-code',
      folder: '/home/ann/projects/a-bridge-for-many-windows',
      sinceMs: Date.UTC(2026, 10, 23, 8),
      isBusy: true,
    },
    {
      window: 12,
      pid: 4800,
      client: undefined,
      folder: '/home/ann',
      sinceMs: Date.UTC(2026, 10, 23, 9, 30),
      isBusy: false,
    },
  ],
  servers: [
    { server: 'github', state: 'ready', windows: [1, 12] },
    { server: 'memory', state: 'resting', windows: [12] },
  ],
  sandboxes: { running: 1, waiting: 1 },
  memory: { bridgeBytes: 110_000_000, processesBytes: 320_000_000 },
};

const owner = { pid: 5120, startTime: '1', bootId: 'b', machine: 'm' };
export const SERVING: readonly ServingBridge[] = [
  {
    owner,
    address: 'https://127.0.0.1:8808/mcp',
    since: '2026-11-23T08:00:00.000Z',
    version: '0.1.0',
    isHere: true,
  },
  {
    owner: { ...owner, pid: 12 },
    address: 'unix:/home/ann/a/folder/of/hers/with/a/long/name/for/sockets/bridge.sock',
    since: '2026-11-24T09:30:00.000Z',
    version: '0.1.0',
    isHere: false,
  },
];

export const TESTED_CALL: Tested = {
  call: 'bank.pay {"amount":5,"Amount":5000}',
  outcome: { is: 'deny', rule: 'approvals.rules.0 in /home/ann/policy.yaml (args.amount > 1000)' },
  rules: [
    {
      action: 'deny',
      rule: 'approvals.rules.0 in /home/ann/policy.yaml (args.amount > 1000)',
      is: 'unclear',
      why: "'amount' has 'Amount' beside it, which some readers take for it",
      counts: true,
    },
    { action: 'ask', rule: 'approvals.rules.1 in /home/ann/policy.yaml', is: 'not met', counts: false },
    { action: 'allow', rule: 'approvals.rules.2 in /home/ann/policy.yaml', is: 'met', counts: true },
  ],
  learn: 'mcp-sandbox-bridge servers refresh bank',
  goesByClaims: true,
};

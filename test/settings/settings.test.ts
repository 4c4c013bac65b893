import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { Environment } from '../../src/base/process/environment.js';
import { clip } from '../../src/base/text/text.js';
import { idleTimes } from '../../src/servers/pool/pool.js';
import { parseSettings, readSettings, settingsTable } from '../../src/settings/environment/settings.js';
import { type HostFacts, homeFolder } from '../../src/settings/files/host-facts.js';
import { languages } from '../../src/settings/languages/records.js';

const host: HostFacts = {
  home: '/home/ann',
  platform: 'linux',
  cores: 6,
  cwd: '/home/ann/work',
  uid: 1000,
  exists: () => false,
};

const settingsOf = (env: Environment, facts: Partial<HostFacts> = {}) =>
  parseSettings(env, { ...host, ...facts }).settings;

function errorOf(env: Environment): BridgeError {
  try {
    parseSettings(env, host);
  } catch (thrown) {
    if (thrown instanceof BridgeError) return thrown;
  }
  throw new Error('the settings were accepted');
}

it('an empty environment gives the documented defaults', () => {
  expect(settingsOf({})).toEqual({
    explicitlySet: new Set(),
    serverIdleSeconds: 0,
    engineVariables: '[null,null,null,null,null]',
    runtime: undefined,
    ociRuntime: undefined,
    image: 'python:3.14-slim',
    seccomp: 'strict',
    timeoutSeconds: 30,
    maxTimeoutSeconds: 120,
    sessions: {
      most: 4,
      idleSeconds: 900,
      lifeSeconds: 14_400,
      memoryBytes: 2 * 1024 ** 3,
      keepRunning: true,
    },
    memoryBytes: 512 * 1024 ** 2,
    pids: 128,
    cpus: undefined,
    containerUser: '65534:65534',
    machineIdleSeconds: 300,
    stateDir: '/home/ann/.local/state/mcp-sandbox-bridge',
    data: [],
    outputMode: 'compact',
    structured: 'auto',
    logLevel: 'info',
    allowSelfServer: false,
    trustProject: false,
    allowRootful: false,
    acceptUnenforced: [],
    saveTools: true,
    record: { seconds: 3600, bytes: 4 * 1024 ** 2 },
    keepSeconds: 3600,
    launch: 'auto',
    keepBytes: 256 * 1024 ** 2,
    audit: 'on',
    auditBytes: 64 * 1024 ** 2,
    shared: 'off',
    warm: 1,
    preimport: [],
    concurrency: 6,
    principalConcurrency: 5,
    principalWaiting: 64,
    principalCalls: 128,
    principalCallsWaiting: 1000,
    principalCpuSeconds: undefined,
    principalMemoryBytes: undefined,
    principalWindowSeconds: 3600,
    tools: ['run_python'],
    languages: languages.map(({ name }) => name),
    languageImages: new Map(),
    networkLanguages: [],
    snippetsDir: undefined,
    executeServer: undefined,
    executeOciRuntime: 'runsc',
    executeImage: 'code-exec',
    executeNetwork: false,
    executeWork: undefined,
    executeOutputBytes: 40_000,
    serversConfig: [],
    downstreamEnv: [],
    policyFile: undefined,
    allow: undefined,
    deny: [],
    approve: 'off',
    approveTrust: [],
    approveWaitSeconds: 600,
    notify: { desktop: false, webhook: undefined, secretFile: undefined, arguments: false },
    pageLogin: { client: undefined, admin: undefined, scopes: [] },
    autoload: 'ask',
    http: {
      hosts: [],
      origins: [],
      proxies: [],
      cert: undefined,
      key: undefined,
      metrics: undefined,
      replica: undefined,
      replicaKey: undefined,
      requestsPerMinute: 1200,
      connections: 2048,
      sessions: 1000,
      sessionIdleSeconds: 1800,
      bodyBytes: 64 * 1024 ** 2,
      drainSeconds: 130,
    },
    otel: {
      endpoint: undefined,
      tracesEndpoint: undefined,
      metricsEndpoint: undefined,
      protocol: undefined,
      headers: undefined,
      timeout: undefined,
      tracesExporter: undefined,
      metricsExporter: undefined,
      metricInterval: undefined,
      sampler: undefined,
      samplerArgument: undefined,
      serviceName: undefined,
      resourceAttributes: undefined,
      disabled: undefined,
    },
    taskAfterSeconds: 20,
    depth: 0,
  });
});

it('every variable can be set', () => {
  const env = {
    MCP_BRIDGE_RUNTIME: '/opt/podman',
    MCP_BRIDGE_ENGINE_URL: 'ssh://me@box:2222/run/podman.sock',
    MCP_BRIDGE_OCI_RUNTIME: 'runsc',
    MCP_BRIDGE_IMAGE: 'python:3.12',
    MCP_BRIDGE_SECCOMP: 'compat',
    MCP_BRIDGE_TIMEOUT: '60',
    MCP_BRIDGE_MAX_TIMEOUT: '600',
    MCP_BRIDGE_SESSIONS: '2',
    MCP_BRIDGE_SESSION_IDLE: '60',
    MCP_BRIDGE_SESSION_LIFE: '3600',
    MCP_BRIDGE_SESSION_KEEP_RUNNING: 'off',
    MCP_BRIDGE_SESSION_MEMORY: '1g',
    MCP_BRIDGE_MEMORY: '1g',
    MCP_BRIDGE_PIDS: '64',
    MCP_BRIDGE_SERVER_IDLE: '600',
    MCP_BRIDGE_APPARMOR: 'mine',
    MCP_BRIDGE_CPUS: '1.5',
    MCP_BRIDGE_CONTAINER_USER: '1000:1001',
    MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '10',
    MCP_BRIDGE_STATE_DIR: '~/state',
    MCP_BRIDGE_DATA: '~/sales:rw',
    MCP_BRIDGE_OUTPUT_MODE: 'toon',
    MCP_BRIDGE_STRUCTURED: 'never',
    MCP_BRIDGE_LOG_LEVEL: 'debug',
    MCP_BRIDGE_ALLOW_SELF_SERVER: '1',
    MCP_BRIDGE_TRUST_PROJECT: '1',
    MCP_BRIDGE_ALLOW_ROOTFUL: '1',
    MCP_BRIDGE_SAVE_TOOLS: 'off',
    MCP_BRIDGE_KEEP_SECONDS: '0',
    MCP_BRIDGE_KEEP_MB: '5',
    MCP_BRIDGE_AUDIT: 'arguments',
    MCP_BRIDGE_AUDIT_MB: '7',
    MCP_BRIDGE_RECORD: '30m,2',
    MCP_BRIDGE_WARM: '3',
    MCP_BRIDGE_PREIMPORT: 'numpy, xml.etree',
    MCP_BRIDGE_CONCURRENCY: '2',
    MCP_BRIDGE_PRINCIPAL_CONCURRENCY: '3',
    MCP_BRIDGE_PRINCIPAL_WAITING: '0',
    MCP_BRIDGE_PRINCIPAL_CALLS: '7',
    MCP_BRIDGE_PRINCIPAL_CALLS_WAITING: '0',
    MCP_BRIDGE_PRINCIPAL_CPU_SECONDS: '600',
    MCP_BRIDGE_PRINCIPAL_MEMORY: '2g',
    MCP_BRIDGE_PRINCIPAL_WINDOW: '60',
    MCP_BRIDGE_TOOLS: 'run_python',
    MCP_BRIDGE_SNIPPETS: '~/prompts',
    MCP_BRIDGE_LANGUAGES: 'go, js, golang',
    MCP_BRIDGE_LANGUAGE_IMAGES: 'golang=golang:1.23, Node=registry:5000/node:24@sha256+b64:0=',
    MCP_BRIDGE_NETWORK: 'go,golang,ts',
    MCP_BRIDGE_ISOLATOR_CONFIG: '~/isolator_config.json',
    MCP_BRIDGE_EXECUTE_SERVER: 'sandbox',
    MCP_BRIDGE_EXECUTE_OCI_RUNTIME: 'auto',
    MCP_BRIDGE_EXECUTE_IMAGE: 'debian:trixie',
    MCP_BRIDGE_EXECUTE_NETWORK: 'on',
    MCP_BRIDGE_EXECUTE_WORK: 'project.1',
    MCP_EXEC_MAX_OUTPUT_BYTES: '1k',
    MCP_SERVERS_CONFIG: '/etc/a.json:~/b.json:c.json',
    MCP_BRIDGE_DOWNSTREAM_ENV: 'GITHUB_TOKEN, NPM_TOKEN',
    MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory, cpu',
    MCP_BRIDGE_POLICY: '~/policy.yaml',
    MCP_BRIDGE_ALLOW: 'github, files.read_*',
    MCP_BRIDGE_DENY: '*.delete*',
    MCP_BRIDGE_APPROVE: 'writes',
    MCP_BRIDGE_APPROVE_TRUST: 'github, in-house-*',
    MCP_BRIDGE_APPROVE_WAIT: '60',
    MCP_BRIDGE_AUTOLOAD: 'always',
    MCP_BRIDGE_HTTP_HOSTS: 'MCP.example.com, [fd00::1]',
    MCP_BRIDGE_HTTP_ORIGINS: 'https://app.example.com:8443',
    MCP_BRIDGE_HTTP_PROXIES: '10.0.0.0/8, ::1, unix',
    MCP_BRIDGE_HTTP_CERT: '~/cert.pem',
    MCP_BRIDGE_HTTP_KEY: '/etc/key.pem',
    MCP_BRIDGE_HTTP_METRICS: '~/metrics-token',
    MCP_BRIDGE_HTTP_REPLICA: 'bridges/bridge-7d9-x2/0b6c/10.1.2.3',
    MCP_BRIDGE_HTTP_REPLICA_KEY: '~/replica-key',
    MCP_BRIDGE_HTTP_RATE: '60',
    MCP_BRIDGE_HTTP_CONNECTIONS: '10',
    MCP_BRIDGE_HTTP_SESSIONS: '0',
    MCP_BRIDGE_HTTP_SESSION_IDLE: '60',
    MCP_BRIDGE_HTTP_BODY_MB: '1',
    MCP_BRIDGE_HTTP_DRAIN: '5',
    MCP_BRIDGE_TASK_AFTER: '0',
    MCP_BRIDGE_PRINCIPALS: '~/principals.yaml',
    MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'https://login.example.com/, http://127.0.0.1:9000',
    MCP_BRIDGE_HTTP_OAUTH_RESOURCE: 'https://mcp.example.com/mcp',
    MCP_BRIDGE_HTTP_OAUTH_AUDIENCE: 'api://bridge, mcp',
    MCP_BRIDGE_HTTP_OAUTH_SCOPES: 'mcp:use,offline',
    MCP_BRIDGE_HTTP_UI_CLIENT: 'page',
    MCP_BRIDGE_HTTP_UI_ADMIN: 'groups=bridge=admins',
    MCP_BRIDGE_HTTP_UI_SCOPES: 'groups',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/t',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318/m',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=b',
    OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.1',
    OTEL_SERVICE_NAME: 'bridge',
    OTEL_RESOURCE_ATTRIBUTES: 'team=a',
    OTEL_SDK_DISABLED: 'false',
    MCP_BRIDGE_SHARED: 'auto',
    MCP_BRIDGE_DEPTH: '1',
    MCP_BRIDGE_LAUNCH: 'template',
    MCP_BRIDGE_NOTIFY_DESKTOP: '1',
    MCP_BRIDGE_NOTIFY_WEBHOOK: 'https://chat.example.com/hook',
    MCP_BRIDGE_NOTIFY_SECRET_FILE: '~/hook.key',
    MCP_BRIDGE_NOTIFY_ARGUMENTS: '1',
  };
  expect(settingsOf(env)).toEqual({
    explicitlySet: new Set(Object.keys(env)),
    runtime: '/opt/podman',
    serverIdleSeconds: 600,
    apparmor: 'mine',
    engineUrl: 'ssh://me@box:2222/run/podman.sock',
    engineVariables: '[null,null,null,null,null]',
    ociRuntime: 'runsc',
    image: 'python:3.12',
    seccomp: 'compat',
    timeoutSeconds: 60,
    maxTimeoutSeconds: 600,
    sessions: { most: 2, idleSeconds: 60, lifeSeconds: 3600, memoryBytes: 1024 ** 3, keepRunning: false },
    memoryBytes: 1024 ** 3,
    pids: 64,
    cpus: 1.5,
    containerUser: '1000:1001',
    machineIdleSeconds: 10,
    stateDir: '/home/ann/state',
    data: [{ path: '/home/ann/sales', target: '/data', isWritable: true }],
    outputMode: 'toon',
    structured: 'never',
    logLevel: 'debug',
    allowSelfServer: true,
    trustProject: true,
    allowRootful: true,
    acceptUnenforced: ['memory', 'cpu'],
    saveTools: false,
    record: { seconds: 1800, bytes: 2 * 1024 ** 2 },
    keepSeconds: 0,
    launch: 'template',
    keepBytes: 5 * 1024 ** 2,
    audit: 'arguments',
    auditBytes: 7 * 1024 ** 2,
    warm: 3,
    preimport: ['numpy', 'xml.etree'],
    concurrency: 2,
    principalConcurrency: 3,
    principalWaiting: 0,
    principalCalls: 7,
    principalCallsWaiting: 0,
    principalCpuSeconds: 600,
    principalMemoryBytes: 2 * 1024 ** 3,
    principalWindowSeconds: 60,
    tools: ['run_python'],
    languages: ['go', 'javascript'],
    languageImages: new Map([
      ['go', 'golang:1.23'],
      ['javascript', 'registry:5000/node:24@sha256+b64:0='],
    ]),
    networkLanguages: ['go', 'typescript'],
    importedFile: '/home/ann/isolator_config.json',
    snippetsDir: '/home/ann/prompts',
    executeServer: 'sandbox',
    executeOciRuntime: undefined,
    executeImage: 'debian:trixie',
    executeNetwork: true,
    executeWork: 'project.1',
    executeOutputBytes: 1024,
    serversConfig: ['/etc/a.json', '/home/ann/b.json', '/home/ann/work/c.json'],
    downstreamEnv: ['GITHUB_TOKEN', 'NPM_TOKEN'],
    policyFile: '/home/ann/policy.yaml',
    allow: ['github', 'files.read_*'],
    deny: ['*.delete*'],
    approve: 'writes',
    approveTrust: ['github', 'in-house-*'],
    approveWaitSeconds: 60,
    notify: {
      desktop: true,
      webhook: 'https://chat.example.com/hook',
      secretFile: '/home/ann/hook.key',
      arguments: true,
    },
    autoload: 'always',
    http: {
      hosts: ['mcp.example.com', '[fd00::1]'],
      origins: ['https://app.example.com:8443'],
      proxies: ['10.0.0.0/8', '::1', 'unix'],
      cert: '/home/ann/cert.pem',
      metrics: '/home/ann/metrics-token',
      replica: { namespace: 'bridges', pod: 'bridge-7d9-x2', uid: '0b6c', address: '10.1.2.3' },
      replicaKey: '/home/ann/replica-key',
      key: '/etc/key.pem',
      requestsPerMinute: 60,
      connections: 10,
      sessions: 0,
      sessionIdleSeconds: 60,
      bodyBytes: 1024 ** 2,
      drainSeconds: 5,
    },
    otel: {
      endpoint: 'http://collector:4318',
      tracesEndpoint: 'http://collector:4318/t',
      metricsEndpoint: 'http://collector:4318/m',
      protocol: 'http/json',
      headers: 'a=b',
      timeout: '5000',
      tracesExporter: 'otlp',
      metricsExporter: 'none',
      metricInterval: '1000',
      sampler: 'traceidratio',
      samplerArgument: '0.1',
      serviceName: 'bridge',
      resourceAttributes: 'team=a',
      disabled: 'false',
    },
    taskAfterSeconds: 0,
    principalsFile: '/home/ann/principals.yaml',
    oauth: {
      issuers: ['https://login.example.com/', 'http://127.0.0.1:9000'],
      resource: 'https://mcp.example.com/mcp',
      audiences: ['api://bridge', 'mcp'],
      scopes: ['mcp:use', 'offline'],
    },
    pageLogin: { client: 'page', admin: { claim: 'groups', value: 'bridge=admins' }, scopes: ['groups'] },
    shared: 'auto',
    depth: 1,
  });
});

it('snippets lie where somebody says, else in the state folder if there is such a folder', () => {
  const own = '/home/ann/.local/state/mcp-sandbox-bridge/snippets';
  const facts = { exists: (file: string) => file === own };
  expect(settingsOf({}, facts).snippetsDir).toBe(own);
  expect(settingsOf({ MCP_BRIDGE_SNIPPETS: '/srv/snippets' }, facts).snippetsDir).toBe('/srv/snippets');
  expect(settingsOf({ MCP_BRIDGE_STATE_DIR: '/srv/state' }, facts).snippetsDir).toBeUndefined();
});

it('an empty or blank variable is an unset one', () => {
  expect(
    settingsOf({ MCP_BRIDGE_TIMEOUT: '', MCP_BRIDGE_IMAGE: ' ', MCP_SERVERS_CONFIG: undefined }),
  ).toEqual(settingsOf({}));
});

it.each([
  ['33554432', 33_554_432],
  ['32m', 33_554_432],
  ['1.5G', 1.5 * 1024 ** 3],
  ['65536k', 65_536 * 1024],
])('memory %s is %d bytes', (text, expected) => {
  expect(settingsOf({ MCP_BRIDGE_MEMORY: text }).memoryBytes).toBe(expected);
});

it('a user without a group gets a group of its own number', () => {
  expect(settingsOf({ MCP_BRIDGE_CONTAINER_USER: '1000' }).containerUser).toBe('1000:1000');
});

it('a token is for the resource where no audience is named', () => {
  const env = {
    MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'https://login.example.com',
    MCP_BRIDGE_HTTP_OAUTH_RESOURCE: 'https://mcp.example.com/mcp',
  };
  expect(settingsOf(env).oauth).toMatchObject({ audiences: ['https://mcp.example.com/mcp'], scopes: [] });
});

it('an issuer without a resource is refused, since tokens for anything of it would be taken', () => {
  expect(errorOf({ MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'https://login.example.com' }).message).toContain(
    'MCP_BRIDGE_HTTP_OAUTH_RESOURCE is not set',
  );
});

it('a login to the page without an issuer is refused, and its rules without a client have no effect', () => {
  expect(errorOf({ MCP_BRIDGE_HTTP_UI_CLIENT: 'page' }).message).toContain(
    'MCP_BRIDGE_HTTP_OAUTH_ISSUER is not set',
  );
  expect(parseSettings({ MCP_BRIDGE_HTTP_UI_ADMIN: 'groups=admins' }, host).warnings).toEqual([
    'MCP_BRIDGE_HTTP_UI_ADMIN has no effect, since MCP_BRIDGE_HTTP_UI_CLIENT is not set.',
  ]);
});

it('what belongs to an issuer is without effect where there is none, and a warning says so', () => {
  const { settings, warnings } = parseSettings({ MCP_BRIDGE_HTTP_OAUTH_SCOPES: 'a' }, host);
  expect(settings.oauth).toBeUndefined();
  expect(warnings).toEqual([
    'MCP_BRIDGE_HTTP_OAUTH_SCOPES has no effect, since MCP_BRIDGE_HTTP_OAUTH_ISSUER is not set.',
  ]);
});

it.each([
  ['MCP_BRIDGE_HTTP_OAUTH_ISSUER', 'http://login.example.com'],
  ['MCP_BRIDGE_HTTP_OAUTH_ISSUER', 'login.example.com'],
  ['MCP_BRIDGE_HTTP_OAUTH_ISSUER', 'https://login.example.com?x=1'],
  ['MCP_BRIDGE_HTTP_OAUTH_ISSUER', 'http://127.0.0.1.example.com'],
  ['MCP_BRIDGE_HTTP_OAUTH_RESOURCE', 'https://mcp.example.com/mcp#x'],
  ['MCP_BRIDGE_HTTP_OAUTH_SCOPES', 'two words'],
  ['MCP_BRIDGE_HTTP_UI_ADMIN', 'admins'],
  ['MCP_BRIDGE_HTTP_UI_SCOPES', 'two words'],
  ['MCP_BRIDGE_PRINCIPALS', 'principals.yaml'],
  ['MCP_BRIDGE_RUNTIME', 'podmann'],
  ['MCP_BRIDGE_SNIPPETS', 'prompts'],
  ['MCP_BRIDGE_OCI_RUNTIME', '--privileged'],
  ['MCP_BRIDGE_ENGINE_URL', 'box:2375'],
  ['MCP_BRIDGE_ENGINE_URL', 'ssh://me@box/$(id)'],
  ['MCP_BRIDGE_EXECUTE_OCI_RUNTIME', '--privileged'],
  ['MCP_BRIDGE_EXECUTE_WORK', '/etc'],
  ['MCP_BRIDGE_EXECUTE_WORK', 'a:/b'],
  ['MCP_BRIDGE_EXECUTE_NETWORK', 'yes'],
  ['MCP_EXEC_MAX_OUTPUT_BYTES', '99'],
  ['MCP_BRIDGE_IMAGE', '-v/:/host'],
  ['MCP_BRIDGE_IMAGE', 'two words'],
  ['MCP_BRIDGE_SECCOMP', 'unconfined'],
  ['MCP_BRIDGE_TIMEOUT', 'soon'],
  ['MCP_BRIDGE_TIMEOUT', '0'],
  ['MCP_BRIDGE_TIMEOUT', '1.5'],
  ['MCP_BRIDGE_TIMEOUT', '-1'],
  ['MCP_BRIDGE_MAX_TIMEOUT', '86401'],
  ['MCP_BRIDGE_MEMORY', '31m'],
  ['MCP_BRIDGE_MEMORY', '512 x'],
  ['MCP_BRIDGE_MEMORY', '1p'],
  ['MCP_BRIDGE_PIDS', '15'],
  ['MCP_BRIDGE_PIDS', '32769'],
  ['MCP_BRIDGE_CPUS', '0.001'],
  ['MCP_BRIDGE_CPUS', 'all'],
  ['MCP_BRIDGE_CONTAINER_USER', '0'],
  ['MCP_BRIDGE_CONTAINER_USER', '00:1'],
  ['MCP_BRIDGE_CONTAINER_USER', 'nobody'],
  ['MCP_BRIDGE_CONTAINER_USER', '65536'],
  ['MCP_BRIDGE_STATE_DIR', 'state'],
  ['MCP_BRIDGE_DATA', 'data'],
  ['MCP_BRIDGE_STATE_DIR', '~ann/state'],
  ['MCP_BRIDGE_OUTPUT_MODE', 'yaml'],
  ['MCP_BRIDGE_ALLOW_ROOTFUL', 'yes'],
  ['MCP_BRIDGE_TOOLS', 'run_ruby'],
  ['MCP_BRIDGE_TOOLS', ','],
  ['MCP_BRIDGE_LANGUAGES', 'go,rust'],
  ['MCP_BRIDGE_LANGUAGES', ','],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'go'],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'go=-v'],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'go=a,golang=b'],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', ','],
  ['MCP_BRIDGE_NETWORK', 'all'],
  ['MCP_BRIDGE_NETWORK', 'none,go'],
  ['MCP_BRIDGE_ISOLATOR_CONFIG', 'isolator_config.json'],
  ['MCP_BRIDGE_DOWNSTREAM_ENV', 'A=1'],
  ['MCP_BRIDGE_POLICY', 'policy.yaml'],
  ['MCP_BRIDGE_ALLOW', 'github,files\\'],
  ['MCP_BRIDGE_DENY', 'x'.repeat(301)],
  ['MCP_BRIDGE_APPROVE', 'some'],
  ['MCP_BRIDGE_APPROVE_TRUST', 'x\\'],
  ['MCP_BRIDGE_APPROVE_WAIT', '0'],
  ['MCP_BRIDGE_AUTOLOAD', 'sometimes'],
  ['MCP_BRIDGE_TASK_AFTER', '-1'],
  ['MCP_BRIDGE_TASK_AFTER', '86401'],
])('%s=%s stops the start and is explained', (name, value) => {
  const error = errorOf({ [name]: value });
  expect(error.code).toBe('E_SETTINGS');
  expect(error.fault).toBe('operator');
  const allowed = settingsTable().find((row) => row.name === name)?.allowed;
  expect(error.message).toContain(`${name} is '${clip(value, 120)}'; allowed: ${allowed}.`);
});

it('all wrong values are listed, with suggestions', () => {
  const { message } = errorOf({
    MCP_BRIDGE_PIDS: 'x',
    MCP_BRIDGE_OUTPUT_MODE: 'compcat',
    MCP_BRIDGE_LOG_LEVEL: 'loud',
  });
  expect(message.split('\n')).toEqual([
    expect.stringContaining('MCP_BRIDGE_PIDS'),
    expect.stringMatching(/MCP_BRIDGE_OUTPUT_MODE .* Did you mean 'compact'\?$/),
    expect.stringContaining('MCP_BRIDGE_LOG_LEVEL'),
  ]);
});

it('all that is wrong is told at once, of whatever kind it is', () => {
  const { message, remedy } = errorOf({
    MCP_BRIDGE_PIDS: 'x',
    MCP_BRIDGE_STATE_DIR: '/proc/x',
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_EXEC_ALLOW: 'ls',
  });
  expect(message.split('\n').map((line) => /^\w+/.exec(line)?.[0])).toEqual([
    'MCP_BRIDGE_PIDS',
    'MCP_BRIDGE_STATE_DIR',
    'MCP_EXEC_ALLOW',
  ]);
  expect(remedy).toContain('restart the host');
});

it('what is wrong has its default, so that the rest can be looked at', () => {
  const { settings, problems } = readSettings({ MCP_BRIDGE_PIDS: 'x', MCP_BRIDGE_MEMORY: '1g' }, host);
  expect([settings.pids, settings.memoryBytes]).toEqual([128, 1024 ** 3]);
  expect(problems).toMatchObject([{ setting: 'MCP_BRIDGE_PIDS' }]);
});

it('a language that is set up and not offered is a warning', () => {
  const env = {
    MCP_BRIDGE_LANGUAGES: 'go',
    MCP_BRIDGE_NETWORK: 'go,ruby',
    MCP_BRIDGE_LANGUAGE_IMAGES: 'js=node',
  };
  expect(parseSettings(env, host).warnings).toEqual([
    'MCP_BRIDGE_NETWORK names ruby, but MCP_BRIDGE_LANGUAGES does not: this has no effect.',
    'MCP_BRIDGE_LANGUAGE_IMAGES names javascript, but MCP_BRIDGE_LANGUAGES does not: this has no effect.',
  ]);
});

it.each([
  ['MCP_BRIDGE_IMAGE', 'Python', "Names of images have no capital letters: 'Python'."],
  ['MCP_BRIDGE_EXECUTE_IMAGE', 'debian:', 'Its tag is empty: nothing follows the colon.'],
  [
    'MCP_BRIDGE_LANGUAGE_IMAGES',
    'go=Go',
    "'go=Go' names no image. Names of images have no capital letters: 'Go'.",
  ],
  ['MCP_BRIDGE_DENY', 'a,b\\', "'b\\' ends with a backslash that escapes nothing."],
])('%s=%s says what is wrong with it', (name, value, expected) => {
  expect(errorOf({ [name]: value }).message.endsWith(`. ${expected}`)).toBe(true);
});

it.each([
  ['MCP_BRIDGE_LANGUAGES', 'go,jvascript', "There is no language 'jvascript'. Did you mean 'javascript'?"],
  ['MCP_BRIDGE_NETWORK', 'pyton', "There is no language 'pyton'. Did you mean 'python'?"],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'rub=x', "There is no language 'rub'. Did you mean 'ruby'?"],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'go=a,golang=b', 'Go is given twice.'],
  ['MCP_BRIDGE_LANGUAGE_IMAGES', 'go=a,ruby', "'ruby' is not a language=image pair."],
])('%s=%s says which language', (name, value, expected) => {
  expect(errorOf({ [name]: value }).message.endsWith(`. ${expected}`)).toBe(true);
});

it('a network that is closed by name is another thing than one that nobody mentions', () => {
  expect(settingsOf({ MCP_BRIDGE_NETWORK: 'none' })).toMatchObject({
    explicitlySet: new Set(['MCP_BRIDGE_NETWORK']),
    networkLanguages: [],
  });
});

describe('the two timeouts', () => {
  it('one above the maximum becomes that, with a warning', () => {
    const { settings, warnings } = parseSettings({ MCP_BRIDGE_TIMEOUT: '300' }, host);
    expect([settings.timeoutSeconds, settings.maxTimeoutSeconds]).toEqual([120, 120]);
    expect(warnings).toEqual(['MCP_BRIDGE_TIMEOUT is 300, but MCP_BRIDGE_MAX_TIMEOUT is 120: runs get 120.']);
    expect(parseSettings({ MCP_BRIDGE_TIMEOUT: '120' }, host).warnings).toEqual([]);
  });

  it('the default gives way to a lower maximum without a word', () => {
    const { settings, warnings } = parseSettings({ MCP_BRIDGE_MAX_TIMEOUT: '10' }, host);
    expect([settings.timeoutSeconds, warnings]).toEqual([10, []]);
  });
});

describe('the state folder', () => {
  it('is ~/MCPs where that exists', () => {
    const exists = (file: string) => file === '/home/ann/MCPs';
    expect(settingsOf({ XDG_STATE_HOME: '/xdg' }, { exists }).stateDir).toBe('/home/ann/MCPs');
  });

  it.each([
    ['linux', { XDG_STATE_HOME: '/xdg' }, '/xdg/mcp-sandbox-bridge'],
    ['linux', { XDG_STATE_HOME: 'relative' }, '/home/ann/.local/state/mcp-sandbox-bridge'],
    ['darwin', {}, '/home/ann/Library/Application Support/mcp-sandbox-bridge'],
    ['win32', { LOCALAPPDATA: 'C:\\Local' }, 'C:\\Local\\mcp-sandbox-bridge'],
  ] as const)('follows the habits of %s', (platform, env, expected) => {
    expect(settingsOf(env, { platform }).stateDir).toBe(expected);
  });

  const ann = { platform: 'win32', home: 'C:\\Users\\ann', cwd: 'D:\\work' } as const;
  const LOCAL = 'C:\\Users\\ann\\AppData\\Local\\mcp-sandbox-bridge';
  it.each<[Environment, string]>([
    [{}, LOCAL],
    [{ LocalAppData: 'E:\\x y' }, 'E:\\x y\\mcp-sandbox-bridge'],
    [{ LOCALAPPDATA: '\\\\server\\profiles\\ann' }, '\\\\server\\profiles\\ann\\mcp-sandbox-bridge'],
    [{ LOCALAPPDATA: 'relative' }, LOCAL],
    [{ XDG_STATE_HOME: 'E:/state' }, 'E:\\state\\mcp-sandbox-bridge'],
    // As Git's shell writes it: a folder of whatever drive is the current one.
    [{ XDG_STATE_HOME: '/c/Users/ann/.local/state' }, LOCAL],
  ])('on Windows is one folder, wherever we are started: %j', (env, expected) => {
    expect(settingsOf(env, ann).stateDir).toBe(expected);
  });

  it('on Windows stays where it is already', () => {
    const exists = (file: string) => file === '\\c\\state\\mcp-sandbox-bridge';
    expect(settingsOf({ XDG_STATE_HOME: '/c/state' }, { ...ann, exists }).stateDir).toBe(
      '\\c\\state\\mcp-sandbox-bridge',
    );
  });

  it.each([
    ['C:\\Users\\x y\\state', 'C:\\Users\\x y\\state'],
    ['C:/Users/x y/state', 'C:\\Users\\x y\\state'],
    ['\\\\server\\share\\state', '\\\\server\\share\\state'],
    ['//server/share/state', '\\\\server\\share\\state'],
    ['~\\state', 'C:\\Users\\ann\\state'],
    ['~/state', 'C:\\Users\\ann\\state'],
  ])('on Windows may be %s', (written, expected) => {
    expect(settingsOf({ MCP_BRIDGE_STATE_DIR: written }, ann).stateDir).toBe(expected);
  });
});

it('takes an engine on Windows by its full path, on a drive or a share', () => {
  for (const path of ['C:\\Program Files\\RedHat\\Podman\\podman.exe', '\\\\server\\tools\\podman.exe'])
    expect(settingsOf({ MCP_BRIDGE_RUNTIME: path }, { platform: 'win32', home: 'C:\\' }).runtime).toBe(path);
  expect(errorOf({ MCP_BRIDGE_RUNTIME: '\\podman.exe' }).code).toBe('E_SETTINGS');
});

it('Windows separates several files by semicolons', () => {
  const { serversConfig } = settingsOf(
    { MCP_SERVERS_CONFIG: 'C:\\a.json;D:\\b.json' },
    { platform: 'win32', cwd: 'C:\\', home: 'C:\\Users\\ann' },
  );
  expect(serversConfig).toEqual(['C:\\a.json', 'D:\\b.json']);
});

it('an unknown variable is a warning with a suggestion', () => {
  const { warnings } = parseSettings(
    { MCP_BRIDGE_MEMROY: '1g', PATH: '/bin', MCP_BRIDGE_ZZZZZZZZZZZZ: '1' },
    host,
  );
  expect(warnings).toEqual([
    "MCP_BRIDGE_MEMROY is not a setting of this version. Did you mean 'MCP_BRIDGE_MEMORY'?",
    'MCP_BRIDGE_ZZZZZZZZZZZZ is not a setting of this version.',
  ]);
});

it('every variable is documented', () => {
  const rows = settingsTable();
  // As many as there are, since none is said twice.
  expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThan(75);
  for (const row of rows) {
    expect(row.meaning).toMatch(/\.$/);
    expect(row.allowed).not.toBe('');
  }
});

it.each([
  ['512m', 512 * 1024 ** 2],
  ['512mb', 512 * 1024 ** 2],
  ['512Mi', 512 * 1024 ** 2],
  ['1Gi', 1024 ** 3],
  ['512MB', 512 * 1024 ** 2],
  ['512MiB', 512 * 1024 ** 2],
  ['512 MiB', 512 * 1024 ** 2],
  ['1.5g', 1.5 * 1024 ** 3],
  ['2GiB', 2 * 1024 ** 3],
  ['1t', 1024 ** 4],
  ['1TB', 1024 ** 4],
  ['65536k', 64 * 1024 ** 2],
  ['536870912', 512 * 1024 ** 2],
  ['536870912b', 512 * 1024 ** 2],
])('the size %s is understood', (written, size) => {
  expect(settingsOf({ MCP_BRIDGE_MEMORY: written }).memoryBytes).toBe(size);
});

it.each(['512 x', '512ib', '512bb', 'm', '-1m', '1e9', '0x10', '512mm', '512mi b'])(
  'the size %s is none',
  (written) => {
    expect(errorOf({ MCP_BRIDGE_MEMORY: written }).message).toContain(
      `MCP_BRIDGE_MEMORY is '${written}'; allowed: bytes`,
    );
  },
);

it('rules of the command server stop a bridge that runs commands itself, and are told of elsewhere', () => {
  const MCP_BRIDGE_TOOLS = 'run_python,execute';
  for (const name of ['MCP_EXEC_ALLOW', 'MCP_EXEC_DENY']) {
    const { code, message } = errorOf({ [name]: 'rm', MCP_BRIDGE_TOOLS });
    expect([code, message]).toEqual([
      'E_SETTINGS',
      expect.stringContaining(`${name} is a rule of the command server`),
    ]);
    expect(message).toMatch(/`code-exec`.*MCP_BRIDGE_EXECUTE_SERVER.*MCP_BRIDGE_TOOLS/);
    // One that hands calls to a server has it without effect as well.
    expect(errorOf({ [name]: 'rm', MCP_BRIDGE_TOOLS, MCP_BRIDGE_EXECUTE_SERVER: 'sandbox' }).code).toBe(
      'E_SETTINGS',
    );
    expect(parseSettings({ [name]: 'rm' }, host).warnings).toEqual([
      `${name} is for \`code-exec\` and has no effect here.`,
    ]);
  }
  expect(parseSettings({ MCP_EXEC_MAX_OUTPUT_BYTES: '1k' }, host).warnings).toEqual([]);
});

describe('the state directory', () => {
  it.each([
    ['/proc/1/x', 'is in /proc'],
    ['/sys', 'is in /sys'],
    ['/dev/state', 'is in /dev'],
    // Through a symbolic link of every Linux.
    ['/dev/../proc/self/root/proc/x', 'is in /proc'],
    ['/srv/a:b,c', 'has a colon, and also a comma'],
    ['/srv/a:"b"', 'has a colon, and also a comma'],
  ])('%s is refused', (stateDir, why) => {
    const { code, message } = errorOf({ MCP_BRIDGE_STATE_DIR: stateDir });
    expect(code).toBe('E_SETTINGS');
    expect(message).toMatch(/^MCP_BRIDGE_STATE_DIR is '/);
    expect(message).toContain(why);
    expect(message).toContain('; allowed: ');
  });

  it.each(['/dev/shm/state', '/processes/x', '/srv/a:b', '/srv/a,"b"', '/srv/ünï'])(
    '%s may be it',
    (stateDir) => {
      expect(settingsOf({ MCP_BRIDGE_STATE_DIR: stateDir }).stateDir).toBe(stateDir);
    },
  );

  it('one that is not said is named with where it comes from', () => {
    const { message } = errorOf({ XDG_STATE_HOME: '/proc' });
    expect(message).toContain("The state directory is '/proc/mcp-sandbox-bridge', which is in /proc");
    expect(message).toContain('set MCP_BRIDGE_STATE_DIR to another');
  });

  it.each(['', 'somewhere'])(
    'a home folder %j that is no absolute path is refused where the system knows none',
    (home) => {
      expect(() => settingsOf({}, { home })).toThrow(
        `HOME is '${home}', and the system knows no home folder`,
      );
      const none = () => {
        throw new Error('no such user');
      };
      expect(homeFolder(home, () => '/home/ann')).toBe('/home/ann');
      expect(homeFolder(home, none)).toBe(home);
      expect(homeFolder('/home/eve', none)).toBe('/home/eve');
    },
  );
});

it('what the Python bridge took is taken: words in any case, and no limit as the most that there can be', () => {
  const read = (env: Record<string, string>) => parseSettings(env, host).settings;
  expect(read({ MCP_BRIDGE_OUTPUT_MODE: 'TOON' }).outputMode).toBe('toon');
  expect(read({ MCP_BRIDGE_SECCOMP: 'Strict', MCP_BRIDGE_APPROVE: 'ALL' })).toMatchObject({
    seccomp: 'strict',
  });
  expect(read({ MCP_BRIDGE_ACCEPT_UNENFORCED: 'Memory, PIDS' }).acceptUnenforced).toEqual(['memory', 'pids']);
  expect(read({ MCP_BRIDGE_ACCEPT_UNENFORCED: 'network' }).acceptUnenforced).toEqual(['network']);
  for (const none of ['0', '-1']) {
    expect(read({ MCP_BRIDGE_PIDS: none }).pids).toBe(32_768);
    expect(read({ MCP_BRIDGE_MEMORY: none }).memoryBytes).toBe(totalmem());
  }
  expect(read({ MCP_BRIDGE_CPUS: '0' }).cpus).toBeUndefined();
});

it('servers are ended when idle only where somebody says so', () => {
  const idle = (env: Record<string, string>) => idleTimes(parseSettings(env, host).settings);
  expect(idle({})).toEqual({});
  expect(idle({ MCP_BRIDGE_SERVER_IDLE: '600' })).toEqual({ idleMs: 600_000 });
});

it('an AppArmor profile is a word', () => {
  expect(parseSettings({ MCP_BRIDGE_APPARMOR: 'my-profile' }, host).settings.apparmor).toBe('my-profile');
  expect(parseSettings({}, host).settings.apparmor).toBeUndefined();
  expect(() => parseSettings({ MCP_BRIDGE_APPARMOR: '-x' }, host)).toThrow('MCP_BRIDGE_APPARMOR');
  expect(() => parseSettings({ MCP_BRIDGE_APPARMOR: 'a b' }, host)).toThrow('MCP_BRIDGE_APPARMOR');
});

it('MCP_BRIDGE_RECORD is off, or a time and megabytes', () => {
  expect(settingsOf({ MCP_BRIDGE_RECORD: 'off' }).record).toBeUndefined();
  expect(settingsOf({ MCP_BRIDGE_RECORD: '1D, 256' }).record).toEqual({
    seconds: 86_400,
    bytes: 256 * 1024 ** 2,
  });
  for (const wrong of ['on', '1h', '4', '1h,0', '0m,4', '8d,4', '1h,257', '1h,4,5'])
    expect(errorOf({ MCP_BRIDGE_RECORD: wrong }).message).toContain('MCP_BRIDGE_RECORD');
});

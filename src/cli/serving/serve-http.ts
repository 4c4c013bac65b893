// `serve --http`: the bridge for several principals, from the first byte to the last. SIGTERM lets runs finish, a second one
// does not; SIGHUP reads certificates again. Nothing is left running when it returns.

import { BridgeError } from '../../base/errors.js';
import { fanOut, type Observer } from '../../base/log/events.js';
import { loadedOnce } from '../../base/replaced-part.js';
import { isLoopback } from '../../base/text/loopback.js';
import { VERSION } from '../../base/version.js';
import { OF_ONE_PROCESS, Scheduler, UNLIMITED } from '../../base/waiting/scheduler.js';
import { watchTasks } from '../../mcp/calls/tasks.js';
import { AgentConnection, agentServer } from '../../mcp/connection/server.js';
import { SET_UP_SOFT_TIMEOUT_MS } from '../../run/queue/soft-timeout.js';
import { HttpAccess } from '../../service/access/authenticator.js';
import { MetricsToken } from '../../service/access/metrics-token.js';
import { firstTokenText, makeFirstToken } from '../../service/access/token-file.js';
import { HttpFront } from '../../service/endpoint/front.js';
import { recordServing } from '../../service/endpoint/serving-record.js';
import { type HttpAddress, notifySystemd, parseHttpAddress } from '../../service/http/address.js';
import { type HttpFrontParts, withRequests } from '../../service/http/parts.js';
import { type Bridges, principalBridges } from '../../service/principals/bridges.js';
import type { AskCluster } from '../../service/replicas/holders.js';
import type { Replicas } from '../../service/replicas/replicas.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import type { Bridge } from '../../tenant/bridge.js';
import { startsSandboxes } from '../../tenant/sandbox-service.js';
import { type StartedFigures, startFigures } from '../figures/start-figures.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { LateFeed, processFacts, serverFacts } from './late-feed.js';
import { type Prepared, prepare, startAudit } from './prepare.js';
import { endBy, firstFault, nothingElseWrites } from './serving-process.js';

/** After the drain, for engines that are slow to remove containers. */
const CLOSE_WITHIN_MS = 10_000;
/** Time for the last lines of the log, where somebody is slow to read them. */
const LOG_WITHIN_MS = 500;

/** Makes the page for people. `isKnown` says whether a principal's credential still counts; the page ends with `signal`. */
export type MakePage = (
  prepared: Prepared,
  more: {
    readonly isKnown: (principal: string) => boolean;
    readonly observer: Observer;
    readonly signal: AbortSignal;
  },
) => NonNullable<HttpFrontParts['ui']>;

/**
 * Serves until a signal ends it; `loadPage` is called when somebody first asks for the page. Throws E_ARGUMENTS and E_SETTINGS
 * before it listens.
 */
export async function serveHttp(
  written: string,
  allowedHosts: readonly string[],
  loadPage: () => Promise<{ readonly servicePage: MakePage }>,
): Promise<void> {
  const address = parseHttpAddress(written);
  const prepared = withHosts(prepare('info', 'serves'), allowedHosts);
  const { stderr, settings, redactor } = prepared;
  const audit = startAudit(prepared);
  const figures = startFigures(prepared, audit.observer, settings.http.metrics !== undefined);
  const feed = new LateFeed(settings, audit.observer);
  const observer = fanOut(
    figures.beside(audit.observer),
    feed.observerFor((text) => redactor.redact(text)),
  );
  const interrupted = interruptSignal({ except: ['SIGHUP'], isService: true });
  let listening: HttpFront | undefined;
  // From the first moment on: without a handler the signal ends the process.
  const onHangUp = () => void listening?.reload();
  process.on('SIGHUP', onHangUp);
  const { host, env } = prepared.discovery;
  const access = new HttpAccess(settings, host, env, withRequests(observer));
  const bridges = bridgesOf(prepared, access, withRequests(observer));
  const replicas = await replicasOf(settings, host);
  const serving = { bridges, access, page: figures.page, replicas, loadPage: loadedOnce(loadPage) };
  const front = await openFront(address, prepared, serving, observer, interrupted).catch(async (thrown) => {
    await bridges[Symbol.asyncDispose]();
    throw thrown;
  });
  nothingElseWrites(stderr);
  const fault = firstFault(observer);
  listening = front;
  const record = recordServing(settings.stateDir, front.address);
  feed.open(() => ({
    ...processFacts(VERSION),
    kind: 'http',
    folder: '',
    servers: bridges.slots.states().map(({ name, state }) => ({ name, state, tools: [] })),
    // Tools are those of each principal.
    principals: bridges.live.map(({ principalId, bridge }) => ({
      principal: principalId,
      servers: serverFacts(bridge),
    })),
  }));
  notifySystemd('READY=1', process.env);
  const { reason, exitCode } = await Promise.race([endBy(interrupted), fault]);
  notifySystemd('STOPPING=1', process.env);
  if (exitCode === 0) await Promise.race([front.drain(settings.http.drainSeconds * 1000), fault]);
  observer({ type: 'bridge.closing', reason });
  setTimeout(() => process.exit(1), CLOSE_WITHIN_MS).unref();
  feed[Symbol.dispose]();
  await front[Symbol.asyncDispose]();
  await replicas?.release();
  await bridges[Symbol.asyncDispose]();
  await figures[Symbol.asyncDispose]();
  await audit[Symbol.asyncDispose]();
  await stderr.flush(LOG_WITHIN_MS);
  record[Symbol.dispose]();
  process.exit(exitCode);
}

const bridgesOf = (
  { settings, discovery, redactor }: Prepared,
  { book, exchange }: HttpAccess,
  observer: Observer,
): Bridges =>
  principalBridges({
    settings,
    discovery,
    observer,
    redactor,
    book,
    exchange,
    setUpSoftTimeoutMs: SET_UP_SOFT_TIMEOUT_MS,
  });

async function openFront(
  address: HttpAddress,
  prepared: Prepared,
  {
    bridges,
    access,
    page,
    replicas,
    loadPage,
  }: {
    readonly bridges: Bridges;
    readonly access: HttpAccess;
    readonly page: StartedFigures['page'];
    readonly replicas: Replicas | undefined;
    readonly loadPage: Parameters<typeof serveHttp>[2];
  },
  observer: Observer,
  signal: AbortSignal,
): Promise<HttpFront> {
  const { settings, warnings, discovery } = prepared;
  const hasCredentials = access.credentialsConfigured();
  const isOwn = address.at === 'tcp' && isLoopback(address.host);
  const firstToken = isOwn && !hasCredentials ? await makeFirstToken(settings.stateDir, signal) : undefined;
  const serving = { bridges, access, settings, observer: withRequests(observer), warnings };
  const figures = figuresFor(settings.http.metrics, page, discovery.host);
  const parts = {
    ...httpParts(serving, hasCredentials || isOwn),
    replicas,
    ...(figures && { figures }),
    ui: lateUi(loadPage, prepared, access, observer, signal),
  };
  const front = await HttpFront.open({ address, parts, env: process.env });
  // The engine is looked for now, so that readiness is known when it is asked for.
  void parts.readiness();
  bridges.sweepRegularly();
  // Nothing else shows it, and a log may be kept: it goes to the terminal of whoever started this alone.
  if (firstToken !== undefined) process.stderr.write(firstTokenText(firstToken, front.address));
  return front;
}

/** Undefined where this process is no replica. Throws E_SETTINGS where the key of the replicas cannot be used. */
async function replicasOf({ http }: Settings, host: HostFacts): Promise<Replicas | undefined> {
  if (http.replica === undefined) return undefined;
  // Both are for clusters alone, and so they are loaded there only.
  const [{ Api }, { Holders }, { Replicas }] = await Promise.all([
    import('../../engine/kubernetes/api.js'),
    import('../../service/replicas/holders.js'),
    import('../../service/replicas/replicas.js'),
  ]);
  const api = new Api(undefined);
  const ask: AskCluster = (method, path, signal, body) => api.ask(method, path, signal, body);
  return new Replicas(new Holders(ask, http.replica), http.replicaKey, host);
}

function lateUi(
  loadPage: Parameters<typeof serveHttp>[2],
  prepared: Prepared,
  access: HttpAccess,
  observer: Observer,
  signal: AbortSignal,
): NonNullable<HttpFrontParts['ui']> {
  let page: NonNullable<HttpFrontParts['ui']> | undefined;
  return async (...asked) => {
    const { servicePage } = await loadPage();
    page ??= servicePage(prepared, {
      isKnown: (principal) => access.isKnown(principal),
      observer,
      signal,
    });
    await page(...asked);
  };
}

/** Throws E_SETTINGS where the file of the token cannot be used. */
function figuresFor(
  file: string | undefined,
  page: StartedFigures['page'],
  host: HostFacts,
): HttpFrontParts['figures'] {
  if (file === undefined || page === undefined) return undefined;
  const token = new MetricsToken(file, host);
  return async (facts) => {
    const refusal = token.refusalOf(facts);
    if (refusal !== undefined) return refusal;
    const { text, type } = await page();
    return { status: 200, headers: { 'content-type': type }, text };
  };
}

const HOST_NAME = /^[a-z0-9_.-]+$|^\[[0-9a-f:.]+\]$/;

function withHosts(prepared: Prepared, allowed: readonly string[]): Prepared {
  const names = allowed.map((name) => name.toLowerCase());
  const wrong = names.find((name) => !HOST_NAME.test(name));
  if (wrong !== undefined)
    throw new BridgeError('E_ARGUMENTS', `--allowed-host: '${wrong}' is no host name.`, {
      fault: 'operator',
      remedy: 'Give a name without scheme and port, such as mcp.example.com.',
    });
  const { settings } = prepared;
  const http = { ...settings.http, hosts: [...settings.http.hosts, ...names] };
  // Runs of other people are remembered only where the operator has asked for it.
  const record = settings.explicitlySet.has('MCP_BRIDGE_RECORD') ? settings.record : undefined;
  return { ...prepared, settings: { ...settings, http, record } };
}

// Parts of the HTTP front in a real bridge: credentials, a bridge for each principal, and whether code can be run.

/** The parts of a front that serves `bridges`. `hasCredentials` says whether a call over TCP must show one. */
export function httpParts(
  serving: {
    readonly bridges: Bridges;
    readonly access: HttpAccess;
    readonly settings: Settings;
    readonly observer: Observer;
    /** About the settings; agents are told the first ones. */
    readonly warnings: readonly string[];
  },
  hasCredentials: boolean,
): HttpFrontParts {
  const { bridges, access, settings, observer } = serving;
  const serverFor = serversOf(serving);
  // A request costs a few milliseconds of the process, so one is begun at a time.
  const words = { many: 'requests', refused: 'Nothing was done' };
  const turns = new Scheduler({ ...OF_ONE_PROCESS, words, atOnce: 1 });
  // A further one of the same principal that would wait is refused.
  const limits = { ...UNLIMITED, waiting: 1_000 };
  return {
    serverFor,
    authenticate: (facts) => access.authenticate(facts),
    turn: (owner, signal) => turns.place({ owner, limits, memoryBytes: 0 }, signal).turn,
    refusalAhead: (principal, coming) => bridges.refusalAhead(principal, coming),
    stepUp: (principal, message) => access.stepUp(principal, message),
    watchTasks: (principal) => (taskIds, tell) => {
      const held = bridges.hold(principal);
      const watch = watchTasks(held.jobs, taskIds, tell);
      const stop = () => {
        watch.stop();
        held[Symbol.dispose]();
      };
      return { ...watch, stop };
    },
    knowsJob: (principal, name) => bridges.jobsOf(principal).knows(name),
    hasCredentials,
    wellKnown: ({ path }) => {
      const document = access.metadataAt(path);
      return document && { status: 200, headers: { 'access-control-allow-origin': '*' }, body: document };
    },
    // Commands for a configured server start no sandbox.
    readiness: () => !startsSandboxes(settings) || bridges.service.health.isWell,
    runsBesideRequests: () => bridges.busy,
    observer,
    settings: settings.http,
  };
}

function serversOf({
  bridges,
  observer,
  warnings,
}: Parameters<typeof httpParts>[0]): HttpFrontParts['serverFor'] {
  const connections = new WeakMap<Bridge, AgentConnection>();
  const connectionOf = (bridge: Bridge): AgentConnection => {
    const known = connections.get(bridge) ?? new AgentConnection();
    connections.set(bridge, known);
    return known;
  };
  return (principal, { era, isSession, clientProtocol, onListChanged }) => {
    const held = isSession ? bridges.hold(principal) : undefined;
    const bridge = held?.bridge ?? bridges.of(principal);
    const server = agentServer({
      bridge,
      jobs: bridges.jobsOf(principal),
      observer,
      era,
      warnings,
      clientProtocol,
      onListChanged,
      // A session is one agent; requests without one share what is remembered of their principal.
      connection: isSession ? undefined : connectionOf(bridge),
    });
    if (held !== undefined) server.closed.addEventListener('abort', () => held[Symbol.dispose]());
    return server;
  };
}

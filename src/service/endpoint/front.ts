// `serve --http`: one request from its arrival to its end. Health first, then who may ask at all (Host, Origin, credential,
// rate), then the body, then MCP. It ends by draining: nothing new begins, what runs may finish.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { randomBytes } from '../../base/crypto.js';
import { messageOf } from '../../base/errors.js';
import { type Principal, rightsOf } from '../../base/principal.js';
import type { Environment } from '../../base/process/environment.js';
import { repeatedHeader } from '../../base/text/repeated-header.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import { MODERN_VERSIONS } from '../../mcp/requests/agent-request.js';
import { RelayedTexts } from '../../mcp/requests/relayed-texts.js';
import { BodyRefused, type RequestId } from '../../wire/request-body.js';
import { isConfidential } from '../access/authenticator.js';
import { type HttpAddress, listenFd } from '../http/address.js';
import { Admission } from '../http/admission.js';
import { HostAndOrigin, TrustedProxies } from '../http/host-and-origin.js';
import { Listener } from '../http/listener.js';
import {
  type Authenticated,
  asPartOf,
  HTTP_LIMITS,
  type HttpAnswer,
  type HttpFrontParts,
  type HttpLimits,
  problem,
  type RequestFacts,
  type Routed,
  rpcError,
  sendAnswer,
} from '../http/parts.js';
import { RequestBodies } from '../http/request-body.js';
import { ResponseStreams } from '../http/response-stream.js';
import {
  beginsWork,
  type Exchange,
  jobsIn,
  McpEndpoint,
  messageCount,
  messagesIn,
  methodsOf,
  requestIds,
} from './mcp-endpoint.js';

const METHODS = 'POST, GET, DELETE';
const RETRY_WHILE_DRAINING = { 'retry-after': '1' };
/** How often a drain looks whether the last run has ended. */
const DRAIN_LOOK_MS = 50;

export type HttpFrontOptions = {
  readonly address: HttpAddress;
  readonly parts: HttpFrontParts;
  /** Environment in which systemd names its socket. */
  readonly env?: Environment;
  readonly limits?: HttpLimits;
};

/** Facts known of a request when an event tells of it. */
type About = { id: string; principalId?: string | undefined; run?: string; methods: readonly string[] };

export class HttpFront implements AsyncDisposable {
  readonly #parts: HttpFrontParts;
  readonly #limits: HttpLimits;
  readonly #proxies: TrustedProxies;
  readonly #names: HostAndOrigin;
  readonly #bodies: RequestBodies;
  readonly #admission: Admission;
  readonly #documents: PublicDocuments;
  readonly #streams: ResponseStreams;
  readonly #endpoint: McpEndpoint;
  readonly #standing: StandingStreams;
  #listener: Listener | undefined;
  /** Requests under way that want an answer, without streams that stand open. */
  #working = 0;
  #isDraining = false;

  private constructor({ parts, limits = HTTP_LIMITS }: HttpFrontOptions) {
    const { settings } = parts;
    this.#parts = parts;
    this.#limits = limits;
    this.#proxies = new TrustedProxies(settings.proxies);
    this.#names = new HostAndOrigin(settings);
    this.#admission = new Admission(parts);
    this.#bodies = new RequestBodies(settings.bodyBytes, limits.bodyIdleMs, (owner, bytes) =>
      this.#admission.spendBytes(owner, bytes),
    );
    this.#documents = new PublicDocuments(parts, this.#names);
    this.#streams = new ResponseStreams(limits);
    this.#endpoint = new McpEndpoint(parts, limits);
    this.#standing = new StandingStreams(parts.authenticate, limits.lookMs);
  }

  /** Resolves when it listens. Throws E_SETTINGS where it cannot, or where anybody could call. */
  static async open(options: HttpFrontOptions): Promise<HttpFront> {
    const front = new HttpFront(options);
    const { parts, address, env = {} } = options;
    const { cert, key, connections } = parts.settings;
    try {
      front.#listener = await Listener.open({
        address,
        tls: cert === undefined || key === undefined ? undefined : { cert, key },
        limits: front.#limits,
        connections,
        isExempt: (peer) => front.#proxies.isTrusted(peer),
        hasCredentials: parts.hasCredentials,
        systemdFd: () => listenFd(env),
        onRequest: (request, response) => void front.#onRequest(request, response),
        observer: parts.observer,
      });
    } catch (thrown) {
      await front[Symbol.asyncDispose]();
      throw thrown;
    }
    const isInClear = front.#listener.isReadableOnTheWay && parts.settings.proxies.length === 0;
    parts.observer({ type: 'http.listening', address: front.address, isInClear });
    return front;
  }

  /** Where it listens, as a client's configuration would say it. */
  get address(): string {
    return this.#listener?.address ?? '';
  }

  /** Sessions, connections, and bytes that wait for their readers. */
  async figures(): Promise<{ sessions: number; connections: number; unreadBytes: number }> {
    const connections = (await this.#listener?.connections()) ?? 0;
    return { sessions: this.#endpoint.sessions.count, connections, unreadBytes: this.#streams.unreadBytes };
  }

  /** Reads certificate, key and what the parts read again. */
  async reload(): Promise<void> {
    this.#listener?.reloadTls();
    await this.#parts.reload?.();
  }

  /**
   * From now on it is not ready and begins nothing new; resolves when the last run has ended, or after `withinMs`, with how
   * many requests and runs were not finished.
   */
  async drain(withinMs: number): Promise<number> {
    this.#isDraining = true;
    this.#listener?.closeIdle();
    const { observer } = this.#parts;
    observer({ type: 'http.draining', requests: this.#unfinishedCount(), withinMs });
    const latest = performance.now() + withinMs;
    while (this.#unfinishedCount() > 0 && performance.now() < latest)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
    return this.#unfinishedCount();
  }

  /** Ends every session, call and connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true;
    this.#standing[Symbol.dispose]();
    await this.#endpoint[Symbol.asyncDispose]();
    await this.#listener?.close();
  }

  #unfinishedCount(): number {
    return this.#working + this.#admission.waiting + (this.#parts.runsBesideRequests?.() ?? 0);
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomBytes(8).toString('hex');
    const beganAt = performance.now();
    const isFromReplica = this.#parts.replicas?.isFromReplica(request) ?? false;
    const facts = this.#proxies.factsOf(request, this.#listener?.isPrivate ?? false, isFromReplica);
    const about: About = { id: requestId, methods: [] };
    const ended = new Promise<void>((resolve) => response.once('close', resolve));
    void ended.then(() => this.#tell(facts, about, beganAt, response));
    response.setHeader('x-request-id', requestId);
    response.setHeader('x-content-type-options', 'nosniff');
    if (this.#isDraining) response.setHeader('connection', 'close');
    try {
      const answer = await asPartOf(about, () => this.#answer(request, response, { facts, about, ended }));
      if (answer !== undefined) this.#send(request, response, about, answer);
    } catch (thrown) {
      if (response.destroyed) return;
      if (thrown instanceof BodyRefused) {
        // One that was not read has cost something as well.
        if (about.principalId !== undefined) this.#admission.spend(about.principalId, 1);
        return this.#send(request, response, about, thrown.answer);
      }
      this.#parts.observer({
        type: 'bridge.fault',
        where: `request ${requestId}`,
        message: messageOf(thrown),
      });
      sendAnswer(
        response,
        rpcError(500, `The bridge has failed; its log says more about request ${requestId}.`),
      );
    }
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    { principalId }: About,
    answer: HttpAnswer,
  ): void {
    if (!request.complete) this.#bodies.throwAway(request, principalId);
    sendAnswer(response, answer);
  }

  /** Undefined where a stream has been sent. */
  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    at: { facts: RequestFacts; about: About; ended: Promise<void> },
  ): Promise<HttpAnswer | undefined> {
    const { facts, about, ended } = at;
    const repeated = repeatedHeader(request);
    if (repeated !== undefined) return rpcError(400, repeated);
    const health = await this.#documents.health(facts, this.#isDraining);
    if (health !== undefined) return health;
    const proof = this.#parts.replicas?.proofFor(facts);
    if (proof !== undefined) return proof;
    // A request that another replica passes on has come to a name of that one, as it has seen.
    const isPassedOn = this.#parts.replicas?.isFromReplica(request) === true;
    const objection = isPassedOn ? undefined : this.#names.refusalOf(facts, request.socket.localAddress);
    if (objection !== undefined) return objection;
    if (isOfPage(facts) && this.#parts.ui !== undefined) return await this.#page(request, response, facts);
    for (const [name, value] of Object.entries(this.#names.headersFor(facts)))
      response.setHeader(name, value);
    if (facts.path === '/metrics' && this.#parts.figures !== undefined) {
      const page = isRead(facts.method)
        ? await this.#parts.figures(facts)
        : problem(405, `/metrics accepts ${READS}.`, { allow: READS });
      return page.status < 400 ? page : await this.#admission.refuseInTurn(page, ended);
    }
    const document = this.#documents.at(facts);
    if (document !== undefined) return document;
    const method = methodOf(facts.method);
    if (method === undefined) return await this.#otherMethod(facts, about);
    const admitted = await this.#admitted(facts, about);
    if ('refusal' in admitted) return await this.#admission.refuseInTurn(admitted.refusal, ended);
    const { principal, callerToken } = admitted;
    const sender = {
      owner: principal.id,
      refusalAhead: (coming: number) => this.#parts.refusalAhead?.(principal, coming),
    };
    const read =
      method === 'POST' ? await this.#bodies.read({ request, response }, sender, ended) : undefined;
    const inTurn = async (id?: () => RequestId) => await this.#admission.turn(principal.id, ended, id);
    // Everybody waits while a large body is parsed, so that this has its turn as well.
    const unread = read?.isLarge ? await inTurn(read.id) : undefined;
    if (unread !== undefined) return unread;
    const text = this.#parts.replicas === undefined ? undefined : read?.text();
    const body = read?.json();
    about.methods = methodsOf(body);
    const routed = await this.#route({ request, response, facts, text }, principal, body, ended);
    if (routed !== 'here') return routed;
    // A cancellation, or an answer to a question, does not wait behind what it is about.
    const ids = requestIds(body);
    if (!read?.isLarge && (ids.length > 0 || method !== 'POST')) {
      const busy = await inTurn(() => ids[0] ?? null);
      if (busy !== undefined) return busy;
    }
    this.#admission.spend(principal.id, messageCount(body));
    if (this.#isDraining && beginsWork(body))
      return rpcError(503, 'This bridge is shutting down and begins nothing new. Send the request again.', {
        id: requestIds(body)[0] ?? null,
        headers: RETRY_WHILE_DRAINING,
      });
    for (const message of messagesIn(body)) {
      const refusal = this.#parts.stepUp?.(principal, message);
      if (refusal !== undefined) return refusal;
    }
    const texts = new RelayedTexts();
    const extra = { principal, callerToken, requestId: about.id, texts, keepBody: read?.keep };
    const exchange = { extra, method, body, ended };
    return await this.#serve(request, response, exchange, facts);
  }

  /** Resolves with here where this replica serves the request, or is the only one; undefined where another one answered. */
  async #route(
    passed: Pick<Routed, 'request' | 'response' | 'facts' | 'text'>,
    principal: Principal,
    body: unknown,
    ended: Promise<void>,
  ): Promise<'here' | HttpAnswer | undefined> {
    const { replicas, knowsJob } = this.#parts;
    if (replicas === undefined) return 'here';
    const { 'mcp-session-id': session } = passed.request.headers;
    const jobs = jobsIn(body);
    const isHere =
      typeof session === 'string'
        ? this.#endpoint.sessions.has(session)
        : jobs.some((name) => knowsJob?.(principal, name) === true);
    const isStanding = passed.facts.method === 'GET' || methodsOf(body).includes('subscriptions/listen');
    // A drain waits for what is passed on as it does for what is done here.
    if (!isStanding) this.#working++;
    void ended.then(() => !isStanding && this.#working--);
    const routed = await replicas.route({
      ...passed,
      principal: principal.id,
      beginsWork: beginsWork(body),
      goesOn: session !== undefined || jobs.length > 0,
      isHere,
      isDraining: this.#isDraining,
    });
    return routed === 'answered' ? undefined : routed;
  }

  /** The page has an authentication of its own; no credential of /mcp opens it. */
  async #page(
    request: IncomingMessage,
    response: ServerResponse,
    facts: RequestFacts,
  ): Promise<HttpAnswer | undefined> {
    if (!isConfidential(facts))
      return problem(403, 'The page is not shown unencrypted over a network: use https.');
    await this.#parts.ui?.(request, response, facts);
    return undefined;
  }

  /** Hosts find out by HEAD where to log in, so it is refused like any request without a credential. */
  async #otherMethod(facts: RequestFacts, about: About): Promise<HttpAnswer> {
    const preflight = this.#names.preflight(facts, METHODS);
    if (preflight !== undefined) return preflight;
    const admitted = facts.method === 'HEAD' ? await this.#admitted(facts, about) : undefined;
    return admitted !== undefined && 'refusal' in admitted
      ? admitted.refusal
      : rpcError(405, `/mcp accepts ${METHODS}.`, { headers: { allow: METHODS } });
  }

  /** Who asks, which is told of the request whether it may be served or not. */
  async #admitted(facts: RequestFacts, about: About): Promise<Authenticated> {
    const admitted = await this.#admission.of(facts);
    about.principalId = 'refusal' in admitted ? admitted.principalId : admitted.principal.id;
    return admitted;
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    exchange: Omit<Exchange, 'request'>,
    facts: RequestFacts,
  ): Promise<HttpAnswer | undefined> {
    const gone = new AbortController();
    const { method, body, extra, ended } = exchange;
    const { principal } = extra;
    const isStanding = method === 'GET' || methodsOf(body).includes('subscriptions/listen');
    const standing: StandingStream = { facts, principal, end: () => response.destroy() };
    if (isStanding) this.#standing.add(standing);
    else this.#working++;
    void ended.then(() => {
      if (isStanding) this.#standing.delete(standing);
      else this.#working--;
      if (!response.writableFinished) gone.abort();
    });
    if (response.destroyed) gone.abort();
    const webRequest = toRequest(request, facts, gone.signal);
    const answer = await this.#endpoint.answer({ ...exchange, request: webRequest });
    if (!(answer instanceof Response)) return answer;
    if (response.destroyed) {
      await answer.body?.cancel().catch(() => {});
      return undefined;
    }
    const headers = Object.fromEntries(answer.headers);
    // Whether the connection stays is for Node to say.
    delete headers['connection'];
    response.writeHead(answer.status, headers);
    if (answer.body === null) response.end();
    else {
      response.flushHeaders();
      await this.#streams.send(answer.body, response, (piece) => extra.texts?.placeTexts(piece) ?? piece);
    }
    return undefined;
  }

  #tell(
    { remoteAddress, method, path }: RequestFacts,
    { id, principalId, run, methods }: About,
    beganAt: number,
    response: ServerResponse,
  ): void {
    this.#parts.observer({
      type: 'http.request',
      request: id,
      principal: principalId,
      address: remoteAddress,
      method,
      // Secrets follow it: links, and places of browsers that have opened one.
      path: isOfPage({ path }) ? PAGE : path,
      calls: methods,
      status: response.headersSent ? response.statusCode : undefined,
      isWhole: response.writableFinished,
      durationMs: performance.now() - beganAt,
      run,
    });
  }
}

const PAGE = '/ui';
const isOfPage = ({ path }: Pick<RequestFacts, 'path'>): boolean =>
  path === PAGE || path.startsWith(`${PAGE}/`);

const methodOf = (method: string): Exchange['method'] | undefined =>
  method === 'POST' || method === 'GET' || method === 'DELETE' ? method : undefined;

/** The request for the SDK, which reads method, headers and signal; the body goes beside it, already parsed. */
function toRequest(request: IncomingMessage, facts: RequestFacts, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    // The credential has been looked at; nobody behind the front is to have it.
    if (value === undefined || name.startsWith(':') || name === 'authorization' || name === 'cookie')
      continue;
    for (const item of [value].flat()) headers.append(name, item);
  }
  return new Request(new URL(facts.path, 'http://bridge.invalid'), { method: facts.method, headers, signal });
}

type StandingStream = {
  readonly facts: RequestFacts;
  readonly principal: Principal;
  readonly end: () => void;
};

/**
 * Streams that nothing ends but their reader: they tell of changes. Each lasts as long as the credential that opened it gives
 * the same rights.
 */
class StandingStreams implements Disposable {
  readonly #authenticate: HttpFrontParts['authenticate'];
  readonly #streams = new Set<StandingStream>();
  readonly #looking: NodeJS.Timeout;

  /** Looks at every stream each `lookMs` milliseconds. */
  constructor(authenticate: HttpFrontParts['authenticate'], lookMs: number) {
    this.#authenticate = authenticate;
    this.#looking = setInterval(() => void this.#look(), lookMs).unref();
  }

  add(stream: StandingStream): void {
    this.#streams.add(stream);
  }

  delete(stream: StandingStream): void {
    this.#streams.delete(stream);
  }

  /** Looks no more; the streams go on. */
  [Symbol.dispose](): void {
    clearInterval(this.#looking);
  }

  /** Ends those whose credential counts no more, since it has ended or was taken back, or gives other rights now. */
  async #look(): Promise<void> {
    for (const { facts, principal, end } of [...this.#streams]) {
      const decided = await this.#authenticate(facts).catch(() => undefined);
      if (decided === undefined) continue;
      if (!('principal' in decided) || rightsOf(decided.principal) !== rightsOf(principal)) end();
    }
  }
}

const READS = 'GET, HEAD';

/** Documents that everybody may read: whether the bridge lives and can run code, its card, and where OAuth says who may come in. */
class PublicDocuments {
  readonly #parts: Pick<HttpFrontParts, 'readiness' | 'wellKnown'>;
  readonly #names: HostAndOrigin;

  constructor(parts: Pick<HttpFrontParts, 'readiness' | 'wellKnown'>, names: HostAndOrigin) {
    this.#parts = parts;
    this.#names = names;
  }

  /** The answer at `/healthz` and `/readyz`; undefined at every other path. A bridge that drains is not ready. */
  async health({ path, method }: RequestFacts, isDraining: boolean): Promise<HttpAnswer | undefined> {
    if (path !== '/healthz' && path !== '/readyz') return undefined;
    if (!isRead(method)) return problem(405, `${path} accepts ${READS}.`, { allow: READS });
    if (path === '/healthz') return { status: 200, body: { status: 'ok' } };
    if (isDraining)
      return problem(503, 'The bridge is shutting down and begins nothing new.', RETRY_WHILE_DRAINING);
    const isReady = await Promise.resolve(this.#parts.readiness()).catch(() => false);
    return isReady
      ? { status: 200, body: { status: 'ready' } }
      : problem(503, 'No code can be run: the log and the command doctor say why.');
  }

  /** The answer at every path but that of MCP: a document for all, or that there is none; undefined at `/mcp`. */
  at(facts: RequestFacts): HttpAnswer | undefined {
    const { path, method } = facts;
    if (path === '/mcp') return undefined;
    const document =
      cardDocumentAt(facts) ??
      (path.startsWith('/.well-known/') ? this.#parts.wellKnown?.(facts) : undefined);
    if (document === undefined)
      return problem(404, 'Nothing is here. MCP clients use /mcp; monitoring uses /healthz and /readyz.');
    if (isRead(method)) return document;
    const refusal = problem(405, `This document accepts ${READS}.`, { allow: READS });
    return this.#names.preflight(facts, READS) ?? refusal;
  }
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

// Documents that a client reads before it connects: the card of this server (SEP-2127) beside its endpoint, and the catalog of the site,
// which has that one card. Both are for everybody, so they say what the endpoint is and how to knock, and nothing of who is
// served, by which servers, or with which tools.

const CARD_PATH = '/mcp/server-card';
const CATALOG_PATH = '/.well-known/mcp/catalog.json';
const CARD_TYPE = 'application/mcp-server-card+json';
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json';
/** As server.json has it for registries. */
const REGISTERED = {
  name: `io.github.${PACKAGE_NAME}/${PACKAGE_NAME}`,
  title: 'MCP Sandbox Bridge',
  description: 'One tool, run_python: code in a locked-down container that can call all of your MCP servers.',
};

const CARD_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'Content-Type',
  'cache-control': 'public, max-age=3600',
};

/** The document at this path; undefined where there is none. Addresses are those by which the client has come. */
function cardDocumentAt({ path, host, isSecure }: RequestFacts): HttpAnswer | undefined {
  const endpoint = `${isSecure ? 'https' : 'http'}://${host}/mcp`;
  if (path === CARD_PATH)
    return { status: 200, headers: { ...CARD_HEADERS, 'content-type': CARD_TYPE }, body: cardOf(endpoint) };
  if (path === CATALOG_PATH) return { status: 200, headers: CARD_HEADERS, body: catalogOf(endpoint) };
  return undefined;
}

const cardOf = (url: string) => ({
  $schema: CARD_SCHEMA,
  ...REGISTERED,
  version: VERSION,
  remotes: [
    {
      type: 'streamable-http',
      url,
      headers: [
        {
          name: 'Authorization',
          description: 'Bearer and a token of whoever runs this bridge, or an OAuth login.',
          isRequired: true,
          isSecret: true,
        },
      ],
      supportedProtocolVersions: [...MODERN_VERSIONS, ...SUPPORTED_PROTOCOL_VERSIONS],
    },
  ],
});

const catalogOf = (endpoint: string) => ({
  specVersion: 'draft',
  entries: [
    {
      identifier: `urn:air:${new URL(endpoint).hostname}:${PACKAGE_NAME}`,
      displayName: REGISTERED.title,
      type: CARD_TYPE,
      url: `${endpoint}/server-card`,
    },
  ],
});

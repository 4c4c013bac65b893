// An agent that writes its HTTP requests by hand, in either era of MCP: for what no client made with an SDK would send, and for
// looking into a stream while it goes on.

import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import type { Message } from './raw-agent.js';

/** Where the bridge listens: a port of 127.0.0.1, or a unix socket. */
export type Place = { readonly port: number } | { readonly socketPath: string };

export type Sending = {
  readonly method?: string;
  /** As it stands in the request line. */
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
};

/** One request, and what has come of its answer so far. */
export type Exchange = {
  /** Resolves when the status is known. Rejects where the connection is lost before. */
  readonly begun: Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }>;
  /** Messages of MCP that have come. */
  readonly messages: Message[];
  /** All that has come, as text. */
  readonly text: () => string;
  /** Resolves when nothing more comes, also where the connection was lost. */
  readonly ended: Promise<void>;
  readonly abort: () => void;
};

export type Answered = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly messages: readonly Message[];
};

const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Sends one request on a connection of its own. */
export function send(place: Place, { method = 'POST', path = '/mcp', headers, body }: Sending): Exchange {
  const messages: Message[] = [];
  let text = '';
  let read = 0;
  const where = 'port' in place ? { host: '127.0.0.1', ...place } : place;
  const outgoing = httpRequest({ ...where, method, path, headers, agent: false });
  const takeEvents = () => {
    for (let end = text.indexOf('\n\n', read); end >= 0; end = text.indexOf('\n\n', read)) {
      const data = /^data: ?(.+)$/m.exec(text.slice(read, end))?.[1];
      read = end + 2;
      if (data !== undefined) messages.push(JSON.parse(data) as Message);
    }
  };
  let ended = () => {};
  const atEnd = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const begun = new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
    outgoing.on('error', (error) => {
      reject(error);
      ended();
    });
    outgoing.on('response', (response) => {
      const isStream = response.headers['content-type']?.includes('event-stream') === true;
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (isStream) takeEvents();
      });
      response.on('end', () => {
        if (!isStream && text.trimStart().startsWith('{')) messages.push(JSON.parse(text) as Message);
      });
      response.on('error', () => {}).on('close', ended);
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
    });
  });
  begun.catch(() => {});
  if (body === undefined) outgoing.end();
  else outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
  return { begun, messages, text: () => text, ended: atEnd, abort: () => outgoing.destroy() };
}

/** The whole answer of one request. */
export async function ask(place: Place, sending: Sending): Promise<Answered> {
  const exchange = send(place, sending);
  const { status, headers } = await exchange.begun;
  await exchange.ended;
  return { status, headers, text: exchange.text(), messages: exchange.messages };
}

export type RequestOptions = {
  readonly id?: string | number;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly capabilities?: object;
  readonly headers?: OutgoingHttpHeaders;
};

/** One client with one credential. */
export class HttpAgent {
  readonly place: Place;
  readonly #token: string | undefined;
  #ids = 0;

  /** Without a token it shows no credential. */
  constructor(place: Place, token: string | undefined) {
    this.place = place;
    this.#token = token;
  }

  get token(): string {
    return this.#token ?? '';
  }

  get headers(): OutgoingHttpHeaders {
    const shown = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    return { ...ACCEPTED, ...shown };
  }

  /** A request of revision 2026-07-28. */
  modern(method: string, params: Readonly<Record<string, unknown>>, options: RequestOptions = {}): Exchange {
    const { id = ++this.#ids, meta = {}, capabilities = {}, headers = {} } = options;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...meta,
    };
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    return send(this.place, {
      headers: {
        ...this.headers,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': String(name) }),
        ...headers,
      },
      body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
    });
  }

  /** A request of the 2025 revisions, in the session `session`, or without one. */
  legacy(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { session, id = ++this.#ids, meta, headers = {} }: RequestOptions & { readonly session?: string } = {},
  ): Exchange {
    const _meta = meta === undefined ? {} : { _meta: meta };
    return this.post({ jsonrpc: '2.0', id, method, params: { ...params, ..._meta } }, session, headers);
  }

  /** Any message, in the session `session`, or without one. */
  post(body: unknown, session?: string, headers: OutgoingHttpHeaders = {}): Exchange {
    return send(this.place, { headers: { ...this.headers, ...inSession(session), ...headers }, body });
  }

  /** The stream of a session, on which its server asks and tells. */
  listen(session: string): Exchange {
    return send(this.place, { method: 'GET', headers: { ...this.headers, ...inSession(session) } });
  }

  /** Opens a session; its id. Throws where there is none. */
  async open(capabilities: object = { elicitation: {} }): Promise<string> {
    const clientInfo = { name: 'raw', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo };
    const exchange = this.legacy('initialize', params);
    const { status, headers } = await exchange.begun;
    await exchange.ended;
    const session = headers['mcp-session-id'];
    if (typeof session !== 'string') throw new Error(`no session: ${status} ${exchange.text()}`);
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session).ended;
    return session;
  }
}

const inSession = (session: string | undefined): OutgoingHttpHeaders =>
  session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' };

/** The message that answers `exchange`, when it has ended; its error or result as text where none came. */
export async function answerOf(exchange: Exchange): Promise<Message> {
  await exchange.begun.catch(() => {});
  await exchange.ended;
  return (
    exchange.messages.find(({ method }) => method === undefined) ?? {
      error: { code: 0, message: exchange.text() },
    }
  );
}

/** Text of a result of tools/call; of an error its message. */
export const textOf = ({ result, error }: Message): string =>
  (result?.['content'] as readonly { readonly text?: string }[] | undefined)
    ?.map(({ text }) => text)
    .join('\n') ??
  error?.message ??
  JSON.stringify(result ?? '');

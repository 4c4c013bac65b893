// Events of the HTTP front: its requests and sessions, and who is let in.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import { countOf } from '../base/text/text.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** The HTTP front takes requests from now on. */
    readonly 'http.listening': {
      readonly address: string;
      /** Others can read along: there is no TLS, and no proxy is named that has it. */
      readonly isInClear: boolean;
    };
    /** An HTTP request that has ended. */
    readonly 'http.request': {
      /** Id of the request, which its answer has as X-Request-Id. */
      readonly request: string;
      /** Undefined where none was found, or before. */
      readonly principal: string | undefined;
      /** The client's address; undefined on a unix socket. */
      readonly address: string | undefined;
      readonly method: string;
      readonly path: string;
      /** Methods of MCP in its body. */
      readonly calls: readonly string[];
      /** Undefined where nothing was answered. */
      readonly status: number | undefined;
      /** The whole answer was sent; false where the client left before. */
      readonly isWhole: boolean;
      readonly durationMs: number;
      /** Id of the first run that it has begun, or that it was refused. */
      readonly run: string | undefined;
    };
    readonly 'http.session': {
      readonly principal: string;
      readonly is: 'opened' | 'ended';
      readonly why?: string | undefined;
      /** Sessions that are open now. */
      readonly open: number;
    };
    readonly 'http.trouble': { readonly principal: string; readonly message: string };
    /** Connections that were closed since there were too many, since this was last told. */
    readonly 'http.dropped': { readonly connections: number };
    /** The certificate was read anew; `kept` is the old one, since the new one cannot be used. */
    readonly 'http.tls': { readonly is: 'reloaded' | 'kept'; readonly message: string };
    readonly 'http.draining': { readonly requests: number; readonly withinMs: number };
    /** Trouble that keeps credentials from being checked, or the rules of principals from being read. */
    readonly 'auth.trouble': { readonly message: string };
    /** Somebody who came in with a credential: told once in an hour for each address. */
    readonly 'auth.accepted': { readonly from: string; readonly method: string };
    /** A request that was sent away because of who sent it; never with what it presented. */
    readonly 'auth.refused': {
      /** The address of its sender, or `a unix socket`. */
      readonly from: string;
      readonly method: string;
      /** Status of the HTTP answer. */
      readonly status: number;
      readonly message: string;
    };
  }
}

/** Sender of a request that came by no network. */
export const UNIX_SOCKET = 'a unix socket';

/** Methods of one request in its line of the log: a batch may have a million, and no line is that long. */
const MAX_CALLS_TOLD = 50;

export const serviceEventWords = {
  'http.listening': ({ address, isInClear }) =>
    isInClear
      ? [
          'warn',
          `listens at ${oneLine(address)} without TLS: others in the network can read tokens and results; set MCP_BRIDGE_HTTP_CERT and MCP_BRIDGE_HTTP_KEY, or name the proxy that has TLS in MCP_BRIDGE_HTTP_PROXIES`,
        ]
      : ['info', `listens at ${oneLine(address)}`],
  'http.request': ({ request, address, method, path, calls, status, isWhole, durationMs, run }) => {
    const from = oneLine(address ?? UNIX_SOCKET);
    const more = calls.length - MAX_CALLS_TOLD;
    const told = more > 0 ? [...calls.slice(0, MAX_CALLS_TOLD), `${more} more`] : calls;
    const what = told.length === 0 ? '' : ` (${oneLine(told.join(', '))})`;
    const how = isWhole ? `${status}` : `client left, ${status ?? 'nothing answered'}`;
    return [
      path === '/mcp' ? 'info' : 'debug',
      `request ${request} from ${from}: ${oneLine(method)} ${oneLine(path)}${what}: ${how} after ${milliseconds(durationMs)}`,
      {
        status,
        durationMs: Math.round(durationMs),
        remote: address ?? UNIX_SOCKET,
        method,
        path,
        calls: told.length === 0 ? undefined : told,
        isWhole,
        run,
      },
    ];
  },
  'http.session': ({ is, why, open }) => [
    'debug',
    `session ${is}${why === undefined ? '' : `, ${why}`}; ${open} open`,
  ],
  'http.trouble': ({ message }) => ['debug', `request refused by the SDK: ${oneLine(message)}`],
  'http.dropped': ({ connections }) => [
    'warn',
    `${countOf(connections, 'connection')} closed: there are too many`,
  ],
  'http.tls': ({ is, message }) =>
    is === 'reloaded'
      ? ['info', `certificate reloaded: ${oneLine(message)}`]
      : ['warn', `certificate not reloaded, the old one stays in use: ${oneLine(message)}`],
  'http.draining': ({ requests, withinMs }) => [
    'info',
    `shutting down: nothing new begins, ${countOf(requests, 'request')} may take ${milliseconds(withinMs)} to finish`,
  ],
  'auth.trouble': ({ message }) => ['warn', `credentials: ${oneLine(message)}`],
  'auth.accepted': ({ method, from }) => [
    'info',
    `came in from ${oneLine(from)}`,
    { status: 'accepted', remote: from, method },
  ],
  'auth.refused': ({ method, from, status, message }) => [
    'info',
    `refused ${oneLine(method)} from ${oneLine(from)} with ${status}: ${oneLine(message)}`,
    { status, remote: from, method },
  ],
} satisfies Partial<EventWords>;

// How authorization servers are spoken to: over TLS, with an end, and never more than a little of what they say. No
// header of the server's own entry goes there. Failures are told with the address and never with what was sent.

import type { IncomingMessage } from 'node:http';
import { type FetchLike, RegistrationRejectedError } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { ownCommand } from '../../base/process/own-command.js';
import { isLoopback } from '../../base/text/loopback.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless, withoutFullStop } from '../../base/text/text.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { HttpClient, readBody } from '../remote/http-client.js';
import { NO_PROXIES, type ProxyFor, ProxyRefusal } from '../remote/proxies.js';

/** Time limit of one request. Two of them, when a refresh token is tried again, end before a lock grows old. */
const TIMEOUT_MS = 8_000;
/** Metadata and token answers have a few kilobytes. */
const MAX_BODY_BYTES = MB_BYTES;
const WITHOUT_BODY = [101, 204, 205, 304];

/** Why a token must not be sent to `address`, as the end of a sentence about it; undefined where it may. */
export function unsafeAddress(address: string | URL, server: string): string | undefined {
  const url = new URL(address);
  if (url.protocol === 'https:') return undefined;
  // Nobody listens on the way within this machine; a server elsewhere has no business with what listens here.
  const isAllHere = [url, new URL(server)].every(({ hostname }) => isLoopback(hostname));
  if (url.protocol === 'http:' && isAllHere) return undefined;
  return 'is not https, so a token could be read on its way';
}

/**
 * A `fetch` for what the server at `server` says of its login, by way of the proxies that are set. Throws E_LOGIN for an
 * address that is not safe or cannot be reached.
 */
export function oauthFetch(server: string, signal: AbortSignal, proxyFor = NO_PROXIES): FetchLike {
  return async (input, init) => {
    const url = new URL(input);
    const unsafe = unsafeAddress(url, server);
    if (unsafe !== undefined) throw loginError(`${url.origin} ${unsafe}.`);
    using link = new LinkedSignal(signal, AbortSignal.timeout(TIMEOUT_MS));
    try {
      const send = proxyFor(url) === undefined ? fetch : fetchBy(proxyFor);
      const { status, statusText, headers, body } = await send(url, {
        redirect: 'manual',
        ...init,
        signal: link.signal,
      });
      const bytes = await bodyOf(body, url);
      const text = WITHOUT_BODY.includes(status) ? null : withNeededMembers(bytes.toString());
      return new Response(text, { status, statusText, headers });
    } catch (thrown) {
      if (thrown instanceof BridgeError) throw thrown;
      if (signal.aborted)
        throw new BridgeError('E_CANCELLED', 'The login was cancelled.', { fault: 'agent' });
      throw loginError(
        `${url.origin} cannot be reached: ${reasonOf(thrown)}.`,
        thrown,
        `Check that it runs, and the network; \`${ownCommand('servers')}\` shows where the server is configured.`,
      );
    }
  };
}

async function bodyOf(body: Response['body'], { origin }: URL): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw loginError(`${origin} answers with more than ${MAX_BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.name === 'TimeoutError')
    return `no answer within ${TIMEOUT_MS / 1000} s`;
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  if (cause instanceof ProxyRefusal) return `the proxy ${cause.proxy} ${cause.why}`;
  const code: unknown = Object(cause).code;
  if (typeof code === 'string') return code;
  return messageOf(cause ?? thrown);
}

/** E_LOGIN; a remedy only where there is a better one than reading the sentence. */
export function loginError(message: string, cause?: unknown, remedy?: string): BridgeError {
  return new BridgeError('E_LOGIN', message, {
    fault: 'operator',
    cause,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** `step`, with what the SDK throws told as E_LOGIN; `what` begins the sentence. */
export async function orLoginError<T>(step: Promise<T>, what: string): Promise<T> {
  try {
    return await step;
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    throw loginError(`${what}: ${wordsOf(thrown)}.`, thrown);
  }
}

/**
 * The SDK's error about an authorization server's answer, as one clause: the SDK would show what it expected as JSON, and pages
 * as they came.
 */
export function wordsOf(thrown: unknown): string {
  if (thrown instanceof SyntaxError) return 'its answer is not JSON';
  if (thrown instanceof RegistrationRejectedError) return refusedRegistration(thrown);
  const { issues } = Object(thrown) as { issues?: readonly { readonly path: readonly unknown[] }[] };
  if (Array.isArray(issues)) {
    const path: unknown = issues[0]?.path;
    const member = Array.isArray(path) && path.length > 0 ? ` at \`${path.join('.')}\`` : '';
    return `its answer is wrong or incomplete${clipHarmless(member, 100)}`;
  }
  const said = messageOf(thrown).replace(/^(HTTP \d{3}): Invalid OAuth error response: .*/s, '$1');
  return withoutFullStop(clipHarmless(said, 300));
}

/** The SDK quotes the whole body, which may be a page. */
function refusedRegistration({ status, body }: RegistrationRejectedError): string {
  try {
    const { error, error_description } = Object(JSON.parse(body)) as Record<string, unknown>;
    const said = error_description ?? error;
    if (typeof said === 'string' && said !== '') return withoutFullStop(clipHarmless(said, 300));
  } catch {
    // Told by its status.
  }
  return `HTTP ${status}`;
}

// Members of an authorization server's answer that somebody needs, each in the form that the SDK's schemas want. The schemas
// refuse a whole answer for one member, such as `"scope": null`, which many servers write; so a member that is optional and of
// another type is left out, as is every member that nobody reads. Members that a login rests on stay as they came, and the
// schemas still refuse them.

type MemberReader = (value: unknown) => unknown;

const asItIs: MemberReader = (value) => value;
const words: MemberReader = (value) => (typeof value === 'string' && value !== '' ? value : undefined);
const address: MemberReader = (value) =>
  typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? value
    : undefined;
const isTrue: MemberReader = (value) => (value === true || value === 'true' ? true : undefined);
const seconds: MemberReader = (value) => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};
/** A list of texts; of one text, that one. */
const texts: MemberReader = (value) => {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined;
};
const addresses: MemberReader = (value) => {
  const list = texts(value);
  return Array.isArray(list) ? list.filter((one) => address(one) !== undefined) : undefined;
};
/** Scopes as one text; some servers write a list. An empty text grants nothing and says so. */
const scopes: MemberReader = (value) =>
  typeof value === 'string' ? value : words([texts(value) ?? []].flat().join(' '));
const clientId: MemberReader = (value) => (typeof value === 'number' ? String(value) : value);

const MEMBERS: Readonly<Record<string, MemberReader>> = {
  // Members of metadata.
  resource: asItIs,
  authorization_servers: addresses,
  scopes_supported: texts,
  issuer: asItIs,
  authorization_endpoint: asItIs,
  token_endpoint: asItIs,
  registration_endpoint: address,
  revocation_endpoint: address,
  response_types_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  code_challenge_methods_supported: texts,
  client_id_metadata_document_supported: isTrue,
  authorization_response_iss_parameter_supported: isTrue,
  // Members of a registration.
  client_id: clientId,
  client_secret: words,
  token_endpoint_auth_method: words,
  redirect_uris: addresses,
  // Members of tokens.
  access_token: asItIs,
  token_type: words,
  issued_token_type: asItIs,
  expires_in: seconds,
  scope: scopes,
  refresh_token: words,
  id_token: words,
  // Members of a refusal.
  error: asItIs,
  error_description: words,
};

/** The text of an answer with what is needed of it; any text that is no JSON object comes back as it was. */
function withNeededMembers(text: string): string {
  let answer: unknown;
  try {
    answer = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return text;
  }
  if (!isObject(answer)) return text;
  const needed: JsonObject = {};
  for (const [name, read] of Object.entries(MEMBERS)) {
    const value = Object.hasOwn(answer, name) ? read(answer[name]) : undefined;
    if (value !== undefined) needed[name] = value;
  }
  return JSON.stringify({ ...assumedFields(needed), ...needed });
}

/** Members that the schemas demand although nobody reads them, or although nothing else could stand there. */
function assumedFields(needed: JsonObject): JsonObject {
  if (needed['access_token'] !== undefined) return { token_type: 'Bearer' };
  if (needed['client_id'] !== undefined) return { redirect_uris: [] };
  const { issuer, token_endpoint: tokenEndpoint } = needed;
  if (issuer === undefined || tokenEndpoint === undefined) return {};
  return {
    response_types_supported: ['code'],
    jwks_uri: tokenEndpoint,
    subject_types_supported: [],
    id_token_signing_alg_values_supported: [],
  };
}

/** Bytes of an answer by way of a proxy; `bodyOf` gives up at less. */
const MAX_PROXIED_BYTES = 2 * MB_BYTES;

/**
 * A `fetch` for short requests that go through a proxy, which Node's own cannot. Redirects are given back as they are.
 * Rejects with what HttpClient throws, or when the body is longer than 2 MB.
 */
function fetchBy(proxyFor: ProxyFor): (url: URL, init: RequestInit) => Promise<Response> {
  return async (url, { method = 'GET', headers, body, signal }) => {
    const client = new HttpClient(undefined, proxyFor);
    try {
      const request = {
        method: method === 'POST' ? 'POST' : 'GET',
        url,
        headers: Object.fromEntries(new Headers(headers)),
        ...(body === undefined || body === null ? {} : { body: String(body) }),
        mayRepeat: false,
        followsRedirects: false,
      } as const;
      const answer = await client.request(request, signal ?? new AbortController().signal);
      const read = await readBody(answer, MAX_PROXIED_BYTES);
      if (!('text' in read)) throw new Error(`the answer has more than ${MAX_PROXIED_BYTES} bytes`);
      const { statusCode: status = 500 } = answer;
      return new Response(WITHOUT_BODY.includes(status) ? null : read.text, {
        status,
        headers: headersOf(answer),
      });
    } finally {
      client.close();
    }
  };
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

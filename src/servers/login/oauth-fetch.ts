// How authorization servers are spoken to: over TLS, with an end, and never more than a little of what they say. No
// header of the server's own entry goes there. Failures are told with the address and never with what was sent.

import { type FetchLike, RegistrationRejectedError } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless, withoutFullStop } from '../../base/text/text.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { NO_PROXIES } from '../remote/proxies.js';
import { ProxyRefusal } from '../remote/proxy-agent.js';
import { fetchBy } from '../remote/proxy-fetch.js';
import { withNeededMembers } from './needed-members.js';

/** Time limit of one request. Two of them, when a refresh token is tried again, end before a lock grows old. */
const TIMEOUT_MS = 8_000;
/** Metadata and token answers have a few kilobytes. */
const MAX_BODY_BYTES = MB_BYTES;
const WITHOUT_BODY = [101, 204, 205, 304];

/** Whether the address is of this machine, where nobody listens on the way. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Why a token must not be sent to `address`, as the end of a sentence about it; undefined where it may. */
export function unsafeAddress(address: string | URL, server: string): string | undefined {
  const url = new URL(address);
  if (url.protocol === 'https:') return undefined;
  // A server elsewhere has no business with what listens on this machine.
  if (url.protocol === 'http:' && isLoopback(url) && isLoopback(new URL(server))) return undefined;
  return 'is not https, so a token could be read on its way';
}

/** Makes a `fetch` for what the server at the first address says of its login; see `oauthFetch`. */
export type OAuthFetch = (server: string, signal: AbortSignal) => FetchLike;

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
export function reasonOf(thrown: unknown): string {
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

/** What the SDK throws of an authorization server's answer, as one clause: it would show what it expected as JSON, and pages as they came. */
export function wordsOf(thrown: unknown): string {
  if (thrown instanceof SyntaxError) return 'its answer is no JSON';
  if (thrown instanceof RegistrationRejectedError) return refusedRegistration(thrown);
  const { issues } = Object(thrown) as { issues?: readonly { readonly path: readonly unknown[] }[] };
  if (Array.isArray(issues)) {
    const path: unknown = issues[0]?.path;
    const member = Array.isArray(path) && path.length > 0 ? ` at \`${path.join('.')}\`` : '';
    return `its answer is not as it should be${clipHarmless(member, 100)}`;
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

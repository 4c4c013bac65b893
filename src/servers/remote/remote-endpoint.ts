// Every request to a remote server goes through here: with its credentials, once more with others after a 401, and
// whatever is no success becomes a RemoteFailure in words. Knows no kind of transport.

import type { IncomingMessage } from 'node:http';
import { isObject } from '../../base/json/records.js';
import type { Redact } from '../../base/secrets/redact.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import type { RpcError } from '../../wire/envelope.js';
import { atItsEntry } from '../connection/link.js';
import type { Credentials } from './credentials.js';
import { HttpClient, type HttpRequest, readBody, StrayRedirect } from './http-client.js';
import { NO_PROXIES } from './proxies.js';
import { fromNode, oddAnswer, RefusedStatus, RemoteFailure } from './remote-failure.js';

/**
 * Bytes that are read from the body of a failed answer: an explanation is a sentence, and nobody needs a whole error
 * page.
 */
const MAX_ERROR_BYTES = 16 * KB_BYTES;
const MAX_SAID_CHARS = 300;

export class RemoteEndpoint {
  readonly url: URL;
  readonly #client: HttpClient;
  readonly #credentials: Credentials;
  readonly #redact: Redact;

  constructor(url: URL, credentials: Credentials, redact: Redact, proxyFor = NO_PROXIES) {
    this.#client = new HttpClient(undefined, proxyFor);
    this.url = url;
    this.#credentials = credentials;
    this.#redact = redact;
  }

  /** An answer with a status below 300. Throws RemoteFailure, or whatever `signal` ended it with. */
  async request(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const given = await this.#credentials.headers(signal);
    let answer = await this.#send(request, given, signal);
    if (answer.statusCode === 401) {
      answer.destroy();
      await this.#credentials.renew(given, signal);
      answer = await this.#send(request, await this.#credentials.headers(signal), signal);
    }
    if ((answer.statusCode ?? 0) >= 300) throw await this.#refusal(answer);
    const encoding = encodingOf(answer);
    if (encoding === '') return answer;
    answer.destroy();
    throw oddAnswer(`it answered in the encoding ${encoding}, although asked for none`);
  }

  /** As `request`, but with the credentials that are at hand and whatever the answer: for the last word. */
  async tell(request: HttpRequest, signal: AbortSignal): Promise<void> {
    (await this.#send(request, this.#credentials.latest, signal)).destroy();
  }

  close(): void {
    this.#client.close();
  }

  async #send(
    request: HttpRequest,
    credentials: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const headers = { 'user-agent': `${PACKAGE_NAME}/${VERSION}`, ...credentials, ...request.headers };
    try {
      return await this.#client.request({ ...request, headers }, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      throw thrown instanceof StrayRedirect ? strayFailure(thrown) : fromNode(this.url, thrown);
    }
  }

  async #refusal(answer: IncomingMessage): Promise<RemoteFailure> {
    const { statusCode: status = 0, headers } = answer;
    const refusal = this.#credentials.onRefused({ status, challenge: headers['www-authenticate'] });
    if (refusal !== undefined) {
      answer.destroy();
      return refusal;
    }
    const { words, rpcError } = await explanationOf(answer);
    const said = clipHarmless(this.#redact(words), MAX_SAID_CHARS);
    const { fault, remedy } = nextStep(status);
    return new RefusedStatus(status, said, { fault, remedy }, rpcError);
  }
}

function nextStep(status: number): Pick<ConstructorParameters<typeof RemoteFailure>[1], 'fault' | 'remedy'> {
  if (status === 403) {
    const remedy = atItsEntry('Ask its operator for the right to use it, or correct its `headers`');
    return { fault: 'operator', remedy };
  }
  if (status === 413) return { fault: 'guest', remedy: 'Give it less at a time.' };
  if (status === 429 || status >= 500) {
    return { fault: 'downstream', remedy: 'Try again later, or tell its operator.' };
  }
  if (status === 404 || status === 405 || status === 410) {
    return { fault: 'operator', remedy: atItsEntry('Correct its `url`') };
  }
  return { fault: 'downstream', remedy: 'Change the request as it says, or tell its operator.' };
}

function strayFailure({ why, isElsewhere }: StrayRedirect): RemoteFailure {
  const remedy = isElsewhere
    ? 'If you trust that address, put it into its `url`'
    : 'Put the address that it means into its `url` (often only a slash at the end is missing or too much)';
  return new RemoteFailure(`it redirects ${why}`, { fault: 'operator', remedy: atItsEntry(remedy) });
}

/** How the body is compressed; empty where it is not. */
function encodingOf({ headers }: IncomingMessage): string {
  const encoding = clipHarmless(headers['content-encoding'] ?? '', 20).toLowerCase();
  return encoding === 'identity' ? '' : encoding;
}

const NOTHING: { readonly words: string; readonly rpcError?: RpcError } = { words: '' };

/** A JSON error and its message, or a short plain text; a page of HTML says nothing that helps. */
async function explanationOf(answer: IncomingMessage) {
  const type = answer.headers['content-type'] ?? '';
  if (encodingOf(answer) !== '' || !/\bjson\b|^text\/plain\b/i.test(type)) {
    answer.destroy();
    return NOTHING;
  }
  const body = await readBody(answer, MAX_ERROR_BYTES).catch(() => undefined);
  if (body === undefined || !('text' in body)) return NOTHING;
  try {
    const { error, message, error_description } = Object(JSON.parse(body.text));
    const said = isObject(error) ? error['message'] : (error_description ?? message ?? error);
    const words = typeof said === 'string' ? said : '';
    if (!isObject(error) || !Number.isInteger(error['code'])) return { words };
    return { words, rpcError: { code: Number(error['code']), message: words, data: error['data'] } };
  } catch {
    return { words: body.text.trim() };
  }
}

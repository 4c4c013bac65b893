// A principal's access token as a server is to see it: exchanged for one of that server (RFC 8693), or the token itself where
// the principals file says so and the issuer has made it for that server too. Without one of the two nothing is forwarded.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import type { Environment } from '../../base/process/environment.js';
import { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { CallerToken } from '../principals/authentication.js';
import type { TokenExchange } from '../principals/principal-rules.js';
import type { PrincipalsBook } from '../principals/principals-book.js';
import type { ExchangeEntry } from '../principals/principals-table.js';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const TIMEOUT_MS = 8_000;
const MAX_ANSWER_BYTES = 256 * KB_BYTES;
/** A token that ends sooner is exchanged anew. */
const REST_MS = 30_000;
/** Life of a token whose issuer does not say when the token ends. */
const UNSAID_MS = 60_000;
const MAX_KEPT = 10_000;

const answer = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  issued_token_type: z.string().optional(),
  token_type: z.string(),
  expires_in: z.number().positive().optional(),
});
const refusal = z.object({ error: z.string(), error_description: z.string().optional() });

type KeptExchange = {
  readonly text: Promise<string>;
  endsAtMs: number;
  /** The token that `text` has resolved to. */
  had?: string;
};

export class TokenExchanges {
  readonly #book: Pick<PrincipalsBook, 'grantOf'>;
  readonly #tokens: CallerTokens;
  readonly #env: Environment;
  readonly #nowMs: () => number;
  /** Exchanges by principal, server, exchange and the token that was exchanged. */
  readonly #kept = new Map<string, KeptExchange>();

  constructor(
    book: Pick<PrincipalsBook, 'grantOf'>,
    tokens: CallerTokens,
    env: Environment,
    nowMs: () => number = Date.now,
  ) {
    this.#book = book;
    this.#tokens = tokens;
    this.#env = env;
    this.#nowMs = nowMs;
  }

  /** Throws E_LOGIN where the principal has no token that may be used for this server. */
  readonly exchange: TokenExchange = async ({ principal, server, refused }, signal) => {
    const grant = this.#book.grantOf(principal, server);
    if (grant === undefined)
      throw loginError(server, 'the principals file no longer says how to get a token');
    const token = this.#tokens.of(principal.id);
    if (token === undefined)
      throw loginError(
        server,
        'the caller has no access token of an issuer; a named token cannot be exchanged',
      );
    if (grant.kind === 'exchange')
      return await this.#exchangeToken(
        { principalId: principal.id, server, refused },
        grant.exchange,
        token,
        signal,
      );
    if (token.audiences.includes(grant.audience)) return token.text;
    throw loginError(
      server,
      `the caller's access token is not for '${grant.audience}', so it is not passed on; the issuer has to add this audience`,
    );
  };

  async #exchangeToken(
    {
      principalId,
      server,
      refused,
    }: {
      readonly principalId: string;
      readonly server: string;
      readonly refused: string | undefined;
    },
    entry: ExchangeEntry,
    token: CallerToken,
    signal: AbortSignal,
  ): Promise<string> {
    const key = createHash('sha256')
      .update(JSON.stringify([principalId, server, entry, token.text]))
      .digest('hex');
    const known = this.#kept.get(key);
    const isGood =
      known !== undefined &&
      known.endsAtMs > this.#nowMs() &&
      // While one is under way nobody can have been refused it.
      (refused === undefined || known.had !== refused);
    const kept = isGood ? known : this.#begin(key, server, entry, token);
    return await unlessAborted(kept.text, signal);
  }

  /** One request for all who wait for it; whoever leaves does not end it for the others. */
  #begin(key: string, server: string, entry: ExchangeEntry, token: CallerToken): KeptExchange {
    const request = askFor(server, entry, token, this.#env);
    const kept: KeptExchange = {
      text: request.then(({ access_token, expires_in }) => {
        const lifeMs = expires_in === undefined ? UNSAID_MS : expires_in * 1000 - REST_MS;
        // Never longer than what it was had for.
        kept.had = access_token;
        kept.endsAtMs = Math.min(this.#nowMs() + lifeMs, token.expiresAtMs);
        return access_token;
      }),
      endsAtMs: Number.POSITIVE_INFINITY,
    };
    kept.text.catch(() => this.#kept.delete(key));
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return kept;
  }
}

async function askFor(
  server: string,
  entry: ExchangeEntry,
  token: CallerToken,
  env: Environment,
): Promise<z.output<typeof answer>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { origin } = new URL(entry.tokenEndpoint);
  // An endpoint may quote what it was sent, and what it says is read by the caller.
  const redactor = new Redactor();
  const { clientSecretVariable: variable } = entry;
  redactor.addAll({
    "caller's token": token.text,
    'client secret': variable === undefined ? undefined : env[variable],
  });
  const request = requestOf(server, entry, token, env);
  let response: Response;
  let text: string;
  try {
    response = await fetch(entry.tokenEndpoint, { ...request, redirect: 'error', signal });
    text = await limitedText(response);
  } catch (thrown) {
    // Not in the words of what was thrown, which may quote what was sent.
    const why = signal.aborted
      ? 'no answer in time'
      : String(Object(Object(thrown).cause).code ?? 'no usable answer');
    throw loginError(server, `${origin} cannot be asked for it: ${why}`);
  }
  const said = jsonOf(text);
  const parsed = answer.safeParse(said);
  if (response.ok && parsed.success && parsed.data.token_type.toLowerCase() === 'bearer') return parsed.data;
  const { error = `status ${response.status}`, error_description: more } = refusal.safeParse(said).data ?? {};
  const reason = clipHarmlessLine(redactor.redact(more === undefined ? error : `${error}: ${more}`), 200);
  throw loginError(
    server,
    response.ok ? `${origin} answers with no bearer token` : `${origin} refuses: ${reason}`,
  );
}

function requestOf(server: string, entry: ExchangeEntry, token: CallerToken, env: Environment): RequestInit {
  const { clientId, clientSecretVariable: variable, audience, resource, scopes } = entry;
  const secret = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && !secret)
    throw loginError(
      server,
      `the variable ${variable} of the bridge's environment, which the principals file names, is not set`,
    );
  const body = new URLSearchParams({
    grant_type: GRANT,
    subject_token: token.text,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    ...(audience === undefined ? {} : { audience }),
    ...(resource === undefined ? {} : { resource }),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...(secret === undefined ? { client_id: clientId } : {}),
  });
  // RFC 6749, 2.3.1: both are form-encoded before they are put together.
  const form = (part: string) => new URLSearchParams({ x: part }).toString().slice(2);
  const basic = (key: string) => Buffer.from(`${form(clientId)}:${form(key)}`).toString('base64');
  return {
    method: 'POST',
    headers: {
      accept: 'application/json',
      ...(secret === undefined ? {} : { authorization: `Basic ${basic(secret)}` }),
    },
    body,
  };
}

async function limitedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const loginError = (server: string, why: string): BridgeError =>
  new BridgeError('E_LOGIN', `There is no token for server '${shownName(server)}': ${why}.`, {
    fault: 'operator',
    remedy: 'The operator of the bridge finds the rule in the principals file (docs/principals.md).',
  });

// The access tokens of principals, for as long as they are good, for servers that the operator lets have them or have one in
// exchange. In memory only. A principal with several clients has several tokens; the one that came last counts.

/** More principals than one bridge serves; the longest unused goes first. */
const MAX_CALLERS = 10_000;

export class CallerTokens {
  /** Callers' tokens by the principal's id, the last used at the end. */
  readonly #tokens = new Map<string, CallerToken>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  keep(principalId: string, token: CallerToken): void {
    this.#tokens.delete(principalId);
    this.#tokens.set(principalId, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_CALLERS && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** Undefined where there is none, or it has expired. */
  of(principalId: string): CallerToken | undefined {
    const token = this.#tokens.get(principalId);
    if (token === undefined || token.expiresAtMs > this.#nowMs()) return token;
    this.#tokens.delete(principalId);
    return undefined;
  }
}

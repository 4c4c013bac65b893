// Who sent a request: the user of this machine by a private socket, the holder of a named token, or whoever a configured
// issuer says. Everybody else gets an answer that says how to become one of them.

import { timingSafeEqual } from 'node:crypto';
import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { LOCAL_USER, type Principal } from '../../base/principal.js';
import type { Environment } from '../../base/process/environment.js';
import { isLoopback } from '../../base/text/loopback.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { OAuthSettings, Settings } from '../../settings/environment/settings.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { UNIX_SOCKET } from '../events.js';
import { AccessTokens, type AccessTokensOptions } from '../oauth/access-token.js';
import { CallerTokens, TokenExchanges } from '../oauth/token-exchange.js';
import type {
  Authentication,
  AuthenticationFacts,
  AuthenticationRefusal,
} from '../principals/authentication.js';
import { type PrincipalBook, sourceOf, type TokenExchange } from '../principals/principal-rules.js';
import { PrincipalsBook } from '../principals/principals-book.js';
import {
  badRequest,
  type ChallengeFacts,
  insecureRefusal,
  insufficientRefusal,
  invalidRefusal,
  missingRefusal,
  unavailableRefusal,
} from '../principals/refusals.js';
import { stepUp, wantedUse } from '../principals/scope-rules.js';
import {
  hashOfToken,
  isExpired,
  isTokenText,
  LastUses,
  principalIdOf,
  TOKEN_PREFIX,
  TokenFile,
  type TokenRecord,
} from './token-file.js';

/** How long to wait before asking again where the file of tokens cannot be used: until somebody has mended it. */
const UNREADABLE_RETRY_SECONDS = 30;
/** Refusals in one minute that are told; a stranger can cause any number. */
const TOLD_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
/** Somebody who goes on coming from the same address is told of again after this time. */
const TOLD_AGAIN_MS = 60 * MINUTE_MS;
/** People and programs, each with the addresses from which it came lately. */
const MAX_ARRIVALS = 10_000;

export class Authenticator {
  readonly #settings: Pick<Settings, 'stateDir' | 'oauth'>;
  readonly #observer: Observer;
  readonly #tokens: TokenBook;
  readonly #accessTokens: AccessTokens | undefined;
  readonly #challenge: ChallengeFacts;
  #told = { minute: 0, count: 0 };
  /** When a principal was last told of at an address, by performance.now(); the oldest first. */
  readonly #arrivals = new Map<string, number>();
  #tokenTrouble: string | undefined;

  constructor(
    settings: Pick<Settings, 'stateDir' | 'oauth'>,
    observer: Observer,
    options: Omit<AccessTokensOptions, 'observer' | 'groupsClaim'> &
      Partial<Pick<AccessTokensOptions, 'groupsClaim'>> = {},
  ) {
    const { oauth } = settings;
    this.#settings = settings;
    this.#observer = observer;
    this.#tokens = new TokenBook(settings.stateDir);
    this.#accessTokens =
      oauth === undefined
        ? undefined
        : new AccessTokens(oauth, { groupsClaim: () => 'groups', ...options, observer });
    this.#challenge = {
      metadataUrl: oauth === undefined ? undefined : metadataUrlOf(oauth),
      scopes: oauth?.scopes ?? [],
    };
  }

  /** Facts in every challenge of this bridge; for refusals that are made elsewhere. */
  get challenge(): ChallengeFacts {
    return this.#challenge;
  }

  /** Who sent this request, or what to answer instead. Takes 5 s at most, when an issuer has to be asked. Never rejects. */
  async authenticate(facts: AuthenticationFacts): Promise<Authentication> {
    const found = await this.#judge(facts);
    // Without a credential a request is how a client finds out that it needs one: nothing to tell of.
    const hasPresented = facts.authorization !== undefined && facts.authorization.length > 0;
    if ('principal' in found) this.#tellArrival(facts, found.principal.id);
    else if (hasPresented || found.refusal.status !== 401) this.#tell(facts, found);
    return found;
  }

  /**
   * Whether somebody besides the user of a private socket can come in: by a token that has not expired, or by an issuer.
   * Throws E_STATE where the file of tokens cannot be used.
   */
  credentialsConfigured(): boolean {
    return this.#accessTokens !== undefined || this.#tokens.hasUsable();
  }

  /** Whether the principal with this id still has a token here, or an issuer that counts here. */
  isKnown(principal: string): boolean {
    const source = sourceOf({ id: principal });
    if (source.kind === 'subject' || source.kind === 'client')
      return this.#settings.oauth?.issuers.includes(source.issuer) === true;
    try {
      return this.#tokens.isHeldBy(principal);
    } catch {
      return false;
    }
  }

  /** The document at a well-known path of OAuth (without a query), as a value for JSON; undefined where there is none. */
  metadataAt(path: string): object | undefined {
    const { oauth } = this.#settings;
    return oauth === undefined ? undefined : metadataAt(path, oauth);
  }

  async #judge(facts: AuthenticationFacts): Promise<Authentication> {
    if (hasTokenInQuery(facts.target))
      return asRefusal(
        badRequest(
          'A token must not be in the address, because logs keep that. Send it as `Authorization: Bearer TOKEN`, and make a new one: this one may have been seen.',
        ),
      );
    const presented = presentedIn(facts.authorization);
    if (presented.state === 'malformed') return asRefusal(badRequest(presented.description));
    if (presented.state === 'none') {
      // Behind a proxy that has the socket, this user would be everybody.
      const isOwnUser = facts.isPrivateSocket && facts.isForwarded !== true;
      return isOwnUser ? { principal: LOCAL_USER } : asRefusal(missingRefusal(this.#challenge));
    }
    if (!isConfidential(facts)) return asRefusal(insecureRefusal());
    return presented.text.startsWith(TOKEN_PREFIX)
      ? this.#byNamedToken(presented.text)
      : await this.#byAccessToken(presented.text);
  }

  #byNamedToken(text: string): Authentication {
    if (!isTokenText(text))
      return this.#invalidAnswer(
        'The token is mistyped or cut: its checksum is wrong. Copy the whole token again.',
      );
    try {
      const verdict = this.#tokens.verdict(text);
      this.#tokenTrouble = undefined;
      if (verdict.state === 'known') return { principal: verdict.principal };
      if (verdict.state === 'unknown')
        return this.#invalidAnswer(
          'The token is not known here: it was revoked, or belongs to another bridge.',
        );
      const at = new Date(verdict.expiredAtMs).toISOString();
      const refused = this.#invalidAnswer(
        verdict.isReplaced
          ? `The token was replaced, and ended at ${at}; ask whoever runs this bridge for the new one.`
          : `The token expired at ${at}; whoever runs this bridge can make another.`,
      );
      return { ...refused, principalId: verdict.principalId };
    } catch (thrown) {
      this.#tellTokenTrouble(messageOf(thrown));
      const description = 'Tokens cannot be checked now; the log of the bridge says why.';
      return asRefusal(unavailableRefusal(description, UNREADABLE_RETRY_SECONDS));
    }
  }

  async #byAccessToken(text: string): Promise<Authentication> {
    if (this.#accessTokens === undefined)
      return this.#invalidAnswer('Not a token of this bridge. Its tokens begin with msb_.');
    const verdict = await this.#accessTokens.verdict(text);
    switch (verdict.state) {
      case 'known':
        return { principal: verdict.principal, callerToken: verdict.callerToken };
      case 'invalid':
        return this.#invalidAnswer(verdict.description);
      case 'unavailable':
        return asRefusal(unavailableRefusal(verdict.description, verdict.retryAfterSeconds));
      case 'insufficient': {
        const description = `The token lacks a scope that everybody needs here: ${this.#challenge.scopes.join(' ')}.`;
        const refused = asRefusal(insufficientRefusal(this.#challenge, verdict.scopes, description));
        return { ...refused, principalId: verdict.principalId };
      }
    }
  }

  #invalidAnswer = (description: string): Refused => asRefusal(invalidRefusal(this.#challenge, description));

  #tellTokenTrouble(message: string): void {
    if (message === this.#tokenTrouble) return;
    this.#tokenTrouble = message;
    this.#observer({ type: 'auth.trouble', message });
  }

  #tellArrival({ remoteAddress, method }: AuthenticationFacts, principal: string): void {
    const from = remoteAddress ?? UNIX_SOCKET;
    const arrival = `${principal} ${from}`;
    const [now, toldAt] = [performance.now(), this.#arrivals.get(arrival)];
    if (toldAt !== undefined && now - toldAt < TOLD_AGAIN_MS) return;
    this.#arrivals.delete(arrival);
    this.#arrivals.set(arrival, now);
    const [oldest = ''] = this.#arrivals.keys();
    if (this.#arrivals.size > MAX_ARRIVALS) this.#arrivals.delete(oldest);
    this.#observer({ type: 'auth.accepted', principal, from, method });
  }

  #tell({ remoteAddress, method }: AuthenticationFacts, { refusal, principalId }: Refused): void {
    const { status, body } = refusal;
    const minute = Math.floor(performance.now() / MINUTE_MS);
    if (minute !== this.#told.minute) this.#told = { minute, count: 0 };
    if (++this.#told.count > TOLD_PER_MINUTE) return;
    this.#observer({
      type: 'auth.refused',
      ...(principalId === undefined ? {} : { principal: principalId }),
      from: remoteAddress ?? UNIX_SOCKET,
      method,
      status,
      message: body.error_description,
    });
  }
}

type Refused = Extract<Authentication, { readonly refusal: AuthenticationRefusal }>;

const asRefusal = (refusal: AuthenticationRefusal): Refused => ({ refusal });

/** Whether nobody on the way can have read the request. */
export const isConfidential = ({ isSecure, remoteAddress }: AuthenticationFacts): boolean =>
  isSecure || remoteAddress === undefined || isLoopback(remoteAddress);

/** Access tokens with long lists of groups have some 8 kB; node:http takes headers of 16 kB together. */
const MAX_TOKEN_CHARS = 16_000;
const SCHEME = /^[A-Za-z][A-Za-z0-9_-]{0,31}(?= |$)/;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_QUERY_CHARS = 16_000;

/**
 * The credential of a request: at most one, in the `Authorization` header, as `Bearer TOKEN` (RFC 6750). Looks at form only.
 * Several headers are refused: two programs may not read different ones of them.
 */
function presentedIn(headers: readonly string[] = []):
  | { readonly state: 'none' }
  | { readonly state: 'token'; readonly text: string }
  /** `description` is a sentence for whoever has sent it, without what was sent. */
  | { readonly state: 'malformed'; readonly description: string } {
  const [header, second] = headers;
  if (header === undefined) return { state: 'none' };
  if (second !== undefined) return malformedCredential('There are several Authorization headers; send one.');
  const [scheme] = SCHEME.exec(header) ?? [];
  if (scheme?.toLowerCase() !== 'bearer') {
    const known = scheme?.toLowerCase() === 'dpop' ? 'DPoP' : 'This scheme';
    return malformedCredential(`${known} is not accepted here; send \`Authorization: Bearer TOKEN\`.`);
  }
  const text = header.slice('bearer'.length).trim();
  if (text.length > MAX_TOKEN_CHARS)
    return malformedCredential(`The token is longer than ${MAX_TOKEN_CHARS} characters.`);
  if (!TOKEN.test(text))
    return malformedCredential(
      'The text after `Bearer` is not a token: expected one word of letters, digits and -._~+/.',
    );
  return { state: 'token', text };
}

/** Whether there is a token in the address, where logs and histories keep it. */
function hasTokenInQuery(target: string): boolean {
  const at = target.indexOf('?');
  if (at === -1) return false;
  const query = target.slice(at + 1, at + 1 + MAX_QUERY_CHARS);
  return [...new URLSearchParams(query)].some(
    ([name, value]) => name.toLowerCase() === 'access_token' || value.startsWith(TOKEN_PREFIX),
  );
}

const malformedCredential = (description: string) => ({ state: 'malformed', description }) as const;

/** One text that lets its holder in, until `endsAtMs`. A token that was rotated lately has two. */
type KeptToken = {
  readonly record: TokenRecord;
  readonly hash: Buffer;
  readonly endsAtMs: number | undefined;
  readonly isReplaced: boolean;
};

function keptTexts(record: TokenRecord): readonly KeptToken[] {
  const { hash, previous, expiresAtMs } = record;
  const kept = (hex: string) => ({ record, hash: Buffer.from(hex, 'hex') });
  const current = { ...kept(hash), endsAtMs: expiresAtMs, isReplaced: false };
  if (previous === undefined) return [current];
  const endsAtMs = Math.min(previous.untilMs, expiresAtMs ?? Number.POSITIVE_INFINITY);
  return [current, { ...kept(previous.hash), endsAtMs, isReplaced: true }];
}

/**
 * The named tokens as they are now, for a bridge that runs: read again when their file has changed, so that one that is revoked
 * or made counts from the next request on.
 */
export class TokenBook {
  readonly #file: TokenFile;
  readonly #uses: LastUses;
  readonly #isEqual: typeof timingSafeEqual;
  #stamp: string | undefined;
  #tokens: readonly KeptToken[] = [];

  /** `isEqual` compares two hashes in a time that says nothing of them; a test counts with its own. */
  constructor(stateDir: string, isEqual: typeof timingSafeEqual = timingSafeEqual) {
    this.#isEqual = isEqual;
    this.#file = new TokenFile(stateDir);
    this.#uses = new LastUses(stateDir);
  }

  /**
   * Whose token it is. Every kept hash is compared, each in constant time, whatever the others say: the time tells neither
   * which token it is nor whether there is one. Throws E_STATE where the file cannot be used.
   */
  verdict(
    text: string,
    nowMs = Date.now(),
  ):
    | { readonly state: 'known'; readonly principal: Principal }
    /** `isReplaced` tells that a newer text of the token counts, or has counted. */
    | {
        readonly state: 'expired';
        readonly principalId: string;
        readonly expiredAtMs: number;
        readonly isReplaced: boolean;
      }
    /** Nobody has made it, or it has been revoked: which of the two is not kept. */
    | { readonly state: 'unknown' } {
    const tokens = this.#current();
    const hash = hashOfToken(text);
    const [found] = tokens.filter((one) => this.#isEqual(one.hash, hash));
    if (found === undefined) return { state: 'unknown' };
    const { record, endsAtMs, isReplaced } = found;
    if (endsAtMs !== undefined && endsAtMs <= nowMs)
      return { state: 'expired', principalId: principalIdOf(record), expiredAtMs: endsAtMs, isReplaced };
    const known = tokens.map((one) => one.record.id);
    this.#uses.note(record.id, known, nowMs);
    return { state: 'known', principal: { ...principalOf(record), expiresAtMs: endsAtMs } };
  }

  /** Whether there is a token that lets somebody in. Throws E_STATE where the file cannot be used. */
  hasUsable(): boolean {
    return this.#current().some(({ record }) => !isExpired(record, Date.now()));
  }

  /** Whether this principal has a token that lets them in. Throws E_STATE where the file cannot be used. */
  isHeldBy(principal: string): boolean {
    return this.#current().some(
      ({ record }) => principalIdOf(record) === principal && !isExpired(record, Date.now()),
    );
  }

  #current(): readonly KeptToken[] {
    // Before reading: a change in between is seen the next time.
    const { stamp } = this.#file;
    if (stamp !== undefined && stamp === this.#stamp) return this.#tokens;
    this.#stamp = undefined;
    this.#tokens = this.#file.read().flatMap(keptTexts);
    this.#stamp = stamp;
    return this.#tokens;
  }
}

/** A token of that name, as a principal. */
export const principalOf = (record: TokenRecord): Principal => ({
  id: principalIdOf(record),
  name: record.name,
  servers: record.servers === '*' ? undefined : record.servers,
  scopes: record.scopes,
  expiresAtMs: record.expiresAtMs,
});

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** Where the bridge itself has its endpoint: a proxy in front of it may have put it elsewhere. */
const ENDPOINT = '/mcp';

/**
 * Where the metadata of this bridge as an OAuth resource is: RFC 9728 puts the well-known part ahead of the resource's own
 * path.
 */
function metadataUrlOf({ resource }: Pick<OAuthSettings, 'resource'>): string {
  const url = new URL(resource);
  return url.origin + WELL_KNOWN + ownPath(url);
}

/**
 * The document that belongs at `path` (without a query), undefined where none does. It is at the path that RFC 9728 gives
 * the resource, at the one of the bridge's own endpoint, and at the root, where older clients look.
 */
function metadataAt(path: string, { resource, issuers, scopes }: OAuthSettings): object | undefined {
  const places = ['', ENDPOINT, ownPath(new URL(resource))].map((own) => WELL_KNOWN + own);
  if (!places.includes(path.replace(/\/$/, ''))) return undefined;
  return {
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ['header'],
    resource_name: PACKAGE_NAME,
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
  };
}

const ownPath = ({ pathname }: URL): string => pathname.replace(/\/$/, '');

// Everything that an HTTP endpoint asks about who may come in and what for, put together out of settings and files.

export class HttpAccess {
  readonly #authenticator: Authenticator;
  readonly #book: PrincipalsBook;
  readonly #executeServer: string | undefined;
  readonly #callerTokens = new CallerTokens();
  /** Gets the tokens that headers `{exchange}` and `{passThrough}` of the principals file ask for. */
  readonly exchange: TokenExchange;

  /** Throws E_SETTINGS where there is to be a principals file and it cannot be used. `env` has the secrets of exchanges. */
  constructor(
    settings: Pick<Settings, 'stateDir' | 'oauth' | 'principalsFile'> &
      Partial<Pick<Settings, 'executeServer'>>,
    host: HostFacts,
    env: Environment,
    observer: Observer,
  ) {
    this.#executeServer = settings.executeServer;
    this.#book = new PrincipalsBook(settings, host, observer);
    this.#authenticator = new Authenticator(settings, observer, {
      groupsClaim: () => this.#book.groupsClaim(),
    });
    this.exchange = new TokenExchanges(this.#book, this.#callerTokens, env).exchange;
  }

  /** The rules of principals, for the bridges of each. */
  get book(): PrincipalBook {
    return this.#book;
  }

  /** Who sent this request, or what to answer instead. Takes 5 seconds at most. Never rejects. */
  async authenticate(facts: AuthenticationFacts): Promise<Authentication> {
    const found = await this.#authenticator.authenticate(facts);
    if ('principal' in found && found.callerToken !== undefined)
      this.#callerTokens.keep(found.principal.id, found.callerToken);
    return found;
  }

  /**
   * Answer in place of the one that a JSON-RPC message asks for, where the principal lacks a scope for it: 403 with the scope.
   * To be asked with the parsed message before it is handed on; `message` may be anything.
   */
  stepUp(principal: Principal, message: unknown): AuthenticationRefusal | undefined {
    const { challenge } = this.#authenticator;
    return stepUp(
      principal,
      this.#book.rulesOf(principal),
      this.#book.scopes(),
      wantedUse(message, this.#executeServer),
      challenge,
    );
  }

  /** Whether anybody but the user of a private socket can come in. Throws E_STATE where the tokens cannot be read. */
  credentialsConfigured(): boolean {
    return this.#authenticator.credentialsConfigured();
  }

  /** Whether a principal who came in once still could. */
  isKnown(principal: string): boolean {
    return this.#authenticator.isKnown(principal);
  }

  /** The document at a well-known path of OAuth (without a query), as a value for JSON; undefined where there is none. */
  metadataAt(path: string): object | undefined {
    return this.#authenticator.metadataAt(path);
  }
}

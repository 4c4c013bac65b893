// An access token of a configured issuer, checked: a JWT (RFC 9068, and what large issuers make instead), signed with a
// public key of the issuer, for this resource, in its time, with the scopes that everybody needs. What it says beyond that
// is who sent it. A key or an address in the token itself is not looked at.

import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { Principal } from '../../base/principal.js';
import { clipHarmlessLine, isHarmless } from '../../base/text/text.js';
import type { OAuthSettings } from '../../settings/environment/settings.js';
import type { CallerToken } from '../principals/authentication.js';
import { IssuerKeys, type IssuerKeysOptions, IssuerUnavailable } from './issuer-keys.js';
import { ALGORITHMS, LEEWAY_SECONDS, signedBy } from './signed-token.js';

/** `JWT` is what issuers write that do not follow RFC 9068; other types are no access tokens. */
const TYPES = ['at+jwt', 'jwt'];
/** Claims that only ID tokens have; issuers that call everything `JWT` would let an ID token pass for an access token. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];
const MAX_SUBJECT_CHARS = 255;
const MAX_GROUPS = 1_000;
const MAX_SHOWN_CHARS = 200;

export type AccessTokenVerdict =
  | { readonly state: 'known'; readonly principal: Principal; readonly callerToken: CallerToken }
  /** `description` is a sentence for whoever has sent it. */
  | { readonly state: 'invalid'; readonly description: string }
  | { readonly state: 'insufficient'; readonly principalId: string; readonly scopes: readonly string[] }
  | { readonly state: 'unavailable'; readonly description: string; readonly retryAfterSeconds: number };

export type AccessTokensOptions = IssuerKeysOptions & {
  /** The claim that names groups, as it is now. */
  readonly groupsClaim: () => string;
  /** In ms since 1970. */
  readonly clock?: () => number;
};

export class AccessTokens {
  readonly #settings: OAuthSettings;
  readonly #options: AccessTokensOptions;
  readonly #keys: ReadonlyMap<string, IssuerKeys>;

  constructor(settings: OAuthSettings, options: AccessTokensOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#keys = new Map(settings.issuers.map((issuer) => [issuer, new IssuerKeys(issuer, options)]));
  }

  /** Whose token it is, if it is good. Never rejects. */
  async verdict(text: string): Promise<AccessTokenVerdict> {
    try {
      return this.#knownVerdict(text, await this.#verify(text));
    } catch (thrown) {
      if (thrown instanceof IssuerUnavailable)
        return {
          state: 'unavailable',
          description: thrown.message,
          retryAfterSeconds: thrown.retryAfterSeconds,
        };
      if (thrown instanceof TokenRefusal) return { state: 'invalid', description: thrown.message };
      return { state: 'invalid', description: descriptionOf(thrown) };
    }
  }

  /** The claims of a token whose signature, issuer, audience and times are right. */
  async #verify(text: string): Promise<JWTPayload> {
    const { typ } = decodeProtectedHeader(text);
    if (typ !== undefined && !TYPES.includes(mediaType(typ)))
      throw new TokenRefusal(`The token is of type '${clipLine(typ)}'; an access token is at+jwt or JWT.`);
    // Only to choose the keys: what is read here counts when the signature has been checked.
    const { iss } = decodeJwt(text);
    const keys = this.#keys.get(String(iss));
    if (iss === undefined || keys === undefined)
      throw new TokenRefusal('The token comes from an issuer that is not trusted here.');
    const payload = await signedBy(keys, text, {
      issuer: iss,
      audience: [...this.#settings.audiences],
      requiredClaims: ['exp'],
      currentDate: new Date(this.#nowMs()),
    });
    if (typ === undefined || mediaType(typ) !== 'at+jwt') refuseIdToken(payload);
    return payload;
  }

  #knownVerdict(text: string, payload: JWTPayload): AccessTokenVerdict {
    const { iss = '', exp = 0, iat, aud = [], cnf } = payload;
    if (typeof iat === 'number' && iat * 1000 > this.#nowMs() + LEEWAY_SECONDS * 1000)
      throw new TokenRefusal('The token was made in the future; the clocks of issuer and bridge differ.');
    // A thief of such a token has not its key, and what the key signs is not checked here.
    if (cnf !== undefined)
      throw new TokenRefusal(
        'The token is bound to a key (DPoP or a certificate), which is not checked here; ask for a bearer token.',
      );
    const scopes = scopesOf(payload);
    const missing = this.#settings.scopes.filter((scope) => !scopes.includes(scope));
    if (missing.length > 0)
      return {
        state: 'insufficient',
        principalId: subjectOf(payload).id,
        scopes: [...new Set([...this.#settings.scopes, ...scopes])],
      };
    const groups = groupsIn(payload, this.#options.groupsClaim());
    const expiresAtMs = exp * 1000;
    return {
      state: 'known',
      principal: { ...subjectOf(payload), servers: undefined, scopes, groups, expiresAtMs },
      callerToken: { text, issuer: iss, audiences: [aud].flat(), expiresAtMs },
    };
  }

  #nowMs = (): number => this.#options.clock?.() ?? Date.now();
}

/** Why a token that jose has nothing against is not taken. */
class TokenRefusal extends Error {}

function refuseIdToken(payload: JWTPayload): void {
  if (ID_TOKEN_CLAIMS.some((claim) => claim in payload))
    throw new TokenRefusal('The token is an ID token, which says who logged in; send the access token.');
}

/** RFC 9068 has `sub` always; some issuers leave it out where no person but a program has the token. */
export function subjectOf(payload: JWTPayload): Pick<Principal, 'id' | 'name'> {
  const { iss, sub } = payload;
  const client = payload['client_id'] ?? payload['azp'];
  const [kind, subject] = sub === undefined ? ['oauth-client', client] : ['oauth', sub];
  if (typeof subject !== 'string' || subject === '')
    throw new TokenRefusal('The token names neither a subject (`sub`) nor a client (`client_id`).');
  if (subject.length > MAX_SUBJECT_CHARS || !isHarmless(subject) || /[\t\n]/.test(subject))
    throw new TokenRefusal(
      `The subject of the token cannot be used: it has ${subject.length} characters; allowed: at most ${MAX_SUBJECT_CHARS}, all of them visible.`,
    );
  // No issuer has a space in its address, so the first one ends it.
  return { id: `${kind}:${iss} ${subject}`, name: subject };
}

/** `scope` of RFC 9068, and `scp`, which two large issuers write. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const said = [payload['scope'], payload['scp']].flat();
  const scopes = said.flatMap((one) => (typeof one === 'string' ? one.split(' ') : []));
  return [...new Set(scopes.filter((scope) => scope !== ''))];
}

/** A claim of that name; else the parts between its dots lead to one, as in `realm_access.roles`. */
export function groupsIn(payload: JWTPayload, claim: string): readonly string[] {
  const nested = () =>
    claim
      .split('.')
      .reduce<unknown>(
        (at, part) => (Object.hasOwn(Object(at), part) ? Reflect.get(Object(at), part) : undefined),
        payload,
      );
  const found = Object.hasOwn(payload, claim) ? payload[claim] : nested();
  const groups = [found].flat().filter((one): one is string => typeof one === 'string');
  return groups.slice(0, MAX_GROUPS);
}

const mediaType = (typ: string): string => typ.toLowerCase().replace(/^application\//, '');

const clipLine = (text: string): string => clipHarmlessLine(text, MAX_SHOWN_CHARS);

/** A sentence for what jose throws; by the kind of error, since jose's words are nobody's promise. */
function descriptionOf(thrown: unknown): string {
  if (thrown instanceof errors.JWTExpired) return 'The token has expired.';
  if (thrown instanceof errors.JWTClaimValidationFailed) return aboutClaim(thrown.claim);
  if (thrown instanceof errors.JOSEAlgNotAllowed)
    return `The token is signed by an algorithm that is not accepted; accepted: ${ALGORITHMS.join(', ')}.`;
  if (thrown instanceof errors.JWKSNoMatchingKey)
    return 'The issuer has no key with the id (`kid`) in the token.';
  if (thrown instanceof errors.JWSSignatureVerificationFailed)
    return 'The signature of the token was not made with a key of its issuer.';
  return 'The token is neither one of this bridge (msb_…) nor a signed JWT.';
}

function aboutClaim(claim: string): string {
  if (claim === 'aud') return 'The token is for another audience; ask the issuer for one for this resource.';
  if (claim === 'nbf') return 'The token is not valid yet; the clocks of issuer and bridge may differ.';
  return `The claim \`${clipLine(claim)}\` of the token is missing or wrong.`;
}

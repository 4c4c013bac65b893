// The keys of one issuer: found by its metadata (RFC 8414, OpenID Connect discovery), kept, and fetched anew when they are
// old or a token names one that is not among them. A flood of tokens with foreign keys causes one fetch in half a minute,
// and an issuer that is down keeps nobody out for a day whose key is known. No request waits longer than one fetch may take.

import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { z } from 'zod';
import type { Observer } from '../../base/log/events.js';
import { clipHarmless } from '../../base/text/text.js';
import { fetchJson, IssuerFetchError } from './issuer-fetch.js';

/** Timeout of one look at the issuer, its metadata and its keys together. */
const FETCH_TIMEOUT_MS = 5_000;
/** Older keys are fetched anew, while the old ones go on. */
const FRESH_MS = 10 * 60_000;
/** Older keys are not used: who stole one that has been withdrawn since must not profit from an issuer that is down. */
const USABLE_MS = 24 * 3_600_000;
/** Between two fetches, whatever the reason for the second. */
export const FETCH_PAUSE_MS = 30_000;
/** After a failure, while there is no key at all. */
export const FAILURE_PAUSE_MS = 5_000;
const MAX_KEYS = 100;

const keyMetadata = z.object({ jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(MAX_KEYS) });

/** Nobody can tell now whether a token of this issuer is good. */
export class IssuerUnavailable extends Error {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  }
}

export type IssuerKeysOptions = {
  readonly observer: Observer;
  readonly fetchJson?: typeof fetchJson;
  /** A clock that only goes forward, in ms. */
  readonly nowMs?: () => number;
  readonly timeoutMs?: number;
};

export class IssuerKeys {
  readonly #issuer: string;
  readonly #options: Required<IssuerKeysOptions>;
  #known: { readonly set: ReturnType<typeof createLocalJWKSet>; readonly fetchedAtMs: number } | undefined;
  /** When the last fetch began. */
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  /** Why the last fetch failed, told once; undefined after one that did not. */
  #failure: string | undefined;

  constructor(issuer: string, options: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#options = {
      fetchJson,
      nowMs: () => performance.now(),
      timeoutMs: FETCH_TIMEOUT_MS,
      ...options,
    };
  }

  /**
   * The key for a token with this header. Throws IssuerUnavailable, and what jose throws where no key fits, or several do.
   */
  async keyFor(header: JWSHeaderParameters): Promise<CryptoKey> {
    const known = await this.#current();
    try {
      return await known.set(header);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      await this.#fetchUnlessLately();
      if (this.#known === undefined || this.#known === known) throw thrown;
      return await this.#known.set(header);
    }
  }

  async #current() {
    const known = this.#known;
    const ageMs = this.#options.nowMs() - (known?.fetchedAtMs ?? Number.NEGATIVE_INFINITY);
    if (known !== undefined && ageMs < USABLE_MS) {
      if (ageMs >= FRESH_MS) void this.#fetchUnlessLately();
      return known;
    }
    const restMs = FAILURE_PAUSE_MS - (this.#options.nowMs() - this.#triedAtMs);
    if (this.#fetching === undefined && this.#failure !== undefined && restMs > 0)
      throw this.#unavailableError(restMs);
    await this.#fetch();
    if (this.#known === undefined || this.#known === known) throw this.#unavailableError(FAILURE_PAUSE_MS);
    return this.#known;
  }

  #unavailableError(restMs: number): IssuerUnavailable {
    return new IssuerUnavailable(
      `The keys of the issuer ${this.#issuer} cannot be fetched now, so its tokens cannot be checked.`,
      restMs,
    );
  }

  async #fetchUnlessLately(): Promise<void> {
    if (this.#fetching === undefined && this.#options.nowMs() - this.#triedAtMs < FETCH_PAUSE_MS) return;
    await this.#fetch();
  }

  /** One for all who wait. Never rejects. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<void> {
    this.#triedAtMs = this.#options.nowMs();
    try {
      const keys = await this.#fetchKeys(AbortSignal.timeout(this.#options.timeoutMs));
      this.#known = { set: createLocalJWKSet(keys), fetchedAtMs: this.#options.nowMs() };
      this.#failure = undefined;
    } catch (thrown) {
      this.#tell(thrown instanceof IssuerFetchError ? thrown.message : 'its keys cannot be used');
    }
  }

  #tell(failure: string): void {
    if (failure === this.#failure) return;
    this.#failure = failure;
    const meanwhile =
      this.#known === undefined ? 'its tokens cannot be checked' : 'its earlier keys stay in use for a day';
    const message = `The issuer ${this.#issuer}: ${clipHarmless(failure, 400)}; ${meanwhile}.`;
    this.#options.observer({ type: 'auth.trouble', message });
  }

  async #fetchKeys(signal: AbortSignal): Promise<JSONWebKeySet> {
    const { jwks_uri } = await metadataOf(this.#issuer, keyMetadata, signal, this.#options.fetchJson);
    const found = keySet.safeParse(await this.#options.fetchJson(jwks_uri, this.#issuer, signal));
    if (!found.success) throw new IssuerFetchError(`its \`jwks_uri\` does not lead to a set of keys`);
    return found.data as JSONWebKeySet;
  }
}

/** Parts of an issuer's metadata as `shape` names them. Throws IssuerFetchError. */
export async function metadataOf<Shape extends z.ZodRawShape>(
  issuer: string,
  shape: z.ZodObject<Shape>,
  signal: AbortSignal,
  fetch: typeof fetchJson = fetchJson,
): Promise<z.output<z.ZodObject<Shape>>> {
  let absent: IssuerFetchError | undefined;
  for (const address of metadataAddresses(issuer)) {
    try {
      return checkDocument(issuer, shape, await fetch(address, issuer, signal));
    } catch (thrown) {
      if (!(thrown instanceof IssuerFetchError && thrown.isAbsent)) throw thrown;
      // Keep the first of several errors: where an issuer has one document only, the document is mostly there.
      absent ??= thrown;
    }
  }
  throw absent;
}

const named = z.object({ issuer: z.string() });

function checkDocument<Shape extends z.ZodRawShape>(
  issuer: string,
  shape: z.ZodObject<Shape>,
  document: unknown,
): z.output<z.ZodObject<Shape>> {
  const [self, found] = [named.safeParse(document), shape.safeParse(document)];
  // An issuer may have only in the other document what its tokens need.
  if (!self.success || !found.success) {
    const wanted = ['issuer', ...Object.keys(shape.shape)].map((name) => `\`${name}\``);
    throw new IssuerFetchError(`its metadata has no ${wanted.join(' or no ')}`, true);
  }
  // RFC 8414, 3.3: one that calls itself otherwise may stand in for another.
  if (self.data.issuer === issuer) return found.data;
  throw new IssuerFetchError(
    `it calls itself '${self.data.issuer}'; MCP_BRIDGE_HTTP_OAUTH_ISSUER has to be exactly that`,
  );
}

/** In MCP's order: RFC 8414, then OpenID Connect with the path behind the well-known part, then ahead of it. */
function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
}

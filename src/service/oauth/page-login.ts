// Login of a person to the page at an issuer, by OpenID Connect: authorization code with PKCE, a state and a nonce, all of them drawn from one
// secret that only the person's browser has. What counts is the ID token, checked; neither it nor the access token is kept.

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { isSameSecret } from '../../base/crypto.js';
import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import type { Settings } from '../../settings/environment/settings.js';
import { groupsIn, subjectOf } from './access-token.js';
import { allowedUrl, fetchJson, IssuerFetchError } from './issuer-fetch.js';
import { IssuerKeys, metadataOf } from './issuer-keys.js';
import { LEEWAY_SECONDS, signedBy } from './signed-token.js';

/** A person has so long to log in at the issuer. */
const LOGIN_MINUTES = 10;
const LOGIN_MS = LOGIN_MINUTES * 60_000;
const TIMEOUT_MS = 10_000;
const MAX_REASON_CHARS = 300;

const endpoints = z.object({ authorization_endpoint: z.string(), token_endpoint: z.string() });
const granted = z.object({ id_token: z.string() });

/** Somebody who has logged in; `principal` is the one that access tokens of the issuer name too. */
type LoggedIn = { readonly principal: string; readonly isAdmin: boolean };

/** A login that came to nothing; the message is a sentence for the person. */
class LoginRefusal extends Error {}

export class PageLogin {
  readonly #issuer: string;
  readonly #settings: Settings['pageLogin'] & { readonly client: string };
  readonly #keys: IssuerKeys;
  readonly #observer: Observer;
  readonly #key = randomBytes(32);

  /** Undefined where nobody can log in. */
  static of({ oauth, pageLogin }: Pick<Settings, 'oauth' | 'pageLogin'>, observer: Observer) {
    const [issuer] = oauth?.issuers ?? [];
    const { client } = pageLogin;
    if (issuer === undefined || client === undefined) return undefined;
    return new PageLogin(issuer, { ...pageLogin, client }, observer);
  }

  private constructor(
    issuer: string,
    settings: Settings['pageLogin'] & { readonly client: string },
    observer: Observer,
  ) {
    this.#issuer = issuer;
    this.#settings = settings;
    this.#keys = new IssuerKeys(issuer, { observer });
    this.#observer = observer;
  }

  /**
   * Where the browser goes to log in, and the secret that it brings back to `redirect`. Throws LoginRefusal where the issuer cannot be
   * asked.
   */
  async begin(redirect: string): Promise<{ readonly location: string; readonly secret: string }> {
    const { authorization_endpoint: endpoint } = await this.#endpoints();
    const secret = `${Date.now()}.${randomBytes(24).toString('base64url')}`;
    const location = allowedUrl(endpoint, this.#issuer);
    const { client, scopes } = this.#settings;
    const asked = {
      response_type: 'code',
      client_id: client,
      redirect_uri: redirect,
      scope: ['openid', ...(scopes ?? [])].join(' '),
      state: this.#drawn('state', secret),
      nonce: this.#drawn('nonce', secret),
      code_challenge: createHash('sha256').update(this.#drawn('verifier', secret)).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(asked)) location.searchParams.set(name, value);
    return { location: location.href, secret };
  }

  /**
   * Who has logged in, by what the issuer has sent the browser back with, and the secret that the browser had from `begin`. `from` is its
   * address, for the audit. Throws LoginRefusal.
   */
  async end(
    redirect: string,
    answer: URLSearchParams,
    { secret, from }: { readonly secret: string; readonly from: string },
  ): Promise<LoggedIn> {
    try {
      const found = await this.#end(redirect, answer, secret);
      this.#observer({ type: 'auth.accepted', principal: found.principal, from, method: 'GET' });
      return found;
    } catch (thrown) {
      const refusal = thrown instanceof LoginRefusal ? thrown : new LoginRefusal(sentenceOn(thrown));
      this.#observer({ type: 'auth.refused', from, method: 'GET', status: 403, message: refusal.message });
      throw refusal;
    }
  }

  async #end(redirect: string, answer: URLSearchParams, secret: string): Promise<LoggedIn> {
    const ageMs = Date.now() - Number(secret.split('.')[0]);
    if (
      !(ageMs >= 0 && ageMs < LOGIN_MS) ||
      !isSameSecret(onlyIn(answer, 'state'), this.#drawn('state', secret))
    )
      throw new LoginRefusal(
        `This browser has not begun this login here, or longer than ${LOGIN_MINUTES} minutes ago. Open /ui/login again.`,
      );
    // RFC 9207: an answer of another issuer is not to be taken for one of this.
    if (answer.has('iss') && onlyIn(answer, 'iss') !== this.#issuer)
      throw new LoginRefusal('The answer comes from another issuer than the one that was asked.');
    if (answer.has('error'))
      throw new LoginRefusal(
        `The issuer refuses the login: ${clipHarmlessLine(onlyIn(answer, 'error'), 100)}.`,
      );
    const { token_endpoint: endpoint } = await this.#endpoints();
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: onlyIn(answer, 'code'),
      redirect_uri: redirect,
      client_id: this.#settings.client,
      code_verifier: this.#drawn('verifier', secret),
    });
    const said = await fetchJson(endpoint, this.#issuer, AbortSignal.timeout(TIMEOUT_MS), form);
    const { data } = granted.safeParse(said);
    if (data === undefined) throw new LoginRefusal('The issuer gives no ID token.');
    return await this.#personIn(data.id_token, this.#drawn('nonce', secret));
  }

  async #personIn(text: string, nonce: string): Promise<LoggedIn> {
    const { client, admin } = this.#settings;
    const claims = await signedBy(this.#keys, text, {
      issuer: this.#issuer,
      audience: client,
      requiredClaims: ['exp', 'iat', 'sub', 'nonce'],
    });
    if (typeof claims['nonce'] !== 'string' || !isSameSecret(claims['nonce'], nonce))
      throw new LoginRefusal('The ID token is not for this login.');
    if (claims.iat !== undefined && claims.iat * 1_000 > Date.now() + LEEWAY_SECONDS * 1_000)
      throw new LoginRefusal('The ID token was made in the future; the clocks of issuer and bridge differ.');
    // OpenID Connect Core, 3.1.3.7: of a token for several, the one that it was made for is named.
    const others = [claims.aud].flat().length > 1;
    if (claims['azp'] === undefined ? others : claims['azp'] !== client)
      throw new LoginRefusal('The ID token was made for another client.');
    const isAdmin = admin !== undefined && groupsIn(claims, admin.claim).includes(admin.value);
    return { principal: subjectOf(claims).id, isAdmin };
  }

  async #endpoints(): Promise<z.output<typeof endpoints>> {
    try {
      return await metadataOf(this.#issuer, endpoints, AbortSignal.timeout(TIMEOUT_MS));
    } catch (thrown) {
      this.#observer({ type: 'auth.trouble', message: `The issuer ${this.#issuer}: ${sentenceOn(thrown)}` });
      throw new LoginRefusal('The issuer cannot be asked now; the log of the bridge says why.');
    }
  }

  /** One secret of the browser gives all that the login needs, so that nothing is kept here for whoever never comes back. */
  #drawn(what: 'nonce' | 'state' | 'verifier', secret: string): string {
    return createHmac('sha256', this.#key).update(`${what} ${secret}`).digest('base64url');
  }
}

/** A parameter that stands once; empty otherwise. */
function onlyIn(answer: URLSearchParams, name: string): string {
  const [value = '', ...more] = answer.getAll(name);
  return more.length === 0 ? value : '';
}

const sentenceOn = (thrown: unknown): string =>
  thrown instanceof IssuerFetchError
    ? `The login cannot be finished: ${clipHarmlessLine(thrown.message, MAX_REASON_CHARS)}.`
    : `The ID token cannot be used: ${clipHarmlessLine(messageOf(thrown), MAX_REASON_CHARS)}.`;

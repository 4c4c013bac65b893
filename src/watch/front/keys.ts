// Secrets that open the page and make its forms ours: a link that opens it once, a cookie from then on, and a token in each form. All
// are drawn when the page starts and gone when it ends. Nothing that opens the bridge's own HTTP service opens the page.

import { createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from '../../base/crypto.js';
import type { Viewer } from './sources.js';

/** 32 letters of base64url. */
const SECRET_BYTES = 24;
const COOKIE = 'mcp-sandbox-bridge-page';
/** Links that were printed and not opened yet. */
const MAX_LINKS = 20;
/** Browsers that have the page open; further ones take the place of those that were not there for longest. */
const MAX_VISITS = 100;

export const drawSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** Links of one process, each of which opens the page once. */
export class OwnLinks {
  #links: readonly { readonly secret: string; readonly viewer: Viewer }[] = [];

  /** The secret of a new link. */
  make(viewer: Viewer): string {
    const secret = drawSecret();
    this.#links = [...this.#links, { secret, viewer }].slice(-MAX_LINKS);
    return secret;
  }

  /** For whom the link is, that nobody has opened; from then on somebody has. */
  use(wanted: string): Viewer | undefined {
    const found = this.#links.find(({ secret }) => isSameSecret(secret, wanted));
    this.#links = this.#links.filter((link) => link !== found);
    return found?.viewer;
  }
}

/** One browser that has opened the page. */
export type Visit = {
  readonly viewer: Viewer;
  /**
   * First part of the page's own addresses, and path of its cookie: browsers send a cookie to every port of a machine, and whoever
   * listens at another one does not know this path.
   */
  readonly place: string;
  readonly cookie: string;
  /** The link by which it has come, which opens the page again in the same browser; of nobody's making where it came by none. */
  readonly link: string;
  /** By performance.now(), as `lastSeenMs`. */
  readonly endsAtMs: number;
  lastSeenMs: number;
};

export class FrontKeys {
  readonly #key = randomBytes(32);
  /** By place, the one that was there last at the end. */
  readonly #visits = new Map<string, Visit>();
  readonly #useLink: (secret: string) => Viewer | undefined;
  readonly #keepsMs: number;

  /** `useLink` says for whom a link is and uses it up; a visit ends `keepsMs` after its last request. */
  constructor(useLink: (secret: string) => Viewer | undefined, keepsMs = Number.POSITIVE_INFINITY) {
    this.#useLink = useLink;
    this.#keepsMs = keepsMs;
  }

  /** Ones that have not ended. */
  get visits(): readonly Visit[] {
    for (const visit of this.#visits.values())
      if (performance.now() - visit.lastSeenMs > this.#keepsMs || performance.now() > visit.endsAtMs)
        this.#visits.delete(visit.place);
    return [...this.#visits.values()];
  }

  /** A new visit by a link that nobody has opened, or the one of the browser that has opened it; undefined for everybody else. */
  openedBy(link: string, cookies: string | undefined): Visit | undefined {
    const known = this.visits.find((visit) => isSameSecret(visit.link, link));
    if (known !== undefined) return this.visitAt(known.place, cookies);
    const viewer = this.#useLink(link);
    if (viewer === undefined) return undefined;
    return this.#add({ viewer, link, endsAtMs: Number.POSITIVE_INFINITY });
  }

  /** A new visit of somebody who has come in by no link; it ends `keepsMs` after now, however busy it is. */
  opened(viewer: Viewer, keepsMs: number): Visit {
    return this.#add({ viewer, link: drawSecret(), endsAtMs: performance.now() + keepsMs });
  }

  #add(by: Pick<Visit, 'endsAtMs' | 'link' | 'viewer'>): Visit {
    const visit = { ...by, place: drawSecret(), cookie: drawSecret(), lastSeenMs: performance.now() };
    this.#visits.set(visit.place, visit);
    const [oldest = ''] = this.#visits.keys();
    if (this.#visits.size > MAX_VISITS) this.#visits.delete(oldest);
    return visit;
  }

  /** The visit at a place, where the Cookie header of a request has its cookie. */
  visitAt(place: string, cookies = ''): Visit | undefined {
    const visit = this.visits.find((one) => isSameSecret(one.place, place));
    const values = cookies.split(';').map((pair) => pair.trim());
    if (
      visit === undefined ||
      !values.some(
        (pair) => pair.startsWith(`${COOKIE}=`) && isSameSecret(pair.slice(COOKIE.length + 1), visit.cookie),
      )
    )
      return undefined;
    visit.lastSeenMs = performance.now();
    this.#visits.delete(visit.place);
    this.#visits.set(visit.place, visit);
    return visit;
  }

  end({ place }: Visit): void {
    this.#visits.delete(place);
  }

  /** Token in the form of `parts`: bound to the visit, the thing, and the text that was shown. */
  tokenOf({ place }: Visit, ...parts: readonly string[]): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([place, ...parts]))
      .digest('base64url');
  }

  isTokenOf(token: string, visit: Visit, ...parts: readonly string[]): boolean {
    return isSameSecret(token, this.tokenOf(visit, ...parts));
  }
}

const LOGIN_COOKIE = 'mcp-sandbox-bridge-login';

/** The header that has a browser keep the secret of a login until the issuer sends it back; without a secret, forget it. */
export const loginCookie = (secret: string | undefined, prefix: string, isSecure: boolean): string =>
  // Lax: the issuer is another site, and its redirect has to bring the cookie.
  `${LOGIN_COOKIE}=${secret ?? ''}; Path=${prefix}/callback; Max-Age=${secret === undefined ? 0 : 900}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

/** The secret of a login in a Cookie header; empty where there is none, or several. */
export function loginSecret(cookies = ''): string {
  const found = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${LOGIN_COOKIE}=`));
  return found.length === 1 ? (found[0]?.slice(LOGIN_COOKIE.length + 1) ?? '') : '';
}

/** Values of the header that sets the cookie below `prefix`: for the page, and for the link, which opens it again. */
export const cookiesOf = ({ cookie, place, link }: Visit, prefix: string, isSecure: boolean): string[] =>
  [`${place}/`, `open/${link}`].map(
    (path) =>
      `${COOKIE}=${cookie}; Path=${prefix}/${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`,
  );

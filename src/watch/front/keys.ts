// Secrets that open the page and make its forms ours: a link that opens it once, a cookie from then on, and a token in each form. All
// are drawn when the page starts and gone when it ends. Nothing that opens the bridge's own HTTP service opens the page.

import { createHmac, randomBytes } from 'node:crypto';
import { isSame } from '../../policy/page/own-requests.js';

/** 32 letters of base64url. */
const SECRET_BYTES = 24;
const COOKIE = 'mcp-sandbox-bridge-page';
/** Links that were printed and not opened yet. */
const MAX_LINKS = 20;

const drawSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

export class FrontKeys {
  /**
   * First part of the page's own addresses, and path of its cookie: browsers send a cookie to every port of this machine, and whoever
   * listens at another one does not know this path.
   */
  readonly place = drawSecret();
  readonly #session = drawSecret();
  readonly #key = randomBytes(32);
  #links: readonly string[] = [];

  /** The secret of a new link, which opens the page once. */
  newLink(): string {
    const link = drawSecret();
    this.#links = [...this.#links, link].slice(-MAX_LINKS);
    return link;
  }

  /** Whether `secret` is that of a link that nobody has opened; from then on somebody has. */
  useLink(secret: string): boolean {
    const found = this.#links.find((link) => isSame(link, secret));
    this.#links = this.#links.filter((link) => link !== found);
    return found !== undefined;
  }

  /** Value of the header that sets the cookie. */
  get cookie(): string {
    return `${COOKIE}=${this.#session}; Path=/${this.place}/; HttpOnly; SameSite=Strict`;
  }

  /** Whether the Cookie header of a request has the page's cookie. */
  isOpenedBy(header: string | undefined): boolean {
    const values = (header ?? '').split(';').map((pair) => pair.trim());
    return values.some(
      (pair) => pair.startsWith(`${COOKIE}=`) && isSame(pair.slice(COOKIE.length + 1), this.#session),
    );
  }

  /** Token in the form of `parts`: bound to the thing and to the text that was shown. */
  tokenOf(...parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url');
  }

  isTokenOf(token: string, ...parts: readonly string[]): boolean {
    return isSame(token, this.tokenOf(...parts));
  }
}

// An OAuth issuer in the test's own process: its metadata and its keys over HTTP, and access tokens as a test wants them.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';

export const RESOURCE = 'https://mcp.example.com/mcp';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;
export type NamedKey = KeyPair & { readonly kid: string; readonly alg: string };

export async function newKey(kid: string, alg = 'ES256'): Promise<NamedKey> {
  return { ...(await generateKeyPair(alg, { extractable: true })), kid, alg };
}

export const publicPem = ({ publicKey }: NamedKey): Promise<string> => exportSPKI(publicKey);

export class Issuer implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  url = '';
  /** Paths that were asked for, in their order. */
  readonly asked: string[] = [];
  keys: NamedKey[] = [];
  /** Replaces what is answered at a path; undefined for 404. */
  readonly answers = new Map<string, ((response: ServerResponse) => void) | undefined>();

  static async start(key: NamedKey): Promise<Issuer> {
    const issuer = new Issuer();
    issuer.keys = [key];
    await new Promise<void>((done) => issuer.#server.listen(0, '127.0.0.1', done));
    issuer.url = `http://127.0.0.1:${(issuer.#server.address() as AddressInfo).port}`;
    return issuer;
  }

  get keyFetches(): number {
    return this.asked.filter((path) => path === '/keys').length;
  }

  /** A good access token of ann, changed as said; a member that is undefined is left out. */
  async token(
    claims: Record<string, unknown> = {},
    {
      key = this.keys[0],
      header = {},
    }: { key?: NamedKey | undefined; header?: Record<string, unknown> } = {},
  ): Promise<string> {
    if (key === undefined) throw new Error('there is no key');
    const now = Math.floor(Date.now() / 1000);
    const payload: Record<string, unknown> = {
      iss: this.url,
      aud: RESOURCE,
      sub: 'ann',
      scope: 'mcp:use',
      iat: now,
      exp: now + 600,
      ...claims,
    };
    return new SignJWT(payload)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
      .sign(key.privateKey);
  }

  json(path: string, value: unknown, status = 200): void {
    this.answers.set(path, (response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    });
  }

  #answer({ url: path = '' }: IncomingMessage, response: ServerResponse): void {
    this.asked.push(path);
    if (this.answers.has(path)) {
      const answer = this.answers.get(path);
      return answer === undefined ? void response.writeHead(404).end() : answer(response);
    }
    if (path === '/.well-known/oauth-authorization-server')
      return void response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/keys` }));
    if (path !== '/keys') return void response.writeHead(404).end();
    void this.#publicKeys().then((keys) => response.end(JSON.stringify({ keys })));
  }

  #publicKeys = (): Promise<JWK[]> =>
    Promise.all(
      this.keys.map(async ({ publicKey, kid, alg }) => ({ ...(await exportJWK(publicKey)), kid, alg })),
    );

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

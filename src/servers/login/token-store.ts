// The logins that the user has made: one file for each server's URL in the state directory, which names the issuer that
// it is good for. Private to the user; a file that others can read or write, or that is broken, counts as no login.

import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OAuthMetadataSchema } from '@modelcontextprotocol/core';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { lockFile } from '../../base/files/file-lock.js';
import { readPrivate } from '../../base/files/private-file.js';
import { replaceFile } from '../../base/files/replace-file.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { KB_BYTES } from '../../base/text/sizes.js';

/** Tokens have a few kilobytes at most. */
const MAX_FILE_BYTES = 256 * KB_BYTES;
const FILE = /^[0-9a-f]{32}\.json$/;

const login = z.object({
  /** The server's name when its user logged in. */
  name: z.string(),
  /** The server's URL, which the tokens are for. */
  url: z.string(),
  /** The resource that the tokens are bound to at the authorization server (RFC 8707), as the server itself writes it. */
  resource: z.string().optional(),
  issuer: z.string(),
  /** The parts of the authorization server's metadata that refreshing and revoking need. */
  metadata: OAuthMetadataSchema,
  client: z.object({
    client_id: z.string(),
    client_secret: z.string().optional(),
    token_endpoint_auth_method: z.string().optional(),
  }),
  scopes: z.array(z.string()),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Since 1970; undefined where the authorization server does not say when the access token ends. */
  expiresAtMs: z.number().optional(),
  obtainedAtMs: z.number(),
});

/** One login, as it is kept. */
export type Login = Readonly<z.output<typeof login>>;

export type StoredLogin =
  | { readonly state: 'absent' }
  /** `reason` is the end of a sentence about the file. */
  | { readonly state: 'unusable'; readonly file: string; readonly reason: string }
  | { readonly state: 'kept'; readonly login: Login };

export class TokenStore {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'tokens');
  }

  /** Where the login of the server at `url` is kept. */
  fileOf(url: string): string {
    const key = createHash('sha256').update(normaliseUrl(url)).digest('hex').slice(0, 32);
    return join(this.#folder, `${key}.json`);
  }

  /** Never throws. */
  read(url: string): StoredLogin {
    const stored = readLogin(this.fileOf(url));
    if (stored.state !== 'kept' || normaliseUrl(stored.login.url) === normaliseUrl(url)) return stored;
    return { state: 'unusable', file: this.fileOf(url), reason: 'belongs to another server' };
  }

  /** All of them, by name. */
  list(): readonly Exclude<StoredLogin, { readonly state: 'absent' }>[] {
    let files: string[] = [];
    try {
      files = readdirSync(this.#folder).filter((name) => FILE.test(name));
    } catch {
      // There is none as long as nobody has logged in.
    }
    const nameOf = (stored: StoredLogin) => (stored.state === 'kept' ? stored.login.name : '');
    return files
      .map((name) => readLogin(join(this.#folder, name)))
      .filter((stored) => stored.state !== 'absent')
      .sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  }

  /** Takes the place of an earlier login of the same server. Throws E_STATE. */
  write(kept: Login): void {
    this.#tryChange(() => {
      replaceFile(this.fileOf(kept.url), `${JSON.stringify(login.parse(kept))}\n`);
      // The file is private by itself; a folder from elsewhere may still tell who is logged in where.
      chmodSync(this.#folder, 0o700);
    });
  }

  /** Whatever is kept of the server, also when it is unusable. Throws E_STATE. */
  forget(url: string): void {
    this.#tryChange(() => rmSync(this.fileOf(url), { force: true }));
  }

  /**
   * Locks the refresh token for one who is about to use it, since it is good for one use: no other process of this machine
   * uses it until the lock is disposed. Throws E_STATE, and the reason of `signal`.
   */
  async lock(url: string, signal: AbortSignal): Promise<Disposable> {
    try {
      return await lockFile(`${this.fileOf(url)}.lock`, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      throw this.#stateError(thrown);
    }
  }

  #tryChange(change: () => void): void {
    try {
      change();
    } catch (thrown) {
      throw this.#stateError(thrown);
    }
  }

  #stateError(cause: unknown): BridgeError {
    return new BridgeError('E_STATE', `Logins cannot be kept in ${this.#folder}: ${messageOf(cause)}.`, {
      fault: 'operator',
      remedy: 'Free some disk space, or set MCP_BRIDGE_STATE_DIR to a folder that you own.',
      cause,
    });
  }
}

/** Two spellings of one address are one server; a fragment is never sent. */
function normaliseUrl(url: string): string {
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed.href;
}

function readLogin(file: string): StoredLogin {
  const read = readPrivate(file, MAX_FILE_BYTES);
  if (read.is === 'absent') return { state: 'absent' };
  if (read.is === 'refused') return { state: 'unusable', file, reason: read.why };
  try {
    return { state: 'kept', login: login.parse(JSON.parse(read.text)) };
  } catch {
    // Not in the parser's words, which quote what they stumbled over.
    return { state: 'unusable', file, reason: 'is damaged' };
  }
}

// The parts of a login that must never be in a log line or an error.

/** Tells the redactor; to be called with every login before it is used. */
export function hideTokens(redactor: Redactor, { name, accessToken, refreshToken, client }: Login): void {
  redactor.addLatest(`access token of ${name}`, accessToken);
  if (refreshToken !== undefined) redactor.addLatest(`refresh token of ${name}`, refreshToken);
  if (client.client_secret !== undefined)
    redactor.addLatest(`client secret of ${name}`, client.client_secret);
}

// The named tokens in the state directory: for each its name, its servers, and the hash of its text, never the text. The
// command line changes the file, and bridges that run read it again. What cannot be read, or what others could have
// written, lets nobody in: an earlier state of it might hold a token that has been revoked since.

import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { lockFile } from '../../base/files/file-lock.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { stampOf } from '../../settings/files/config-file.js';
import { hashOfToken, newTokenText } from './token-text.js';

/** Some ten thousand tokens. */
const MAX_FILE_BYTES = 4 * MB_BYTES;
const OPEN_TO_OTHERS = 0o077;
const ID_BYTES = 8;
const FILE_VERSION = 1;

const tokenRecord = z.object({
  /** Random, never used again: what belongs to a token does not pass to a later one of the same name. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  name: z.string(),
  /** SHA-256 of the token's text, in hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Names of the servers that it reaches; `*` means all that the policy allows. */
  servers: z.union([z.literal('*'), z.array(z.string()).readonly()]),
  scopes: z.array(z.string()).readonly(),
  createdAtMs: z.number(),
  /** Absent for one without an end. */
  expiresAtMs: z.number().optional(),
});
const contents = z.object({ version: z.literal(FILE_VERSION), tokens: z.array(tokenRecord).readonly() });

/** Facts that are kept of one token. */
export type TokenRecord = Readonly<z.output<typeof tokenRecord>>;
export type TokenServers = TokenRecord['servers'];

/** Terms of a token, which a person decides. */
export type TokenTerms = {
  readonly servers: TokenServers;
  readonly scopes: readonly string[];
  readonly expiresAtMs: number | undefined;
};

export const isExpired = ({ expiresAtMs }: TokenRecord, nowMs = Date.now()): boolean =>
  expiresAtMs !== undefined && expiresAtMs <= nowMs;

export class TokenFile {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'http', 'tokens.json');
  }

  /** Every token, expired ones as well, in the order in which they were made. Throws E_STATE where the file cannot be used. */
  read(): readonly TokenRecord[] {
    const text = this.#text();
    if (text === undefined) return [];
    try {
      return contents.parse(JSON.parse(text)).tokens;
    } catch {
      // Not in the parser's words, which quote what they stumbled over.
      throw this.#unusable('is damaged');
    }
  }

  /** Differs after every change; undefined where the last one was so lately that another would not show. */
  get stamp(): string | undefined {
    try {
      return stampOf(this.path);
    } catch {
      return undefined;
    }
  }

  /**
   * Makes a token and keeps its hash. The text is nowhere but in what this returns. `conflict` throws where the tokens
   * that are there stand against it; it is asked under the lock. Throws E_STATE.
   */
  async add(
    name: string,
    terms: TokenTerms,
    conflict: (tokens: readonly TokenRecord[]) => void,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly record: TokenRecord }> {
    const text = newTokenText();
    const record: TokenRecord = {
      id: randomBytes(ID_BYTES).toString('hex'),
      name,
      hash: hashOfToken(text).toString('hex'),
      createdAtMs: Date.now(),
      ...membersOf(terms),
    };
    await this.change((tokens) => {
      conflict(tokens);
      return [...tokens, record];
    }, signal);
    return { text, record };
  }

  /** Replaces the tokens by what `edit` makes of them, while no other process does. Throws E_STATE, and what `edit` throws. */
  async change(
    edit: (tokens: readonly TokenRecord[]) => readonly TokenRecord[],
    signal: AbortSignal,
  ): Promise<void> {
    using _lock = await this.#lock(signal);
    const tokens = edit(this.read());
    try {
      replaceFile(this.path, `${JSON.stringify({ version: FILE_VERSION, tokens }, undefined, 1)}\n`);
      // The file is private by itself; a folder from elsewhere may still tell who has tokens.
      chmodSync(dirname(this.path), 0o700);
    } catch (thrown) {
      throw this.#unwritable(thrown);
    }
  }

  async #lock(signal: AbortSignal): Promise<Disposable> {
    try {
      return await lockFile(`${this.path}.lock`, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      throw this.#unwritable(thrown);
    }
  }

  /** Undefined where there is no such file. Looks at the open file, which nobody can exchange before it is read. */
  #text(): string | undefined {
    let fd: number;
    try {
      // Links are not followed, and a fifo answers at once; Windows has neither.
      const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
      fd = openSync(this.path, flags);
    } catch (thrown) {
      if (['ENOENT', 'ENOTDIR'].includes(Object(thrown).code)) return undefined;
      throw this.#unusable(`cannot be opened: ${messageOf(thrown)}`);
    }
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw this.#unusable('is not a regular file');
      if (stat.size > MAX_FILE_BYTES)
        throw this.#unusable(`has ${stat.size} bytes; at most ${MAX_FILE_BYTES} are read`);
      const uid = process.getuid?.();
      if (uid !== undefined && stat.uid !== uid) throw this.#unusable(`belongs to user ${stat.uid}`);
      if (uid !== undefined && (stat.mode & OPEN_TO_OTHERS) !== 0)
        throw this.#unusable('can be read or written by other users');
      return readFileSync(fd, 'utf8');
    } finally {
      closeSync(fd);
    }
  }

  #unusable(what: string): BridgeError {
    return new BridgeError('E_STATE', `The file of tokens, ${this.path}, ${what}; no token counts.`, {
      fault: 'operator',
      remedy: 'Give it to the user of the bridge with mode 0600, or move it away and make the tokens anew.',
    });
  }

  #unwritable(cause: unknown): BridgeError {
    const message = `Tokens cannot be kept in ${dirname(this.path)}: ${messageOf(cause)}.`;
    return new BridgeError('E_STATE', message, {
      fault: 'operator',
      remedy: 'Set MCP_BRIDGE_STATE_DIR to a directory that you own.',
      cause,
    });
  }
}

/** As they stand in the file. */
export const membersOf = ({ servers, scopes, expiresAtMs }: TokenTerms) => ({
  servers,
  scopes,
  ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
});

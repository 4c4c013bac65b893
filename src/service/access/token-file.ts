// The named tokens in the state directory: for each its name, its servers, and the hash of its text, never the text. The
// command line changes the file, and bridges that run read it again. What cannot be read, or what others could have
// written, lets nobody in: an earlier state of it might hold a token that has been revoked since.

import { createHash, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { lockFile } from '../../base/files/file-lock.js';
import { readPrivate } from '../../base/files/private-file.js';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { stampOf } from '../../settings/files/config-file.js';
import { stateDirRemedy } from '../../settings/files/state-dir.js';
import { clientEntriesText } from './client-entries.js';

// The form of a named token: `msb_`, 43 characters of base 62 for 256 random bits, and 6 for a checksum of the rest. The prefix
// and the fixed length let secret scanners find one (`msb_[0-9A-Za-z]{49}`), and the checksum tells a mistyped or cut token
// from one that nobody has made, without a look at what is kept. The checksum is no secret and proves nothing.

export const TOKEN_PREFIX = 'msb_';
const SECRET_BYTES = 32;
/** 62^43 is just above 2^256. */
const SECRET_CHARS = 43;
const CHECKSUM_BYTES = 4;
/** 62^6 is above 2^32. */
const CHECKSUM_CHARS = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = /^msb_[0-9A-Za-z]{49}$/;

/** A token that did not exist before. */
export function newTokenText(secret: Buffer = randomBytes(SECRET_BYTES)): string {
  const body = TOKEN_PREFIX + base62(secret, SECRET_CHARS);
  return body + checksumOf(body);
}

/** Whether it has the shape and the checksum of a token; says nothing about whether it is one. */
export function isTokenText(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  return text.slice(-CHECKSUM_CHARS) === checksumOf(text.slice(0, -CHECKSUM_CHARS));
}

/**
 * Digest of a token, which alone is kept. A plain SHA-256 is right here: slow hashes with salt protect passwords, which can
 * be guessed from a list; 256 random bits cannot, however fast one guess is, and this hash is computed for every request.
 */
export const hashOfToken = (text: string): Buffer => createHash('sha256').update(text).digest();

const checksumOf = (body: string): string =>
  base62(createHash('sha256').update(body).digest().subarray(0, CHECKSUM_BYTES), CHECKSUM_CHARS);

/** The bytes as one number, with leading zeros. */
function base62(bytes: Buffer, chars: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let place = 0; place < chars; place++) {
    text = (DIGITS[Number(rest % 62n)] ?? '') + text;
    rest /= 62n;
  }
  return text;
}

/** Some ten thousand tokens. */
const MAX_FILE_BYTES = 4 * MB_BYTES;
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
  /** The text that was replaced last, for as long as it still counts; a text from before that counts no more. */
  previous: z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), untilMs: z.number() }).optional(),
});
const contents = z.object({ version: z.literal(FILE_VERSION), tokens: z.array(tokenRecord).readonly() });

/** Facts that are kept of one token. */
export type TokenRecord = Readonly<z.output<typeof tokenRecord>>;

/** Terms of a token, which a person decides. */
export type TokenTerms = {
  readonly servers: TokenRecord['servers'];
  readonly scopes: readonly string[];
  readonly expiresAtMs: number | undefined;
};

export const isExpired = ({ expiresAtMs }: Pick<TokenRecord, 'expiresAtMs'>, nowMs = Date.now()): boolean =>
  expiresAtMs !== undefined && expiresAtMs <= nowMs;

/**
 * Record of the token with another text, whose hash is kept; the principal stays. The text of before counts for `graceMs` more,
 * and never beyond its own end.
 */
export function rotatedRecord(
  { previous: _, expiresAtMs: before, ...record }: TokenRecord,
  text: string,
  { graceMs, expiresAtMs }: { readonly graceMs: number; readonly expiresAtMs: number | undefined },
): TokenRecord {
  const nowMs = Date.now();
  const untilMs = Math.min(nowMs + graceMs, before ?? Number.POSITIVE_INFINITY);
  return {
    ...record,
    hash: hashOfToken(text).toString('hex'),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(untilMs <= nowMs ? {} : { previous: { hash: record.hash, untilMs } }),
  };
}

export class TokenFile {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'http', 'tokens.json');
  }

  /** Every token, expired ones as well, in the order in which they were made. Throws E_STATE where the file cannot be used. */
  read(): readonly TokenRecord[] {
    const read = readPrivate(this.path, MAX_FILE_BYTES);
    if (read.is === 'absent') return [];
    if (read.is === 'refused') throw this.#unusableError(read.why);
    try {
      return contents.parse(JSON.parse(read.text)).tokens;
    } catch {
      // Not in the parser's words, which quote what they stumbled over.
      throw this.#unusableError('is damaged');
    }
  }

  /** Differs after every change; undefined where the last one was so lately that another would not show. */
  get stamp(): string | undefined {
    return stampOf(this.path);
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
      throw this.#unwritableError(thrown);
    }
  }

  async #lock(signal: AbortSignal): Promise<Disposable> {
    try {
      return await lockFile(`${this.path}.lock`, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      throw this.#unwritableError(thrown);
    }
  }

  #unusableError(what: string): BridgeError {
    return new BridgeError('E_STATE', `The token file ${this.path} ${what}; no token is accepted.`, {
      fault: 'operator',
      remedy: "Make it belong to the bridge's user with mode 0600, or move it away and make new tokens.",
    });
  }

  #unwritableError(cause: unknown): BridgeError {
    const message = `Tokens cannot be kept in ${dirname(this.path)}: ${messageOf(cause)}.`;
    return new BridgeError('E_STATE', message, {
      fault: 'operator',
      remedy: stateDirRemedy(cause),
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

// The id of the principal that a named token stands for.

/** The id's second part is the token's own, so that a later token of the same name is somebody else. */
export const principalIdOf = ({ name, id }: Pick<TokenRecord, 'name' | 'id'>): string =>
  `token:${name}#${id}`;

// When each token was last used, to within ten minutes: for whoever wonders whether one is still needed. Kept beside the
// tokens and not among them, so that a request never writes what decides who comes in. Losing it loses nothing else.

/** A use sooner than this after a written one is not written. */
export const ROUGHLY_MS = 10 * 60_000;

const lastUses = z.record(z.string(), z.number());

export class LastUses {
  readonly #path: string;
  /** When this process last wrote a use, by the token's id, in ms since 1970. */
  readonly #written = new Map<string, number>();

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'http', 'token-uses.json');
  }

  /** Last uses by the token's id, in ms since 1970. Never throws. */
  read(): ReadonlyMap<string, number> {
    try {
      return new Map(Object.entries(lastUses.parse(JSON.parse(readText(this.#path) ?? '{}'))));
    } catch {
      return new Map();
    }
  }

  /** `known` are the ids of all tokens: what is kept of others is forgotten. Never throws. */
  note(id: string, known: readonly string[], nowMs = Date.now()): void {
    const lastMs = this.#written.get(id);
    if (lastMs !== undefined && Math.abs(nowMs - lastMs) < ROUGHLY_MS) return;
    this.#written.set(id, nowMs);
    try {
      // Another bridge may write at the same time; then one of the two uses is forgotten for ten minutes.
      const uses = [...this.read(), [id, nowMs] as const].filter(([one]) => known.includes(one));
      replaceFile(this.#path, `${JSON.stringify(Object.fromEntries(uses))}\n`);
    } catch {
      // A full disk, or one that may not be written, keeps nobody out.
    }
  }
}

// The token of a first start: a bridge that listens on this machine only, and that nobody could use yet, makes one for the
// user who started it, who alone sees it. It reaches all that this user's bridge reaches over stdio.

export const FIRST_TOKEN_NAME = 'first-start';

/** Ends `change` without one; never leaves this file. */
class NotFirst extends Error {}

/**
 * Makes the token where there is none that lets somebody in; undefined where another process was faster. Its text is
 * nowhere but in what this returns. Throws E_STATE, and the reason of `signal`.
 */
export async function makeFirstToken(
  stateDir: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  const file = new TokenFile(stateDir);
  const name = freeName(file.read());
  const conflict = (tokens: readonly TokenRecord[]) => {
    if (tokens.some((token) => !isExpired(token))) throw new NotFirst();
  };
  try {
    const { text } = await file.add(
      name,
      { servers: '*', scopes: [], expiresAtMs: undefined },
      conflict,
      signal,
    );
    return { name, text };
  } catch (thrown) {
    if (thrown instanceof NotFirst) return undefined;
    throw thrown;
  }
}

/** An expired token may have the name. */
function freeName(tokens: readonly TokenRecord[]): string {
  const taken = new Set(tokens.map(({ name }) => name));
  for (let count = 1; ; count++) {
    const name = count === 1 ? FIRST_TOKEN_NAME : `${FIRST_TOKEN_NAME}-${count}`;
    if (!taken.has(name)) return name;
  }
}

/** Text that tells the user of the token, once, on stderr; `endpoint` is the address of `/mcp`. Ends with a newline. */
export function firstTokenText(
  { name, text }: { readonly name: string; readonly text: string },
  endpoint: string,
): string {
  return `
This bridge had no token yet, so one was made. It is shown only this once:

  ${text}

${clientEntriesText(endpoint, text)}
It reaches every server of this bridge. To make a token for somebody else, and to revoke this one:

  ${ownCommand('token', 'create', 'NAME', '--servers', 'SERVER')}
  ${ownCommand('token', 'revoke', name)}

`;
}

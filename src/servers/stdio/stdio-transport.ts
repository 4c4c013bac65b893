// The link to a process of our own. The SDK's stdio transport reads in quadratic time (40 MB take 7 s),
// closes the connection at 10 MB, misses a crash while a grandchild holds stdout, and leaves orphans; this one does
// not. What is no message is kept as last words, and ends the call that it may have been the answer of.

import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import { jsonIn } from '../../base/json/records.js';
import { mergedVariables } from '../../base/process/environment.js';
import type { Redact } from '../../base/secrets/redact.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { linesOf, makeHarmless, withoutFullStop } from '../../base/text/text.js';
import { waitAtMost } from '../../base/waiting/unless-aborted.js';
import { EnvelopeReader } from '../../wire/envelope.js';
import { type Line, LineSplitter } from '../../wire/lines.js';
import {
  answeredIn,
  failure,
  garbledError,
  isOneValue,
  MAX_MESSAGE_BYTES,
  messagesAmong,
  readMessages,
  readOversized,
} from '../connection/inbound.js';
import { atItsEntry, CLOSED_BY_BRIDGE, type Link, type Problem, withoutPrefix } from '../connection/link.js';
import { LeftOut, type Purse, readingPurse, Unasked } from '../connection/unasked.js';
import { type ProcessCalls, type ProcessCommand, type ProcessExit, ProcessTree } from './process-tree.js';

/** Requests that a server does not read; each may be as long as a frame, and the code may give up on them and go on. */
const MAX_UNREAD_BYTES = 64 * MB_BYTES;
/** Time for the real answer, after a line that looks like it and cannot be read: a log may quote half of what comes next. */
const AFTER_GARBLED_MS = 2_000;
/** A message without a line break behind it is read when nothing has followed it for so long. */
const UNFINISHED_MS = 500;
/** A server that closes its input or its output is mostly about to exit; one that does not within this is made to. */
const EXITS_WITHIN_MS = 1_000;

export class StdioTransport implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];
  onflood: Link['onflood'];

  readonly #command: ProcessCommand;
  readonly #calls: ProcessCalls | undefined;
  readonly #lastWords: LastWords;
  readonly #skipped = new EnvelopeReader();
  readonly #lines = new LineSplitter(MAX_MESSAGE_BYTES, (piece) => {
    this.#outPurse.spend(0, piece.length);
    this.#skipped.push(piece);
  });
  /** Purses for output of the server that is no answer, one for each stream: a flood on stderr holds up no answer. */
  readonly #outPurse = readingPurse();
  readonly #errPurse = readingPurse();
  readonly #leftOut = new LeftOut((count) => this.onflood?.(count));
  readonly #unasked = new Unasked(() => this.#leftOut.add(1));
  /** Ids of requests that still want an answer; later ones would only make the SDK print them whole. */
  readonly #waiting = new Set<RequestId>();
  readonly #spoken = new SpokenLines();
  readonly #timers = new Set<NodeJS.Timeout>();
  #unfinished: NodeJS.Timeout | undefined;
  #noiseLines = 0;
  #tree: ProcessTree | undefined;
  /** Whether the server writes no more: the rest in its pipes is read at once. */
  #hasExited = false;
  #ending: string | undefined;
  /** Whether the bridge ended the server before it ended by itself. */
  #isEndedHere = false;
  /** Resolves when it is known how the server has ended. */
  readonly #ended: Promise<void>;
  #onEnded: () => void = () => {};

  /** `lastWords` go through `redact` before they are shown. */
  constructor(command: ProcessCommand, redact: Redact, calls?: ProcessCalls) {
    this.#command = command;
    this.#calls = calls;
    this.#lastWords = new LastWords(redact);
    this.#ended = new Promise((resolve) => {
      this.#onEnded = resolve;
    });
  }

  /** Why the connection is over, as the end of a sentence about the server; undefined while it lasts. */
  get ending(): string | undefined {
    return this.#ending;
  }

  get noiseLines(): number {
    return this.#noiseLines;
  }

  /** The server's last text outside the protocol; empty when it was silent. */
  get lastWords(): string {
    return this.#lastWords.toString();
  }

  async explain(thrown: unknown, timedOutMs: number | undefined): Promise<Problem> {
    return startProblem(this.#command, {
      thrown,
      timedOutMs,
      ending: this.#isEndedHere ? undefined : this.#ending,
      lastWords: this.lastWords,
    });
  }

  /** Rejects with Node's own error when the program cannot be started. */
  async start(): Promise<void> {
    const tree = new ProcessTree(this.#command, undefined, this.#calls);
    if (!tree.hasStreams) return tree.started;
    this.#tree = tree;
    tree.stdout.on('data', (chunk: Buffer) => {
      this.#read(chunk);
      this.#rest(tree.stdout, this.#outPurse);
    });
    tree.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords.add(text);
      this.#errPurse.spend(1, text.length);
      this.#rest(tree.stderr, this.#errPurse);
    });
    void tree.exited.then(() => this.#readOn(tree));
    for (const stream of [tree.stdout, tree.stderr]) stream.on('error', () => {});
    // One that closed its stdout will never answer, and one that closed its stdin takes no more requests.
    tree.stdout.once('end', () => {
      this.#readUnfinished();
      void letExit(tree);
    });
    tree.stdin.on('error', () => void letExit(tree));
    void tree.heard.then((exit) => this.#finish(howEnded(exit), tree.end()));
    await tree.started;
  }

  /**
   * Resolves when the message is in the pipe; rejects when it cannot get there any more, and then it is known how the server
   * has ended: a broken pipe is seen before that, and whoever greets a server decides by its end.
   */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.#tree === undefined || this.#ending !== undefined) {
      return Promise.reject(new Error('The server is gone.'));
    }
    const { stdin } = this.#tree;
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      return Promise.reject(new Error(`it has ${stdin.writableLength} bytes of requests unread`));
    }
    this.#note(message);
    return new Promise((resolve, reject) => {
      stdin.write(`${stringify(message)}\n`, (error) => {
        if (error) void this.#ended.then(() => reject(error));
        else resolve();
      });
    });
  }

  abandon(id: RequestId): void {
    this.#waiting.delete(id);
  }

  /** Resolves when the server's process group is gone, after at most half a second or so. */
  async close(): Promise<void> {
    if (this.#tree === undefined) return;
    this.#isEndedHere = this.#isEndedHere || this.#ending === undefined;
    await this.#finish(CLOSED_BY_BRIDGE, this.#tree.end());
  }

  /** The first reason is the reason; `onclose` runs once, before anything is waited for. */
  async #finish(reason: string, gone: Promise<void>): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = reason;
      this.#onEnded();
      clearTimeout(this.#unfinished);
      for (const timer of this.#timers) clearTimeout(timer);
      this.#unasked.close();
      this.#leftOut.flush();
      if (this.#tree !== undefined) this.#readOn(this.#tree);
      this.onclose?.();
    }
    await gone;
  }

  /** After more than it may say unasked, nothing is read for a while, and it has to wait until it can write more. */
  #rest(stream: Readable, purse: Purse): void {
    const ms = this.#hasExited ? 0 : purse.restMs;
    if (ms === 0) return;
    this.#leftOut.add(0);
    stream.pause();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      stream.resume();
    }, Math.ceil(ms));
    this.#timers.add(timer);
  }

  #readOn(tree: ProcessTree): void {
    this.#hasExited = true;
    for (const stream of [tree.stdout, tree.stderr]) stream.resume();
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) this.#waiting.add(message.id);
    else if (message.method === 'notifications/cancelled')
      this.abandon(message.params?.['requestId'] as RequestId);
  }

  #read(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) this.#take(line);
    clearTimeout(this.#unfinished);
    // Only what may be whole: a long answer that is still on its way is not looked at again and again.
    if (
      this.#lines.unfinishedBytes > 0 &&
      /[}\]]\s*$/.test(chunk.toString('latin1', Math.max(0, chunk.length - 8)))
    )
      this.#unfinished = setTimeout(() => this.#readUnfinished(), UNFINISHED_MS).unref();
  }

  /** Reads the text behind the last line break; where the text is no message, it may go on. */
  #readUnfinished(): void {
    const rest = this.#lines.unfinishedBytes > MAX_MESSAGE_BYTES ? undefined : this.#lines.rest();
    if (rest === undefined) return;
    if ('text' in rest && jsonIn(rest.text) === undefined && this.#tree?.stdout.readableEnded !== true)
      for (const _ of this.#lines.push(Buffer.from(rest.text)));
    else this.#take(rest);
  }

  #take(line: Line): void {
    if (this.#ending !== undefined) return;
    if ('oversized' in line) {
      this.#outPurse.spend(1, 0);
      const message = readOversized(line.oversized, this.#skipped.take());
      if (message === undefined) this.#noise(line.head);
      else this.#deliver(message);
      return;
    }
    const { length } = line.text;
    const { messages, isNoise } = this.#spoken.read(line.text);
    if (!messages.some((message) => this.#isAwaited(message)))
      this.#outPurse.spend(Math.max(1, messages.length), length);
    if (isNoise) this.#noise(line.text);
    for (const message of messages) {
      if ('method' in message) this.#unasked.hear(message, length, (heard) => this.onmessage?.(heard));
      else this.#deliver(message);
    }
  }

  #isAwaited(message: JSONRPCMessage): boolean {
    return !('method' in message) && message.id !== undefined && this.#waiting.has(message.id);
  }

  #deliver(message: JSONRPCMessage): void {
    if (!('id' in message) || message.id === undefined || !this.#waiting.delete(message.id)) return;
    this.#unasked.flushProgress(message.id);
    this.onmessage?.(message);
  }

  #noise(line: string): void {
    this.#noiseLines++;
    this.#lastWords.addLine(`stdout: ${line}`);
    const id = answeredIn(line);
    if (id === undefined || !this.#waiting.has(id)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#deliver(failure(id, garbledError(line)));
    }, AFTER_GARBLED_MS).unref();
    this.#timers.add(timer);
  }
}

const howEnded = ({ code, signal }: ProcessExit): string =>
  signal === undefined ? `exited with code ${code}` : `was ended by ${signal}`;

/** How it exits by itself says more than the signal that it would be ended by. */
async function letExit(tree: ProcessTree): Promise<void> {
  tree.stdin.end();
  await waitAtMost(EXITS_WITHIN_MS, tree.exited);
  await tree.end();
}

/** Requests whose ids are remembered. */
const MAX_REMEMBERED = 1_000;
/** Methods that only servers use; a log quotes what the server has heard as well. */
const OF_SERVERS =
  /^(?:ping$|elicitation\/|roots\/|sampling\/|notifications\/(?:message|progress|tools|resources|prompts|elicitation|tasks|cancelled))/;

/**
 * Reads a server's stdout, line by line, as messages and as everything else: one message is a line, but servers lay it out over
 * several, write log text before it without a line break, or forget the break behind it.
 */
class SpokenLines {
  /** Lines of a value that is laid out over several, from the bracket with which it began. */
  #laidOut: string[] = [];
  #chars = 0;
  #depth = 0;
  /** Ids of the server's requests: those that stood among noise, and all others. */
  readonly #quoted = new Set<RequestId>();
  readonly #asked = new Set<RequestId>();

  /** `isNoise`: the line is for the server's last words as well. */
  read(line: string): { readonly messages: readonly JSONRPCMessage[]; readonly isNoise: boolean } {
    if (line.trim() === '') return { messages: [], isNoise: false };
    const laidOut = this.#addToLaidOut(line);
    if (laidOut !== undefined) {
      const messages = readMessages(laidOut);
      return {
        messages: this.#filterHeard(messages, this.#asked, this.#quoted),
        isNoise: messages.length === 0,
      };
    }
    const among = isOneValue(line) ? [] : messagesAmong(line).filter(isOfServer);
    if (among.length > 0)
      return { messages: this.#filterHeard(among, this.#quoted, this.#asked), isNoise: true };
    const messages = readMessages(line);
    if (messages.length > 0) this.#laidOut = [];
    else if (this.#laidOut.length === 0 && /^\s*[[{]\s*$/.test(line)) this.#begin(line);
    return {
      messages: this.#filterHeard(messages, this.#asked, this.#quoted),
      isNoise: messages.length === 0,
    };
  }

  #begin(line: string): void {
    this.#laidOut = [line];
    this.#chars = line.length;
    this.#depth = 1;
  }

  /** All of a value that this line completes; undefined where it completes none. */
  #addToLaidOut(line: string): string | undefined {
    if (this.#laidOut.length === 0) return undefined;
    this.#chars += line.length + 1;
    this.#depth += openedIn(line);
    this.#laidOut.push(line);
    if (this.#depth > 0 && this.#chars <= MAX_MESSAGE_BYTES) return undefined;
    const text = this.#depth === 0 ? this.#laidOut.join('\n') : '';
    this.#laidOut = [];
    return text === '' || readMessages(text).length === 0 ? undefined : text;
  }

  /** A log may quote a question right before or behind the question itself: the second of the two is left out. */
  #filterHeard(
    messages: readonly JSONRPCMessage[],
    own: Set<RequestId>,
    other: ReadonlySet<RequestId>,
  ): readonly JSONRPCMessage[] {
    return messages.filter((message) => {
      if (!('method' in message && 'id' in message)) return true;
      own.add(message.id);
      const [oldest] = own;
      if (own.size > MAX_REMEMBERED && oldest !== undefined) own.delete(oldest);
      return !other.has(message.id);
    });
  }
}

const isOfServer = (message: JSONRPCMessage): boolean =>
  !('method' in message) || OF_SERVERS.test(message.method);

/** The change of bracket depth in a line of laid out JSON, of which no string goes on in the next line. */
function openedIn(line: string): number {
  let opened = 0;
  let isInString = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at];
    if (isInString && char === '\\') at++;
    else if (char === '"') isInString = !isInString;
    else if (!isInString && (char === '[' || char === '{')) opened++;
    else if (!isInString && (char === ']' || char === '}')) opened--;
  }
  return opened;
}

/** Last words of servers that want to know who their user is. */
const WANTS_KEY =
  /\b(?:api|access|private|secret)?[ _-]?(?:keys?|tokens?|secrets?|credentials?|passwords?)\b|_(?:KEY|TOKEN|SECRET|PASSWORD)\b|\blog ?in\b|\bauthenticat|\bunauthori[sz]ed\b|environment variable/i;

/** Why a server's program did not become a server, told from Node's error, its end and its last words. */
export function startProblem(command: ProcessCommand, failure: Parameters<typeof startError>[1]): Problem {
  const { reason, remedy } = startError(command, failure);
  return { what: 'could not be started', reason, remedy: atItsEntry(remedy) };
}

function startError(
  { command, cwd }: ProcessCommand,
  {
    thrown,
    timedOutMs,
    ending,
    lastWords,
  }: {
    readonly thrown: unknown;
    /** The limit that has passed; undefined when none has. */
    readonly timedOutMs: number | undefined;
    /** How the server ended by itself, as the end of a sentence; undefined when it did not. */
    readonly ending: string | undefined;
    readonly lastWords: string;
  },
) {
  // Arguments that its command cannot be given.
  if (thrown instanceof BridgeError && thrown.code === 'E_PROCESS') {
    const { message, remedy = 'Correct them' } = thrown;
    return { reason: withoutFullStop(message), remedy };
  }
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  // Node says ENOENT for a missing working directory too.
  if (code === 'ENOENT' && cwd !== undefined && !existsSync(cwd)) {
    return { reason: `its working directory does not exist: ${cwd}`, remedy: 'Create it or correct `cwd`' };
  }
  if (code === 'ENOENT') {
    return { reason: `command not found: ${command}`, remedy: 'Install it, or give its full path' };
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return { reason: 'too many files are open', remedy: 'Load fewer servers at once, or raise `ulimit -n`' };
  }
  if (code === 'EACCES') return { reason: `${command} may not be executed`, remedy: 'Make it executable' };
  const remedy = WANTS_KEY.test(lastWords)
    ? 'It seems to want a key or a login: set it in its `env`, or log in by its own command'
    : 'Run its command by hand to see why';
  if (timedOutMs !== undefined) return { reason: `it was not ready within ${timedOutMs / 1000} s`, remedy };
  if (ending !== undefined) return { reason: `it ${ending} before it was ready`, remedy };
  return { reason: withoutPrefix(messageOf(thrown)), remedy };
}

// The last things a server said outside the protocol, kept for its errors: most servers explain their end on stderr.
// Bounded whatever the server floods; shown only after secrets and control characters are out.

const MAX_CHARS = 4096;
const MAX_LINES = 40;

export class LastWords {
  readonly #redact: Redact;
  #text = '';
  #isCut = false;

  /** A server may print its own token: what is shown goes through `redact`. */
  constructor(redact: Redact) {
    this.#redact = redact;
  }

  add(text: string): void {
    this.#isCut ||= this.#text.length + text.length > MAX_CHARS;
    this.#text = (this.#text + text).slice(-MAX_CHARS);
  }

  /** Adds a line of its own, whatever stood before. */
  addLine(line: string): void {
    const separator = this.#text === '' || this.#text.endsWith('\n') ? '' : '\n';
    this.add(`${separator}${line.slice(0, MAX_CHARS)}\n`);
  }

  /** At most 40 lines; an empty string when nothing was said. */
  toString(): string {
    // The cut may have split a word, and its rest could be part of a secret.
    const text = this.#redact(this.#isCut ? this.#text.replace(/^\S*/, '…') : this.#text);
    return linesOf(makeHarmless(text)).slice(-MAX_LINES).join('\n').trim();
  }
}

// The environment of a downstream server: a short allow-list of the host's variables, then the server's own. A list,
// not everything, because the bridge's environment may hold keys that are none of the server's business. Reads no
// process.env: the host's environment comes in as a value.

/** Where programs live, who the user is, how text is encoded: what a server started from a shell would rely on. */
const ALLOWED_NAMES = new Set([
  // The MCP SDK's own default, on POSIX and on Windows.
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  ...[
    'APPDATA',
    'HOMEDRIVE',
    'HOMEPATH',
    'LOCALAPPDATA',
    'PROCESSOR_ARCHITECTURE',
    'SYSTEMDRIVE',
    'SYSTEMROOT',
  ],
  ...[
    'TEMP',
    'TMP',
    'USERNAME',
    'USERPROFILE',
    'PROGRAMFILES',
    'PROGRAMDATA',
    'COMSPEC',
    'PATHEXT',
    'WINDIR',
  ],
  // Variables that servers which work in a terminal are most often found to miss.
  ...['LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'NVM_DIR', 'VOLTA_HOME', 'PYENV_ROOT'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
]);
const ALLOWED_PREFIXES = ['LC_', 'XDG_', 'FNM_'];

/** Tells a bridge started by a server of ours how deep it is nested, so that the recursion ends. */
const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';

// Windows spells names in any case, and proxies are found in both; so case does not count.
function isAllowed(name: string): boolean {
  const upper = name.toUpperCase();
  return ALLOWED_NAMES.has(upper) || ALLOWED_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

/** The child's environment: allowed variables of the host, overridden by `specEnv`; nobody overrides the depth. */
export function childEnv(
  hostEnv: Readonly<Record<string, string | undefined>>,
  specEnv: Readonly<Record<string, string>>,
  {
    depth,
    extraNames,
    platform = process.platform,
  }: {
    /** The nesting depth that the child is told. */
    readonly depth: number;
    /** Names that the operator allows on top of the list, in their exact spelling; on Windows case does not count. */
    readonly extraNames: readonly string[];
    readonly platform?: NodeJS.Platform;
  },
): Record<string, string> {
  const spelt = (name: string) => (platform === 'win32' ? name.toUpperCase() : name);
  const extra = new Set(extraNames.map(spelt));
  const inherited = Object.entries(hostEnv).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      // An exported shell function: code in disguise (CVE-2014-6271).
      !entry[1].startsWith('()') &&
      (isAllowed(entry[0]) || extra.has(spelt(entry[0]))),
  );
  const own = mergedVariables(specEnv, { [DEPTH_VARIABLE]: String(depth) }, platform);
  return mergedVariables(Object.fromEntries(inherited), own, platform);
}

// `repl`: an interactive Python with the user's MCP servers, in a session of a bridge in this very process: the quickest way
// to try a server. Without a terminal it reads programs from stdin, one for each line or block.

import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { ownCommand } from '../../base/process/own-command.js';
import type { OutputStream } from '../../base/process/streams.js';
import { makeHarmless, nameList } from '../../base/text/text.js';
import { Progress } from '../../mcp/requests/progress.js';
import type { BridgeTool } from '../../mcp/tools/definitions.js';
import { runPython } from '../../mcp/tools/run-python.js';
import { pictureLines, sessionLine } from '../../run/answer/pieces.js';
import type { KeptFiles } from '../../run/artifacts/kept-files.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { SessionFiles } from '../../run/sessions/session-file.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { ServerDoc } from '../../wire/frames.js';
import { RunQuestions } from '../approvals/run-questions.js';
import { exitCodeOf, showError, shownBy, withBridge, withData } from '../run/command-bridge.js';
import { keepLeft } from '../run/left.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { coloursFor, sayDim, sayNote, visibleText } from '../terminal/output.js';
import { completionsOf, SessionNames } from './completion.js';

type ReplOptions = {
  readonly servers: readonly string[];
  /** All that there are. */
  readonly all?: true;
  readonly session: string;
  /** The image in place of MCP_BRIDGE_IMAGE. */
  readonly image?: string;
  /** Data folders, as `run` has them. */
  readonly data: readonly string[];
};

const PROMPT = '>>> ';
const GOES_ON = '... ';
/** Words that people type to leave, with or without brackets. */
const LEAVES = /^(?:exit|quit)(?:\(\))?$/;

export async function repl(options: ReplOptions): Promise<void> {
  const prepared = withData(prepare('warn', 'serves', options.image), options.data);
  // Files that a session leaves have to be there to be opened; nothing else of a bridge that serves is wanted.
  const settings = { ...prepared.settings, warm: 0 };
  const discovery = { ...prepared.discovery, settings };
  const ending = AbortSignal.any([interruptSignal({ except: ['SIGINT'] }), signalOfLostReader()]);
  const handles = new Set<string>();
  await withBridge({ ...prepared, settings, discovery }, async (bridge) => {
    // Keys are the prompt's: a question is answered elsewhere.
    await using _ = new RunQuestions(settings.stateDir, {
      isOwn: ({ pid }) => pid === process.pid,
      hasKeys: false,
    });
    const conversation = new Repl(bridge, options, ending, handles);
    process.exitCode = await conversation.run();
  });
  // It has ended as it should: the next one of its name has nothing to tell of it.
  const files = new SessionFiles(settings.stateDir);
  for (const handle of handles) files.remove(handle);
}

class Repl {
  readonly #bridge: Bridge;
  readonly #options: ReplOptions;
  readonly #ending: AbortSignal;
  readonly #tool: BridgeTool<Outcome>;
  /** Handles of the sessions that it has had. */
  readonly #handles: Set<string>;
  readonly #names = new SessionNames((code) => this.#runQuietly(code));
  /** Ends the call that is under way. */
  #call: AbortController | undefined;
  #hasFailed = false;

  constructor(bridge: Bridge, options: ReplOptions, ending: AbortSignal, handles: Set<string>) {
    this.#handles = handles;
    this.#bridge = bridge;
    this.#options = options;
    this.#ending = ending;
    this.#tool = runPython(bridge.settings);
  }

  /** The exit code. */
  async run(): Promise<number> {
    const onInterrupt = () => {
      // Between two calls of a pipe there is nothing else that it could mean.
      if (this.#call === undefined) process.exit(130);
      this.#call.abort('cancelled');
    };
    process.on('SIGINT', onInterrupt);
    try {
      const outcome = await this.#greet();
      if (outcome.status !== 'success') return exitCodeOf(outcome);
      const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
      const lines = isTerminal ? this.#terminal() : linesOfPipe();
      this.#ending.addEventListener('abort', () => lines.close());
      await this.#converse(lines);
      lines.close();
      return !isTerminal && this.#hasFailed ? 1 : 0;
    } finally {
      process.off('SIGINT', onInterrupt);
    }
  }

  #terminal(): Lines {
    const sources = {
      servers: () => this.#bridge.servers.known.allDocs(),
      namesIn: (object: string | undefined) => this.#names.of(object),
    };
    const history = new LineHistory(this.#bridge.settings.stateDir);
    return new TerminalLines(history, (line) => completionsOf(line, sources));
  }

  /** Opens session and servers, and says what is there. */
  async #greet(): Promise<Outcome> {
    using signs = new Progress(({ message }) => sayNote(message));
    const outcome = await this.#run('pass', signs, new LiveOutput());
    const { session, status, error, servers } = outcome;
    if (error !== undefined) showError(status, error);
    if (session === undefined || status !== 'success') return outcome;
    const docs = servers.flatMap((name) => this.#bridge.servers.known.docOf(name) ?? []);
    sayNote(
      `Session ${visibleText(sessionLine(session))}. ${loadedLine(docs, this.#bridge.servers.names.length)}`,
    );
    sayNote(
      "TAB completes, help(…) and await runtime.search_tool_docs('words') look things up; Ctrl-C interrupts, Ctrl-D ends.",
    );
    if (outcome.note !== undefined) sayDim(outcome.note);
    return outcome;
  }

  async #converse(lines: Lines): Promise<void> {
    while (!this.#ending.aborted) {
      const program = await programFrom(lines);
      if (program === undefined || LEAVES.test(program.trim())) return;
      if (!hasCode(program)) continue;
      lines.rest();
      const output = new LiveOutput();
      // Messages of the code about its progress are no output of the program, and a sign of life would be noise here.
      using silent = new Progress(undefined);
      const outcome = await this.#run(program, silent, output);
      this.#names.forget();
      output.endLine();
      await showOutcome(outcome, this.#bridge.kept);
      this.#hasFailed ||= outcome.status !== 'success';
    }
  }

  /** Text that `code` prints. */
  async #runQuietly(code: string): Promise<string> {
    using silent = new Progress(undefined);
    const { stdout } = await this.#run(code, silent, undefined);
    return stdout.text;
  }

  async #run(code: string, progress: Progress, output: LiveOutput | undefined): Promise<Outcome> {
    const { servers, all, session } = this.#options;
    const { sessions, settings } = this.#bridge;
    const asked = all ? ['*'] : servers;
    const call = new AbortController();
    const onEnding = () => call.abort('cancelled');
    this.#ending.addEventListener('abort', onEnding, { once: true });
    this.#call = call;
    try {
      const args = {
        ...{ code, session, timeout: settings.maxTimeoutSeconds },
        // One that lives has them; those that did not open are not tried again at every line.
        servers: sessions.size === 0 ? asked : [],
      };
      const context = byCommandLine(call.signal, shownBy(progress, output));
      const outcome = await this.#tool.call(args, context, this.#bridge);
      if (outcome.session !== undefined) this.#handles.add(outcome.session.handle);
      return outcome;
    } finally {
      this.#call = undefined;
      this.#ending.removeEventListener('abort', onEnding);
    }
  }
}

/** The lines of the next one; undefined at the end of all. */
async function programFrom(lines: Lines): Promise<string | undefined> {
  let program: string | undefined;
  for (;;) {
    const asked = await lines.ask(program === undefined ? PROMPT : GOES_ON);
    if (asked === undefined) return program;
    if (asked === 'interrupt') program = undefined;
    else {
      program = program === undefined ? asked.line : `${program}\n${asked.line}`;
      if (!needsMore(program)) return program;
    }
  }
}

const hasCode = (program: string): boolean =>
  program.split('\n').some((line) => line.trim() !== '' && !line.trim().startsWith('#'));

/** A line; undefined at the end; `interrupt` where the person wants to begin anew. */
type EnteredLine = { readonly line: string } | 'interrupt' | undefined;

/** Where the lines come from: a person at a terminal, with editing, history and completion, or a pipe. */
type Lines = {
  readonly ask: (prompt: string) => Promise<EnteredLine>;
  /** From now until the next question a Ctrl-C is a signal to this process. */
  readonly rest: () => void;
  readonly close: () => void;
};

function linesOfPipe(): Lines {
  const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = reader[Symbol.asyncIterator]();
  return {
    ask: async () => {
      const { value, done } = await lines.next();
      return done ? undefined : { line: value };
    },
    rest: () => {},
    close: () => reader.close(),
  };
}

class TerminalLines implements Lines {
  readonly #reader: Interface;
  readonly #input = process.stdin as ReadStream;
  /** Typed or pasted while nobody asked. */
  readonly #waiting: EnteredLine[] = [];
  #onAsked: ((asked: EnteredLine) => void) | undefined;
  #isClosed = false;

  constructor(history: LineHistory, complete: (line: string) => Promise<[string[], string]>) {
    this.#reader = createInterface({
      input: this.#input,
      output: process.stdout,
      terminal: true,
      history: history.read(),
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, completions: [string[], string]) => void) => {
        complete(line).then(
          (completions) => done(null, completions),
          () => done(null, [[], '']),
        );
      },
    });
    this.#reader.on('history', (lines: string[]) => history.write(lines));
    this.#reader.on('line', (line) => this.#take({ line }));
    this.#reader.on('SIGINT', () => {
      this.#waiting.length = 0;
      // Delete the text in the line, before and behind the cursor.
      for (const name of ['e', 'u']) this.#reader.write(null, { ctrl: true, name });
      process.stdout.write('\n');
      this.#take('interrupt');
    });
    this.#reader.once('close', () => {
      this.#isClosed = true;
      this.#take(undefined);
    });
  }

  ask(prompt: string): Promise<EnteredLine> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift());
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#onAsked = resolve;
      this.#input.setRawMode(true);
      this.#reader.resume();
      this.#reader.setPrompt(prompt);
      this.#reader.prompt();
    });
  }

  rest(): void {
    if (this.#isClosed) return;
    this.#reader.pause();
    this.#input.setRawMode(false);
  }

  close(): void {
    this.#reader.close();
  }

  #take(asked: EnteredLine): void {
    const answer = this.#onAsked;
    this.#onAsked = undefined;
    if (answer === undefined) this.#waiting.push(asked);
    else answer(asked);
  }
}

/** Says which servers the session has; `configured` is how many servers there are. */
function loadedLine(loaded: readonly Pick<ServerDoc, 'alias' | 'tools'>[], configured: number): string {
  if (loaded.length > 0) {
    const names = loaded.map(({ alias, tools }) => `mcp_${alias} (${tools.length} tools)`);
    return `Loaded: ${nameList(names)}.`;
  }
  if (configured === 0) return 'No MCP server is configured.';
  return `No server is loaded: name some with --servers, or all ${configured} with --all; \`${ownCommand('servers')}\` lists them.`;
}

/** The output of one call; its last line may be open when something else is to be said. */
class LiveOutput {
  #open: OutputStream | undefined;

  readonly add = (stream: OutputStream, text: string): void => {
    const shown = makeHarmless(text);
    process[stream].write(shown);
    this.#open = shown.endsWith('\n') ? undefined : stream;
  };

  endLine(): void {
    if (this.#open !== undefined) process[this.#open].write('\n');
    this.#open = undefined;
  }
}

/** Shows what a call came to besides its output: its value as Python shows it, what it left, and what went wrong. */
async function showOutcome(outcome: Outcome, kept: KeptFiles): Promise<void> {
  const { result, error, status, note, session } = outcome;
  if (session !== undefined && session.says.length > 0) sayDim(`[session: ${session.says.join('; ')}]`);
  if (result !== undefined && result.repr !== '') process.stdout.write(`${result.repr}\n`);
  for (const line of pictureLines({ shown: [], leftOut: outcome.pictures.leftOut }, '')) sayDim(line);
  await showLeft(outcome, kept);
  if (note !== undefined) sayDim(note);
  if (error === undefined) return;
  const { traceback } = error;
  if (error.isByCode && traceback.length > 0)
    process.stderr.write(`${coloursFor(process.stderr).red(traceback.join('\n'))}\n`);
  else showError(status, error);
}

/** Pictures and files, each with its place on this machine. */
async function showLeft(outcome: Outcome, kept: KeptFiles): Promise<void> {
  const { left, stdout, stderr } = outcome;
  await keepLeft(outcome, kept);
  if (left?.result?.path !== undefined) sayDim(`the whole value: ${left.result.path}`);
  for (const { whole, dropped } of [stdout, stderr])
    if (dropped > 0 && whole?.path !== undefined) sayDim(`the whole output: ${whole.path}`);
}

export const HISTORY_LINES = 1_000;
const FILE = 'repl-history';

/** The lines that a person has typed, from one `repl` to the next: in the state directory, for their user alone. */
export class LineHistory {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, FILE);
  }

  /** The newest first, as readline has them; none where nothing can be read. */
  read(): string[] {
    const lines = (readText(this.#path) ?? '').split('\n').filter((line) => line !== '');
    return lines.reverse().slice(0, HISTORY_LINES);
  }

  /** `lines` are the newest first. What cannot be written is not there the next time, and no more. */
  write(lines: readonly string[]): void {
    const kept = lines.filter((line) => line.trim() !== '').slice(0, HISTORY_LINES);
    try {
      replaceFile(
        this.#path,
        kept
          .reverse()
          .map((line) => `${line}\n`)
          .join(''),
      );
    } catch {
      // A disk that is full is no reason to end with an error.
    }
  }
}

// Whether what was typed so far is a program, or goes on in the next line, as Python's own REPL has it: brackets, triple quotes
// and backslashes go on, and a block ends with an empty line. Only a look at the text; what is wrong with it Python says.

/** Statements that may have a block, and what stands ahead of a function. */
const BLOCK = /^(?:(?:if|while|for|try|with|def|class|async)\b|@)/;
const OPENING = '([{';
const CLOSING = ')]}';

/** `text` is all lines so far, with `\n` between them. */
export function needsMore(text: string): boolean {
  const { isOpen, isBlock } = scan(text);
  if (isOpen) return true;
  return isBlock && !/\n[ \t]*$/.test(text);
}

function scan(text: string): {
  /** The text ends within brackets, a text of three quotes, or behind a backslash. */
  readonly isOpen: boolean;
  /** Some statement of it has a block. */
  readonly isBlock: boolean;
} {
  let depth = 0;
  let isBlock = false;
  let isStart = true;
  /** The last character of the statement that is no space and in no comment. */
  let last = '';
  for (let at = 0; at < text.length; ) {
    const letter = text[at] ?? '';
    if (isStart && !/\s/.test(letter)) {
      isStart = false;
      isBlock ||= BLOCK.test(text.slice(at, at + 8));
    }
    if (letter === '#') {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
    } else if (letter === '"' || letter === "'") {
      const end = endOfText(text, at);
      if (end === 'goes on') return { isOpen: true, isBlock };
      // A mistake, which Python is to say now.
      if (end === 'broken') return { isOpen: false, isBlock: false };
      at = end;
      last = letter;
    } else if (letter === '\\') {
      if (at + 1 >= text.length) return { isOpen: true, isBlock };
      at += 2;
    } else {
      if (OPENING.includes(letter)) depth++;
      else if (CLOSING.includes(letter)) depth = Math.max(0, depth - 1);
      if (letter === '\n' && depth === 0) {
        isBlock ||= last === ':';
        isStart = true;
        last = '';
      } else if (!/\s/.test(letter)) last = letter;
      at++;
    }
  }
  return { isOpen: depth > 0, isBlock: isBlock || (depth === 0 && last === ':') };
}

/** Behind the closing quote; where there is none, the text goes on, or is broken by the end of its line. */
function endOfText(text: string, start: number): number | 'goes on' | 'broken' {
  const quote = text[start] ?? '';
  const isLong = text.startsWith(quote.repeat(3), start);
  const end = isLong ? quote.repeat(3) : quote;
  for (let at = start + end.length; at < text.length; ) {
    if (text[at] === '\\') at += 2;
    else if (text.startsWith(end, at)) return at + end.length;
    else if (!isLong && text[at] === '\n') return 'broken';
    else at++;
  }
  return isLong || endsInBackslash(text) ? 'goes on' : 'broken';
}

/** An odd number of them: the last one is not itself escaped. */
function endsInBackslash(text: string): boolean {
  let end = text.length;
  while (end > 0 && text[end - 1] === '\\') end--;
  return (text.length - end) % 2 === 1;
}

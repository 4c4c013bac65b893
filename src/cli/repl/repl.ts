// `repl`: an interactive Python with the user's MCP servers, in a session of a bridge in this very process: the quickest way
// to try a server. Without a terminal it reads programs from stdin, one for each line or block.

import { Progress } from '../../mcp/requests/progress.js';
import { runPython } from '../../mcp/tools/run-python.js';
import type { BridgeTool } from '../../mcp/tools/tool.js';
import { sessionLine } from '../../run/answer/pieces.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import type { Bridge } from '../../tenant/bridge.js';
import { shownBy, withBridge } from '../run/command-bridge.js';
import { exitCodeOf, showError } from '../run/run-end.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { sayDim, visible } from '../terminal/output.js';
import { completionsOf } from './completion.js';
import { loadedLine } from './greeting.js';
import { History } from './history.js';
import { type Lines, linesOfPipe, TerminalLines } from './lines.js';
import { needsMore } from './needs-more.js';
import { SessionNames } from './session-names.js';
import { LiveOutput, showOutcome } from './show.js';

export type ReplOptions = {
  readonly servers: readonly string[];
  /** All that there are. */
  readonly all?: true;
  readonly session: string;
};

const PROMPT = '>>> ';
const GOES_ON = '... ';
/** What people type to leave, with or without brackets. */
const LEAVES = /^(?:exit|quit)(?:\(\))?$/;

export async function repl(options: ReplOptions): Promise<void> {
  const prepared = prepare('warn', 'serves');
  // What is left in one has to be there to be opened; nothing else of a bridge that serves is wanted.
  const settings = { ...prepared.settings, warm: 0 };
  const discovery = { ...prepared.discovery, settings };
  const ending = interruptSignal({ except: ['SIGINT'] });
  await withBridge({ ...prepared, settings, discovery }, async (bridge) => {
    const conversation = new Repl(bridge, options, ending);
    process.exitCode = await conversation.run();
  });
}

class Repl {
  readonly #bridge: Bridge;
  readonly #options: ReplOptions;
  readonly #ending: AbortSignal;
  readonly #tool: BridgeTool<Outcome>;
  readonly #names = new SessionNames((code) => this.#quietly(code));
  /** Ends the call that is under way. */
  #call: AbortController | undefined;
  #hasFailed = false;

  constructor(bridge: Bridge, options: ReplOptions, ending: AbortSignal) {
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
    const history = new History(this.#bridge.settings.stateDir);
    return new TerminalLines(history, (line) => completionsOf(line, sources));
  }

  /** Opens session and servers, and says what is there. */
  async #greet(): Promise<Outcome> {
    using signs = new Progress(({ message }) => sayDim(message));
    const outcome = await this.#run('pass', signs, new LiveOutput());
    const { session, status, error, servers } = outcome;
    if (error !== undefined) showError(status, error);
    if (session === undefined || status !== 'success') return outcome;
    const docs = servers.flatMap((name) => this.#bridge.servers.known.docOf(name) ?? []);
    sayDim(
      `Session ${visible(sessionLine(session))}. ${loadedLine(docs, this.#bridge.servers.names.length)}`,
    );
    sayDim(
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
      // What the code says of its progress is none of the program's words, and a sign of life would be noise here.
      using silent = new Progress(undefined);
      const outcome = await this.#run(program, silent, output);
      this.#names.forget();
      output.endLine();
      await showOutcome(outcome, this.#bridge.kept);
      this.#hasFailed ||= outcome.status !== 'success';
    }
  }

  /** What it prints. */
  async #quietly(code: string): Promise<string> {
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
      return await this.#tool.call(args, context, this.#bridge);
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

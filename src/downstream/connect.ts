// From a DownstreamSpec to a connected client that knows the server's tools, or to an error that says what to do.
// Which client capabilities are advertised, and what answers for them, is passed-on.ts's business.

import { existsSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Deadline } from '../base/deadline.js';
import { BridgeError, messageOf } from '../base/errors.js';
import type { Redact } from '../base/redact.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import type { DownstreamSpec, StdioSpec } from '../config/downstream-spec.js';
import type { PassedOn } from './passed-on.js';
import { CLOSED_BY_BRIDGE, StdioTransport } from './stdio-transport.js';
import { listTools, NO_TIMEOUT_MS, type ToolList } from './tool-list.js';

export type Connection = {
  readonly client: Client;
  readonly transport: StdioTransport;
  readonly listed: ToolList;
};

export type ConnectOptions = {
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** For the greeting and the list of tools together. */
  readonly timeoutMs: number;
  /** Called for every `tools/list_changed`, from the first moment on. */
  readonly onToolsChanged: () => void;
  /** Answers what the server asks. */
  readonly passedOn: PassedOn;
  /** What the server says in its own words goes through this. */
  readonly redact: Redact;
};

/** A server whose input is closed is made to end within this. */
const ENDS_WITHIN_MS = 1_000;
const MAX_LAST_WORDS_CHARS = 1_500;
/** Last words of servers that want to know who their user is. */
const WANTS_KEY =
  /\b(?:api|access|private|secret)?[ _-]?(?:keys?|tokens?|secrets?|credentials?|passwords?)\b|_(?:KEY|TOKEN|SECRET|PASSWORD)\b|\blog ?in\b|\bauthenticat|\bunauthori[sz]ed\b|environment variable/i;
const WHERE = `\`${PACKAGE_NAME} servers\` shows where it is configured.`;

/**
 * Starts the server, greets it and lists its tools. Throws E_SERVER_UNAVAILABLE, or E_SHUTDOWN when `signal` ended
 * it; nothing of the server is left running then.
 */
export async function connect(
  spec: DownstreamSpec,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  if (spec.transport !== 'stdio') {
    throw new BridgeError('E_SERVER_UNAVAILABLE', `Server '${spec.name}' is remote.`, { fault: 'bridge' });
  }
  const { command, args, cwd } = spec;
  const transport = new StdioTransport({ command, args, cwd, env: options.env }, options.redact);
  const client = new Client(
    { name: PACKAGE_NAME, version: VERSION },
    { capabilities: options.passedOn.capabilities },
  );
  options.passedOn.serve(client);
  client.setNotificationHandler(ToolListChangedNotificationSchema, options.onToolsChanged);
  using deadline = new Deadline(signal);
  deadline.start(options.timeoutMs);
  try {
    await client.connect(transport, { timeout: NO_TIMEOUT_MS, signal: deadline.signal });
    return { client, transport, listed: await listTools(client, deadline.signal) };
  } catch (thrown) {
    // A broken pipe says only that it is ending; how it ended says more.
    const exit = Object(thrown).code === 'EPIPE' ? await transport.exitWithin(ENDS_WITHIN_MS) : undefined;
    const ending = exit ?? transport.ending;
    const problem = startProblem(spec, ending, thrown, deadline, options.timeoutMs, transport);
    await transport.close();
    if (deadline.cause !== undefined && deadline.cause !== 'timeout') {
      throw new BridgeError('E_SHUTDOWN', `Server '${spec.name}' was not started: the bridge is closing.`, {
        fault: 'bridge',
      });
    }
    throw new BridgeError(
      'E_SERVER_UNAVAILABLE',
      `Server '${spec.name}' could not be started: ${options.redact(problem.reason)}.${lastWordsOf(transport)}`,
      { fault: 'operator', remedy: `${problem.remedy}; ${WHERE}`, cause: thrown },
    );
  }
}

type Problem = { readonly reason: string; readonly remedy: string };

function startProblem(
  { command, cwd }: StdioSpec,
  ending: string | undefined,
  thrown: unknown,
  { cause }: Deadline,
  timeoutMs: number,
  { lastWords }: StdioTransport,
): Problem {
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
  if (cause === 'timeout') return { reason: `it was not ready within ${timeoutMs / 1000} s`, remedy };
  if (ending !== undefined && ending !== CLOSED_BY_BRIDGE) {
    return { reason: `it ${ending} before it was ready`, remedy };
  }
  return { reason: withoutPrefix(messageOf(thrown)), remedy };
}

/** The server's last words as a quotation, to be put after a sentence; empty when it said nothing. */
export function lastWordsOf({ lastWords }: StdioTransport): string {
  if (lastWords === '') return '';
  // How it ended stands at the end.
  const end =
    lastWords.length > MAX_LAST_WORDS_CHARS
      ? `…${lastWords.slice(-MAX_LAST_WORDS_CHARS).toWellFormed()}`
      : lastWords;
  return ` Its last words:\n${end.replace(/^/gm, '> ')}\n`;
}

/** The SDK puts `MCP error <code>: ` ahead of every message; the code says nothing to the reader. */
export function withoutPrefix(message: string): string {
  return message.replace(/^(?:MCP error -?\d+: )+/, '');
}

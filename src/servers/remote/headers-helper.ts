// `headersHelper`: the user's own command line, which prints headers as JSON. It is part of the configuration that the
// user approved in the host, and is written for that host's shell; so this one string is parsed by a shell on our
// account. Nothing that an agent, a guest or a server says ever gets into it.

import { isObject } from '../../base/json/json-object.js';
import { parseJson } from '../../base/json/json-text.js';
import { startOfLine } from '../../base/process/start-of.js';
import type { Redact } from '../../base/secrets/redact.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { within } from '../../base/waiting/within.js';
import { atItsEntry } from '../connection/link.js';
import { LastWords } from '../stdio/last-words.js';
import { type ProcessExit, ProcessTree } from '../stdio/process-tree.js';
import { RemoteFailure } from './remote-failure.js';

/** What Claude Code grants it. */
const LIMIT_MS = 10_000;
/** Servers take some kilobytes of headers at most. */
const MAX_BYTES = 64 * KB_BYTES;
const JSON_LIMITS = { maxDepth: 4, maxValues: 1_000 };

export type HelperOptions = {
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it starts; without it, where the bridge did. */
  readonly cwd?: string | undefined;
  readonly redact: Redact;
};

/**
 * What `line` prints. Throws RemoteFailure when it fails, prints anything but an object of texts, or takes
 * longer than ten seconds; what it printed is not quoted, what it wrote to stderr goes through `redact`.
 */
export async function helperHeaders(
  line: string,
  { env, cwd, redact }: HelperOptions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const start = startOfLine(line, { platform: process.platform, env });
  const tree = new ProcessTree({ command: start.file, args: start.args, env, cwd }, start);
  const said = new LastWords(redact);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let exit: ProcessExit | undefined;
  try {
    await tree.started;
    tree.stdin.on('error', () => {}).end();
    tree.stderr.setEncoding('utf8').on('data', (text: string) => said.add(text));
    tree.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BYTES) chunks.push(chunk);
    });
    const ended = tree.heard.then((how) => {
      exit = how;
    });
    await within(LIMIT_MS, unlessAborted(ended, signal));
  } catch (cause) {
    throw failed('could not be started', cause);
  } finally {
    await tree.end();
  }
  if (exit === undefined) throw failed(`did not end within ${LIMIT_MS / 1000} s`);
  if (exit.code !== 0) {
    const words = said.toString();
    throw failed(`failed (${exit.code ?? exit.signal})${words === '' ? '' : `: ${words}`}`);
  }
  if (bytes > MAX_BYTES) throw failed(`printed more than ${MAX_BYTES} bytes`);
  return headersIn(Buffer.concat(chunks).toString());
}

function headersIn(text: string): Readonly<Record<string, string>> {
  let printed: unknown;
  try {
    printed = parseJson(text, JSON_LIMITS);
  } catch {
    printed = undefined;
  }
  const isUsable = isObject(printed) && Object.values(printed).every((value) => typeof value === 'string');
  if (!isUsable) throw failed('printed something else than a JSON object whose values are texts');
  return printed as Record<string, string>;
}

function failed(how: string, cause?: unknown): RemoteFailure {
  const remedy = atItsEntry('Run that command by hand to see why');
  return new RemoteFailure(`its headersHelper ${how}`, { fault: 'operator', remedy, cause });
}

// Why a server's program did not become a server, told from Node's error, its end and its last words. Pure but for one
// look at whether a folder is there.

import { existsSync } from 'node:fs';
import { BridgeError, messageOf } from '../../base/errors.js';
import { withoutFullStop } from '../../base/text/text.js';
import { withoutPrefix } from '../connection/call-error.js';
import { atItsEntry, type Problem } from '../connection/link.js';
import type { ProcessCommand } from './process-tree.js';

/** Last words of servers that want to know who their user is. */
const WANTS_KEY =
  /\b(?:api|access|private|secret)?[ _-]?(?:keys?|tokens?|secrets?|credentials?|passwords?)\b|_(?:KEY|TOKEN|SECRET|PASSWORD)\b|\blog ?in\b|\bauthenticat|\bunauthori[sz]ed\b|environment variable/i;

export type StartFailure = {
  readonly thrown: unknown;
  /** The limit that has passed; undefined when none has. */
  readonly timedOutMs: number | undefined;
  /** How the server ended by itself, as the end of a sentence; undefined when it did not. */
  readonly ending: string | undefined;
  readonly lastWords: string;
};

export function startProblem(command: ProcessCommand, failure: StartFailure): Problem {
  const { reason, remedy } = told(command, failure);
  return { what: 'could not be started', reason, remedy: atItsEntry(remedy) };
}

function told({ command, cwd }: ProcessCommand, { thrown, timedOutMs, ending, lastWords }: StartFailure) {
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

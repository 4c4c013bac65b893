// A limit on processes that the commands have and the server has not: else a command that forks for ever leaves the server
// none to start the next one with. Relies on prlimit of util-linux; the kernel counts by user, so root is not limited.

import { BridgeError } from '../base/errors.js';
import { findCommand } from './command-rules.js';

/** The argument vector that stands before a command's own. */
export type ProcessLimit = readonly string[];

/** Undefined for no limit. Throws E_SETTINGS where there is nothing to set one with. */
export function processLimit(
  processes: number | undefined,
  searchPath: string | undefined,
): ProcessLimit | undefined {
  if (processes === undefined) return undefined;
  const place = { path: searchPath ?? '', rulesPath: '', cwd: '/' };
  const found = findCommand('prlimit', place, { allow: undefined, deny: [] });
  if ('path' in found) return [found.path, `--nproc=${processes}:${processes}`];
  throw new BridgeError('E_SETTINGS', 'MCP_EXEC_PROCESSES is set, and there is no prlimit on the PATH.', {
    fault: 'operator',
    remedy: 'Install util-linux, or unset it and limit processes from outside.',
  });
}

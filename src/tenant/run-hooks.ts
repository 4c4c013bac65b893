// What a run, a command and a call are asked for with, and who follows them.

import type { DirectCall } from '../run/life/direct-call.js';
import type { Watcher } from '../run/life/run-request.js';
import type { CommandRequest } from '../run/life/sandboxed-command.js';
import type { Task } from '../run/programs/task.js';
import type { AskedSession } from '../run/sessions/sessions.js';
import type { InputFile } from '../wire/frames.js';

export type RunInput = {
  readonly task: Task;
  /** Names, and `*`. */
  readonly servers: readonly string[];
  readonly timeoutSeconds: number;
  readonly files: readonly InputFile[];
  /** Which one it is a call of; absent for a run of its own. */
  readonly session?: AskedSession;
  /** It executes reads only, and stops at its first write. */
  readonly isPlan?: boolean;
};

export type CommandInput = Pick<CommandRequest, 'command' | 'timeoutSeconds'>;

/** `setBy` names what has chosen the server, for its errors. */
export type ServerCall = Omit<DirectCall, 'id' | 'client' | 'language'> & { readonly setBy: string };

export type RunHooks = Watcher & {
  /** The run has to wait; `ahead` counts, whenever it is asked, those that wait and come before it. */
  readonly onQueued: (place: { readonly ahead: number }) => void;
  /** Its turn has come; `waitsFor` says, whenever it is asked, what holds up its start. */
  readonly onPreparing: (waitsFor: () => string) => void;
};

/** For runs that nobody follows. */
export const UNWATCHED: RunHooks = {
  onQueued: () => {},
  onPreparing: () => {},
  onStart: () => {},
  onProgress: () => {},
  onToolProgress: () => {},
  onOutput: () => {},
};

// What an exception most likely has to do with the sandbox's limits: the sentence that names the limit which the code
// has met, since Python's own words name none. Reads what the guest claims; decides nothing but the wording.

import type { SandboxSpec } from '../engine/engine.js';
import type { GuestError } from '../sandbox/sandbox.js';

/** The limits of a cage that a sentence may name. */
export type Limits = Pick<SandboxSpec, 'memoryBytes' | 'pids' | 'tmpfs' | 'shmMb' | 'ulimits'>;

const MB_BYTES = 1024 ** 2;

/** `512 MB`. */
export const megabytes = (bytes: number): string => `${Math.round(bytes / MB_BYTES)} MB`;

export const memoryRemedy =
  'Use less memory: process the data in pieces, and let go of what is done. (MCP_BRIDGE_MEMORY sets the limit.)';

type Hint = {
  readonly matches: (error: GuestError) => boolean;
  readonly sentence: (limits: Limits) => string;
};

const errno = (number: number) => (error: GuestError) => error.message.startsWith(`[Errno ${number}]`);
/** EAGAIN is also what a socket says that has nothing yet, so the place must look like one that starts something. */
const STARTS_SOMETHING = /fork|spawn|popen|process|thread|pool|subprocess/i;

const ulimit = ({ ulimits }: Limits, name: string): number =>
  ulimits.find((each) => each.name === name)?.limit ?? 0;

const HINTS: readonly Hint[] = [
  {
    matches: ({ type }) => type === 'MemoryError',
    sentence: ({ memoryBytes }) => `The memory limit is ${megabytes(memoryBytes)}. ${memoryRemedy}`,
  },
  {
    matches: (error) =>
      error.message.includes("can't start new thread") ||
      (errno(11)(error) && STARTS_SOMETHING.test(error.traceback.join('\n'))),
    sentence: ({ pids }) =>
      `At most ${pids} processes and threads may exist at once. (MCP_BRIDGE_PIDS sets the limit.)`,
  },
  {
    matches: errno(28),
    sentence: ({ tmpfs, shmMb }) => {
      const places = [...tmpfs, { target: '/dev/shm', sizeMb: shmMb }];
      return `Files are kept in memory: ${places.map(({ target, sizeMb }) => `${target} holds ${sizeMb} MB`).join(', ')}.`;
    },
  },
  {
    matches: errno(24),
    sentence: (limits) => `At most ${ulimit(limits, 'nofile')} files and sockets may be open at once.`,
  },
  {
    matches: errno(27),
    sentence: (limits) => `A file may have at most ${megabytes(ulimit(limits, 'fsize'))}.`,
  },
];

/** Undefined where the exception has nothing to do with a limit. */
export const hintFor = (error: GuestError, limits: Limits): string | undefined =>
  HINTS.find(({ matches }) => matches(error))?.sentence(limits);

// Exceptions that are a limit's doing: the limit's name and number, which Python's own words lack.

import { during, errno, type Hint, type HintSpec, megabytes, STARTS_SOMETHING, says } from './hint.js';

export const memoryRemedy =
  'Use less memory: process the data in pieces, and let go of what is done. (MCP_BRIDGE_MEMORY sets the limit.)';

const ulimit = ({ ulimits }: HintSpec, name: string): number =>
  ulimits.find((each) => each.name === name)?.limit ?? 0;

export const memorySentence = ({ memoryBytes }: HintSpec): string =>
  `The memory limit is ${megabytes(memoryBytes)}. ${memoryRemedy}`;

export const processesSentence = ({ pids }: HintSpec): string =>
  `At most ${pids} processes and threads may exist at once: use fewer workers, or asyncio. (MCP_BRIDGE_PIDS sets the limit.)`;

export const diskSentence = ({ tmpfs, shmMb }: HintSpec): string => {
  const places = [...tmpfs, { target: '/dev/shm', sizeMb: shmMb }];
  const sizes = places.map(({ target, sizeMb }) => `${target} holds ${sizeMb} MB`).join(', ');
  return `Files are kept in memory: ${sizes}. Delete what is done with, or write less.`;
};

/** `habit` is how the language closes what it has opened, as the end of a sentence. */
export const openFilesSentence = (spec: HintSpec, habit = ''): string =>
  `At most ${ulimit(spec, 'nofile')} files and sockets may be open at once: close them${habit}.`;

export const fileSizeSentence = (spec: HintSpec): string =>
  `A file may have at most ${megabytes(ulimit(spec, 'fsize'))}: write several, or less.`;

export const limitHints: readonly Hint[] = [
  {
    about: 'memory',
    // numpy has a class of its own for arrays.
    matches: says(/(?:)/, /(?:^|[._])(?:Array)?MemoryError$/),
    sentence: memorySentence,
  },
  {
    about: 'memory that the kernel refuses',
    matches: errno(12),
    sentence: memorySentence,
  },
  {
    about: 'threads',
    matches: says(/can't start new thread/, /^RuntimeError$/),
    sentence: processesSentence,
  },
  {
    about: 'processes',
    // EAGAIN is also what a socket says that has nothing yet.
    matches: during(STARTS_SOMETHING, errno(11)),
    sentence: processesSentence,
  },
  {
    about: 'disk',
    matches: errno(28),
    sentence: diskSentence,
  },
  {
    about: 'open files',
    matches: errno(24),
    sentence: (spec) => openFilesSentence(spec, ', as `with open(...)` does'),
  },
  {
    about: 'size of a file',
    matches: errno(27),
    sentence: fileSizeSentence,
  },
  {
    about: 'recursion',
    matches: says(/recursion/, /^RecursionError$/),
    sentence: () => 'The code calls itself too deeply or without end: give it an end, or use a loop.',
  },
];

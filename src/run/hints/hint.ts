// A hint says which exceptions it is about, told by their type and words, and has the sentence that says what the code has met
// and what to do instead. The exception is a claim of the guest: it decides nothing but the wording.

import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import type { SandboxSpec } from '../../engine/engine.js';
import type { GuestError } from '../../sandbox/conversation/sandbox.js';

/** Parts of a sandbox that a sentence may name. */
export type HintSpec = Pick<
  SandboxSpec,
  'image' | 'network' | 'memoryBytes' | 'pids' | 'tmpfs' | 'data' | 'shmMb' | 'ulimits'
> & {
  /** Aliases of the servers that the code may name. */
  readonly aliases?: readonly string[];
};

export type Hint = {
  /** A word or two, for the tests: there is one for each row. */
  readonly about: string;
  /** The words that the sentence repeats; undefined where the exception is about something else. */
  readonly matches: (error: GuestError) => readonly string[] | undefined;
  readonly sentence: (spec: HintSpec, ...words: readonly string[]) => string;
};

const MAX_WORD_CHARS = 80;
/** Enough for any message that Python or a library makes; the guest could send megabytes. */
const MAX_MESSAGE_CHARS = 4_000;
const MAX_TRACEBACK_LINES = 200;
const MAX_LINE_CHARS = 500;

/** `512 MB`. */
export const megabytes = (bytes: number): string => `${Math.round(bytes / MB_BYTES)} MB`;

/** Matches a message, and a type where one is given; what the pattern's groups hold are the words. */
export const says =
  (pattern: RegExp, type?: RegExp): Hint['matches'] =>
  (error) =>
    type === undefined || type.test(error.type) ? pattern.exec(error.message)?.slice(1) : undefined;

/** Exceptions as which the kernel's refusals arrive; other exceptions may quote a refusal. */
const OS_ERROR = /^(?:OSError|BlockingIOError|PermissionError|FileNotFoundError)$/;

/** Matches a refusal of the kernel, by its number and what follows. */
export const errno = (number: number, rest = ''): Hint['matches'] =>
  says(new RegExp(`^\\[Errno ${number}\\]${rest}`), OS_ERROR);

/** `matches`, where a line of the traceback fits as well: Python's own words do not tell what was being done. */
export const matchDuring =
  (doing: RegExp, matches: Hint['matches']): Hint['matches'] =>
  (error) =>
    error.traceback.some((line) => doing.test(line)) ? matches(error) : undefined;

/** The part of an exception that hints look at. */
const excerpt = ({ type, message, traceback }: GuestError): GuestError => ({
  type: type.slice(0, MAX_LINE_CHARS),
  message: message.slice(0, MAX_MESSAGE_CHARS),
  traceback: traceback.slice(-MAX_TRACEBACK_LINES).map((line) => line.slice(0, MAX_LINE_CHARS)),
});

/** The sentence of the first row that fits; undefined where none does. */
export function firstFitting(hints: readonly Hint[], error: GuestError, spec: HintSpec): string | undefined {
  const looked = excerpt(error);
  for (const { matches, sentence } of hints) {
    const words = matches(looked);
    if (words !== undefined) return sentence(spec, ...words.map(clipWord));
  }
  return undefined;
}

/** A word of the guest's as a sentence repeats it. */
// A group of a pattern that took no part is undefined, whatever its type says.
export const clipWord = (word: string | undefined): string => clipHarmlessLine(word ?? '', MAX_WORD_CHARS);

/** Where the code can write, in words: `/workspace, /tmp and /dev/shm`. */
export function writablePlaces({ tmpfs }: HintSpec): string {
  const places = [...tmpfs.map(({ target }) => target), '/dev/shm'];
  return `${places.slice(0, -1).join(', ')} and ${places.at(-1)}`;
}

/** Lines that start a program, a process or a thread, in the code or in the library that it calls. */
export const STARTS_SOMETHING = /fork|spawn|popen|process|thread|pool|os\.exec|os\.system/i;

// Exceptions that are a limit's doing: the limit's name and number, which Python's own words lack.

export const memoryRemedy =
  'Use less memory: process the data in pieces, and delete what is no longer needed. (MCP_BRIDGE_MEMORY sets the limit.)';

const ulimit = ({ ulimits }: HintSpec, name: string): number =>
  ulimits.find((each) => each.name === name)?.limit ?? 0;

export const memorySentence = ({ memoryBytes }: HintSpec): string =>
  `The memory limit is ${megabytes(memoryBytes)}. ${memoryRemedy}`;

export const processesSentence = ({ pids }: HintSpec): string =>
  `At most ${pids} processes and threads may exist at once: use fewer workers, or asyncio. (MCP_BRIDGE_PIDS sets the limit.)`;

export const diskSentence = ({ tmpfs, shmMb }: HintSpec): string => {
  const places = [...tmpfs, { target: '/dev/shm', sizeMb: shmMb }];
  const sizes = places.map(({ target, sizeMb }) => `${target} holds ${sizeMb} MB`).join(', ');
  return `Files lie in memory here: ${sizes}. Delete files that are no longer needed, or write less.`;
};

/** `habit` is how the language closes what it has opened, as the end of a sentence. */
export const openFilesSentence = (spec: HintSpec, habit = ''): string =>
  `At most ${ulimit(spec, 'nofile')} files and sockets may be open at once: close them${habit}.`;

export const fileSizeSentence = (spec: HintSpec): string =>
  `A file may have at most ${megabytes(ulimit(spec, 'fsize'))}: write several files, or less.`;

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
    matches: matchDuring(STARTS_SOMETHING, errno(11)),
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
    sentence: () => 'The recursion is too deep or has no end: add a condition that ends it, or use a loop.',
  },
];

// A command, and how the harness is told to start it. Pure.

import { basename } from 'node:path/posix';
import { WORK } from '../../sandbox/spec/promises.js';
import { type HostFrame, INPUT_PIECE_BYTES } from '../../wire/frames.js';

/** A program that the image has, or an earlier command has made; its arguments as they are. */
export type Command = {
  readonly argv: readonly [string, ...string[]];
  readonly stdin: Buffer | undefined;
  /** Absolute. */
  readonly cwd: string;
  /** Besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of stdout and stderr together that are held for the answer: their head and their tail. */
  readonly maxOutputBytes: number;
  /** A command that writes more bytes than this to both streams together has all its output kept for reading later. */
  readonly shownBytes: number;
};

/** Text that an audit weighs: the argument vector. */
export const vectorText = ({ argv }: Command): string => JSON.stringify(argv);

/** A command has no servers: nothing that it sends is answered as a call. */
export const commandFrame = (
  { argv, stdin, cwd, env }: Command,
  timeoutSeconds: number,
): Extract<HostFrame, { type: 'run' }> => ({
  type: 'run',
  timeoutSeconds,
  loaded: [],
  discovered: [],
  files: [],
  program: {
    file: basename(argv[0]),
    args: argv.slice(1),
    stdin: stdin === undefined || goesAhead(stdin) ? null : stdin.toString('base64'),
    cwd,
    env,
    ways: [{ needs: [], steps: [argv] }],
  },
});

/**
 * Input of a command, where it is long: sent ahead of the run, onto the disk, since the input need fit neither into a frame nor
 * into the sandbox's memory.
 */
export function* inputOf({ stdin }: Command): Generator<Extract<HostFrame, { type: 'input' }>> {
  if (stdin === undefined || !goesAhead(stdin)) return;
  for (let at = 0; at < stdin.length; at += INPUT_PIECE_BYTES)
    yield { type: 'input', data: stdin.toString('base64', at, at + INPUT_PIECE_BYTES), folder: WORK };
}

const goesAhead = ({ length }: Buffer): boolean => length > INPUT_PIECE_BYTES;

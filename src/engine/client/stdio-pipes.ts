// The three streams of a container as real pipes. Node gives a child socket pairs, and a socket belongs to the network
// namespace that it was made in: with one of the host's, code in the container reads the host's interfaces and addresses
// and takes abstract names there. Node has no call for a pipe, so named ones are made, opened and unlinked. Linux only.

import { spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BridgeError } from '../../base/errors.js';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;
/**
 * Memory that any user may make files in. Code can read where its streams were made (/proc/self/fd), and so sees a name of
 * ours here, and elsewhere a folder of the user's.
 */
const SHARED_MEMORY = '/dev/shm';
/** Nobody but us opens one by its name; in the container /proc/self/fd leads to it, and its user is another. */
const MODE = '600';

/**
 * Makes the pipes: our ends as streams, and the descriptors of the other ends, which are for one child. `dir` is a folder of
 * ours for where there is no /dev/shm, `name` is unique; no file is left. Throws E_STATE where the file system has no named
 * pipes, and E_PROCESS where there are no descriptors left.
 *
 * Each end has an open file description of its own: ours is non-blocking, the child's is not. And nobody but us holds a
 * writing end of stdin, since its closing is what tells the supervisor that the bridge is gone.
 */
export function openStdioPipes(
  dir: string,
  name: string,
): {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** stdin, stdout and stderr of the child. */
  readonly childEnds: readonly [number, number, number];
  /**
   * Closes `childEnds`, once the child has its own copies. Until then the end of the child is not seen on our streams.
   */
  closeChildEnds(): void;
} {
  const folder = isWritable(SHARED_MEMORY) ? SHARED_MEMORY : dir;
  const paths = ['stdin', 'stdout', 'stderr'].map((stream) => join(folder, `${name}.${stream}`));
  const [stdin = '', stdout = '', stderr = ''] = paths;
  const opened: number[] = [];
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  /** A reader does not wait where it may not block, and a writer not where there is a reader. */
  const outputOf = (path: string) => {
    const ours = open(path, O_RDONLY | O_NONBLOCK);
    return { ours, childs: open(path, O_WRONLY) };
  };
  try {
    makeFifos(paths);
    // Both ends at once, so that neither of the two that stay has to wait for the other.
    const both = openSync(stdin, O_RDWR);
    const input = { childs: -1, ours: -1 };
    try {
      input.childs = open(stdin, O_RDONLY);
      input.ours = open(stdin, O_WRONLY | O_NONBLOCK);
    } finally {
      // This descriptor could be written to, so it must not stay open.
      closeSync(both);
    }
    const [output, errors] = [outputOf(stdout), outputOf(stderr)];
    const childEnds = [input.childs, output.childs, errors.childs] as const;
    return {
      stdin: new Socket({ fd: input.ours, readable: false, writable: true }),
      stdout: new Socket({ fd: output.ours, readable: true, writable: false }),
      stderr: new Socket({ fd: errors.ours, readable: true, writable: false }),
      childEnds,
      closeChildEnds: () => {
        for (const fd of childEnds) closeSync(fd);
      },
    };
  } catch (thrown) {
    for (const fd of opened) closeSync(fd);
    throw outOfDescriptors(thrown) ? tooManyOpenFiles() : thrown;
  } finally {
    for (const path of paths) rmSync(path, { force: true });
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where `mkfifo` is when nothing on the PATH has it. */
const USUAL_PLACES = '/usr/bin:/bin';

/** Makes named pipes by coreutils or busybox, in 3 ms. */
function makeFifos(paths: readonly string[]): void {
  const make = (env?: NodeJS.ProcessEnv) =>
    spawnSync('mkfifo', ['-m', MODE, '--', ...paths], {
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      ...(env === undefined ? {} : { env }),
    });
  let made = make();
  if (codeOf(made.error) === 'ENOENT') made = make({ PATH: USUAL_PLACES });
  const { status, stderr, error } = made;
  if (status === 0) return;
  if (outOfDescriptors(error)) throw error;
  throw new BridgeError(
    'E_STATE',
    `The pipes of a container could not be made: ${error?.message ?? stderr.trim()}.`,
    {
      fault: 'operator',
      remedy: 'Set MCP_BRIDGE_STATE_DIR to a folder on a local disk, and put `mkfifo` on PATH.',
    },
  );
}

const codeOf = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException | undefined)?.code;

const outOfDescriptors = (thrown: unknown): boolean => ['EMFILE', 'ENFILE'].includes(codeOf(thrown) ?? '');

/** The error where a container cannot be given its streams. */
export const tooManyOpenFiles = (): BridgeError =>
  new BridgeError('E_PROCESS', 'The container engine could not be started: too many open files.', {
    fault: 'operator',
    remedy: 'Raise the limit of open files (ulimit -n) of the process that starts the bridge.',
  });

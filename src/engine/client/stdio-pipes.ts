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
const STREAMS = 3;
/** Pipes of so many containers are made at once, since the process that makes them is the dearest part of it. */
const CONTAINERS = 4;
/** Nobody but us opens one by its name; in the container /proc/self/fd leads to it, and its user is another. */
const MODE = '600';

/**
 * Gives the pipes of one container: our ends as streams, and the descriptors of the other ends, which are for one child. `dir`
 * is a folder of ours for where there is no /dev/shm, `name` is unique; no file is left. Throws E_STATE where the file system
 * has no named pipes, and E_PROCESS where there are no descriptors left.
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
  const opened: number[] = [];
  const open = (pipe: number, flags: number): number => {
    const fd = openSync(`/proc/self/fd/${pipe}`, flags);
    opened.push(fd);
    return fd;
  };
  let pipes: readonly number[] = [];
  try {
    pipes = takePipes(isWritable(SHARED_MEMORY) ? SHARED_MEMORY : dir, name);
    const [input = -1, output = -1, errors = -1] = pipes;
    const childEnds = [open(input, O_RDONLY), open(output, O_WRONLY), open(errors, O_WRONLY)] as const;
    const stdin = open(input, O_WRONLY | O_NONBLOCK);
    const stdout = open(output, O_RDONLY | O_NONBLOCK);
    const stderr = open(errors, O_RDONLY | O_NONBLOCK);
    return {
      stdin: new Socket({ fd: stdin, readable: false, writable: true }),
      stdout: new Socket({ fd: stdout, readable: true, writable: false }),
      stderr: new Socket({ fd: stderr, readable: true, writable: false }),
      childEnds,
      closeChildEnds: () => {
        for (const fd of childEnds) closeSync(fd);
      },
    };
  } catch (thrown) {
    for (const fd of opened) closeSync(fd);
    if (!outOfDescriptors(thrown)) throw thrown;
    dropPipes();
    throw tooManyOpenFiles();
  } finally {
    // These descriptors could be written to, so they must not stay open.
    for (const fd of pipes) closeSync(fd);
  }
}

/** Pipes without a name that no container has had, by the folder of their names: descriptors that can be read and written. */
const made = new Map<string, number[]>();

/** The descriptors of one container's pipes, which the caller closes. */
function takePipes(folder: string, name: string): readonly number[] {
  const there = made.get(folder) ?? [];
  if (there.length < STREAMS) there.push(...makePipes(folder, name));
  made.set(folder, there);
  return there.splice(0, STREAMS);
}

/** Each is open for reading and writing at once, so that no later end has to wait for the other. */
function makePipes(folder: string, name: string): readonly number[] {
  const paths = Array.from({ length: STREAMS * CONTAINERS }, (_, at) => join(folder, `${name}.${at}`));
  const pipes: number[] = [];
  try {
    makeFifos(paths);
    for (const path of paths) pipes.push(openSync(path, O_RDWR));
  } catch (thrown) {
    const isEnough = outOfDescriptors(thrown) && pipes.length >= STREAMS;
    // Leave the last descriptors to the one container that is being started.
    for (const fd of pipes.splice(isEnough ? STREAMS : 0)) closeSync(fd);
    if (!isEnough) throw thrown;
  } finally {
    for (const path of paths) rmSync(path, { force: true });
  }
  return pipes;
}

/** Gives back what only waits, since descriptors are wanted. */
function dropPipes(): void {
  for (const fd of [...made.values()].flat()) closeSync(fd);
  made.clear();
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

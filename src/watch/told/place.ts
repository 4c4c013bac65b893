// Where bridges of a state directory listen for the page: a socket each, in a folder that only their user can enter.

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { drawnLetters } from '../../base/crypto.js';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { thisOwner } from '../../base/process/owner.js';

const FOLDER = 'watch';
const ENDING = '.sock';
/** Systems have 104 or 108 bytes for the path of a socket, its end included; some cut a longer one without a word. */
const MAX_PATH_BYTES = 103;
const NAME_LETTERS = 4;
const MACHINE_DIGITS = 6;
/** Process and machine of the bridge that listens, and letters drawn by lot. */
const NAME = /^(\d+)-([0-9a-f]*)-[a-z0-9]+\.sock$/;

/** A path for a new socket, its folder made where there is none; or why there can be none, as the end of a sentence. */
export function newSocket(stateDir: string): { readonly path: string } | { readonly trouble: string } {
  const folder = join(stateDir, FOLDER);
  const machine = thisOwner().machine.slice(0, MACHINE_DIGITS);
  const path = join(folder, `${process.pid}-${machine}-${drawnLetters(NAME_LETTERS)}${ENDING}`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    return { trouble: `the path of its socket would have more than ${MAX_PATH_BYTES} bytes` };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isOnlyOurs(folder)) return { trouble: `others could exchange ${folder}` };
  for (const name of readdirSync(folder))
    if (isLeft(name, machine)) rmSync(join(folder, name), { force: true });
  return { path };
}

/** Whether a socket is that of a bridge of this machine that was killed. */
function isLeft(name: string, machine: string): boolean {
  const [, pid, other] = NAME.exec(name) ?? [];
  if (pid === undefined || other !== machine) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (thrown) {
    return Object(thrown).code === 'ESRCH';
  }
}

/** Sockets in the folder; none where it is not this user's alone. */
export function socketsIn(stateDir: string): readonly string[] {
  const folder = join(stateDir, FOLDER);
  try {
    if (!isOnlyOurs(folder)) return [];
    return readdirSync(folder)
      .filter((name) => name.endsWith(ENDING))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

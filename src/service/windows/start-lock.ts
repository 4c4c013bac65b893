// One start at a time: among all who find no shared bridge at the same moment, one starts it and the others wait for that
// one. The lock is a file that names its holder; one whose holder has died is broken, so that nobody waits for the dead.

import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A start that takes longer has failed, or stands still; whoever waits may try. */
const HELD_AT_MOST_MS = 20_000;
const ENDING = '.starts';
const ASIDE = /\.starts(?:\.broken)?\.(\d+)$/;

/** The lock, until what is given back is called; undefined where another one has it. */
export function startLock(socket: string): (() => void) | undefined {
  const path = `${socket}${ENDING}`;
  if (!made(path)) {
    breakIfLeft(path);
    if (!made(path)) return undefined;
  }
  return () => {
    if (holderOf(path)?.pid === process.pid) rmSync(path, { force: true });
  };
}

/** Removes the locks in a folder, and the files beside them, of processes that have ended. */
export function removeLeftLocks(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name.endsWith(ENDING)) breakIfLeft(path);
    const aside = ASIDE.exec(name);
    if (aside !== null && !isAlive(Number(aside[1]))) rmSync(path, { force: true });
  }
}

function made(path: string): boolean {
  // Written aside and linked: a lock without its holder's number must never be seen.
  const aside = `${path}.${process.pid}`;
  try {
    writeFileSync(aside, JSON.stringify({ pid: process.pid, at: Date.now() }), { mode: 0o600 });
    linkSync(aside, path);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(aside, { force: true });
  }
}

function breakIfLeft(path: string): void {
  const holder = holderOf(path);
  if (holder === undefined || isAtWork(holder)) return;
  const aside = `${path}.broken.${process.pid}`;
  try {
    renameSync(path, aside);
    // Another one broke it first, and this is a new holder's: back to its place.
    if (isAtWork(holderOf(aside))) linkSync(aside, path);
  } catch {
    // It was given back meanwhile.
  } finally {
    rmSync(aside, { force: true });
  }
}

type Holder = { readonly pid: number; readonly at: number };

function holderOf(path: string): Holder | undefined {
  try {
    const { pid, at } = JSON.parse(readFileSync(path, 'utf8'));
    return { pid: Number(pid), at: Number(at) };
  } catch {
    return undefined;
  }
}

function isAtWork(holder: Holder | undefined): boolean {
  return holder !== undefined && Math.abs(Date.now() - holder.at) <= HELD_AT_MOST_MS && isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// The pipes that a container has for its streams, made for real and given to no container.

import { chmodSync, fstatSync, mkdtempSync, readdirSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { openStdioPipes } from '../../src/engine/client/stdio-pipes.js';
import { removeFolder } from '../support/remove-folder.js';

const CONTAINERS = 6;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'stdio-pipes-'));
  onTestFinished(() => removeFolder(dir));
});

/** Pipes of one container, which nobody else has and which end with the test. */
function pipesOf(name: string) {
  const pipes = openStdioPipes(dir, name);
  let isOpen = true;
  const close = () => {
    if (isOpen) pipes.closeChildEnds();
    isOpen = false;
  };
  onTestFinished(() => {
    close();
    for (const stream of [pipes.stdin, pipes.stdout, pipes.stderr]) stream.destroy();
  });
  return { ...pipes, closeChildEnds: close };
}

const several = () => Array.from({ length: CONTAINERS }, (_, at) => pipesOf(`several-${process.pid}-${at}`));

it('makes the pipes of several containers by one process', () => {
  const log = join(dir, 'log');
  writeFileSync(
    join(dir, 'mkfifo'),
    `#!/bin/sh\necho one >> '${log}'\nPATH=/usr/bin:/bin exec mkfifo "$@"\n`,
  );
  chmodSync(join(dir, 'mkfifo'), 0o755);
  vi.stubEnv('PATH', `${dir}${delimiter}${process.env['PATH']}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  several();
  const processes = (readText(log) ?? '').trim().split('\n');
  expect(processes.length).toBeLessThanOrEqual(CONTAINERS / 2);
});

it('gives each container pipes of its own, and none a socket', async () => {
  const all = several();
  const places = all.flatMap(({ childEnds }) => childEnds.map((fd) => fstatSync(fd)));
  expect(places.every((place) => place.isFIFO())).toBe(true);
  expect(new Set(places.map(({ ino }) => ino)).size).toBe(3 * CONTAINERS);
  for (const [at, { childEnds, closeChildEnds }] of all.entries()) {
    writeSync(childEnds[1], `out ${at}`);
    writeSync(childEnds[2], `err ${at}`);
    closeChildEnds();
  }
  // Each ends, too: nobody else holds an end that could be written to.
  const said = await Promise.all(
    all.map(async ({ stdout, stderr }) => [await text(stdout), await text(stderr)]),
  );
  expect(said).toEqual(all.map((_, at) => [`out ${at}`, `err ${at}`]));
});

it('ends the input of a container when the bridge closes its own end, whatever waits for others', async () => {
  const [first] = several();
  if (first === undefined) throw new Error('no pipes');
  const { stdin, childEnds } = first;
  await new Promise<void>((resolve) => void stdin.end('last words', resolve));
  const read = Buffer.alloc(100);
  expect(read.toString('utf8', 0, readSync(childEnds[0], read))).toBe('last words');
  expect(readSync(childEnds[0], read)).toBe(0);
});

it('leaves no name of a pipe', () => {
  const name = `unseen-${process.pid}`;
  for (let at = 0; at < CONTAINERS; at++) pipesOf(`${name}-${at}`);
  const left = [dir, '/dev/shm'].flatMap((folder) => readdirSync(folder));
  expect(left.filter((file) => file.startsWith(name))).toEqual([]);
});

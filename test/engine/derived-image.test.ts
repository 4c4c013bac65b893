// What is sent to an engine so that an image has our files, and which of those images are removed again.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProcessResult } from '../../src/base/process/process.js';
import { dialectOf } from '../../src/engine/client/dialects.js';
import {
  CONTAINERFILE,
  derivedName,
  makeDerivedImage,
  pruneDerivedImages,
} from '../../src/engine/images/derived-image.js';
import { NEVER } from '../support/time.js';

const DAY_SECONDS = 24 * 60 * 60;
const answer = (stdout: string, exitCode = 0, stderr = ''): ProcessResult => ({
  exitCode,
  stdout,
  stderr,
  durationMs: 1,
});

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'derived-image-test-'));
  mkdirSync(join(dir, 'harness', 'mcp'), { recursive: true });
  writeFileSync(join(dir, 'harness', 'mcp', '__init__.py'), 'x = 1\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const derivation = (labels: Record<string, string> = {}) => ({
  base: 'localhost/base:1',
  key: 'abc',
  folders: { '/ipc': join(dir, 'harness') },
  labels,
});
const scratch = () => join(dir, 'scratch');
const buildArgs = (image: string, contextDir: string) => ['build', image, contextDir];

it.each(['podman', 'docker'] as const)('%s is told the file by a name that is nowhere else', (engine) => {
  expect(dialectOf(engine, 'remote').buildArgs('image', '/context')).toContain(
    `--file=/context/${CONTAINERFILE}`,
  );
  // A service takes one of these out of its own working directory.
  expect(['Containerfile', 'Dockerfile']).not.toContain(CONTAINERFILE);
});

it('sends a context with the folders and one Containerfile, and leaves nothing of it', async () => {
  let file = '';
  let sent: string[] = [];
  const command = async (args: readonly string[]) => {
    const context = args[2] ?? '';
    file = readFileSync(join(context, CONTAINERFILE), 'utf8');
    sent = readdirSync(context, { recursive: true, encoding: 'utf8' }).sort();
    return answer('');
  };
  const made = await makeDerivedImage(
    derivation({ profile: '{"a":"$b\\"\\\\"}' }),
    scratch(),
    buildArgs,
    command,
    NEVER,
  );
  expect(made).toBe(derivedName('abc'));
  expect(sent).toEqual([CONTAINERFILE, 'ipc', 'ipc/mcp', 'ipc/mcp/__init__.py']);
  const [from, copy, label, at, end] = file.split('\n');
  expect([from, copy]).toEqual(['FROM localhost/base:1', 'COPY ipc /ipc']);
  expect(label).toBe('LABEL profile="{\\"a\\":\\"\\$b\\\\\\"\\\\\\\\\\"}"');
  expect(at).toMatch(/^LABEL mcp-sandbox-bridge\.derived="\d+"$/);
  expect(end).toBe('');
  expect(readdirSync(scratch())).toEqual([]);
});

it("says the engine's own words when it cannot be made, and leaves nothing of it either", async () => {
  const command = async () => answer('', 125, 'Error: no space left on device');
  await expect(makeDerivedImage(derivation(), scratch(), buildArgs, command, NEVER)).rejects.toMatchObject({
    code: 'E_IMAGE_BUILD',
    message: expect.stringContaining('no space left on device'),
  });
  expect(readdirSync(scratch())).toEqual([]);
});

it('refuses a line break that would begin another instruction', async () => {
  const command = async () => answer('');
  await expect(
    makeDerivedImage(derivation({ profile: 'a\nRUN evil' }), scratch(), buildArgs, command, NEVER),
  ).rejects.toMatchObject({ code: 'E_INTERNAL' });
  expect(existsSync(scratch()) ? readdirSync(scratch()) : []).toEqual([]);
});

it('removes those that are a week old, but for the one in use', async () => {
  const now = Date.now() / 1000;
  const ages = { new: 0, young: 6, old: 8, used: 30 };
  const names = Object.keys(ages).map(derivedName);
  const commands: string[] = [];
  const command = async (args: readonly string[]) => {
    commands.push(args.slice(0, 2).join(' '));
    if (args[0] === 'images') return answer(['docker.io/other:1', ...names].join('\n'));
    if (args[0] === 'image')
      return answer(
        args
          .slice(4)
          .map(
            (name) =>
              now - (Object.entries(ages).find(([key]) => name === derivedName(key))?.[1] ?? 0) * DAY_SECONDS,
          )
          .map(Math.floor)
          .join('\n'),
      );
    return answer('');
  };
  await pruneDerivedImages([derivedName('used')], command, NEVER);
  expect(commands.at(-1)).toBe(`rmi ${derivedName('old')}`);
  expect(commands).toHaveLength(3);
});

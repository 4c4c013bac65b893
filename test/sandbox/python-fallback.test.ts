// Which images get our Python, what is tried for it, and what is remembered. Starts are played; real ones are in test/containers.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ImageChoice } from '../../src/engine/images/image-choice.js';
import type { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import { NotStarted } from '../../src/sandbox/conversation/sandbox.js';
import { harnessKey } from '../../src/sandbox/launch/kept-harness.js';
import type { LaunchContext, LaunchSetUp } from '../../src/sandbox/launch/launch-set-up.js';
import { PythonFallback } from '../../src/sandbox/launch/python-fallback.js';
import {
  readImagePythons,
  rememberTree,
  rememberWithoutPython,
} from '../../src/sandbox/python/image-facts.js';
import type { HostFiles } from '../../src/sandbox/spec/harness-files.js';
import { inOrder, installFiles, removeOthers } from '../../src/sandbox/spec/installed-files.js';
import { PLAIN_KIND, settingsOf } from '../support/plain-kind.js';
import { NEVER } from '../support/time.js';

const SANDBOX = {} as Sandbox;
const NOT_FOUND = 'exec: "python3": executable file not found in $PATH';
const NOR_PYTHON = 'exec: "python": executable file not found in $PATH';
const GO = { ...PLAIN_KIND, image: 'golang:1.21-alpine', isPython: false };
const image: ImageChoice = { image: GO.image, id: 'sha256:go', reason: { kind: 'pulled' } };

let stateDir: string;
let recordFile: string;
let tree: string;
let pad: LaunchSetUp;
let fallback: PythonFallback;
let trouble: readonly string[];
/** Of each start, which fallback the image got, or else what its own Python was called. */
let starts: string[];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'python-fallback-'));
  recordFile = join(stateDir, 'cache/image-pythons.json');
  const settings = settingsOf({ MCP_BRIDGE_STATE_DIR: stateDir }, stateDir);
  const own: ImageChoice = { image: 'own', id: 'sha256:own', reason: { kind: 'pulled' } };
  tree = installFiles(
    stateDir,
    'python-fallback',
    inOrder(
      new Map([
        ['loader', 'L'],
        ['bin/python3', 'P'],
      ]),
    ),
  );
  rememberTree(stateDir, harnessKey(own), basename(tree));
  pad = {
    image: own,
    engine: { traits: { opensPrivateFolders: true } },
    files: { harnessDir: '/h', fallbackDir: undefined, seccompFile: '/s' },
  } as unknown as LaunchSetUp;
  fallback = new PythonFallback({ settings, instance: 'i', observer: () => {} } as LaunchContext, NEVER);
  [trouble, starts] = [[], []];
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** Fails as often as there is trouble left. */
async function start({ fallbackDir, python }: HostFiles): Promise<Sandbox> {
  starts.push(fallbackDir ?? python);
  const [said, ...rest] = trouble;
  trouble = rest;
  if (said === undefined) return SANDBOX;
  throw new NotStarted(said);
}
const begin = (kind = GO, of = image) => fallback.start({ pad, image: of, kind }, start, NEVER);

it('an image that has Python is started once, and nothing is written', async () => {
  const before = readFileSync(recordFile, 'utf8');
  await begin();
  expect([starts, readFileSync(recordFile, 'utf8')]).toEqual([['python3'], before]);
});

it('one that has none gets ours, and from then on at once, by every bridge', async () => {
  trouble = [NOT_FOUND, NOR_PYTHON];
  await begin();
  await begin();
  expect(starts).toEqual(['python3', 'python', tree, tree]);
  expect(readImagePythons(stateDir).withoutPython).toEqual([image.id]);
});

it.each([
  ['crun: executable file `python3` not found in $PATH: No such file or directory'],
  ['Python is 3.7 here, older than 3.9'],
  ['File "/usr/lib/python3.9/json/__init__.py": No module named re'],
])('so is one that says: %s', async (said) => {
  trouble = [said, NOR_PYTHON];
  await begin();
  expect(starts).toEqual(['python3', 'python', tree]);
});

it.each([
  ['exec: "python": executable file not found in $PATH'],
  ["Unknown option: -I usage: python [option] ... Try `python -h' for more information."],
  ['Python is 3.7 here, older than 3.9'],
  ['no greeting within 60 s'],
])('so is one whose `python` is none either: %s', async (said) => {
  trouble = [NOT_FOUND, said];
  await begin();
  expect(starts).toEqual(['python3', 'python', tree]);
});

it.each([
  ['an image of others', image],
  ['that of run_python', { ...image, id: 'sha256:own' }],
])('%s that calls it `python` gets no fallback, and known by its id from then on', async (_, of) => {
  trouble = [NOT_FOUND];
  await begin(GO, of);
  await begin({ ...GO, isPython: true }, of);
  await begin({ ...GO, isPython: true }, { ...of, id: 'sha256:newer' });
  expect(starts).toEqual(['python3', 'python', 'python', 'python3']);
  expect(readImagePythons(stateDir)).toMatchObject({ withoutPython: [], unnumbered: [of.id] });
});

it('where nobody wants the start any more, `python` is not tried', async () => {
  const ending = new AbortController();
  const startAndEnd = async (files: HostFiles) => {
    ending.abort();
    return start(files);
  };
  trouble = [NOT_FOUND];
  await expect(fallback.start({ pad, image, kind: GO }, startAndEnd, ending.signal)).rejects.toThrow(
    'python3',
  );
  expect(starts).toEqual(['python3']);
});

it('what else keeps it from starting is no reason', async () => {
  trouble = ['no greeting within 60 s'];
  await expect(begin()).rejects.toMatchObject({ code: 'E_SANDBOX_START' });
  expect([starts, readImagePythons(stateDir).withoutPython]).toEqual([['python3'], []]);
});

it('where ours does not start either, that is said, and nothing is concluded', async () => {
  trouble = [NOT_FOUND, NOR_PYTHON, 'exec /python-fallback/loader: permission denied'];
  const message = expect.stringContaining(
    'golang:1.21-alpine has no Python of its own, and does not start with ours',
  );
  const remedy = expect.stringContaining(stateDir);
  await expect(begin()).rejects.toMatchObject({ code: 'E_SANDBOX_START', message, remedy });
  expect(readImagePythons(stateDir).withoutPython).toEqual([]);
  await begin();
  expect(starts).toEqual(['python3', 'python', tree, 'python3']);
});

it('programs in Python do not get it, and the image of run_python never is', async () => {
  const error = { code: 'E_IMAGE_MISSING', message: expect.stringContaining('no Python 3.9 or later') };
  trouble = [NOT_FOUND, NOR_PYTHON];
  await expect(begin({ ...GO, isPython: true })).rejects.toMatchObject(error);
  rememberWithoutPython(stateDir, image.id);
  await expect(begin({ ...GO, isPython: true })).rejects.toMatchObject(error);
  trouble = [NOT_FOUND, NOR_PYTHON];
  const both = `The sandbox did not start: ${NOT_FOUND}; and by the name python: ${NOR_PYTHON}`;
  await expect(begin(GO, pad.image)).rejects.toMatchObject({ code: 'E_SANDBOX_START', message: both });
  trouble = [NOT_FOUND, "Unknown option: -I usage: python [option] ... Try `python -h'"];
  await expect(begin(GO, pad.image)).rejects.toThrow('by the name python: it is older than 3.4');
  expect(starts).toEqual(['python3', 'python', 'python3', 'python', 'python3', 'python']);
});

it('a tree that was changed is not used', async () => {
  rememberWithoutPython(stateDir, image.id);
  writeFileSync(join(tree, 'loader'), 'other');
  // It would be taken anew, for which this pad has no engine.
  await expect(begin()).rejects.toThrow(TypeError);
  expect(starts).toEqual([]);
});

it('remembers some, the latest first, and does without a file that it cannot read', () => {
  for (let count = 0; count < 70; count++) rememberWithoutPython(stateDir, `b${count}`);
  rememberWithoutPython(stateDir, 'b69');
  expect(readImagePythons(stateDir).withoutPython.slice(0, 2)).toEqual(['b69', 'b68']);
  expect(readImagePythons(stateDir).withoutPython).toHaveLength(64);
  for (const key of ['a', 'b', 'c', 'd']) rememberTree(stateDir, key, '0a');
  expect(readImagePythons(stateDir).trees.map(({ key }) => key)).toEqual(['d', 'c', 'b', 'a']);
  const bad = { withoutPython: ['b'], unnumbered: [], trees: [{ key: 'k', hash: '../..' }] };
  writeFileSync(recordFile, JSON.stringify(bad));
  expect(readImagePythons(stateDir)).toEqual({ withoutPython: [], unnumbered: [], trees: [] });
});

it('removes trees that are of no use any more, but none that somebody may have just made', () => {
  const old = join(stateDir, 'python-fallback/old');
  const young = join(stateDir, 'python-fallback/young');
  for (const dir of [old, young]) {
    mkdirSync(dir);
    writeFileSync(join(dir, 'loader'), '');
  }
  const weekAgo = Date.now() / 1000 - 7 * 24 * 3600;
  for (const dir of [old, tree]) utimesSync(dir, weekAgo, weekAgo);
  removeOthers(stateDir, 'python-fallback', [basename(tree)]);
  expect(() => readFileSync(join(old, 'loader'))).toThrow();
  for (const dir of [young, tree]) expect(() => readFileSync(join(dir, 'loader'))).not.toThrow();
});

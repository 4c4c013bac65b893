// Who decides about a language: a variable that was set, isolator's file, the language's record, our default.

import { describe, expect, it } from 'vitest';
import type { Environment } from '../../../src/base/process/environment.js';
import { kindOf, pythonProfile } from '../../../src/sandbox/spec/profile.js';
import { type LanguagePlan, offeredLanguages, planFor } from '../../../src/settings/environment/plan.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import type { ImportedSettings } from '../../../src/settings/languages/isolator-file.js';
import { type Language, languageNamed, languages } from '../../../src/settings/languages/records.js';

const host = { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1, exists: () => false } as const;
const MB_BYTES = 1024 ** 2;

const FILE: ImportedSettings = {
  source: "isolator's file",
  file: '/isolator_config.json',
  timeoutSeconds: 60,
  memoryBytes: 256 * MB_BYTES,
  cpus: 0.5,
  pids: 50,
  network: 'outbound',
  workdir: '/app',
  images: new Map([
    ['python', 'python:3.11-alpine'],
    ['go', 'golang:1.21-alpine'],
  ]),
  snippetsDir: '/prompts',
  warnings: [],
};
const EMPTY: ImportedSettings = {
  ...FILE,
  timeoutSeconds: undefined,
  memoryBytes: undefined,
  cpus: undefined,
  pids: undefined,
  network: undefined,
  workdir: undefined,
  images: new Map(),
};

function language(name: string): Language {
  const found = languageNamed(name);
  if (found === undefined) throw new Error(name);
  return found;
}
const settingsOf = (env: Environment, imported?: ImportedSettings) => ({
  ...parseSettings(env, host).settings,
  imported,
});
const [python, go] = [language('python'), language('go')];
/** Whatever the records say today: a language with limits of its own, and one without. */
const slow: Language = { ...go, limits: { timeoutSeconds: 90, memoryBytes: 1024 * MB_BYTES, pids: 300 } };
const plain: Language = { ...go, limits: {} };

type Case = readonly [
  field: keyof LanguagePlan,
  language: Language,
  env: Environment,
  file: ImportedSettings | undefined,
  expected: unknown,
];
const cases: readonly Case[] = [
  ['timeoutSeconds', plain, {}, undefined, 30],
  ['timeoutSeconds', slow, {}, undefined, 90],
  ['timeoutSeconds', slow, {}, EMPTY, 90],
  ['timeoutSeconds', slow, {}, FILE, 60],
  ['timeoutSeconds', slow, { MCP_BRIDGE_TIMEOUT: '30' }, FILE, 30],
  ['timeoutSeconds', slow, { MCP_BRIDGE_MAX_TIMEOUT: '20' }, FILE, 20],
  ['memoryBytes', plain, {}, undefined, 512 * MB_BYTES],
  ['memoryBytes', slow, {}, undefined, 1024 * MB_BYTES],
  ['memoryBytes', slow, {}, FILE, 256 * MB_BYTES],
  // What is set is set, also where it says what the default says.
  ['memoryBytes', slow, { MCP_BRIDGE_MEMORY: '512m' }, FILE, 512 * MB_BYTES],
  ['pids', plain, {}, undefined, 128],
  ['pids', slow, {}, undefined, 300],
  ['pids', slow, {}, FILE, 50],
  ['pids', slow, { MCP_BRIDGE_PIDS: '99' }, FILE, 99],
  ['cpus', go, {}, undefined, undefined],
  ['cpus', go, {}, FILE, 0.5],
  ['cpus', go, { MCP_BRIDGE_CPUS: '2' }, FILE, 2],
  ['workdir', go, {}, undefined, '/workspace'],
  ['workdir', go, {}, EMPTY, '/workspace'],
  ['workdir', go, {}, FILE, '/app'],
  ['network', go, {}, undefined, 'none'],
  ['network', go, {}, FILE, 'outbound'],
  ['network', go, { MCP_BRIDGE_NETWORK: 'golang,js' }, undefined, 'outbound'],
  ['network', python, { MCP_BRIDGE_NETWORK: 'golang,js' }, undefined, 'none'],
  ['network', python, { MCP_BRIDGE_NETWORK: 'go' }, FILE, 'none'],
  ['network', go, { MCP_BRIDGE_NETWORK: 'none' }, FILE, 'none'],
];

it.each(
  cases.map(([field, { name, limits }, env, file, expected], index) => ({
    index,
    field,
    name,
    own: JSON.stringify(limits),
    env: JSON.stringify(env),
    file: file === undefined ? 'no file' : file === FILE ? 'the file' : 'an empty file',
    expected,
  })),
)('$field of $name with $own, $env and $file is $expected', ({ index }) => {
  const [field, subject, env, file, expected] = cases[index] as Case;
  expect(planFor(subject, settingsOf(env, file))[field]).toBe(expected);
});

it.each<[string, Environment, ImportedSettings | undefined, string, LanguagePlan['imageSource']]>([
  ['go', {}, undefined, 'go', 'default'],
  ['go', {}, FILE, 'golang:1.21-alpine', { importedFrom: "isolator's file" }],
  ['go', { MCP_BRIDGE_LANGUAGE_IMAGES: 'golang=golang:1.23' }, FILE, 'golang:1.23', 'operator'],
  ['go', { MCP_BRIDGE_IMAGE: 'python:3.9' }, FILE, 'golang:1.21-alpine', { importedFrom: "isolator's file" }],
  ['bash', {}, FILE, 'bash', 'default'],
  ['python', {}, undefined, 'python:3.14-slim', 'default'],
  ['python', {}, FILE, 'python:3.11-alpine', { importedFrom: "isolator's file" }],
  ['python', { MCP_BRIDGE_IMAGE: 'data' }, FILE, 'data', 'operator'],
  [
    'python',
    { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_LANGUAGE_IMAGES: 'py=python:3.12' },
    FILE,
    'python:3.12',
    'operator',
  ],
  ['typescript', { MCP_BRIDGE_LANGUAGE_IMAGES: 'js=node:24' }, undefined, 'javascript', 'default'],
])('finds the image of %s with %j', (name, env, file, image, imageSource) => {
  expect(planFor(language(name), settingsOf(env, file))).toMatchObject({ image, imageSource });
});

describe('its sandboxes', () => {
  it('are of what was decided', () => {
    const settings = settingsOf({}, FILE);
    const { timeoutSeconds: _, language: __, ...decided } = planFor(go, settings);
    expect(kindOf(planFor(go, settings), settings)).toMatchObject(decided);
  });

  it('of Python serve both tools where nobody has decided anything', () => {
    const settings = settingsOf({ MCP_BRIDGE_MEMORY: '1g' });
    expect(kindOf(planFor(python, settings), settings)).toEqual(pythonProfile(settings));
  });

  it('of run_python are untouched by the file and by what is said of languages', () => {
    const env = { MCP_BRIDGE_NETWORK: 'python', MCP_BRIDGE_LANGUAGE_IMAGES: 'python=python:3.12' };
    expect(pythonProfile(settingsOf(env, FILE))).toEqual(pythonProfile(settingsOf({})));
  });
});

it('all languages are offered, or those that were named, in the order of the records', () => {
  expect(offeredLanguages(settingsOf({}))).toEqual(languages);
  const some = offeredLanguages(settingsOf({ MCP_BRIDGE_LANGUAGES: 'golang, py,python' }));
  expect(some.map(({ name }) => name)).toEqual(['python', 'go']);
});

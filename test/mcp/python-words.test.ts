// Which Python the model is told of: what is on disk about the last image, else what its name is sure to mean.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import { localImageName, modulesOf, readRecipe, withPackages } from '../../src/engine/images/recipe.js';
import { instructions } from '../../src/mcp/resources/capabilities.js';
import { pythonWords } from '../../src/mcp/tools/definitions.js';
import { runPython } from '../../src/mcp/tools/run-python.js';
import {
  factsFrom,
  factsOf,
  KNOWN_MODULES,
  lastFacts,
  rememberFacts,
} from '../../src/sandbox/python/image-facts.js';
import { parseSettings, type Settings } from '../../src/settings/environment/settings.js';

let root: string;
let count = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'python-words-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** With a state directory that knows nothing, unless one is given. */
function settingsFor(env: Record<string, string> = {}, stateDir = join(root, String(++count))): Settings {
  const host = { home: root, platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false } as const;
  return parseSettings({ MCP_BRIDGE_STATE_DIR: stateDir, ...env }, host).settings;
}

const data = readRecipe('data');
const seaborn = localImageName(withPackages(data, ['python3-seaborn']), VERSION);
const DATA = 'numpy, pandas, matplotlib, scipy, PIL, openpyxl';

it.each([
  [undefined, 'Python 3.13 or later, standard library'],
  ['base', 'Python 3.13 or later, standard library'],
  ['data', `Python 3.13 or later with ${DATA}`],
  [seaborn, 'Python 3.13 or later with numpy, pandas, matplotlib, scipy, seaborn, PIL, openpyxl'],
  [localImageName(data, VERSION, 'bookworm'), `Python 3.11 with ${DATA}`],
  ['python:3.12-slim', 'Python 3.12'],
  ['registry.example/library/python:3.9', 'Python 3.9'],
  ['python:latest', 'Python 3.9 or later'],
  ['my/own:1', 'Python 3.9 or later'],
])('of the image %s, which nobody has looked into, its name tells', (image, words) => {
  expect(pythonWords(settingsFor(image === undefined ? {} : { MCP_BRIDGE_IMAGE: image }))).toBe(words);
});

it('of an image that has greeted the record tells, for these settings alone', () => {
  const settings = settingsFor();
  const of = (version: string, modules?: readonly string[]) => {
    const found = factsFrom(version, modules);
    if (found !== undefined) rememberFacts(settings, 'sha256:a', found);
    return pythonWords(settings);
  };
  expect(of('3.14.0rc1')).toBe('Python 3.14, standard library');
  expect(of('3.14.0', [])).toBe('Python 3.14, standard library');
  expect(of('3.11.2', ['openpyxl', 'yaml', 'pandas'])).toBe('Python 3.11 with pandas, openpyxl, yaml');
  expect(pythonWords(settingsFor({ MCP_BRIDGE_IMAGE: 'data' }, settings.stateDir))).toBe(
    `Python 3.13 or later with ${DATA}`,
  );
  expect(factsOf(settings.stateDir, 'sha256:a')).toEqual({
    python: '3.11',
    modules: ['openpyxl', 'yaml', 'pandas'],
  });
  expect(lastFacts(settings)).toEqual(factsOf(settings.stateDir, 'sha256:a'));
});

it('believes no version and no name that is none, and no record that is broken', () => {
  expect(factsFrom('rm -rf', [])).toBeUndefined();
  expect(factsFrom('3.13.5', ['a b'])).toBeUndefined();
  expect(factsFrom('3.13.5', ['x'.repeat(100)])).toBeUndefined();
  const settings = settingsFor();
  mkdirSync(join(settings.stateDir, 'cache'), { recursive: true });
  writeFileSync(join(settings.stateDir, 'cache', 'image-facts.json'), '{"images":[{"id":"x"');
  expect(pythonWords(settings)).toBe('Python 3.13 or later, standard library');
});

it('is remembered for the latest of many images', () => {
  const stateDir = join(root, 'many');
  const found = factsFrom('3.13.5', []);
  for (let n = 0; n < 50; n++) {
    const settings = settingsFor({ MCP_BRIDGE_IMAGE: `my/image:${n}` }, stateDir);
    if (found !== undefined) rememberFacts(settings, `id ${n}`, found);
  }
  const file = readFileSync(join(stateDir, 'cache', 'image-facts.json'), 'utf8');
  expect(JSON.parse(file).images).toHaveLength(32);
  expect(factsOf(stateDir, 'id 49')).toEqual(found);
  expect(factsOf(stateDir, 'id 0')).toBeUndefined();
});

it('keeps the list of tools short, whatever an image holds', () => {
  const settings = settingsFor();
  const names = [
    ...KNOWN_MODULES,
    ...Array.from({ length: 100 }, (_, n) => `a_module_with_a_long_name_${n}`),
  ];
  const found = factsFrom('3.100.1', names);
  if (found !== undefined) rememberFacts(settings, 'sha256:b', found);
  expect(pythonWords(settings)).toMatch(/^Python 3\.100 with numpy, pandas, .+ and \d+ more$/);
  const list = JSON.stringify({ tools: [runPython(settings).definition] });
  expect(list).toContain('Run Python 3.100 with numpy');
  expect(list.length).toBeLessThanOrEqual(1_950);
  const servers = Array.from({ length: 100 }, (_, n) => `server-${n}`);
  const told = instructions(servers, { tools: ['run_python'], languages: [] });
  expect(list.length + told.length).toBeLessThanOrEqual(2_800);
});

it('has the modules of the recipes among those that are known best', () => {
  expect(modulesOf(data).filter((name) => !KNOWN_MODULES.includes(name))).toEqual([]);
});

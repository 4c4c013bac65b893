// What an image of ours is called, what it says of itself, and when it is told to be old: without an engine.

import { describe, expect, it } from 'vitest';
import { PACKAGE_NAME } from '../../src/base/version.js';
import { imageBuild } from '../../src/cli/setup/image.js';
import { nearestPackage, unknownPackages } from '../../src/engine/images/image.js';
import { ageOf, labelsFor, parseLabels, recipeDigest } from '../../src/engine/images/image-labels.js';
import { buildWords, checkPackages, checkSuite, readOwnName } from '../../src/engine/images/image-name.js';
import { localImageName, modulesOf, readRecipe, withPackages } from '../../src/engine/images/recipe.js';

const data = readRecipe('data');
const rich = withPackages(data, ['python3-sklearn', 'python3-seaborn', 'python3-pandas']);
const RICH = 'localhost/mcp-sandbox-bridge/data:0.1.0-with_python3-seaborn_python3-sklearn';

describe('packages that are added', () => {
  it('give the image a tag of its own, whatever their order, without those it has anyway', () => {
    expect(localImageName(rich, '0.1.0')).toBe(RICH);
    expect(localImageName(withPackages(data, ['python3-seaborn', 'python3-sklearn']), '0.1.0')).toBe(RICH);
    expect(localImageName(withPackages(data, ['python3-pandas']), '0.1.0')).toBe(
      localImageName(data, '0.1.0'),
    );
    expect(localImageName(rich, '0.1.0', 'bookworm')).toBe(RICH.replace('-with', '-bookworm-with'));
  });

  it('are hashed where a tag could not hold them', () => {
    const many = Array.from({ length: 12 }, (_, n) => `python3-package-${n}`);
    for (const names of [many, ['g++']]) {
      const image = localImageName(withPackages(data, names), '0.1.0');
      expect(image).toMatch(/:0\.1\.0-with_sha256\.[0-9a-f]{16}$/);
      expect(readOwnName(image)).toEqual({ profile: 'data', suite: undefined, added: undefined, pip: [] });
    }
    expect(localImageName(withPackages(data, many), '1')).not.toBe(
      localImageName(withPackages(data, many.slice(1)), '1'),
    );
  });

  it('are importable, and nothing stands in for them', () => {
    expect(modulesOf(rich)).toEqual([...modulesOf(data), 'seaborn', 'sklearn']);
    expect(modulesOf(withPackages(data, ['python3-typing-extensions', 'jq', 'python3-yaml']))).toEqual([
      ...modulesOf(data),
      'typing_extensions',
      'yaml',
    ]);
    expect(data.standIns).toContain('python3-lxml');
    expect(withPackages(data, ['python3-lxml']).standIns).not.toContain('python3-lxml');
  });

  it.each([
    [[], 'nothing'],
    [['Seaborn'], '"Seaborn"'],
    [['python3-seaborn-'], '"python3-seaborn-"'],
    [['python3-x=1.0'], '"python3-x=1.0"'],
    [['a b'], '"a b"'],
    [['-y'], '"-y"'],
    [['~nnumpy'], '"~nnumpy"'],
    [['x'], '"x"'],
  ])('refuses the packages %j', (names, got) => {
    expect(() => checkPackages(names)).toThrow(
      `--with: got ${got}, expected names of Debian packages with commas between them.`,
    );
  });

  it.each([
    '--customize-hook=touch /here',
    '-y',
    '',
    'trixie main',
    'trixie\nTrusted: yes',
    '../trixie',
    '/tmp/sources.list',
    'Trixie',
    'trixie-security',
  ])('come from no release that is called %j', (suite) => {
    expect(() => checkSuite(suite)).toThrow(`--suite: got ${JSON.stringify(suite)}, expected the name of a`);
    expect(checkSuite('trixie')).toBe('trixie');
  });

  it('come from no such release on the command line either', async () => {
    const built = imageBuild([], { suite: '--customize-hook=touch /here' });
    await expect(built).rejects.toThrow('--suite: got "--customize-hook=touch /here"');
  });

  it('of which apt knows none are named, with the nearest that there are', () => {
    const said = [
      'Reading package lists...',
      'E: Unable to locate package seaborn',
      "E: Package 'python3-tls' has no installation candidate",
      'E: Unable to locate package seaborn',
      'E: mmdebstrap failed to run',
    ].join('\n');
    expect(unknownPackages(said)).toEqual(['seaborn', 'python3-tls']);
    expect(unknownPackages('E: Failed to fetch http://mirror/ 404')).toEqual([]);
    const known = new Set(['python3-seaborn', 'python3-sklearn', 'seabios']);
    expect(nearestPackage('seaborn', known)).toBe('python3-seaborn');
    expect(nearestPackage('python3-sklern', known)).toBe('python3-sklearn');
    expect(nearestPackage('tensorflow', known)).toBeUndefined();
    // Two of 60,000 names that are one and two letters away.
    expect(nearestPackage('polars', new Set(['polari', 'solaar']))).toBeUndefined();
  });
});

describe('names', () => {
  it.each([
    ['localhost/mcp-sandbox-bridge/python:0.1.0', ['image', 'build']],
    ['localhost/mcp-sandbox-bridge/python:0.1.0-bookworm', ['image', 'build', '--suite', 'bookworm']],
    ['localhost/mcp-sandbox-bridge/go:9.0.1', ['image', 'build', 'go']],
    [RICH, ['image', 'build', 'data', '--with', 'python3-seaborn,python3-sklearn']],
    [
      RICH.replace('-with', '-bookworm-with'),
      ['image', 'build', 'data', '--suite', 'bookworm', '--with', 'python3-seaborn,python3-sklearn'],
    ],
  ])('%s can be read back', (image, words) => {
    const name = readOwnName(image);
    expect(name && buildWords(name)).toEqual(words);
  });

  it.each([
    'python:3.14-slim',
    'localhost/mcp-sandbox-bridge/nothing:0.1.0',
    'localhost/mcp-sandbox-bridge/python',
    'localhost/other/python:0.1.0',
  ])('%s is no image of ours', (image) => {
    expect(readOwnName(image)).toBeUndefined();
  });
});

describe('labels', () => {
  const asRead = (labels: readonly string[]) =>
    parseLabels(JSON.stringify(Object.fromEntries(labels.map((label) => label.split(/=(.*)/s).slice(0, 2)))));

  it('say what the image holds and of what it was made', () => {
    expect(asRead(labelsFor(rich, 'trixie', '0.1.0'))).toEqual({
      suite: 'trixie',
      recipe: recipeDigest(rich, 'trixie'),
      modules: modulesOf(rich),
    });
    expect(asRead(labelsFor(readRecipe('base'), 'trixie', '0.1.0'))?.modules).toEqual([]);
  });

  it.each(['null', '{}', '{"other":"x"}', 'no json', '[1]', '{"a":1}'])('%s are not ours', (text) => {
    expect(parseLabels(text)).toBeUndefined();
  });

  it('tell an image of an older recipe from one of today’s', () => {
    const image = localImageName(data, '0.1.0');
    expect(ageOf(image, asRead(labelsFor(data, data.suite, '0.1.0')))).toBeUndefined();
    expect(ageOf(RICH, asRead(labelsFor(rich, data.suite, '0.1.0')))).toBeUndefined();
    const before = asRead([`${PACKAGE_NAME}.image=data-0.1.0`]);
    expect(ageOf(image, before)).toBe('made by an older recipe');
    const bookworm = asRead(labelsFor(data, 'bookworm', '0.1.0'));
    expect(ageOf(image, bookworm)).toBe('made from Debian bookworm; the recipe now takes Debian trixie');
    expect(ageOf(`${image}-bookworm`, bookworm)).toBeUndefined();
    const other = { ...data, packages: data.packages.slice(1) };
    expect(ageOf(image, asRead(labelsFor(other, data.suite, '0.1.0')))).toBe('made by an older recipe');
    expect(ageOf('python:3.14-slim', undefined)).toBeUndefined();
  });
});

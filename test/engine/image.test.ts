// What leads to an image and to the choice of one, up to the point where a real build would begin; the real image is
// made by the set-up and used by every container test.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { VERSION } from '../../src/base/version.js';
import type { BuildWish, EngineImages } from '../../src/engine/engine.js';
import { debianSources } from '../../src/engine/images/apt-sources.js';
import { buildImage, unpackedOf, unsafeEntries } from '../../src/engine/images/image.js';
import {
  absentImage,
  chooseImage,
  imageReasonInWords,
  ownImage,
  type RequestedImage,
} from '../../src/engine/images/image-choice.js';
import { profiles, RECIPE_DIR } from '../../src/engine/images/image-name.js';
import {
  foreignArchitecture,
  localImageName,
  parseRecipe,
  readRecipe,
  withPackages,
} from '../../src/engine/images/recipe.js';
import { processesWith } from '../support/nothing-left.js';
import { NEVER } from '../support/time.js';

describe('recipes', () => {
  it('are all readable and name scripts that exist and may be run', () => {
    expect(profiles()).toContain('base');
    for (const profile of profiles()) {
      const recipe = readRecipe(profile);
      expect(recipe.profile).toBe(profile);
      for (const hook of recipe.hooks) expect(statSync(join(RECIPE_DIR, hook)).mode & 0o111).not.toBe(0);
    }
  });

  it('begin with what they extend and add their own', () => {
    const [base, data] = [readRecipe('base'), readRecipe('data')];
    expect(data).toMatchObject({ suite: base.suite, command: base.command, env: base.env });
    for (const key of ['packages', 'removePackages', 'removePaths', 'hooks'] as const) {
      expect(data[key].slice(0, base[key].length)).toEqual(base[key]);
    }
    expect(data.packages).toContain('python3-pandas');
    expect(localImageName(data, '1.2.3')).toBe('localhost/mcp-sandbox-bridge/data:1.2.3');
  });

  it('are refused where a key is unknown, missing or not theirs to set', () => {
    const base = { profile: 'a', name: 'a', description: '', packages: ['p'], suite: 's', command: ['c'] };
    const over = { profile: 'b', name: 'b', description: '', packages: ['q'], extends: 'a' };
    const parsed = (recipes: Record<string, unknown>, profile: string) =>
      parseRecipe((name) => recipes[name], profile);
    expect(parsed({ a: base, b: over }, 'b')).toMatchObject({ name: 'b', packages: ['p', 'q'], suite: 's' });
    const withEnv = { a: { ...base, env: { A: '1', B: '1' } }, b: { ...over, env: { B: '2' } } };
    expect(parsed(withEnv, 'b').env).toEqual({ A: '1', B: '2' });
    expect(() => parsed({ a: { ...base, pakages: [] } }, 'a')).toThrow('pakages');
    expect(() => parsed({ a: { ...base, suite: undefined } }, 'a')).toThrow('suite');
    expect(parsed({ a: base, b: { ...over, suite: 't' } }, 'b').suite).toBe('t');
    expect(() => parsed({ a: base, b: { ...over, command: ['d'] } }, 'b')).toThrow('command');
    expect(() => parsed({ b: over, c: { ...over, extends: 'b' } }, 'c')).toThrow('extends');
    expect(() => parsed({ a: { ...base, removePaths: ['/etc'] } }, 'a')).toThrow('must be relative');
  });

  it('suggest the profile that was meant', () => {
    expect(() => readRecipe('bases')).toThrow("There is no image profile 'bases'. Did you mean 'base'?");
  });

  it('show a suite other than their own in the tag', () => {
    const recipe = readRecipe('base');
    expect(localImageName(recipe, '1.2.3')).toBe('localhost/mcp-sandbox-bridge/python:1.2.3');
    expect(localImageName(recipe, '1.2.3', 'trixie')).toBe('localhost/mcp-sandbox-bridge/python:1.2.3');
    expect(localImageName(recipe, '1.2.3', 'bookworm')).toBe(
      'localhost/mcp-sandbox-bridge/python:1.2.3-bookworm',
    );
  });
});

describe('debianSources', () => {
  const osRelease = 'ID=debian\nVERSION_CODENAME=bookworm\n';
  const debian = [
    'Types: deb deb-src',
    '# a comment',
    'URIs: http://mirror.example/debian',
    'Suites: bookworm bookworm-updates bookworm-backports',
    'Components: main contrib',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
    '',
    'Types: deb',
    'URIs: http://mirror.example/debian-security',
    'Suites: bookworm-security',
    'Components: main',
  ].join('\n');
  const files = { '/etc/apt/sources.list.d/debian.sources': debian };

  it('keeps mirror, keys, updates and security, and nothing else', () => {
    expect(debianSources('bookworm', { osRelease, files })).toBe(
      [
        'Types: deb',
        'URIs: http://mirror.example/debian',
        'Suites: bookworm bookworm-updates',
        'Components: main',
        'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
        '',
        'Types: deb',
        'URIs: http://mirror.example/debian-security',
        'Suites: bookworm-security',
        'Components: main',
        '',
      ].join('\n'),
    );
  });

  it('turns to another suite; a rolling one has neither updates nor security', () => {
    expect(debianSources('trixie', { osRelease, files })).toContain('Suites: trixie-security');
    const sid = debianSources('sid', { osRelease, files });
    expect(sid).toContain('Suites: sid\n');
    expect(sid).not.toContain('security');
  });

  it('reads sources that are written one a line', () => {
    const list =
      'deb [arch=amd64 signed-by=/k/debian-archive.gpg] http://m.example/debian bookworm main # note\n';
    expect(debianSources('bookworm', { osRelease, files: { '/etc/apt/sources.list': list } })).toBe(
      'Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\nSigned-By: /k/debian-archive.gpg\n',
    );
  });

  it.each([
    ['deb http://other.example/linux bookworm stable', 'no main'],
    ['deb [signed-by=/k/vendor.gpg] http://other.example/node bookworm main', 'another key'],
    ['deb http://other.example/apt nodistro main', 'another suite'],
    ['deb cdrom:[Debian]/ bookworm main', 'a disc'],
    ['# deb http://mirror.example/debian bookworm main', 'a comment'],
  ])('leaves out %s (%s)', (line) => {
    const list = { '/etc/apt/sources.list': line };
    expect(debianSources('bookworm', { osRelease, files: list })).toBeUndefined();
  });

  it('has no opinion where the machine is not Debian', () => {
    expect(debianSources('bookworm', { osRelease: 'ID=fedora\n', files })).toBeUndefined();
  });
});

describe('unsafeEntries', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'tar-audit-test-'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const entry = (name: string, mode: number, type = '0', content = ''): Buffer => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(mode.toString(8).padStart(7, '0'), 100);
    header.write(Buffer.byteLength(content).toString(8).padStart(11, '0'), 124);
    header.write(type, 156);
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
    body.write(content);
    return Buffer.concat([header, body]);
  };
  const audit = (...entries: Buffer[]): Promise<string[]> => {
    const file = join(dir, 'image.tar');
    writeFileSync(file, Buffer.concat([...entries, Buffer.alloc(1024)]));
    return unsafeEntries(file);
  };

  it('finds set-id bits, devices and capabilities, and nothing in ordinary files', async () => {
    const capability = '45 SCHILY.xattr.security.capability=\u0001\u0000\u0000\u0002\n';
    expect(
      await audit(
        entry('./etc/passwd', 0o644, '0', 'root:x:0:0\n'.repeat(100)),
        entry('./usr/bin/su', 0o4755),
        entry('./usr/bin/wall', 0o2755),
        entry('./dev/sda', 0o600, '4'),
        entry('./pax', 0o644, 'x', capability),
        entry('./usr/bin/ping', 0o755),
        entry('./pax', 0o644, 'x', '22 path=./usr/bin/long\n'),
        entry('./short', 0o4755),
        entry('./tmp', 0o1777, '5'),
      ),
    ).toEqual([
      './usr/bin/su is set-id',
      './usr/bin/wall is set-id',
      './dev/sda is a device node',
      './usr/bin/ping has file capabilities',
      './usr/bin/long is set-id',
    ]);
  });

  it('does not take an empty archive for a safe one', async () => {
    expect(await audit()).toEqual(['the archive is empty']);
  });
});

describe('chooseImage', () => {
  const choose = (
    local: readonly string[],
    wish: RequestedImage,
    pull: EngineImages['pull'] = () => Promise.reject(new Error('connection refused')),
  ) => {
    const present = new Set(local);
    const events: BridgeEvent[] = [];
    const pulls: string[] = [];
    const engine: Parameters<typeof chooseImage>[1] = {
      name: 'podman',
      imageId: async (image) => (present.has(image) ? `id of ${image}` : undefined),
      pull: async (image, onProgress, signal) => {
        pulls.push(image);
        await pull(image, onProgress, signal);
        present.add(image);
      },
    };
    const choice = chooseImage(wish, engine, (event) => events.push(event), NEVER);
    return { choice, events, pulls };
  };
  const byDefault = (image: string) => ({ image, imageSource: 'default', profile: 'base' }) as const;

  it('prefers the default, then our own, and asks no registry for either', async () => {
    const both = choose(['python:a', ownImage()], byDefault('python:a'));
    expect(await both.choice).toMatchObject({ image: 'python:a', id: 'id of python:a' });
    const own = choose([ownImage()], byDefault('python:a'));
    expect(await own.choice).toMatchObject({ image: ownImage() });
    expect([...both.pulls, ...own.pulls]).toEqual([]);
  });

  it('pulls what is absent and shows progress', async () => {
    const { choice, events } = choose([], byDefault('python:b'), async (_image, onProgress) =>
      onProgress('Getting image source signatures'),
    );
    expect(await choice).toMatchObject({ image: 'python:b' });
    expect(imageReasonInWords((await choice).reason)).toBe('pulled from its registry');
    expect(events).toEqual([
      { type: 'image.progress', image: 'python:b', message: 'Getting image source signatures' },
    ]);
  });

  it('is told from a look that pulls and builds nothing, and that names the commands which do', async () => {
    const engine = (...present: readonly string[]) => ({
      name: 'podman' as const,
      imageId: async (image: string) => (present.includes(image) ? `id of ${image}` : undefined),
    });
    expect(await absentImage(byDefault('python:e'), engine('python:e'), NEVER)).toBeUndefined();
    expect(await absentImage(byDefault('python:e'), engine(ownImage()), NEVER)).toBeUndefined();
    expect(await absentImage(byDefault('python:e'), engine(), NEVER)).toMatchObject({
      code: 'E_IMAGE_MISSING',
      message:
        'The image python:e is not here. The first call pulls it, or builds one of ours if no registry answers.',
      remedy: expect.stringMatching(/`podman pull python:e`, or `.*image build`, which needs no registry\./),
    });
    const named = { image: 'mine:1', imageSource: 'operator', profile: 'base' } as const;
    expect(await absentImage(named, engine(ownImage()), NEVER)).toMatchObject({
      message: 'The image mine:1 is not here. The first call pulls it.',
    });
    const profile = { image: 'data', imageSource: 'operator', profile: 'base' } as const;
    expect((await absentImage(profile, engine(), NEVER))?.remedy).toContain('image build data');
  });

  it('says so where our own stands in for one that isolator’s file names', async () => {
    const wish = {
      image: 'python:3.11-alpine',
      imageSource: { importedFrom: "isolator's file" },
      profile: 'base',
    };
    const absent = choose([ownImage()], wish);
    expect(await absent.choice).toMatchObject({ image: ownImage() });
    expect(absent.events).toEqual([
      { type: 'image.replaced', image: 'python:3.11-alpine', namedIn: "isolator's file", by: ownImage() },
    ]);
    const present = choose(['python:3.11-alpine', ownImage()], wish);
    expect(await present.choice).toMatchObject({ image: 'python:3.11-alpine' });
    const nobodys = choose([ownImage()], byDefault('python:a'));
    await nobodys.choice;
    expect([...present.events, ...nobodys.events]).toEqual([]);
  });

  it('never replaces an image that somebody named', async () => {
    const { choice } = choose([ownImage()], { image: 'my/python', imageSource: 'operator', profile: 'base' });
    await expect(choice).rejects.toMatchObject({
      code: 'E_IMAGE_MISSING',
      message: expect.stringContaining('my/python is not here and cannot be pulled: connection refused'),
      remedy: expect.stringContaining('Or remove it from MCP_BRIDGE_IMAGE'),
    });
  });

  it('takes the name of a profile for the image that was built of it, and asks no registry', async () => {
    const data = localImageName(readRecipe('data'), VERSION);
    for (const image of ['data', data]) {
      const built = choose([data, 'data'], { image, imageSource: 'operator', profile: 'base' });
      expect(await built.choice).toEqual({
        image: data,
        id: `id of ${data}`,
        reason: { kind: 'profile', profile: 'data' },
      });
      expect(imageReasonInWords((await built.choice).reason)).toBe('profile data, built here');
      const absent = choose([ownImage(), 'data'], { image, imageSource: 'operator', profile: 'base' });
      await expect(absent.choice).rejects.toMatchObject({
        code: 'E_IMAGE_MISSING',
        message: `The image of profile 'data' has not been built: ${data} is not here.`,
        remedy: expect.stringContaining('`mcp-sandbox-bridge image build data`'),
      });
      expect([...built.pulls, ...absent.pulls]).toEqual([]);
    }
  });

  it('takes the image that was built for the release by name, before it was the recipe’s own', async () => {
    const named = `${ownImage()}-trixie`;
    const before = choose([named], byDefault('python:a'));
    expect(await before.choice).toMatchObject({ image: named, reason: { kind: 'stand-in' } });
    const both = choose([named, ownImage()], byDefault('python:a'));
    expect(await both.choice).toMatchObject({ image: ownImage() });
    const other = choose([`${ownImage()}-bookworm`], byDefault('python:a'));
    await expect(other.choice).rejects.toMatchObject({ code: 'E_IMAGE_MISSING' });
    expect([before.pulls, both.pulls, other.pulls]).toEqual([[], [], ['python:a']]);
  });

  it('says the very command that makes an image of ours, and asks no registry for one', async () => {
    const image = `${ownImage()}-bookworm-with_python3-yaml`;
    const wish = { image, imageSource: 'operator', profile: 'base' } as const;
    const built = choose([image], wish);
    expect(await built.choice).toMatchObject({ image, reason: { kind: 'found', by: 'operator' } });
    const absent = choose([ownImage()], wish);
    await expect(absent.choice).rejects.toMatchObject({
      code: 'E_IMAGE_MISSING',
      message: `The image ${image} has not been built here.`,
      remedy: expect.stringContaining('image build --suite bookworm --with python3-yaml`'),
    });
    expect(absent.pulls).toEqual([]);
  });

  describe('where the registry cannot be reached, and an image can be built', () => {
    const withBuild = (wish: RequestedImage, build: (wish: BuildWish) => Promise<void>) => {
      const present = new Set<string>();
      const events: BridgeEvent[] = [];
      let builds = 0;
      const engine: Parameters<typeof chooseImage>[1] = {
        name: 'podman',
        imageId: async (image) => (present.has(image) ? `id of ${image}` : undefined),
        pull: () => Promise.reject(new Error('connection refused')),
        build: async (wanted) => {
          builds++;
          await build(wanted);
          present.add(ownImage());
          return { image: ownImage(), id: `id of ${ownImage()}`, sizeBytes: 0, durationMs: 0 };
        },
      };
      const choose = () => chooseImage(wish, engine, (event) => events.push(event), NEVER);
      return { choose, events, builds: () => builds };
    };

    it('builds our own in place of the default, and says so', async () => {
      const { choose, events } = withBuild(byDefault('python:d'), async ({ profile, onProgress }) =>
        onProgress(`installing for ${profile}`),
      );
      expect(await choose()).toEqual({
        image: ownImage(),
        id: `id of ${ownImage()}`,
        reason: { kind: 'stand-in', image: 'python:d', by: 'default' },
      });
      const about = { image: ownImage(), instead: 'python:d', why: 'connection refused' };
      expect(events).toEqual([
        { type: 'image.building', ...about },
        { type: 'image.progress', image: ownImage(), message: 'installing for base' },
        { type: 'image.built', ...about },
      ]);
    });

    it.each(['operator', { importedFrom: "isolator's file" }] as const)(
      'builds nothing in place of an image that is named: %j',
      async (imageSource) => {
        const { choose, builds } = withBuild({ image: 'my/e', imageSource, profile: 'base' }, async () => {});
        await expect(choose()).rejects.toMatchObject({
          code: 'E_IMAGE_MISSING',
          message: 'The image my/e is not here and cannot be pulled: connection refused.',
        });
        expect(builds()).toBe(0);
      },
    );

    it('says why neither could be done, and tries neither again at once', async () => {
      const { choose, builds } = withBuild(byDefault('python:f'), () =>
        Promise.reject(
          new BridgeError('E_PROCESS', 'mmdebstrap could not be started.', { fault: 'operator' }),
        ),
      );
      for (let time = 0; time < 2; time++)
        await expect(choose()).rejects.toMatchObject({
          code: 'E_IMAGE_MISSING',
          message: expect.stringMatching(/connection refused\. .*could not be built either: mmdebstrap/),
          remedy: expect.stringMatching(/doctor`, .*image build`/),
        });
      expect(builds()).toBe(1);
    });
  });

  it('suggests a profile where something like it was named', async () => {
    const { choice } = choose([], { image: 'dat', imageSource: 'operator', profile: 'base' });
    await expect(choice).rejects.toMatchObject({ remedy: expect.stringContaining("Did you mean 'data'?") });
  });

  it('names the way out without a registry, and does not ask a dead one twice', async () => {
    const first = choose([], byDefault('python:c'));
    await expect(first.choice).rejects.toMatchObject({
      code: 'E_IMAGE_MISSING',
      remedy: 'Run `mcp-sandbox-bridge image build`, which needs no registry.',
    });
    const second = choose([], byDefault('python:c'));
    await expect(second.choice).rejects.toMatchObject({ code: 'E_IMAGE_MISSING' });
    expect([first.pulls.length, second.pulls.length]).toEqual([1, 0]);
  });
});

describe('buildImage', () => {
  it('runs the scripts of packages, but for the plain base image, which is only unpacked', () => {
    const base = readRecipe('base');
    expect(unpackedOf(base, base.suite)).toContain('coreutils');
    expect(unpackedOf(base, 'bookworm')).toBeUndefined();
    expect(unpackedOf(withPackages(base, ['jq']), base.suite)).toBeUndefined();
    for (const profile of profiles().filter((name) => name !== 'base')) {
      const recipe = readRecipe(profile);
      expect(unpackedOf(recipe, recipe.suite), profile).toBeUndefined();
    }
  });

  it('leaves nothing behind when it is cancelled', async () => {
    const folders = () =>
      readdirSync('/var/tmp').filter((name) => name.startsWith('mcp-sandbox-bridge-image-'));
    const before = folders();
    // Somebody else may build meanwhile; the folder of a living build stands in a command line.
    const left = () => folders().filter((name) => !before.includes(name) && processesWith(name).length === 0);
    const options = {
      client: { binary: 'podman', env: {} },
      architecture: undefined,
      profile: 'base',
      suite: undefined,
      version: '0.0.0',
      onProgress: () => {},
    };
    await expect(buildImage(options, AbortSignal.timeout(300))).rejects.toMatchObject({
      code: expect.stringMatching(/^E_(CANCELLED|IMAGE_BUILD)$/),
    });
    expect(left()).toEqual([]);
  });
});

it.each([
  ['amd64', 'x64', undefined],
  ['x86_64', 'x64', undefined],
  ['aarch64', 'x64', 'arm64'],
  ['amd64', 'arm64', 'amd64'],
  ['riscv64', 'x64', undefined],
])('an engine on %s and a bridge on %s: %s has to be said', (said, ours, debian) => {
  expect(foreignArchitecture(said, ours)).toBe(debian);
});

// Packages of --pip up to the point where a container would start: which words are taken, what the image is called, what
// its lock holds, and what is said when pip finds nothing.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import { imageBuild, pipText } from '../../src/cli/setup/image.js';
import { chooseImage, missingRemedy } from '../../src/engine/images/image-choice.js';
import { buildWords, fullName, readOwnName, shortName } from '../../src/engine/images/image-name.js';
import {
  localImageName,
  modulesOf,
  pipPackageOf,
  readRecipe,
  recipeOf,
  withPackages,
} from '../../src/engine/images/recipe.js';
import { parseRequirements } from '../../src/engine/images/requirements.js';
import {
  dropStartFiles,
  Lock,
  linesOfLock,
  lockText,
  modulesIn,
  readWheels,
  whyNoWheels,
} from '../../src/engine/images/wheels.js';
import { NEVER } from '../support/time.js';

const data = readRecipe('data');
const pipImage = (words: string, suite?: string) =>
  localImageName({ ...data, pip: parseRequirements([words]) }, VERSION, suite);
const OURS = `localhost/mcp-sandbox-bridge/data:${VERSION}`;

describe('parseRequirements', () => {
  it.each([
    [['polars,duckdb'], ['duckdb', 'polars']],
    [
      ['polars', 'duckdb'],
      ['duckdb', 'polars'],
    ],
    [['polars==1.2'], ['polars==1.2']],
    [[' Scikit_Learn , ruamel.yaml '], ['ruamel-yaml', 'scikit-learn']],
    [['polars >= 1, < 2,duckdb'], ['duckdb', 'polars<2,>=1']],
    [['fsspec[s3, http]~=2024.1'], ['fsspec[http,s3]~=2024.1']],
    [['polars,polars'], ['polars']],
    [['numpy!=2.0.*,==2.*'], ['numpy!=2.0.*,==2.*']],
  ])('takes %j', (options, expected) => {
    expect(parseRequirements(options)).toEqual(expected);
  });

  it.each([
    ['', 'nothing'],
    [',', 'nothing'],
    ['polars,', 'nothing'],
    ['-r x.txt', '"-r x.txt"'],
    ['--index-url=http://x', '"--index-url=http://x"'],
    ['./polars', '"./polars"'],
    ['/tmp/polars.whl', '"/tmp/polars.whl"'],
    ['polars@http://x/y.whl', '"polars@http://x/y.whl"'],
    ['polars @ file:///x', '"polars @ file:///x"'],
    ['git+https://x/y', '"git+https://x/y"'],
    ['https://x/y.whl', '"https://x/y.whl"'],
    ['polars; python_version>"3"', '"polars; python_version>\\"3\\""'],
    ['polars\n--pre', '"polars\\n--pre"'],
    ['polars==', '"polars=="'],
    ['==1', '"==1"'],
    ['polars===1', '"polars===1"'],
    ['pol ars', '"pol ars"'],
    ['polars$', '"polars$"'],
    ['_x', '"_x"'],
    ['x'.repeat(101), `"${'x'.repeat(80)}"`],
  ])('refuses %j', (option, got) => {
    expect(() => parseRequirements([option])).toThrow(
      `--pip: got ${got}, expected names of Python packages with commas between them.`,
    );
  });

  it('refuses two versions of one package, and more packages than anybody needs', () => {
    expect(() => parseRequirements(['polars==1,Polars==2'])).toThrow(
      '--pip: got "polars==1" and "polars==2", expected each package once.',
    );
    const many = Array.from({ length: 51 }, (_, n) => `p${n}`).join();
    expect(() => parseRequirements([many])).toThrow('got 51 packages, expected at most 50 packages.');
  });

  it('is asked before anything else by the command line, which names the profiles that can have packages', async () => {
    await expect(imageBuild(['data'], { pip: ['-e .'] })).rejects.toThrow('--pip: got "-e ."');
    for (const profile of ['go', 'code-exec', 'javascript'])
      await expect(imageBuild([profile], { pip: ['polars'] })).rejects.toThrow(
        `--pip: got the profile '${profile}', expected base or data.`,
      );
  });
});

describe('names of images with packages of pip’s', () => {
  it.each([
    ['polars,duckdb', `${OURS}-pip_duckdb_polars`, 'data-pip_duckdb_polars'],
    ['duckdb==1.2.2', `${OURS}-pip_duckdb--1.2.2`, 'data-pip_duckdb--1.2.2'],
  ])('%s is in the name, long and short, and is read back', (words, long, short) => {
    expect(pipImage(words)).toBe(long);
    expect(shortName(long)).toBe(short);
    expect(fullName(short)).toBe(long);
    const own = readOwnName(long);
    expect(own && buildWords(own)).toEqual([
      'image',
      'build',
      'data',
      '--pip',
      parseRequirements([words]).join(),
    ]);
  });

  it('are hashed where a tag could not say them, and an engine takes every tag', () => {
    const added = Array.from({ length: 9 }, (_, n) => `python3-package-${n}`);
    for (const words of [
      'polars>=1',
      'a[b]',
      'x==1+local',
      Array.from({ length: 9 }, (_, n) => `package-${n}`).join(),
    ]) {
      expect(pipImage(words)).toMatch(/-pip_sha256\.[0-9a-f]{16}$/);
      const own = readOwnName(pipImage(words));
      expect(own && buildWords(own)).toEqual(['image', 'build', 'data', '--pip', '<packages>']);
      const both = localImageName(
        { ...withPackages(data, added), pip: parseRequirements([words]) },
        '10.10.10-beta.10',
        'bookworm',
      );
      expect(both.split(':')[1]).toMatch(/^[\w][\w.-]{0,127}$/);
    }
    expect(pipImage('polars>=1')).not.toBe(pipImage('polars>=2'));
  });

  it('keep release and Debian packages apart from pip’s', () => {
    const both = { ...withPackages(data, ['python3-seaborn']), pip: ['polars'] };
    const image = localImageName(both, VERSION, 'bookworm');
    expect(image).toBe(`${OURS}-bookworm-with_python3-seaborn-pip_polars`);
    expect(readOwnName(image)).toEqual({
      ...{ profile: 'data', suite: 'bookworm', added: ['python3-seaborn'], pip: ['polars'] },
    });
    expect(fullName('data-bookworm-with_python3-seaborn-pip_polars')).toBe(image);
  });

  it.each([
    'data',
    'data-science',
    'python:3.14-slim',
    'localhost/data-pip_x',
    'nothing-pip_polars',
    'data-pip_',
  ])('%s is no short name', (image) => {
    expect(fullName(image)).toBe(image);
  });

  it('tell which modules there are, under their own names', () => {
    const own = readOwnName(pipImage('scikit-learn,polars'));
    const recipe = own && recipeOf(own);
    expect(recipe && modulesOf(recipe)).toEqual([...modulesOf(data), 'polars', 'sklearn']);
    expect(['PIL', 'polars', 'ruamel_yaml'].map(pipPackageOf)).toEqual(['pillow', 'polars', 'ruamel-yaml']);
  });

  it('lead to the command that makes the image where it is missing, and to no registry', async () => {
    const wish = { image: 'data-pip_polars', imageSource: 'operator', profile: 'base' } as const;
    const command = '`mcp-sandbox-bridge image build data --pip polars`';
    expect(missingRemedy(wish)).toContain(command);
    const engine = {
      name: 'podman',
      imageId: async () => undefined,
      pull: () => Promise.reject(new Error('asked a registry')),
    } as const;
    await expect(chooseImage(wish, engine, () => {}, NEVER)).rejects.toMatchObject({
      message: `The image ${OURS}-pip_polars has not been built here.`,
      remedy: expect.stringContaining(command),
    });
  });
});

describe('the lock', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trial-lock-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const A = 'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

  it('has name, version and hash of each wheel, whatever pip has called the file', () => {
    const wheels = join(folder, 'wheels');
    mkdirSync(wheels);
    for (const file of [
      'ruamel_yaml-0.18.10-py3-none-any.whl',
      'Polars-1.31.0-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
    ])
      writeFileSync(join(wheels, file), 'a');
    const text = lockText(readWheels(wheels));
    expect(text).toBe(`polars==1.31.0 --hash=${A}\nruamel-yaml==0.18.10 --hash=${A}\n`);
    const lock = new Lock(join(folder, 'locks'), pipImage('polars'), 'trixie', 'x64');
    expect(lock.read()).toBeUndefined();
    lock.write(text, ['polars']);
    expect(lock.file).toBe(join(folder, 'locks', 'data-trixie-x64-pip_polars.lock'));
    expect(readFileSync(lock.file, 'utf8')).toMatch(
      /^# Made by .* for --pip 'polars' on Debian trixie-x64\.\n#/,
    );
    expect(linesOfLock(lock.read() ?? '')).toBe(linesOfLock(text));
  });

  it('is another one for another list, release or processor, and the same one for another version', () => {
    const file = (image: string, suite = 'trixie', processor = 'x64') =>
      new Lock('/l', image, suite, processor).file;
    const names = [
      file(pipImage('polars')),
      file(pipImage('duckdb')),
      file(pipImage('polars'), 'bookworm'),
      file(pipImage('polars'), 'trixie', 'arm64'),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(file(pipImage('polars').replace(`:${VERSION}-`, ':9.9.9-'))).toBe(names[0]);
  });

  it.each([
    '--index-url http://evil',
    'polars',
    'polars==1',
    'polars @ file:///x',
    `polars==1 --hash=${A} --pre`,
  ])('that says %j is refused', (line) => {
    const lock = new Lock(join(folder, 'wrong'), pipImage('polars'), 'trixie', 'x64');
    lock.write(`${line}\n`, ['polars']);
    expect(() => lock.read()).toThrow(`${lock.file} is no lock file.`);
  });

  it('is made of wheels alone', () => {
    for (const [file, make] of [
      ['polars-1.0.tar.gz', (path: string) => writeFileSync(path, '')],
      ['polars-1.0-py3-none-any.whl', (path: string) => symlinkSync('/etc/passwd', path)],
      ['x.whl', (path: string) => writeFileSync(path, '')],
    ] as const) {
      const wrong = mkdtempSync(join(folder, 'no-wheels-'));
      make(join(wrong, file));
      expect(() => readWheels(wrong)).toThrow(`pip left "${file}", which is no wheel.`);
    }
  });
});

describe('whyNoWheels', () => {
  const said = (wanted: string, versions: string) =>
    `ERROR: Could not find a version that satisfies the requirement ${wanted} (from versions: ${versions})\nERROR: No matching distribution found for ${wanted}`;

  it.each([
    [
      said('polars==99', '0.20.1, 1.0.0, 1.1.0, 1.2.0, 1.2.1, 1.3.0'),
      "'polars==99' has no such version as a wheel for Python 3.13 on linux x86_64. The newest are 1.0.0, 1.1.0, 1.2.0, 1.2.1, 1.3.0.",
    ],
    [
      said('sgmllib3k', 'none'),
      "'sgmllib3k' has no wheel for Python 3.13 on linux x86_64, or the index has no such package.",
    ],
    [
      `WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('refused')': /simple/polars/\n${said('polars', 'none')}`,
      "The Python index cannot be reached: NewConnectionError('refused')': /simple/polars/",
    ],
    [
      'ERROR: Cannot install a==1 and b because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible',
      'pip: Cannot install a==1 and b because these package versions have conflicting dependencies.',
    ],
    [
      'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    polars==1.0 from http://x/polars-1.0-py3-none-any.whl (from -r /workspace/in/lock.txt (line 3)):\n        Expected sha256 a',
      'The index has other bytes of polars==1.0 than the lock file says.',
    ],
    ['something else\nERROR: of a new kind', 'pip: ERROR: of a new kind'],
  ])('%#', (output, sentence) => {
    expect(whyNoWheels(output, 'Python 3.13 on linux x86_64')).toBe(sentence);
  });
});

describe('what is told of a build', () => {
  it('has the versions, what was there already, and the lock', () => {
    const pip = {
      packages: [{ name: 'polars', version: '1.31.0' }],
      present: { pandas: '2.2.3', polars: '1.0' },
      lockFile: '/state/images/x.lock',
    };
    expect(pipText({ pip })).toBe(
      'Added: polars 1.31.0\nAlready in the image: pandas 2.2.3\nLocked in /state/images/x.lock: the next build takes the same files. Delete it to take newer ones.\n',
    );
    expect(pipText({})).toBe('');
  });

  it('leaves out what Python would run at each start', () => {
    const site = mkdtempSync(join(tmpdir(), 'trial-site-'));
    try {
      for (const name of ['usercustomize', 'polars']) mkdirSync(join(site, name));
      for (const name of [
        'x.pth',
        'sitecustomize.py',
        'sitecustomize.cpython-313-x86_64-linux-gnu.so',
        'six.py',
      ])
        writeFileSync(join(site, name), '');
      dropStartFiles(site);
      expect(readdirSync(site)).toEqual(['polars', 'six.py']);
    } finally {
      rmSync(site, { recursive: true });
    }
  });

  it('names the modules that can be imported, and no folder of metadata', () => {
    const site = mkdtempSync(join(tmpdir(), 'trial-site-'));
    try {
      for (const name of ['polars', '_polars_runtime', 'polars-1.0.dist-info', 'numpy.libs', '__pycache__'])
        mkdirSync(join(site, name));
      for (const name of ['six.py', '_cffi.so', 'fast.cpython-313-x86_64-linux-gnu.so', 'x.pth'])
        writeFileSync(join(site, name), '');
      expect(modulesIn(site)).toEqual(['fast', 'polars', 'six']);
    } finally {
      rmSync(site, { recursive: true });
    }
  });
});

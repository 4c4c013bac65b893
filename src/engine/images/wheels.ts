// Python packages from an index on top of an image of ours (`image build --pip`): Debian's pip fetches wheels in a throw-away
// container that has the engine's ordinary network, installs them in one without a network, and the engine puts the result on
// top of the image. Packages bring only wheels, so none of their code runs. A lock file makes the next build the same.

import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { createHash } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { type ProcessResult, tailOf } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import type { BuildWish, BuiltImage, EngineImages, PipWish } from '../engine.js';
import { makeImageOnTop } from './derived-image.js';
import { SCRATCH, SCRATCH_PREFIX } from './image.js';
import { imageAge, labelName } from './image-labels.js';
import { RECIPE_DIR, withoutVersion } from './image-name.js';
import { BASE_PROFILE, localImageName, modulesOf, type Recipe, readRecipe, withPackages } from './recipe.js';
import { normaliseName } from './requirements.js';
import { IN, makeReadable, NOT_STARTED, ThrowAways } from './throw-aways.js';

/** All that is asked of an engine here. */
type WheelEngine = ConstructorParameters<typeof ThrowAways>[0] & {
  readonly images: Pick<EngineImages, 'imageId' | 'labels' | 'inspect'>;
  readonly buildArgs: (image: string, contextDir: string) => readonly string[];
  /** Makes an image from Debian packages alone. */
  readonly buildPlain: (wish: BuildWish, signal: AbortSignal) => Promise<BuiltImage>;
  /** Debian's name of the engine's processor, or Node's of this machine's: the lock file is of one processor. */
  readonly processor: string;
  readonly version: string;
};

/** Debian packages of the image that lends its pip and its certificates: pip as a wheel, for any Python of that release. */
const PIP_PACKAGES = ['ca-certificates', 'python3-pip-whl'];
const PIP_FOLDER = '/usr/share/python-wheels/.';
/** Debian's pip reads its certificates from here, and from nowhere else as it starts. */
const SSL_FOLDER = '/etc/ssl';
const CERTIFICATES = 'certs/ca-certificates.crt';
const SCRIPT = 'wheels.py';
/** Variables of the user's that pip in the container gets; an unset one is not handed on. */
const PIP_VARIABLES = [
  'PIP_INDEX_URL',
  'PIP_EXTRA_INDEX_URL',
  'PIP_TRUSTED_HOST',
  'PIP_DEFAULT_TIMEOUT',
] as const;
/** Some libraries start a thread for each processor, and a sandbox has room for 128 threads. */
const ENV = { POLARS_MAX_THREADS: '4', OMP_NUM_THREADS: '4', OPENBLAS_NUM_THREADS: '1' } as const;

/** A large library has 1 GB, and a slow line takes a while. */
const FETCH_TIMEOUT_MS = 30 * 60_000;
const INSTALL_TIMEOUT_MS = 10 * 60_000;
const SHORT_TIMEOUT_MS = 30_000;

/**
 * Builds the image, and the images that it stands on where they are missing or older than their recipes. Throws E_ARGUMENTS
 * where no package can be had as it was asked for, and E_IMAGE_BUILD with the last lines of whatever failed.
 */
export async function buildWithWheels(
  wish: BuildWish & { readonly pip: PipWish },
  engine: WheelEngine,
  signal: AbortSignal,
): Promise<BuiltImage> {
  const startedAt = performance.now();
  const { requirements } = wish.pip;
  const recipe = withPackages(readRecipe(wish.profile), wish.added ?? []);
  const suite = wish.suite ?? recipe.suite;
  const image = localImageName({ ...recipe, pip: requirements }, engine.version, suite);
  const base = await plainImage(wish, recipe, suite, engine, signal);
  const lender = { ...wish, profile: BASE_PROFILE, added: PIP_PACKAGES };
  const pipImage = await plainImage(
    lender,
    withPackages(readRecipe(BASE_PROFILE), PIP_PACKAGES),
    suite,
    engine,
    signal,
  );
  const folder = mkdtempSync(join(SCRATCH, SCRATCH_PREFIX));
  try {
    const containers = new ThrowAways(engine, wish.pip.ociRuntimes);
    const given = join(folder, 'in');
    mkdirSync(given);
    await lendPip(pipImage, given, wish.pip, containers, signal);
    const lock = new Lock(wish.pip.lockDir, image, suite, engine.processor);
    const { wheels, present } = await fetchWheels({ base, given, folder, lock, wish }, containers, signal);
    const made = await installWheels(base, given, containers, signal);
    const modules = modulesIn(made.site);
    const before = await engine.images.inspect(image, signal);
    wish.onProgress(`Importing as ${image}`);
    await makeImageOnTop(
      {
        ...{ image, base, folders: { [made.target]: made.site }, env: ENV },
        labels: { [labelName('modules')]: [...new Set([...modulesOf(recipe), ...modules])].join(',') },
      },
      folder,
      engine.buildArgs,
      (args, timeoutMs, ended) => containers.engine(args, timeoutMs, ended),
      signal,
    );
    const found = await engine.images.inspect(image, signal);
    if (found === undefined) throw buildError(`${engine.client.binary} built ${image} but does not find it.`);
    // The image that had the name before is of no more use.
    if (before !== undefined && before.id !== found.id)
      await containers.engine(['rmi', before.id], SHORT_TIMEOUT_MS, signal);
    const packages = wheels.map(({ name, version }) => ({ name, version }));
    const durationMs = performance.now() - startedAt;
    return { image, ...found, durationMs, pip: { packages, present, lockFile: lock.file } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The image of a recipe without packages of pip's, made where it is not there or where the recipe is another one by now. */
async function plainImage(
  wish: Pick<BuildWish, 'profile' | 'suite' | 'added' | 'onProgress' | 'onBytes'>,
  recipe: Recipe,
  suite: string,
  engine: WheelEngine,
  signal: AbortSignal,
): Promise<string> {
  const image = localImageName(recipe, engine.version, suite);
  const { profile, added, onProgress, onBytes } = wish;
  const isThere = (await engine.images.imageId(image, signal)) !== undefined;
  if (isThere && (await imageAge(engine.images, image, signal)) === undefined) return image;
  return (await engine.buildPlain({ profile, suite: wish.suite, added, onProgress, onBytes }, signal)).image;
}

/** Puts into `given` what the containers need besides their image: pip, certificates, and our script. */
async function lendPip(
  pipImage: string,
  given: string,
  { certificatesFile }: PipWish,
  containers: ThrowAways,
  signal: AbortSignal,
): Promise<void> {
  const file = join(sslFolder(given), CERTIFICATES);
  mkdirSync(dirname(file), { recursive: true });
  await containers.with([], [pipImage, 'true'], signal, async (id) => {
    await containers.copy(`${id}:${PIP_FOLDER}`, join(given, 'pip'), signal);
    if (certificatesFile === undefined)
      await containers.copy(`${id}:${SSL_FOLDER}/${CERTIFICATES}`, file, signal);
  });
  if (certificatesFile !== undefined) copyCertificates(certificatesFile, file);
  copyFileSync(join(RECIPE_DIR, SCRIPT), join(given, SCRIPT));
}

/** The folder that stands beside `given` and lies at SSL_FOLDER in the containers. */
const sslFolder = (given: string): string => join(dirname(given), 'ssl');

const placed = (given: string) => ({ [IN]: given, [SSL_FOLDER]: sslFolder(given) });

function copyCertificates(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch (thrown) {
    throw new BridgeError('E_ARGUMENTS', `PIP_CERT: ${from} cannot be read.`, {
      fault: 'operator',
      remedy: 'Set it to a file with certificates in PEM form, or unset it.',
      cause: thrown,
    });
  }
}

const fetched = z.object({ present: z.record(z.string(), z.string().max(100)) });

/** Fetches what the lock says, or what the list comes to, which is locked then. The wheels lie in `given` afterwards. */
async function fetchWheels(
  {
    base,
    given,
    folder,
    lock,
    wish,
  }: {
    readonly base: string;
    readonly given: string;
    readonly folder: string;
    readonly lock: Lock;
    readonly wish: BuildWish & { readonly pip: PipWish };
  },
  containers: ThrowAways,
  signal: AbortSignal,
): Promise<{ readonly wheels: readonly Wheel[]; readonly present: Readonly<Record<string, string>> }> {
  const { requirements } = wish.pip;
  const locked = lock.read();
  if (locked !== undefined) writeFileSync(join(given, 'lock.txt'), locked);
  wish.onProgress(`Fetching ${requirements.join(', ')} from the Python index`);
  const out = join(folder, 'fetched');
  const said = await containers.runScript(
    {
      flags: PIP_VARIABLES.map((name) => `--env=${name}`),
      image: base,
      script: SCRIPT,
      words: ['fetch', ...requirements],
    },
    { given: placed(given), out, timeoutMs: FETCH_TIMEOUT_MS, onLine: (line) => tellStep(line, wish) },
    signal,
  );
  if (said.exitCode !== 0) throw notFetched(said, lock, locked !== undefined);
  const { present } = parseLast(said, fetched);
  const wheels = readWheels(join(out, 'wheels'));
  if (wheels.length === 0)
    throw new BridgeError(
      'E_ARGUMENTS',
      `There is nothing to add: the image has ${inWords(present)} already.`,
      { fault: 'operator', remedy: 'Leave out --pip, or ask for another version.' },
    );
  const text = lockText(wheels);
  if (locked !== undefined && linesOfLock(locked) !== linesOfLock(text))
    throw buildError(`pip fetched other files than ${lock.file} says.`);
  if (locked === undefined) lock.write(text, requirements);
  writeFileSync(join(given, 'lock.txt'), text);
  renameSync(join(out, 'wheels'), join(given, 'wheels'));
  return { wheels, present };
}

/** Tells of the packages that pip has found and fetches; its other lines are for those who look after pip. */
function tellStep(line: string, { onProgress }: Pick<BuildWish, 'onProgress'>): void {
  if (/^(?:Collecting| {2}Downloading) /.test(line)) onProgress(line.trim());
}

const inWords = (versions: Readonly<Record<string, string>>): string =>
  Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');

/** pip finds no package as it was asked for, or the engine starts no container. */
function notFetched(said: ProcessResult, lock: Lock, isLocked: boolean): BridgeError {
  if (said.exitCode >= NOT_STARTED) return buildError(`No container started: ${tailOf(said)}`);
  const [platform = 'this Python'] = /^Python 3\.\d+ on .*$/m.exec(said.stdout) ?? [];
  return new BridgeError('E_ARGUMENTS', whyNoWheels(`${said.stderr}\n${said.stdout}`, platform), {
    fault: 'operator',
    remedy: isLocked
      ? `Delete ${lock.file} to take what the index has now.`
      : 'Only wheels are taken. Ask for another version or package. If the index is out of reach, see PIP_INDEX_URL and PIP_CERT in docs/images.md.',
  });
}

const installed = z.object({ target: z.string().regex(/^\/usr\/local\/lib\/python3\.\d+\/dist-packages$/) });

async function installWheels(
  base: string,
  given: string,
  containers: ThrowAways,
  signal: AbortSignal,
): Promise<{ readonly site: string; readonly target: string }> {
  const out = join(given, '..', 'installed');
  const said = await containers.runScript(
    { flags: ['--network=none'], image: base, script: SCRIPT, words: ['install'] },
    { given: placed(given), out, timeoutMs: INSTALL_TIMEOUT_MS, onLine: () => {} },
    signal,
  );
  if (said.exitCode !== 0) throw buildError(`The packages could not be installed: ${tailOf(said)}`);
  const site = join(out, 'site');
  const findings = makeReadable(site);
  if (findings.length > 0) throw buildError(`The packages would be unsafe: ${findings.join('; ')}.`);
  dropStartFiles(site);
  return { site, target: parseLast(said, installed).target };
}

/** Files that Python runs whenever it starts: in a sandbox that is the harness's own process, before it has closed itself. */
const START_FILES = /(?:\.pth$|^(?:site|user)customize(?:\.|$))/;

/** Removes from a folder of installed packages what Python would run at each start. */
export function dropStartFiles(site: string): void {
  const found = readdirSync(site).filter((name) => START_FILES.test(name));
  for (const name of found) rmSync(join(site, name), { recursive: true });
}

/** Names to import in a folder of installed packages. */
export const modulesIn = (site: string): readonly string[] =>
  readdirSync(site, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('_'))
    .flatMap((entry) => {
      const [name = ''] = entry.name.split('.');
      const isModule = entry.isDirectory() ? entry.name === name : /\.(?:py|so)$/.test(entry.name);
      return isModule && /^[A-Za-z]\w*$/.test(name) ? [name] : [];
    })
    .sort();

/** The JSON in the last line that our script printed; throws E_IMAGE_BUILD for anything else. */
function parseLast<T>(said: ProcessResult, schema: z.ZodType<T>): T {
  const last = said.stdout.trim().split('\n').at(-1) ?? '';
  try {
    return schema.parse(JSON.parse(last));
  } catch (thrown) {
    throw buildError(`The container printed something unexpected: ${tailOf(said)}`, thrown);
  }
}

const buildError = (message: string, cause?: unknown): BridgeError =>
  new BridgeError('E_IMAGE_BUILD', message, {
    fault: 'operator',
    remedy: 'Run the command again; if it fails again, look at what the engine or pip says.',
    cause,
  });

// The lock file of `image build --pip`: name, version and hash of each wheel that an image got, as pip reads them. It lies in
// the state directory, and a second build with the same list takes the same files.

type Wheel = { readonly name: string; readonly version: string; readonly sha256: string };

const WHEEL = /^([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.!+_]*)-[\w.-]+\.whl$/;

/** The wheels in a folder that a container has filled, sorted; throws for whatever else is in there. */
export function readWheels(folder: string): readonly Wheel[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const [, name, version] = WHEEL.exec(file) ?? [];
      const path = join(folder, file);
      if (name === undefined || version === undefined || !lstatSync(path).isFile())
        throw new BridgeError(
          'E_IMAGE_BUILD',
          `pip left ${JSON.stringify(file.slice(0, 80))}, which is no wheel.`,
          {
            fault: 'operator',
          },
        );
      const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
      return { name: normaliseName(name), version, sha256 };
    });
}

/** A lock as pip reads it: a line for each wheel with name, version and hash. */
export const lockText = (wheels: readonly Wheel[]): string =>
  wheels.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`).join('');

const LOCK_LINE = /^[a-z0-9-]+==[A-Za-z0-9.!+_]+ --hash=sha256:[0-9a-f]{64}$/;

/** The lines of a lock without comments, or undefined where one of them is none of ours. */
export function linesOfLock(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.every((line) => LOCK_LINE.test(line)) ? lines.sort().join('\n') : undefined;
}

/** The lock file of one list of packages on one image, in the state directory. It holds for every version of the bridge. */
export class Lock {
  readonly file: string;
  readonly #platform: string;

  constructor(folder: string, image: string, suite: string, processor: string) {
    const { name, additions } = withoutVersion(image);
    this.#platform = `${suite}-${processor}`;
    this.file = join(folder, `${name}-${this.#platform}${additions}.lock`);
  }

  /** Undefined where there is none yet. Throws E_ARGUMENTS for a file that is no lock. */
  read(): string | undefined {
    const text = readText(this.file);
    if (text === undefined) return undefined;
    if (linesOfLock(text) === undefined)
      throw new BridgeError('E_ARGUMENTS', `${this.file} is no lock file.`, {
        fault: 'operator',
        remedy: 'Each line is name==version --hash=sha256:… Delete the file to have it made again.',
      });
    return text;
  }

  write(text: string, requirements: readonly string[]): void {
    const head = `# Made by mcp-sandbox-bridge for --pip '${requirements.join(',')}' on Debian ${this.#platform}.\n# Delete this file to take newer versions.\n`;
    replaceFile(this.file, `${head}${text}`);
  }
}

// Words of pip's, where an error is made of them: pip has no other way to tell why it found no package. Seen with pip 23.0 and
// 25.1. Decides nothing but the wording.

const NOT_FOUND = 'ERROR: Could not find a version that satisfies the requirement ';
/** Stands before the versions that the index has, or `none`; what has no wheel for this Python and platform counts as not there. */
const VERSIONS = '(from versions: ';
const UNREACHED =
  /(?:NewConnectionError|ConnectTimeoutError|NameResolutionError|SSLError|SSLCertVerificationError|ProxyError|ReadTimeoutError|Max retries exceeded)[^\n]*/;
const CONFLICT = /ERROR: (Cannot install [^\n]*)/;
const CHANGED = /DO NOT MATCH THE HASHES/;
const HASH_OF = /^ +(\S+) from /;
const SHOWN_VERSIONS = 5;
const MAX_REASON_CHARS = 300;

/** A sentence that names the package and pip's reason; `platform` is `Python 3.13 on linux amd64`. */
export function whyNoWheels(said: string, platform: string): string {
  const [unreached] = UNREACHED.exec(said) ?? [];
  if (unreached !== undefined)
    return `The Python index cannot be reached: ${clip(unreached, MAX_REASON_CHARS)}`;
  const lines = said.split('\n');
  const notFound = lines.find((line) => line.startsWith(NOT_FOUND) && line.includes(VERSIONS));
  const [wanted] = notFound?.slice(NOT_FOUND.length).split(' ') ?? [];
  const [versions = ''] = notFound?.split(VERSIONS)[1]?.split(')') ?? [];
  if (wanted !== undefined) {
    const known = versions.split(', ').filter((version) => version !== '' && version !== 'none');
    return known.length === 0
      ? `'${wanted}' has no wheel for ${platform}, or the index has no such package.`
      : `'${wanted}' has no such version as a wheel for ${platform}. The newest are ${known.slice(-SHOWN_VERSIONS).join(', ')}.`;
  }
  const [, conflict] = CONFLICT.exec(said) ?? [];
  if (conflict !== undefined) return `pip: ${clip(conflict, MAX_REASON_CHARS)}`;
  if (CHANGED.test(said)) {
    const [, file = 'a package'] = HASH_OF.exec(lines.find((line) => HASH_OF.test(line)) ?? '') ?? [];
    return `The index has other bytes of ${clip(file, MAX_REASON_CHARS)} than the lock file says.`;
  }
  const errors = lines.filter((line) => line.startsWith('ERROR: '));
  return `pip: ${clip((errors.length > 0 ? errors : said.trim().split('\n').slice(-3)).join(' '), MAX_REASON_CHARS)}`;
}

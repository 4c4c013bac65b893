// Makes an image from Debian packages with no registry: mmdebstrap unpacks and trims, we read the archive for what must not be
// there (set-id files, file capabilities and device nodes would be ways to more privilege), the engine imports it. Works as
// root and rootless; the recipe decides what is in the image. Leaves no file behind, also when it fails or is cancelled.

import { chmodSync, copyFileSync, type Dirent, mkdtempSync, promises, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { asBridgeError, BridgeError } from '../../base/errors.js';
import { type ProcessResult, run, tailOf } from '../../base/process/process.js';
import { findClosest } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { PACKAGE_NAME, PACKAGE_ROOT } from '../../base/version.js';
import type { BuildWish, BuiltImage } from '../engine.js';
import { cliNameOf, type EngineClient } from '../machine/place.js';
import { debianSources, readAptFacts } from './apt-sources.js';
import { labelsFor } from './image-labels.js';
import { RECIPE_DIR } from './image-name.js';
import { staleScratch } from './pull-traces.js';
import { CARRIED_TO, localImageName, type Recipe, readRecipe, withPackages } from './recipe.js';

type BuildOptions = BuildWish & {
  readonly client: EngineClient;
  /** Debian's name of the engine's, such as arm64; undefined takes this machine's. */
  readonly architecture: string | undefined;
  readonly version: string;
};

const UNPACK_TIMEOUT_MS = 15 * 60_000;
const IMPORT_TIMEOUT_MS = 5 * 60_000;
const QUERY_TIMEOUT_MS = 30_000;
const STAND_INS = 'stand-ins.sh';
const FURNISH = 'furnish.sh';
/** mmdebstrap removes its half-made tree when told to end; that is a few thousand files. */
const UNPACK_GRACE_MS = 15_000;
// Under /var/tmp since the tree is a few hundred MB and /tmp may be in memory. mmdebstrap's tree must lie where its
// own id range can reach it, which a directory below the user's home seldom is.
export const SCRATCH = '/var/tmp';
export const SCRATCH_PREFIX = `${PACKAGE_NAME}-image-`;
// Newer modification times are set back to this, which leaves two builds from the same packages the same.
const EPOCH_SECONDS = Date.UTC(2024, 0, 1) / 1000;
const REMEDY =
  'Install what it needs (Debian: apt-get install mmdebstrap uidmap podman), or, if a registry can be reached, pull an image: podman pull python:3.14-slim.';

/** Builds and imports; throws E_IMAGE_BUILD with the last lines of whatever failed, or E_CANCELLED. */
export async function buildImage(options: BuildOptions, signal: AbortSignal): Promise<BuiltImage> {
  const startedAt = performance.now();
  const recipe = withPackages(readRecipe(options.profile), options.added ?? []);
  const suite = options.suite ?? recipe.suite;
  const image = localImageName(recipe, options.version, suite);
  for (const stale of staleScratch(SCRATCH, SCRATCH_PREFIX)) await remove(stale, options.client);
  const scratch = mkdtempSync(join(SCRATCH, SCRATCH_PREFIX));
  try {
    using _watch = watchFolder(scratch, options.onBytes);
    options.onProgress(`Installing ${recipe.packages.join(', ')} from Debian ${suite}`);
    const tarFile = await unpack(recipe, suite, scratch, options, signal);
    const findings = await unsafeEntries(tarFile);
    if (findings.length > 0) throw imageBuildError(`The image would be unsafe: ${findings.join('; ')}.`);
    options.onProgress(`Importing as ${image}`);
    const { id, sizeBytes } = await importImage({ recipe, suite, image }, tarFile, options, signal);
    return { image, id, sizeBytes, durationMs: performance.now() - startedAt };
  } catch (thrown) {
    const error = asBridgeError(thrown);
    throw error.code === 'E_PROCESS' ? imageBuildError(error.message, error) : error;
  } finally {
    await remove(scratch, options.client);
  }
}

async function unpack(
  recipe: Recipe,
  suite: string,
  scratch: string,
  { onProgress, architecture }: BuildOptions,
  signal: AbortSignal,
): Promise<string> {
  const tarFile = join(scratch, 'image.tar');
  chmodSync(scratch, 0o755);
  const result = await run(
    await withOwnMounts(
      'mmdebstrap',
      ...recipeOptions(recipe, suite, scratch),
      ...(await aptOptions(signal)),
      // Another processor's programs run here while the image is built, which needs qemu (Debian: qemu-user-static).
      ...(architecture === undefined ? [] : [`--architectures=${architecture}`]),
      suite,
      tarFile,
      ...sourcesFile(suite, scratch),
    ),
    {
      timeoutMs: UNPACK_TIMEOUT_MS,
      graceMs: UNPACK_GRACE_MS,
      env: unpackEnvironment(recipe, suite, scratch),
      onLine: (line) => {
        // Lines that name a path are about its temporary directory.
        if (/^I: [^/]+$/.test(line)) onProgress(line.slice('I: '.length));
      },
    },
    signal,
  );
  if (result.exitCode !== 0) throw await notUnpacked(result, suite, signal);
  return tarFile;
}

/**
 * The argv of a program that has file systems of its own to mount. As root mmdebstrap mounts /proc, /sys and /dev below its
 * tree, and when it is killed they stay, in the way of whoever removes the tree. Unchanged where it is not root, or where
 * that is not allowed.
 */
async function withOwnMounts(
  program: string,
  ...args: readonly string[]
): Promise<readonly [string, ...string[]]> {
  const plain = [program, ...args] as const;
  if (process.getuid?.() !== 0) return plain;
  const { signal } = new AbortController();
  const trial = run(['unshare', '--mount', 'true'], { timeoutMs: QUERY_TIMEOUT_MS }, signal);
  const isAllowed = await trial.then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
  return isAllowed ? ['unshare', '--mount', ...plain] : plain;
}

/**
 * The packages to unpack besides the recipe's own; undefined where packages are installed, with their scripts: the ones that an
 * operator adds may need them, and what the scripts of another release do nobody has looked at.
 */
export const unpackedOf = (
  { unpacked, added, suite: own }: Recipe,
  suite: string,
): readonly string[] | undefined => (added === undefined && suite === own ? unpacked : undefined);

/** Packages that apt takes for installed. What is removed again from others need not be fetched where no script is run. */
const standInsOf = (recipe: Recipe, suite: string): readonly string[] =>
  unpackedOf(recipe, suite) === undefined ? recipe.standIns : [...recipe.standIns, ...recipe.removePackages];

function recipeOptions(recipe: Recipe, suite: string, scratch: string): string[] {
  const unpacked = unpackedOf(recipe, suite);
  const hasStandIns = standInsOf(recipe, suite).length > 0;
  // A root that is only unpacked has no later moment for hooks.
  const [variant, beforeApt, last] =
    unpacked === undefined ? ['essential', 'essential', 'customize'] : ['extract', 'setup', 'extract'];
  const hooks = unpacked === undefined ? recipe.hooks : [FURNISH, ...recipe.hooks];
  return [
    `--mode=${process.getuid?.() === 0 ? 'root' : 'unshare'}`,
    `--variant=${variant}`,
    // Else the package that merges /usr afterwards is drawn in, with all of perl (40 MB).
    '--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr',
    `--include=${[...(unpacked ?? []), ...recipe.packages].join(',')}`,
    ...(hasStandIns ? [`--${beforeApt}-hook=${executableCopy(STAND_INS, scratch)}`] : []),
    ...carryArguments(recipe),
    ...hooks.map((hook) => `--${last}-hook=${executableCopy(hook, scratch)}`),
    // The engine makes /dev; a node in the archive could not be unpacked rootless.
    '--skip=output/dev',
  ];
}

/** Copies one of the recipes' scripts to where mmdebstrap may read it, and gives the path of the copy. */
function executableCopy(script: string, scratch: string): string {
  const copy = join(scratch, script);
  copyFileSync(join(RECIPE_DIR, script), copy);
  chmodSync(copy, 0o755);
  return copy;
}

/** Variables that mmdebstrap and the recipe's scripts read. */
function unpackEnvironment(recipe: Recipe, suite: string, scratch: string): Record<string, string> {
  return {
    TMPDIR: scratch,
    // An ordinary user's may lack sbin, where chroot and ldconfig live.
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    SOURCE_DATE_EPOCH: String(EPOCH_SECONDS),
    IMAGE_STAND_INS: standInsOf(recipe, suite).join('\n'),
    IMAGE_REMOVE_PACKAGES: [...recipe.standIns, ...recipe.removePackages].join('\n'),
    IMAGE_REMOVE_PATHS: recipe.removePaths.join('\n'),
    IMAGE_ENV: Object.entries(recipe.env)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    LC_ALL: 'C.UTF-8',
  };
}

/** mmdebstrap's own way to copy: its tree may lie where no hook can read this package's folder. */
function carryArguments({ carries }: Recipe): string[] {
  if (carries.length === 0) return [];
  const paths = carries.map((path) => `'${join(PACKAGE_ROOT, path)}'`).join(' ');
  return [`--customize-hook=mkdir -p "$1${CARRIED_TO}"`, `--customize-hook=copy-in ${paths} ${CARRIED_TO}`];
}

/** How this machine's apt reaches its mirrors: proxies, and how strictly it reads dates. */
async function aptOptions(signal: AbortSignal): Promise<string[]> {
  const dump = await run(['apt-config', 'dump', 'Acquire'], { timeoutMs: QUERY_TIMEOUT_MS }, signal);
  return dump.stdout
    .split('\n')
    .filter((line) => /^Acquire::(?:https?::Proxy|Check-Valid-Until|Check-Date|Retries) /.test(line))
    .map((line) => `--aptopt=${line}`);
}

/** The argument that makes mmdebstrap use this machine's sources, or nothing where they say nothing of Debian. */
function sourcesFile(suite: string, scratch: string): string[] {
  const sources = debianSources(suite, readAptFacts());
  if (sources === undefined) return [];
  const file = join(scratch, 'debian.sources');
  writeFileSync(file, sources);
  return [file];
}

async function importImage(
  { recipe, suite, image }: { readonly recipe: Recipe; readonly suite: string; readonly image: string },
  tarFile: string,
  { client, version }: BuildOptions,
  signal: AbortSignal,
): Promise<{ id: string; sizeBytes: number }> {
  const before = await inspectImage(client, image, signal);
  const changes = [
    `CMD ${JSON.stringify(recipe.command)}`,
    ...Object.entries(recipe.env).map(([name, value]) => `ENV ${name}=${value}`),
    ...labelsFor(recipe, suite, version).map((label) => `LABEL ${label}`),
  ];
  const imported = await run(
    [client.binary, 'import', ...changes.flatMap((change) => ['--change', change]), tarFile, image],
    { timeoutMs: IMPORT_TIMEOUT_MS, env: client.env },
    signal,
  );
  if (imported.exitCode !== 0) throw imageBuildError(`${client.binary} import failed: ${tailOf(imported)}`);
  const after = await inspectImage(client, image, signal);
  if (after === undefined) throw imageBuildError(`${client.binary} imported ${image} but does not find it.`);
  if (before !== undefined && before.id !== after.id) {
    // The image that had the name before is of no more use; containers that still run on it keep it.
    await run([client.binary, 'rmi', before.id], { timeoutMs: QUERY_TIMEOUT_MS, env: client.env }, signal);
  }
  return after;
}

/** Id and size of a local image, or undefined. */
export async function inspectImage(
  { binary, env }: EngineClient,
  image: string,
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly sizeBytes: number } | undefined> {
  const result = await run(
    [binary, 'image', 'inspect', '--format', '{{.Id}} {{.Size}}', image],
    { timeoutMs: QUERY_TIMEOUT_MS, env },
    signal,
  );
  const [id, size] = result.stdout.trim().split(' ');
  if (result.exitCode !== 0 || id === undefined) return undefined;
  return { id, sizeBytes: await layerBytes({ binary, env }, image, Number(size), signal) };
}

/**
 * Bytes of the layers of a local image; `inspectedBytes`, which the engine says of the whole, where it names no layers. A
 * rootless podman copies a layer for the ids of a container, keeps the copy, and from then on counts it with the image; the
 * layers themselves stay as large as they were.
 */
async function layerBytes(
  { binary, env }: EngineClient,
  image: string,
  inspectedBytes: number,
  signal: AbortSignal,
): Promise<number> {
  if (cliNameOf(binary) !== 'podman') return inspectedBytes;
  const options = { timeoutMs: QUERY_TIMEOUT_MS, env };
  const { exitCode, stdout } = await run([binary, 'history', '--format', 'json', image], options, signal);
  return (exitCode === 0 ? sumOfLayers(stdout) : undefined) ?? inspectedBytes;
}

function sumOfLayers(json: string): number | undefined {
  try {
    const layers: unknown = JSON.parse(json);
    if (!Array.isArray(layers)) return undefined;
    const sum = layers.reduce((bytes: number, layer) => bytes + Number(Object(layer).size), 0);
    return sum > 0 ? sum : undefined;
  } catch {
    return undefined;
  }
}

async function notUnpacked(result: ProcessResult, suite: string, signal: AbortSignal): Promise<BridgeError> {
  const unknown = await unknownPackageError(result, suite, signal);
  return unknown ?? imageBuildError(`mmdebstrap failed: ${tailOf(result)}`);
}

async function remove(scratch: string, { binary, env }: EngineClient): Promise<void> {
  try {
    rmSync(scratch, { recursive: true, force: true });
  } catch {
    // Killed in the middle, a rootless mmdebstrap leaves files of its sub-ids, which only their namespace may remove.
    const { signal } = new AbortController();
    await run([binary, 'unshare', 'rm', '-rf', scratch], { timeoutMs: QUERY_TIMEOUT_MS, env }, signal);
  }
}

function imageBuildError(message: string, cause?: unknown): BridgeError {
  return new BridgeError('E_IMAGE_BUILD', message, { fault: 'operator', remedy: REMEDY, cause });
}

/** How often somebody is told what a folder holds while it is being filled. */
const TELL_EVERY_MS = 1_500;

/** Bytes of all files below `folder` that this user can see; what vanishes meanwhile counts nothing. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await promises.readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  let sum = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += await folderBytes(path);
    else if (entry.isFile()) sum += (await promises.lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return sum;
}

/** Tells the size of `folder` again and again until it is disposed of. */
function watchFolder(folder: string, tell: ((bytes: number) => void) | undefined): Disposable {
  if (tell === undefined) return { [Symbol.dispose]: () => {} };
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async () => {
    const bytes = await folderBytes(folder);
    if (isOver) return;
    tell(bytes);
    timer = setTimeout(look, TELL_EVERY_MS);
  };
  timer = setTimeout(look, TELL_EVERY_MS);
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** Limit for the names of all packages, which apt reads from one file. */
const NAMES_TIMEOUT_MS = 10_000;
const UNKNOWN_PACKAGE =
  /^E: (?:Unable to locate package|Package|No packages found for) '?([a-z0-9][a-z0-9+.-]*)/gm;

/** The packages that apt did not find, in the words of mmdebstrap's output. */
export const unknownPackages = (output: string): readonly string[] => [
  ...new Set([...output.matchAll(UNKNOWN_PACKAGE)].flatMap(([, name]) => (name === undefined ? [] : [name]))),
];

/**
 * The error for apt's words where a package does not exist: names the package and the nearest that do, from this machine's
 * own lists of packages. The lists may be of another release of Debian, so they suggest and decide nothing. Undefined where apt
 * complains of something else.
 */
async function unknownPackageError(
  { stderr }: Pick<ProcessResult, 'stderr'>,
  suite: string,
  signal: AbortSignal,
): Promise<BridgeError | undefined> {
  const unknown = unknownPackages(stderr);
  if (unknown.length === 0) return undefined;
  const known = await knownPackages(signal);
  const sentences = unknown.map((name) => {
    const near = nearestPackage(name, known);
    return `Debian ${suite} has no package '${name}'.${near === undefined ? '' : ` Did you mean '${near}'?`}`;
  });
  return new BridgeError('E_ARGUMENTS', sentences.join(' '), {
    fault: 'operator',
    remedy:
      'Correct the name in --with. Most Python libraries are called python3-<name> in Debian; `apt-cache search <word>` finds others.',
  });
}

/** Debian has 60,000 names: a word of six letters has a neighbour at one edit, which is another program. */
const CHARS_PER_DEBIAN_EDIT = 8;

/** A library's own name comes first, as pip knows it: Debian's has `python3-` in front of it. */
export function nearestPackage(name: string, known: ReadonlySet<string>): string | undefined {
  const prefixed = `python3-${name}`;
  if (known.has(prefixed)) return prefixed;
  return findClosest(name, known, (chars) => Math.floor(chars / CHARS_PER_DEBIAN_EDIT));
}

async function knownPackages(signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const listed = await run(['apt-cache', 'pkgnames'], { timeoutMs: NAMES_TIMEOUT_MS }, signal);
    return new Set(listed.stdout.split('\n').filter((name) => name !== ''));
  } catch {
    // No apt here: the sentence goes without a suggestion.
    return new Set();
  }
}

const BLOCK = 512;
const SET_ID = 0o6000;
/** A header that precedes a file (long name, extended attributes) is small; a bigger one is no honest archive. */
const MAX_EXTENSION_BYTES = MB_BYTES;
const DEVICE_TYPES = new Set(['3', '4']);
const EXTENSION_TYPES = new Set(['x', 'g', 'L', 'K']);

/** One sentence per entry that an image must not hold, naming its path. */
export async function unsafeEntries(tarFile: string): Promise<string[]> {
  const findings: string[] = [];
  await using file = await open(tarFile);
  const block = Buffer.alloc(BLOCK);
  let extensions = '';
  let entries = 0;
  for (let position = 0; (await file.read(block, 0, BLOCK, position)).bytesRead === BLOCK; ) {
    if (block.every((byte) => byte === 0)) break;
    const type = String.fromCharCode(block[156] ?? 0);
    const size = numberAt(block, 124, 12);
    if (EXTENSION_TYPES.has(type)) {
      extensions += await contentOf(file, position + BLOCK, size);
    } else {
      entries += 1;
      const name = nameOf(block, extensions);
      if ((numberAt(block, 100, 8) & SET_ID) !== 0) findings.push(`${name} is set-id`);
      if (DEVICE_TYPES.has(type)) findings.push(`${name} is a device node`);
      if (extensions.includes('security.capability')) findings.push(`${name} has file capabilities`);
      extensions = '';
    }
    position += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (entries === 0) findings.push('the archive is empty');
  return findings;
}

async function contentOf(file: FileHandle, position: number, size: number): Promise<string> {
  if (size > MAX_EXTENSION_BYTES) throw new RangeError(`tar extension header of ${size} bytes`);
  const { buffer } = await file.read(Buffer.alloc(size), 0, size, position);
  return buffer.toString('utf8');
}

function nameOf(block: Buffer, extensions: string): string {
  const extended = /(?:^|\n)\d+ path=([^\n]*)/.exec(extensions)?.[1];
  return extended ?? textAt(block, 0, 100);
}

function textAt(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

// Octal text, or big-endian binary when the first bit is set (GNU tar, for sizes from 8 GiB).
function numberAt(block: Buffer, offset: number, length: number): number {
  if (((block[offset] ?? 0) & 0x80) !== 0) return block.readUIntBE(offset + length - 6, 6);
  return Number.parseInt(textAt(block, offset, length).trim() || '0', 8);
}

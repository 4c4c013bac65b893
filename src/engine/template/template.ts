// One template: a container of the bridge's that the engine has started like any other, with the walls of a profile, and that
// waits as a sandbox waits for its run. It ends when its input does, so with the bridge, and the engine removes it. As long as it
// runs, sandboxes of its profile are started from its configuration and its root. The first one is a trial, and is held
// against the template itself.

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { readText } from '../../base/files/read-text.js';
import { run } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import type { OtherLaunchParts } from '../client/cli-engine.js';
import type { Container, SandboxSpec } from '../engine.js';
import { isNoted, notesIn, runtimeFileIn } from '../machine/bundles.js';
import { CONTROLS, groupLimit } from '../machine/enforcement.js';
import { monitorOf } from '../machine/first-process.js';
import { bundleIn, runtimeWords } from './clock.js';
import {
  configFor,
  type InnerUser,
  isBySystemd,
  listFor,
  type OciConfig,
  ownFiles,
  parseConfig,
  whyUnfit,
} from './oci-config.js';
import { emptyIn, TemplateContainer } from './template-container.js';

const GREETS_WITHIN_MS = 60_000;
const READ_WITHIN_MS = 15_000;
const MAX_SAID_CHARS = 1_000;
/** How long a control group may be there after its sandbox: systemd removes it in its own time. */
const REMOVED_WITHIN_MS = 5_000;
const REMOVED_POLL_MS = 50;

/** A file that the engine has made for the container; its owner as the engine's own OCI runtime sees it. */
type OwnFile = { readonly bytes: Buffer; readonly uid: number; readonly gid: number; readonly mode: number };

export class Template implements AsyncDisposable {
  readonly #parts: OtherLaunchParts;
  readonly #container: Container;
  readonly #id: string;
  readonly #config: OciConfig;
  readonly #files: ReadonlyMap<string, OwnFile>;
  readonly #enter: readonly string[];
  /** At the latest when the engine's own clock for it began to run. */
  readonly #madeAt: number;
  readonly #livesMs: number;

  private constructor(
    parts: OtherLaunchParts,
    { container, madeAt, livesMs }: UntriedTemplate,
    { id, config, files, enter }: Found,
  ) {
    this.#parts = parts;
    this.#container = container;
    this.#madeAt = madeAt;
    this.#livesMs = livesMs;
    this.#id = id;
    this.#config = config;
    this.#files = files;
    this.#enter = enter;
  }

  /** Made, and tried by a sandbox that greets. Throws what stands in the way. */
  static async make(parts: OtherLaunchParts, spec: SandboxSpec): Promise<Template> {
    const madeAt = performance.now();
    const container = parts.startByClient(spec);
    try {
      await greeting(container);
      const waiting = { container, madeAt, livesMs: spec.deadManSeconds * 1000 };
      const template = new Template(parts, waiting, await look(parts, container));
      await template.#try(spec);
      return template;
    } catch (thrown) {
      await container[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** False when somebody has ended or removed it. */
  get isRunning(): boolean {
    return this.#container.isRunning;
  }

  /** Time until it has lived for this part of the time that the engine gives it; negative afterwards. */
  msUntil(part: number): number {
    return this.#madeAt + part * this.#livesMs - performance.now();
  }

  /** A sandbox with the walls of the template, called as `spec` says. Throws E_STATE, as a full disk does. */
  start({
    name,
    user: said,
    deadManSeconds: seconds,
  }: Pick<SandboxSpec, 'name' | 'user' | 'deadManSeconds'>): Container {
    const { runtime } = this.#parts;
    const [uid = 0, gid = 0] = said.split(':').map(Number);
    const user = { uid, gid };
    const runDir = this.#parts.runDir();
    const systemd = isBySystemd(this.#config);
    const notes = notesIn(runDir);
    const bundle = bundleIn(runDir, name);
    mkdirSync(notes, { recursive: true, mode: 0o700 });
    mkdirSync(emptyIn(bundle), { recursive: true, mode: 0o755 });
    writeFileSync(runtimeFileIn(notes), runtimeWords(runtime, systemd).join('\n'));
    for (const [path, file] of this.#files) {
      const bytes = isListOfUsers(path) ? this.#listFor(file, user) : file.bytes;
      writeOwn(placeIn(bundle, path), file, bytes, !this.#parts.isRootless);
    }
    const placeOf = (path: string): string => placeIn(bundle, path);
    const config = configFor(this.#config, { id: this.#id, name, user, placeOf });
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    const group = systemd ? '' : (config.linux.cgroupsPath ?? '');
    const root = this.#config.root.path;
    // Only where the engine works can a rootless one's files be given away.
    const owner = this.#parts.isRootless ? (ownersOf(this.#files)[0] ?? '') : '';
    const where = { notes, root, bundle, owner, group, seconds, name };
    return new TemplateContainer({ enter: this.#enter, runtime, isBySystemd: systemd, ...where }, runDir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#container[Symbol.asyncDispose]();
  }

  /** Runs a script about all tmpfs where the engine works, with their places behind `words`; resolves to what it prints. */
  async #atPlaces(script: string, ...words: ReadonlyArray<string | number | undefined>): Promise<string> {
    const places = this.#config.mounts
      .filter(({ type }) => type === 'tmpfs')
      .map(({ destination }) => destination);
    const argv = [...this.#enter, 'sh', '-c', script, 'sh', ...words.map(String), ...places];
    const [program = '', ...args] = argv;
    const options = { timeoutMs: READ_WITHIN_MS };
    const { exitCode, stdout, stderr } = await run([program, ...args], options, new AbortController().signal);
    if (exitCode !== 0) throw unfitError(stderr.trim());
    return stdout;
  }

  #listFor({ bytes }: OwnFile, user: InnerUser): Buffer | string {
    return listFor(bytes.toString('utf8'), this.#config.process.user, user);
  }

  /** Throws where no sandbox starts from it, or where one is not held as the template itself is. */
  async #try(spec: SandboxSpec): Promise<void> {
    await this.#atPlaces(SET_MODES, this.#container.pid, this.#config.root.path);
    const name = `${spec.name}-trial`;
    let groups: readonly string[] = [];
    {
      await using trial = this.start({ ...spec, name });
      await greeting(trial);
      const [ours, engines] = [trial.pid, this.#container.pid];
      if (ours === undefined || engines === undefined) throw unfitError('it has ended');
      const difference = firstDifference(engines, ours);
      if (difference !== undefined)
        throw unfitError(`what the kernel says of a sandbox from it differs: ${difference}`);
      const [theirModes, ourModes] = await Promise.all([
        this.#atPlaces(TELL_MODES, engines),
        this.#atPlaces(TELL_MODES, ours),
      ]);
      if (theirModes !== ourModes)
        throw unfitError(
          `who may write where differs in a sandbox from it: ${clip(ourModes, MAX_SAID_CHARS)}`,
        );
      groups = ownGroups(ours, name);
    }
    if (isNoted(notesIn(this.#parts.runDir()), name)) throw unfitError('a sandbox from it cannot be removed');
    const left = await firstLeft(groups);
    if (left !== undefined) throw unfitError(`a sandbox from it leaves its control group: ${left}`);
  }
}

/**
 * A folder that the OCI runtime has made in the template's root, to mount a tmpfs there, is one that runc finds in a sandbox's root; then
 * it gives the tmpfs that folder's mode, and not the one that was asked for. So the folder gets the mode that the tmpfs has.
 */
const SET_MODES = `
pid=$1 root=$2
shift 2
for place; do
  [ "$(realpath "$root$place")" = "$root$place" ] && [ -d "$root$place" ] || continue
  chmod "$(stat -c %a "/proc/$pid/root$place")" "$root$place" || exit
done`;
/** Tells mode and owner of each place in the container of the first process $1. */
const TELL_MODES = `
pid=$1
shift
for place; do echo "$place $(stat -c '%a %u %g' "/proc/$pid/root$place")"; done`;

/** A template before it has been looked at. */
type UntriedTemplate = { readonly container: Container; readonly madeAt: number; readonly livesMs: number };

/** Folders of the control groups that hold the sandbox `name`, of the first process `pid`, and no other. */
const ownGroups = (pid: number, name: string): readonly string[] =>
  CONTROLS.flatMap((control) => groupLimit(pid, control)?.dir ?? []).filter((dir) => dir.includes(name));

/** The first of these folders that is not removed soon; undefined where all are. */
async function firstLeft(folders: readonly string[]): Promise<string | undefined> {
  const until = performance.now() + REMOVED_WITHIN_MS;
  for (;;) {
    const left = folders.find((folder) => existsSync(folder));
    if (left === undefined || performance.now() > until) return left;
    await sleep(REMOVED_POLL_MS);
  }
}

const unfitError = (why: string): BridgeError => new BridgeError('E_SANDBOX_START', why, { fault: 'engine' });

/** A running program of the engine's leads to where it works. */
const enterAt = (pid: number): readonly string[] => [
  'nsenter',
  ...['--preserve-credentials', '--user', '--mount', '--target', String(pid), '--'],
];

const placeIn = (bundle: string, path: string): string => join(bundle, `own-${basename(path)}`);

/** All that sandboxes need to know of the container that is their template. */
type Found = {
  readonly id: string;
  readonly config: OciConfig;
  readonly files: ReadonlyMap<string, OwnFile>;
  readonly enter: readonly string[];
};

/** Throws where no sandbox can be made of it. */
async function look(parts: OtherLaunchParts, { name, pid }: Container): Promise<Found> {
  const { id, configPath, root } = await parts.inspect(name);
  if (pid === undefined) throw unfitError('its first process cannot be seen');
  const enter = parts.isRootless ? enterAt(monitorOf(pid).pid) : [];
  const config = parseConfig((await ownFileAt(configPath, enter)).bytes.toString('utf8'));
  const unfit = whyUnfit(config, id);
  if (unfit !== undefined) throw unfitError(unfit);
  if (config.root.path !== root) throw unfitError('its root is not where the engine has mounted it');
  const paths = ownFiles(config, id);
  const read = paths.map(async (path) => [path, await ownFileAt(path, enter)] as const);
  const files = new Map(await Promise.all(read));
  if (parts.isRootless && ownersOf(files).length > 1)
    throw unfitError('the files that the engine has made for it have several owners');
  return { id, config, files, enter };
}

const ownersOf = (files: ReadonlyMap<string, OwnFile>): readonly string[] => [
  ...new Set([...files.values()].map(({ uid, gid }) => `${uid}:${gid}`)),
];

/** Tells owner and mode of the file $0 and what is in it. */
const TELL_FILE = 'stat -c "%u %g %a" "$0" && base64 "$0"';

/** A rootless engine's files may be those of another id, which only reads them where the engine works. */
async function ownFileAt(path: string, enter: readonly string[]): Promise<OwnFile> {
  const [program, ...args] = enter;
  if (program === undefined) {
    const { uid, gid, mode } = statSync(path);
    return { bytes: readFileSync(path), uid, gid, mode };
  }
  const argv = [program, ...args, 'sh', '-c', TELL_FILE, path] as const;
  const { exitCode, stdout, stderr } = await run(
    argv,
    { timeoutMs: READ_WITHIN_MS },
    new AbortController().signal,
  );
  if (exitCode !== 0) throw unfitError(stderr.trim());
  const [told = '', ...base64] = stdout.split('\n');
  const [uid = 0, gid = 0] = told.split(' ').map(Number);
  const mode = Number.parseInt(told.split(' ')[2] ?? '', 8);
  return { bytes: Buffer.from(base64.join(''), 'base64'), uid, gid, mode };
}

const isListOfUsers = (path: string): boolean => ['passwd', 'group'].includes(basename(path));

function writeOwn(
  path: string,
  { uid, gid, mode }: OwnFile,
  bytes: Buffer | string,
  givesAway: boolean,
): void {
  writeFileSync(path, bytes);
  chmodSync(path, mode & 0o777);
  if (givesAway) chownSync(path, uid, gid);
}

/** A container that waits greets by a line of JSON on one of its streams; an engine and a runtime complain by other lines. */
const GREETING = /^\{/m;

/** Resolves when it has greeted; throws with what was said on its streams where it ends before, or does not. */
async function greeting({ stdout, stderr, exited }: Container): Promise<void> {
  let said = '';
  const greeted = new Promise<boolean>((resolve) => {
    for (const stream of [stdout, stderr])
      stream.on('data', (chunk: Buffer) => {
        if (said.length < MAX_SAID_CHARS) said += chunk.toString();
        if (GREETING.test(said)) resolve(true);
      });
  });
  const late = new Promise<boolean>((resolve) => {
    setTimeout(() => resolve(false), GREETS_WITHIN_MS).unref();
  });
  const isGreeted = await Promise.race([greeted, late, exited.then(() => false)]);
  if (!isGreeted) throw unfitError(said.trim() || 'it did not greet');
}

// Walls of a container as the kernel tells them of its first process, so that one from a template can be held against the engine's
// own: the two were started from the same walls, and must have them. Linux only.

/** Lines of /proc/PID/status that are a wall. */
const STATUS = /^(?:Uid|Gid|Groups|Umask|Cap\w+|NoNewPrivs|Seccomp\w*):/;
const NAMESPACES = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];

/** Each wall of the container of the first process `pid`, by its name; equal for containers that are held alike. */
function wallsSeen(pid: number): ReadonlyMap<string, string> {
  const text = (name: string): string => readText(`/proc/${pid}/${name}`) ?? '';
  const status = text('status')
    .split('\n')
    .filter((line) => STATUS.test(line))
    .join('\n');
  return new Map([
    ['ids, capabilities and seccomp', status],
    ['limits of processes', text('limits')],
    ['users', text('uid_map')],
    ['groups', text('gid_map')],
    ['security label', text('attr/current')],
    ['order of memory kills', text('oom_score_adj')],
    ['mounts', mountsIn(text('mountinfo'))],
    ...CONTROLS.map((control) => [`${control} limit`, String(groupLimit(pid, control)?.value)] as const),
  ]);
}

/** File systems that the kernel makes of itself: what is mounted of them is no file that anybody has written. */
const OF_KERNEL = ['cgroup', 'cgroup2', 'devtmpfs', 'proc', 'sysfs'];

/**
 * Where something is mounted, what, and how. Of the root only that it is read-only, since a sandbox's is another mount on the
 * same files; and not which file of the host it is, nor what that lies on, since a sandbox has files of its own: an ordinary
 * user's engine keeps its files on a tmpfs.
 */
const mountsIn = (mountinfo: string): string =>
  mountinfo
    .split('\n')
    .flatMap((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', target = '', options = ''] = before.split(' ');
      const [type = '', , superOptions = ''] = after.split(' ');
      if (target === '') return [];
      if (target === '/') return [`/ ${options.split(',').includes('ro') ? 'ro' : 'rw'}`];
      const what = root === '/' || OF_KERNEL.includes(type) ? type : 'a file or folder';
      return [[target, options, what, what === 'tmpfs' ? superOptions : ''].join(' ')];
    })
    .sort()
    .join('\n');

/**
 * The first wall of `ours` that is not as the engine's container has it, with the lines that only one of the two has, or that is
 * shared; undefined where there is none.
 */
function firstDifference(engines: number, ours: number): string | undefined {
  const [theirs, own] = [wallsSeen(engines), wallsSeen(ours)];
  for (const [wall, value] of theirs) {
    const now = own.get(wall) ?? '';
    if (now !== value) return `${wall} (${onlyIn(now, value)}, and not ${onlyIn(value, now)})`;
  }
  const shared = NAMESPACES.find((name) => {
    const inner = namespaceOf(ours, name);
    return inner === '' || inner === namespaceOf(engines, name) || inner === namespaceOf('self', name);
  });
  return shared && `the ${shared} namespace`;
}

/** Lines of `text` that `other` has not. */
function onlyIn(text: string, other: string): string {
  const others = new Set(other.split('\n'));
  return (
    text
      .split('\n')
      .filter((line) => !others.has(line))
      .join('; ') || 'nothing'
  );
}

/** '' where it cannot be read. */
function namespaceOf(pid: number | 'self', name: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${name}`);
  } catch {
    return '';
  }
}

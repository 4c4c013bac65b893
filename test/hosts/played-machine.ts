// A machine of any system in a temporary folder, with the fixture homes of test/fixtures/homes written into it. A path of
// Windows is one long file name elsewhere, so there the folder becomes the current one, and each folder of such a path
// is made as well, for whoever lists it. What belongs to the machine and not to the user lies below the folder too.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { type DiscoverContext, type Discovery, discover } from '../../src/hosts/discovery/discover.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { SOURCES } from '../../src/hosts/records/all-hosts.js';
import type { Source } from '../../src/hosts/terms/host.js';

const HOMES = fileURLToPath(new URL('../fixtures/homes', import.meta.url));
export const PLATFORMS = ['linux', 'darwin', 'win32'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** What is expected of an entry; what a ready one does not name is as if nothing had been written. */
export type Expected = { readonly name: string; readonly scope?: string } & (
  | { readonly skipped: string }
  | ({
      readonly description?: string;
      readonly callTimeoutMs?: number;
      readonly startTimeoutMs?: number;
      readonly only?: readonly string[];
      readonly except?: readonly string[];
    } & (
      | { readonly argv: readonly string[]; readonly env?: Record<string, string>; readonly cwd?: string }
      | {
          /** Or several, with `|` between them, where documentation does not tell them apart. */
          readonly transport: string;
          readonly url: string;
          readonly headers?: Record<string, string>;
          readonly headersHelper?: string;
          readonly oauth?: object | false;
        }
    ))
);

export type Fixture = {
  readonly id: string;
  readonly host: string;
  readonly env: Readonly<Record<string, string>>;
  /** Each with its place: `~/` in the home, `./` in the project; where it differs, by platform. */
  readonly files: ReadonlyArray<{
    readonly file: string;
    readonly at: string | Partial<Record<Platform, string>>;
  }>;
  readonly expected: readonly Expected[];
};

export const FIXTURES: readonly Fixture[] = readdirSync(HOMES)
  .sort()
  .map((id) => ({ id, ...JSON.parse(readFileSync(join(HOMES, id, 'fixture.json'), 'utf8')) }));

export const fixture = (id: string): Fixture => {
  const found = FIXTURES.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no fixture ${id}`);
  return found;
};

export const isFor = ({ files }: Fixture, platform: Platform): boolean =>
  files.some(({ at }) => typeof at === 'string' || at[platform] !== undefined);

export class PlayedMachine implements Disposable {
  readonly platform: Platform;
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'bridge-machine-')));
  readonly home: string;
  readonly cwd: string;
  readonly events: BridgeEvent[] = [];
  env: Record<string, string> = {};
  settings: DiscoverContext['settings'] = {
    serversConfig: [],
    allowSelfServer: false,
    trustProject: false,
    depth: 0,
  };
  readonly #before = process.cwd();
  /** What lay at a path before it was written or removed, undefined where nothing did. */
  #replaced: Map<string, { readonly content: Buffer; readonly mode: number } | undefined> | undefined;

  constructor(platform: Platform) {
    this.platform = platform;
    const { sep } = this.rules;
    this.home = { linux: `${this.root}/home/ann`, darwin: `${this.root}/Users/ann`, win32: 'C:\\Users\\ann' }[
      platform
    ];
    this.cwd = `${this.home}${sep}project`;
    if (platform === 'win32') {
      process.chdir(this.root);
      this.env = {
        APPDATA: `${this.home}\\AppData\\Roaming`,
        LOCALAPPDATA: `${this.home}\\AppData\\Local`,
        ProgramData: 'C:\\ProgramData',
        USERPROFILE: this.home,
      };
    }
    this.#makeFolder(this.cwd);
  }

  get rules(): typeof posix {
    return this.platform === 'win32' ? win32 : posix;
  }

  /** Where `~/x`, `./x` or, of the machine, `/x` lies here. */
  path(at: string): string {
    const { rules } = this;
    if (at.startsWith('~/')) return rules.join(this.home, at.slice(2));
    if (at.startsWith('./')) return rules.join(this.cwd, at.slice(2));
    return this.platform === 'win32' ? at : join(this.root, at);
  }

  /** Writes text, or a value as JSON; returns the path. */
  write(at: string, content: unknown, mode = 0o644): string {
    const file = this.path(at);
    this.#makeFolder(this.rules.dirname(file));
    this.#listIn(file);
    this.#remember(this.#real(file));
    writeFileSync(this.#real(file), typeof content === 'string' ? content : JSON.stringify(content), {
      mode,
    });
    chmodSync(this.#real(file), mode);
    return file;
  }

  remove(at: string): void {
    const file = this.path(at);
    for (const path of [this.#real(file), ...this.#listed(file)]) {
      this.#remember(path);
      rmSync(path);
    }
  }

  /** Returns what puts files, environment and settings back to how they are now. */
  checkpoint(): () => void {
    const { env, settings } = this;
    const replaced = new Map();
    this.#replaced = replaced;
    return () => {
      for (const [path, before] of replaced) {
        rmSync(path, { force: true });
        if (before !== undefined) writeFileSync(path, before.content, { mode: before.mode });
      }
      this.#replaced = undefined;
      Object.assign(this, { env, settings });
      this.events.length = 0;
    };
  }

  /** Puts the fixture's files into their places, and its variables into the environment. */
  add({ id, files, env }: Fixture): void {
    this.env = { ...this.env, ...env };
    for (const { file, at } of files) {
      const place = typeof at === 'string' ? at : at[this.platform];
      if (place !== undefined) this.write(place, this.#filled(readFileSync(join(HOMES, id, file), 'utf8')));
    }
  }

  /** What is expected of the fixture on this machine, with its paths. */
  expectedOf({ expected }: Fixture): readonly Expected[] {
    const text = JSON.stringify(expected)
      .replaceAll('{HOME}', escaped(this.home))
      .replaceAll('{PROJECT}', escaped(this.cwd))
      .replaceAll('{DISK}', this.platform === 'win32' ? 'C:' : '')
      .replaceAll('{/}', escaped(this.rules.sep));
    return JSON.parse(text) as readonly Expected[];
  }

  discover(cwd = this.cwd): Discovery {
    const { home, platform } = this;
    const uid = platform === 'win32' ? undefined : process.getuid?.();
    const host = { home, platform, cores: 4, cwd, uid, exists: existsSync };
    const sources = SOURCES.map((source) => this.#moved(source));
    return discover(
      { settings: this.settings, env: this.env, host },
      (event) => this.events.push(event),
      sources,
    );
  }

  /** What lies at the machine's own places is looked for below our folder; other sources stay the objects they are. */
  #moved(source: Source): Source {
    const places = Object.entries(source.files);
    if (!places.some(([, patterns]) => patterns.some((pattern) => pattern.startsWith('/')))) return source;
    const below = (pattern: string) => (pattern.startsWith('/') ? join(this.root, pattern) : pattern);
    return {
      ...source,
      files: Object.fromEntries(places.map(([system, patterns]) => [system, patterns.map(below)])),
    };
  }

  [Symbol.dispose](): void {
    process.chdir(this.#before);
    rmSync(this.root, { recursive: true, force: true });
  }

  // Claude Code writes the folders of projects with slashes on every system.
  #filled(text: string): string {
    return text
      .replaceAll('{PROJECT/}', this.cwd.replaceAll('\\', '/'))
      .replaceAll('{PROJECT}', escaped(this.cwd))
      .replaceAll('{HOME}', escaped(this.home));
  }

  #real(path: string): string {
    return this.platform === 'win32' ? join(this.root, path) : path;
  }

  #makeFolder(folder: string): void {
    if (existsSync(this.#real(folder))) return;
    mkdirSync(this.#real(folder), { recursive: true });
    const parent = this.rules.dirname(folder);
    if (this.platform !== 'win32' || parent === folder) return;
    this.#makeFolder(parent);
    mkdirSync(join(this.#real(parent), win32.basename(folder)), { recursive: true });
  }

  #listIn(file: string): void {
    for (const path of this.#listed(file)) {
      this.#remember(path);
      writeFileSync(path, '');
    }
    if (this.platform !== 'win32') mkdirSync(dirname(file), { recursive: true });
  }

  /** The entry of a file of Windows in its folder. */
  #listed(file: string): readonly string[] {
    return this.platform === 'win32' ? [join(this.#real(win32.dirname(file)), win32.basename(file))] : [];
  }

  #remember(path: string): void {
    if (this.#replaced === undefined || this.#replaced.has(path)) return;
    const isThere = existsSync(path);
    this.#replaced.set(
      path,
      isThere ? { content: readFileSync(path), mode: statSync(path).mode & 0o777 } : undefined,
    );
  }
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A spec in the words of `Expected`, whole. Slashes are of one kind: Windows takes both. */
export function inWords(spec: DownstreamSpec): object {
  const { name, description, callTimeoutMs, startTimeoutMs, toolFilter } = spec;
  const own =
    spec.transport === 'stdio'
      ? { argv: [spec.command, ...spec.args], env: spec.env, cwd: spec.cwd }
      : {
          transport: spec.transport,
          url: spec.url,
          headers: spec.headers,
          headersHelper: spec.headersHelper,
        };
  return alike({ name, description, callTimeoutMs, startTimeoutMs, ...toolFilter, ...own });
}

/** The same of an expectation of something ready. */
export function wholeOf(expected: Expected): object {
  if ('skipped' in expected) throw new Error(`${expected.name} is expected to be skipped`);
  const { scope: _scope, ...said } = expected;
  const common = { description: '', callTimeoutMs: undefined, startTimeoutMs: undefined };
  const filter = { only: undefined, except: [] };
  if ('argv' in said) return alike({ ...common, ...filter, env: {}, cwd: undefined, ...said });
  const { oauth: _oauth, ...remote } = said;
  return alike({ ...common, ...filter, headers: {}, headersHelper: undefined, ...remote });
}

const alike = (value: object): object =>
  JSON.parse(
    JSON.stringify(value, (_key, text) => (typeof text === 'string' ? text.replaceAll('\\', '/') : text)),
  );

// A user's machine in a temporary folder: a home, a project in it, and what discovery asks of them.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BridgeEvent } from '../../src/base/log/events.js';
import {
  type DiscoverContext,
  type Discovery,
  discover,
  type LastGoodFiles,
} from '../../src/hosts/discovery/discover.js';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import type { DownstreamSpec, RemoteSpec, StdioSpec } from '../../src/hosts/downstream-spec.js';
import { SOURCES } from '../../src/hosts/records/all-hosts.js';
import type { HostFacts } from '../../src/settings/files/host-facts.js';

/** The spec as that of a program; throws for a remote one. */
export function stdio(spec: DownstreamSpec | undefined): StdioSpec {
  if (spec?.transport !== 'stdio') throw new Error(`no program: ${spec?.transport}`);
  return spec;
}

/** The spec as that of a remote server; throws for a program. */
export function remote(spec: DownstreamSpec | undefined): RemoteSpec {
  if (spec === undefined || spec.transport === 'stdio') throw new Error(`not remote: ${spec?.transport}`);
  return spec;
}

/** The only ready spec, or an error that lists what was passed over. */
export function only(discovery: Discovery): DownstreamSpec {
  const [spec, ...more] = discovery.ready;
  if (spec !== undefined && more.length === 0) return spec;
  const { skipped, problems } = discovery;
  throw new Error(`${discovery.ready.length} are ready: ${JSON.stringify({ skipped, problems })}`);
}

/** Each entry that is passed over, with the reason in words. */
export const reasonsIn = (discovery: Discovery): Record<string, string> =>
  Object.fromEntries(discovery.skipped.map((one) => [one.name, explainSkip(one).text]));

export class Home implements Disposable {
  readonly path: string;
  readonly cwd: string;
  readonly managedFile: string;
  readonly geminiSystemFile: string;
  readonly events: BridgeEvent[] = [];
  settings: DiscoverContext['settings'] = {
    serversConfig: [],
    allowSelfServer: false,
    trustProject: false,
    depth: 0,
  };
  env: Record<string, string> = {};
  /** What a bridge remembers between its looks; none, as of a command that looks once. */
  lastGood: LastGoodFiles | undefined;
  owners: DiscoverContext['owners'];

  /** Made in `parent`. */
  constructor(parent = tmpdir()) {
    this.path = realpathSync(mkdtempSync(join(parent, 'bridge-home-')));
    this.cwd = join(this.path, 'project');
    this.managedFile = join(this.path, 'etc', 'managed-mcp.json');
    this.geminiSystemFile = join(this.path, 'etc', 'gemini-cli-settings.json');
    mkdirSync(this.cwd);
  }

  get facts(): HostFacts {
    return {
      home: this.path,
      platform: 'linux',
      cores: 4,
      cwd: this.cwd,
      uid: process.getuid?.(),
      exists: existsSync,
    };
  }

  /** Writes `content`, as JSON unless it is text, and returns the file's path. */
  write(file: string, content: unknown, mode = 0o644): string {
    const target = join(this.path, file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content), { mode });
    return target;
  }

  /** Discovers here, with the administrators' files under this home instead of the machine's. */
  discover(facts: Partial<HostFacts> = {}): Discovery {
    const sources = SOURCES.map((source) =>
      source.exclusive ? { ...source, files: { any: [this.managedFile] } } : source,
    );
    const env = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: this.geminiSystemFile, ...this.env };
    return discover(
      {
        settings: this.settings,
        env,
        host: { ...this.facts, ...facts },
        lastGood: this.lastGood,
        owners: this.owners,
      },
      (event) => this.events.push(event),
      sources,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

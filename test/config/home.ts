// A user's machine in a temporary folder: a home, a project in it, and what discovery asks of them.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BridgeEvent } from '../../src/base/events.js';
import { type DiscoverContext, type Discovery, discover } from '../../src/config/discover.js';
import type { DownstreamSpec, StdioSpec } from '../../src/config/downstream-spec.js';
import type { HostFacts } from '../../src/config/host-facts.js';
import { SOURCES } from '../../src/config/sources.js';

/** The spec as that of a program; throws for a remote one. */
export function stdio(spec: DownstreamSpec | undefined): StdioSpec {
  if (spec?.transport !== 'stdio') throw new Error(`no program: ${spec?.transport}`);
  return spec;
}

export class Home implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'bridge-home-')));
  readonly cwd = join(this.path, 'project');
  readonly managedFile = join(this.path, 'etc', 'managed-mcp.json');
  readonly events: BridgeEvent[] = [];
  settings: DiscoverContext['settings'] = {
    serversConfig: [],
    allowSelfServer: false,
    trustProject: false,
    depth: 0,
  };
  env: Record<string, string> = {};

  constructor() {
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

  /** Discovers here, with the administrator's file under this home instead of the machine's. */
  discover(facts: Partial<HostFacts> = {}): Discovery {
    const sources = SOURCES.map((source) =>
      source.scope === 'managed' ? { ...source, files: { any: [this.managedFile] } } : source,
    );
    return discover(
      { settings: this.settings, env: this.env, host: { ...this.facts, ...facts } },
      (event) => this.events.push(event),
      sources,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

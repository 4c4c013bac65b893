// The hostile server as a spec, and what the tests of this floor ask of processes. Every test gives pools and
// transports back; `pidsOf` is how they know that nothing is left.

import { fileURLToPath } from 'node:url';
import { RawJson } from '../../src/base/json/json-text.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { DownstreamSpec, StdioSpec } from '../../src/hosts/downstream-spec.js';
import { type AgentCapabilities, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import type { DownstreamTimes } from '../../src/servers/server/connect.js';
import type { Downstream } from '../../src/servers/server/downstream.js';
import { NEVER } from '../support/time.js';

const FIXTURE = fileURLToPath(new URL('../fixtures/hostile-server.mjs', import.meta.url));

export function spec(name: string, command: string, args: readonly string[]): StdioSpec {
  return {
    name,
    transport: 'stdio',
    command,
    args,
    env: {},
    cwd: undefined,
    description: '',
    callTimeoutMs: undefined,
    startTimeoutMs: undefined,
    toolFilter: { only: undefined, except: [] },
    source: { host: 'test', scope: 'explicit', file: '/dev/null', pointer: '' },
  };
}

/** The hostile server with the given modes. */
export function hostile(...modes: string[]): StdioSpec {
  return spec('hostile', process.execPath, [FIXTURE, ...modes]);
}

export type TestPool = DownstreamPool & { readonly events: BridgeEvent[] };

export function poolOf(
  specs: readonly DownstreamSpec[],
  times: Partial<DownstreamTimes> = {},
  agent: AgentCapabilities = NO_AGENT,
): TestPool {
  const events: BridgeEvent[] = [];
  const observer = (event: BridgeEvent) => void events.push(event);
  const pool = new DownstreamPool({
    specs,
    hostEnv: process.env,
    extraEnvNames: [],
    depth: 0,
    observer,
    redactor: new Redactor(),
    times,
  });
  const getFor = pool.get.bind(pool);
  // Whoever names no agent calls as this one.
  const get: DownstreamPool['get'] = (name, signal, whose = agent) => getFor(name, signal, whose);
  return Object.assign(pool, { events, get });
}

/** The CallToolResult of a call, parsed. */
export async function call(server: Downstream, tool: string, args: object = {}, signal = NEVER) {
  const raw = await server.callTool(tool, new RawJson(JSON.stringify(args)), () => {}, signal);
  return JSON.parse(raw.text) as {
    readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>;
    readonly structuredContent?: Record<string, unknown>;
    readonly isError?: boolean;
  };
}

/** The processes of a running hostile server, its own first. */
export async function pidsOf(server: Downstream): Promise<number[]> {
  const { structuredContent = {} } = await call(server, 'pid');
  return [structuredContent['pid'], ...Object(structuredContent['grandchildren'])].map(Number);
}

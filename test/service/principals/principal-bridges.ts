// Bridges for tests: several principals over one configuration, with real servers and no container.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawJson } from '../../../src/base/json/json-text.js';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import type { Principal } from '../../../src/base/principal.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import type { CallContext } from '../../../src/run/calls/call-context.js';
import type { CallProblem } from '../../../src/run/outcome/outcome.js';
import { type AgentCapabilities, NO_AGENT } from '../../../src/servers/asking/agent-capabilities.js';
import { type Bridges, principalBridges } from '../../../src/service/principals/bridges.js';
import {
  NO_RULES,
  type PrincipalRules,
  type TokenExchange,
} from '../../../src/service/principals/principal-rules.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import type { Bridge } from '../../../src/tenant/bridge.js';
import { NEVER } from '../../support/time.js';

const HOSTILE = fileURLToPath(new URL('../../fixtures/hostile-server.mjs', import.meta.url));

export const principalNamed = (name: string, servers?: readonly string[]): Principal => ({
  id: `token:${name}`,
  name,
  servers,
  scopes: [],
  expiresAtMs: undefined,
});

export type TestBridges = Bridges & {
  readonly home: string;
  readonly stateDir: string;
  readonly events: BridgeEvent[];
  /** What the log would hide. */
  readonly logRedactor: Redactor;
  /** What the operator says of principals; a test changes it. */
  readonly rules: Map<string, Partial<PrincipalRules>>;
  readonly shared: string[];
  /** Writes the operator's configuration anew. */
  configure(servers: Readonly<Record<string, object>>): void;
};

/** An entry for a server whose tools act up as they are told. */
export const hostileEntry = (env: Readonly<Record<string, string>> = {}): object => ({
  command: process.execPath,
  args: [HOSTILE],
  env,
});

export function openBridges(
  servers: Readonly<Record<string, object>>,
  more: {
    readonly env?: Readonly<Record<string, string>>;
    readonly idleMs?: number;
    readonly exchange?: TokenExchange;
    /** What the bridge itself finds in its environment. */
    readonly ownEnv?: Readonly<Record<string, string>>;
  } = {},
): TestBridges {
  const home = mkdtempSync(join(tmpdir(), 'principals-'));
  const config = join(home, 'servers.json');
  const configure = (entries: Readonly<Record<string, object>>) =>
    writeFileSync(config, JSON.stringify({ mcpServers: entries }), { mode: 0o600 });
  configure(servers);
  const stateDir = join(home, 'state');
  const env = { MCP_SERVERS_CONFIG: config, MCP_BRIDGE_STATE_DIR: stateDir, ...more.env };
  const host = { ...hostFacts(), home };
  const { settings } = parseSettings(env, host);
  const events: BridgeEvent[] = [];
  const rules = new Map<string, Partial<PrincipalRules>>();
  const shared: string[] = [];
  const logRedactor = new Redactor();
  const { exchange, idleMs } = more;
  const bridges = principalBridges({
    settings,
    discovery: { settings, env: { PATH: process.env['PATH'] ?? '', ...more.ownEnv }, host },
    observer: (event) => void events.push(event),
    redactor: logRedactor,
    book: { rulesOf: ({ id }) => ({ ...NO_RULES, ...rules.get(id) }), sharedServers: () => shared },
    ...(exchange === undefined ? {} : { exchange }),
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  const dispose = bridges[Symbol.asyncDispose].bind(bridges);
  return Object.assign(bridges, {
    home,
    stateDir,
    events,
    rules,
    shared,
    logRedactor,
    configure,
    [Symbol.asyncDispose]: async () => {
      await dispose();
      rmSync(home, { recursive: true, force: true });
    },
  });
}

export type Called = {
  readonly content?: ReadonlyArray<{ readonly text?: string }>;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
};

/** A call of a tool without a sandbox; the result, or what stands in its way. */
export async function callTool(
  bridge: Bridge,
  server: string,
  tool: string,
  args: object = {},
  { agent = NO_AGENT, tell = () => {} }: { agent?: AgentCapabilities; tell?: CallContext['tell'] } = {},
): Promise<Called | CallProblem> {
  const call = { server, tool, args, setBy: 'servers', timeoutSeconds: 30, softTimeoutSeconds: 30 };
  const answer = await bridge.callServer(call, {
    caller: { client: 'test 1.0', agent, scope: '' },
    signal: NEVER,
    tell,
  });
  return answer instanceof RawJson ? (JSON.parse(answer.text) as Called) : answer;
}

/** What a tool has answered as data; fails with what stood in its way. */
export async function dataOf(
  ...call: Parameters<typeof callTool>
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await callTool(...call);
  if ('message' in answer) throw new Error(`${answer.type}: ${answer.message}`);
  return answer.structuredContent ?? {};
}

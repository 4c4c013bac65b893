// What one agent's connection remembers from request to request, apart from the SDK's server object: over HTTP there is a
// server object for each request of 2026-07-28, and they share one of these for each bridge.

import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { McpLogLevel } from '../requests/log-notifications.js';
import type { LateBridge } from './late-bridge.js';

/** Hosts start servers in health checks that live 20 ms: house-keeping waits until a client has stayed. */
const QUIET_BEFORE_WARM_MS = 250;
const QUIET_BEFORE_SWEEP_MS = 2_000;

let made = 0;

export class AgentConnection implements Disposable {
  /** No two in one process have the same. */
  readonly id = String(++made);
  /** What an agent of 2025 wants to be told, since it has last said so. */
  logLevel: McpLogLevel | undefined;
  /** What the agent was told of the tools, when it listed them last. */
  toldOfTools: string | undefined;
  #plans: NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;

  /** Whoever lists the tools is likely to call one soon: house-keeping begins when a client has stayed. */
  prepare(bridge: Bridge | LateBridge, agent: AgentCapabilities): void {
    for (const plan of this.#plans) clearTimeout(plan);
    this.#plans = [
      setTimeout(() => bridge.warmUp(agent), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
  }

  /** `listener` hears when more is known of the image. Only the first one that is given does. */
  onImageKnown(bridge: Bridge | LateBridge, listener: () => void): void {
    this.#stopListening ??= bridge.onImageKnown(listener);
  }

  /** What is planned still happens: it is the bridge's house-keeping. */
  [Symbol.dispose](): void {
    this.#stopListening?.();
  }
}

// The agents that use one server. MCP does not say for which call a server asks its client something, so the rule is here:
// those whose calls are under way, else those whose runs hold the server, else the one that used it last. A question that
// could belong to several agents is put to none of them, unless they are one client.

import { type AgentCapabilities, NO_AGENT } from './agent-capabilities.js';

/** Abilities of its client that a server is told in its greeting. */
type ServerOffer = {
  readonly form: boolean;
  readonly url: boolean;
  readonly roots: boolean;
  readonly rootsChanges: boolean;
};

export class Callers {
  readonly #canAsk: boolean;
  /** How many runs of each agent hold the server. */
  readonly #holders = new Map<AgentCapabilities, number>();
  #last: AgentCapabilities = NO_AGENT;

  /**
   * `canAsk` is false for a server that several principals share: what it asks after the call of one has ended could be put
   * to another.
   */
  constructor(canAsk = true) {
    this.#canAsk = canAsk;
  }

  /** `agent` has asked for the server. */
  came(agent: AgentCapabilities): void {
    this.#last = agent;
  }

  /** A run of `agent` has the server, until what is given back is called. */
  hold(agent: AgentCapabilities): () => void {
    this.came(agent);
    this.#holders.set(agent, (this.#holders.get(agent) ?? 0) + 1);
    return () => {
      const left = (this.#holders.get(agent) ?? 0) - 1;
      if (left > 0) this.#holders.set(agent, left);
      else this.#holders.delete(agent);
    };
  }

  /**
   * Agents that the server may be asking, one for each client; `calling` are the agents whose calls of the server are under
   * way, the oldest first.
   */
  answering(calling: ReadonlySet<AgentCapabilities>): readonly AgentCapabilities[] {
    if (!this.#canAsk) return [];
    if (calling.size > 0) return oneOfEachClient([...calling]);
    return this.#holders.size > 0 ? oneOfEachClient([...this.#holders.keys()]) : [this.#last];
  }

  /**
   * All that one of those who want the server now can do. The server keeps what it was greeted with: an agent that can do
   * less declines, and one that can do more is not asked for it before the server is started anew.
   */
  get offered(): ServerOffer {
    const agents = this.#canAsk ? new Set([...this.#holders.keys(), this.#last]) : [];
    const has = (feature: (agent: AgentCapabilities) => boolean) => [...agents].some(feature);
    return {
      form: has((agent) => agent.elicits().form),
      url: has((agent) => agent.elicits().url),
      roots: has((agent) => agent.hasRoots()),
      rootsChanges: has((agent) => agent.hasRoots() && agent.tellsRootsChanges()),
    };
  }
}

/** The first of each client. */
const oneOfEachClient = (agents: readonly AgentCapabilities[]): readonly AgentCapabilities[] =>
  agents.filter(
    ({ client }, index) =>
      client === undefined || agents.findIndex((other) => other.client === client) === index,
  );

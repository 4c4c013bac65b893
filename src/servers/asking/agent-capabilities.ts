// Questions that a downstream server may ask of the agent that the bridge serves: the bridge only passes them on. Given from
// above, since only the server floor knows the agent; `elicits` and `hasRoots` say what the agent offers.

/** Params and results are MCP's own, passed on as they are. Both reject when the agent refuses or has gone. */
export type AgentCapabilities = {
  /**
   * One object for several of these capabilities that are one client, each for one of its calls: either can be asked for the
   * other. Undefined where the capabilities are a client of their own.
   */
  readonly client?: object;
  /** Which modes of elicitation the agent has; asked whenever it matters, since it is known only after `initialize`. */
  elicits(): { readonly form: boolean; readonly url: boolean };
  elicit(
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Tells that the task of a question in the mode `url` has been done, elsewhere. */
  elicitationDone(elicitationId: string): void;
  hasRoots(): boolean;
  /** Whether it says when its roots have become others. */
  tellsRootsChanges(): boolean;
  listRoots(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
};

/** Stands for an agent that offers nothing. The command line and tests use it. */
export const NO_AGENT: AgentCapabilities = {
  elicits: () => ({ form: false, url: false }),
  elicit: () => Promise.resolve({ action: 'decline' }),
  elicitationDone: () => {},
  hasRoots: () => false,
  tellsRootsChanges: () => false,
  listRoots: () => Promise.resolve({ roots: [] }),
};

// The agents that use one server. MCP does not say for which call a server asks its client something, so the rule is here:
// those whose calls are under way, else those whose runs hold the server, else the one that used it last. A question that
// could belong to several agents is put to none of them, unless they are one client.

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
  noteAgent(agent: AgentCapabilities): void {
    this.#last = agent;
  }

  /** A run of `agent` has the server, until what is given back is called. */
  hold(agent: AgentCapabilities): () => void {
    this.noteAgent(agent);
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
  agentsToAsk(calling: ReadonlySet<AgentCapabilities>): readonly AgentCapabilities[] {
    if (!this.#canAsk) return [];
    if (calling.size > 0) return oneOfEachClient([...calling]);
    return this.#holders.size > 0 ? oneOfEachClient([...this.#holders.keys()]) : [this.#last];
  }

  /**
   * All that one of those who want the server now can do. The server keeps what it was greeted with: an agent that can do
   * less declines, and one that can do more is not asked for it before the server is started anew.
   */
  get offered(): {
    readonly form: boolean;
    readonly url: boolean;
    readonly roots: boolean;
    readonly rootsChanges: boolean;
  } {
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

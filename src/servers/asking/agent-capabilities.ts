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

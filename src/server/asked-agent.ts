// Whichever agent is there when it is asked: servers and runs hold this one, also before the agent has come.

import { type AgentCapabilities, NO_AGENT } from '../downstream/asking/agent-capabilities.js';

export class AskedAgent implements AgentCapabilities {
  current: AgentCapabilities = NO_AGENT;

  elicits(): ReturnType<AgentCapabilities['elicits']> {
    return this.current.elicits();
  }

  elicit(...asked: Parameters<AgentCapabilities['elicit']>): ReturnType<AgentCapabilities['elicit']> {
    return this.current.elicit(...asked);
  }

  elicitationDone(elicitationId: string): void {
    this.current.elicitationDone(elicitationId);
  }

  hasRoots(): boolean {
    return this.current.hasRoots();
  }

  tellsRootsChanges(): boolean {
    return this.current.tellsRootsChanges();
  }

  listRoots(signal: AbortSignal): ReturnType<AgentCapabilities['listRoots']> {
    return this.current.listRoots(signal);
  }
}

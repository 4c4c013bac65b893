// Whichever agent is there when it is asked: servers and runs hold this one, also before the agent has come.

import { type AgentFace, NO_AGENT } from '../downstream/asking/agent-face.js';

export class AskedAgent implements AgentFace {
  current: AgentFace = NO_AGENT;

  elicits(): ReturnType<AgentFace['elicits']> {
    return this.current.elicits();
  }

  elicit(...asked: Parameters<AgentFace['elicit']>): ReturnType<AgentFace['elicit']> {
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

  listRoots(signal: AbortSignal): ReturnType<AgentFace['listRoots']> {
    return this.current.listRoots(signal);
  }
}

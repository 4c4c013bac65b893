// The agent as the bridge may ask it: what it said in its greeting that it can do, asked by raw requests.

import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import { LinkedSignal } from '../base/linked-signal.js';
import { type AgentFace, NO_AGENT } from '../downstream/agent-face.js';

/** The SDK sets a timer for every request; the longest that exists leaves the decision to the run's own clock. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

const anyResult = z.looseObject({});

export function agentFaceOf(server: Server): AgentFace {
  return {
    ...NO_AGENT,
    elicits: () => {
      const offered = server.getClientCapabilities()?.elicitation;
      if (offered === undefined) return { form: false, url: false };
      // Before there were modes, an empty object meant forms.
      return {
        form: offered.form !== undefined || offered.url === undefined,
        url: offered.url !== undefined,
      };
    },
    elicit: async (params, signal) => {
      // A signal of its own, since the SDK never takes its listener off.
      using link = new LinkedSignal(signal);
      const options = { timeout: NO_TIMEOUT_MS, signal: link.signal };
      return await server.request(
        { method: 'elicitation/create', params: { ...params } } as never,
        anyResult,
        options,
      );
    },
  };
}

// The agent as its servers see it through the bridge: what it said in its greeting that it can do, asked by raw requests.
// Roots are asked for once and kept until they change, so that a server which asks a thousand times costs the agent nothing.

import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { RootsListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { LinkedSignal } from '../base/linked-signal.js';
import { unlessAborted } from '../base/unless-aborted.js';
import type { AgentCapabilities } from '../downstream/asking/agent-capabilities.js';

/** The SDK sets a timer for every request; the longest that exists leaves the decision to the run's own clock. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Roots need nobody's attention; an agent that is silent for so long has none to give. */
const ROOTS_WITHIN_MS = 30_000;
/** How long roots are taken for the same where the agent would not say that they are others. */
const ROOTS_KEPT_MS = 5_000;

const anyResult = z.looseObject({});
const NEVER = new AbortController().signal;

/** `onRootsChanged` is called when the agent says that its roots are others. */
export function agentCapabilitiesOf(server: Server, onRootsChanged: () => void): AgentCapabilities {
  let roots: { readonly listed: Promise<Readonly<Record<string, unknown>>>; readonly at: number } | undefined;
  const capabilities = () => server.getClientCapabilities();
  const tellsRootsChanges = () => capabilities()?.roots?.listChanged === true;

  server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
    roots = undefined;
    onRootsChanged();
  });

  // The SDK's clients take the cancellation of request 0, which is our first, for none: the question would stay on the
  // person's screen. So a ping comes first.
  let hasAsked = false;
  const request = async (method: string, params: object, timeout: number, signal: AbortSignal) => {
    if (!hasAsked) server.ping().catch(() => {});
    hasAsked = true;
    // Raw, since the SDK's own way checks forms against the rules of its version. A signal of its own, since the SDK never takes its listener off.
    using link = new LinkedSignal(signal);
    const options = { timeout, signal: link.signal };
    return await server.request({ method, params: { ...params } } as never, anyResult, options);
  };

  return {
    elicits: () => {
      const offered = capabilities()?.elicitation;
      if (offered === undefined) return { form: false, url: false };
      // Before there were modes, an empty object meant forms.
      return {
        form: offered.form !== undefined || offered.url === undefined,
        url: offered.url !== undefined,
      };
    },
    elicit: (params, signal) => request('elicitation/create', params, NO_TIMEOUT_MS, signal),
    elicitationDone: (elicitationId) => {
      const params = { elicitationId };
      // An agent that has gone hears nothing, which is its own doing.
      server.notification({ method: 'notifications/elicitation/complete', params }).catch(() => {});
    },
    hasRoots: () => capabilities()?.roots !== undefined,
    tellsRootsChanges,
    listRoots: (signal) => {
      const now = performance.now();
      if (roots === undefined || (!tellsRootsChanges() && now - roots.at > ROOTS_KEPT_MS)) {
        const asked = { listed: request('roots/list', {}, ROOTS_WITHIN_MS, NEVER), at: now };
        roots = asked;
        asked.listed.catch(() => {
          if (roots === asked) roots = undefined;
        });
      }
      return unlessAborted(roots.listed, signal, { message: 'The roots are no longer wanted.' });
    },
  };
}

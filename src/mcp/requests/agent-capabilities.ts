// An agent of 2025 as its servers see it through the bridge: what it said in its greeting that it can do, asked by raw
// requests. Roots are asked for once and kept until they change, so that a server which asks a thousand times costs the agent
// nothing. A later agent is asked by an answer instead (mcp/calls/job.ts).

import type { RequestId } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { AgentServer } from './agent-server.js';

/** The SDK sets a timer for every request; the longest that exists leaves the decision to the run's own clock. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Roots need nobody's attention; an agent that is silent for so long has none to give. */
const ROOTS_WITHIN_MS = 30_000;
/** How long roots are taken for the same where the agent would not say that they are others. */
const ROOTS_KEPT_MS = 5_000;

const anyResult = z.looseObject({});
const anything = { params: z.unknown() };
const NEVER = new AbortController().signal;

/** `onRootsChanged` is called when the agent says that its roots are others. */
export function agentCapabilitiesOf(server: AgentServer, onRootsChanged: () => void): AgentCapabilities {
  let roots: { readonly listed: Promise<Readonly<Record<string, unknown>>>; readonly at: number } | undefined;
  const capabilities = () => onlyObjects(server.getClientCapabilities() ?? {});
  const tellsRootsChanges = () => capabilities().roots?.listChanged === true;

  server.setNotificationHandler('notifications/roots/list_changed', anything, () => {
    roots = undefined;
    onRootsChanged();
  });

  // The SDK's clients take the cancellation of request 0, which is our first, for none: the question would stay on the
  // person's screen. So a ping comes first.
  let hasAsked = false;
  const request = async (method: string, params: object, timeout: number, signal: AbortSignal) => {
    const related = relatedTo(server);
    if (!hasAsked) server.request({ method: 'ping' }, anyResult, related).catch(() => {});
    hasAsked = true;
    // Raw, since the SDK's own way checks forms against the rules of its version. A signal of its own, since the run's has
    // many listeners already.
    using link = new LinkedSignal(signal);
    const options = { ...related, timeout, signal: link.signal };
    return await server.request({ method, params: { ...params } }, anyResult, options);
  };

  return {
    elicits: () => {
      const offered = capabilities().elicitation;
      if (offered === undefined) return { form: false, url: false };
      // Before there were modes, an empty object meant forms.
      return {
        form: offered.form !== undefined || offered.url === undefined,
        url: offered.url !== undefined,
      };
    },
    elicit: (params, signal) => request('elicitation/create', params, NO_TIMEOUT_MS, signal),
    elicitationDone: (elicitationId) => {
      const method = 'notifications/elicitation/complete';
      // Not by `notification`: the SDK knows only a client that it has greeted itself for one that opens pages.
      server.transport
        ?.send({ jsonrpc: '2.0', method, params: { elicitationId } }, relatedTo(server))
        // An agent that has gone hears nothing, which is its own doing.
        .catch(() => {});
    },
    hasRoots: () => capabilities().roots !== undefined,
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

/**
 * Questions go with the answer to the agent's newest call that is under way: over HTTP that is a stream which the agent
 * surely reads.
 */
function relatedTo({ newestCall }: AgentServer): { readonly relatedRequestId?: RequestId } {
  return newestCall === undefined ? {} : { relatedRequestId: newestCall };
}

/** Whatever the greeting says: a capability that is no object is none. */
const onlyObjects = (
  offered: object,
): {
  readonly elicitation?: { readonly form?: unknown; readonly url?: unknown };
  readonly roots?: { readonly listChanged?: unknown };
} =>
  Object.fromEntries(
    Object.entries(offered).filter(([, capability]) => typeof capability === 'object' && capability !== null),
  );

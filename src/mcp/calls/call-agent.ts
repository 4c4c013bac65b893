// The agent as one call sees it, from revision 2026-07-28 on: what its newest request declares, asked through the answers
// to its requests. Roots are asked for once in a call, and only where a server wants them.

import type { JsonObject } from '../../base/json/json-object.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { ClientOffers } from '../requests/client-offers.js';
import type { InputRequest } from './questions.js';

type CallAgentParts = {
  readonly client: object;
  /** Of the newest request. */
  readonly offers: () => ClientOffers;
  /** Rejects where the principal has too many calls that ask. */
  readonly ask: (request: InputRequest, signal: AbortSignal) => Promise<JsonObject>;
  /** The end of the call. */
  readonly signal: AbortSignal;
};

export function callAgent({ client, offers, ask, signal: end }: CallAgentParts): AgentCapabilities {
  let roots: Promise<JsonObject> | undefined;
  return {
    client,
    elicits: () => ({ form: offers().form, url: offers().url }),
    elicit: (params, signal) => ask({ method: 'elicitation/create', params: inThisRevision(params) }, signal),
    // This revision tells the client nothing about a page: the person says that the page is done with.
    elicitationDone: () => {},
    hasRoots: () => offers().roots,
    tellsRootsChanges: () => false,
    listRoots: (signal) => {
      roots ??= ask({ method: 'roots/list' }, end).catch((thrown: unknown) => {
        roots = undefined;
        throw thrown;
      });
      return unlessAborted(roots, signal, { message: 'The roots are no longer wanted.' });
    },
  };
}

/** A question about a page had an id before, so that its end could be told. */
function inThisRevision(params: Readonly<JsonObject>): Readonly<JsonObject> {
  const { elicitationId: _, ...rest } = params;
  return rest;
}

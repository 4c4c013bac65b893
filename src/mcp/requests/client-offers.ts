// Offers that a client declares with one request: from revision 2026-07-28 on each request says them anew, and nothing that an
// earlier request said counts.

import { isObject } from '../../base/json/json-object.js';

/** The identifier of the extension that answers a call with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

export type ClientOffers = {
  /** Modes in which it asks its user. */
  readonly form: boolean;
  readonly url: boolean;
  readonly roots: boolean;
  readonly tasks: boolean;
};

/** Reads MCP's ClientCapabilities; anything else offers nothing. */
export function offersOf(capabilities: unknown): ClientOffers {
  const { elicitation, roots, extensions } = isObject(capabilities) ? capabilities : {};
  const asks = isObject(elicitation);
  return {
    // An empty object means forms, as it did before there were modes.
    form: asks && (isObject(elicitation['form']) || elicitation['url'] === undefined),
    url: asks && isObject(elicitation['url']),
    roots: isObject(roots),
    tasks: isObject(extensions) && isObject(extensions[TASKS_EXTENSION]),
  };
}

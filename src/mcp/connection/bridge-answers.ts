// Answers that a server object takes from its bridge: calls of tools, resources, names of snippets. This file is loaded when
// the first of these answers is asked for, or ahead of that; nobody who only lists the tools waits for it.

import { z } from 'zod';
import { clipHarmless } from '../../base/text/text.js';
import { KEPT_URI_TEMPLATE } from '../../run/artifacts/kept-uri.js';
import { SNIPPET_URI_TEMPLATE } from '../../run/programs/snippet-uri.js';
import type { Snippets } from '../../run/programs/snippets.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/wrong-params.js';
import { answerCalls, type CallsParts, toolsOf } from '../calls/tool-calls.js';
import type { AgentServer } from '../requests/agent-server.js';
import { type AllowedParams, paramsBy } from '../requests/complaint.js';
import { offerResources } from '../resources/resources.js';
import { offeredSnippets } from '../resources/snippet-resources.js';

/** Answers on `server` whatever is asked of `bridge`. */
export function answerFrom(
  bridge: Bridge,
  server: AgentServer,
  parts: Omit<CallsParts, 'bridge' | 'tools'>,
): void {
  answerCalls(server, { ...parts, bridge, tools: toolsOf(bridge.settings) });
  offerResources(server, bridge);
  const snippets = offeredSnippets(bridge);
  if (snippets !== undefined) completeSnippets(server, snippets);
}

// completion/complete: the names of snippets, for the one argument that this bridge can complete, `name` of the template
// of a snippet. What else is asked about is answered as the protocol says: by an error for what there is not, by
// nothing for what has no names to offer.

/** The protocol's own limit. */
const MAX_VALUES = 100;
const MAX_ECHO_CHARS = 200;

const Complete = z.object({
  ref: z.object({ type: z.string(), uri: z.string().optional(), name: z.string().optional() }),
  argument: z.object({ name: z.string(), value: z.string() }),
});

const ALLOWED: AllowedParams = {
  fields: {
    ref: 'an object with type and, for ref/resource, uri',
    argument: 'an object with name and value, both texts',
  },
  whole: 'an object with ref and argument',
};

function completeSnippets(server: AgentServer, snippets: Snippets): void {
  server.answer('completion/complete', async (params) => {
    const { ref, argument } = paramsBy(Complete, params, ALLOWED);
    if (ref.type === 'ref/resource' && ref.uri === KEPT_URI_TEMPLATE) return completion([]);
    if (ref.type !== 'ref/resource' || ref.uri !== SNIPPET_URI_TEMPLATE)
      throw new WrongParams(
        `There is no '${shown(ref.uri ?? ref.name ?? ref.type)}' to complete. There is: ${SNIPPET_URI_TEMPLATE}.`,
      );
    if (argument.name !== 'name')
      throw new WrongParams(`The template has no argument '${shown(argument.name)}'. It has: name.`);
    const start = argument.value.toLowerCase();
    // A folder that cannot be read has no names; whoever runs or reads a snippet is told why.
    const briefs = await snippets.list().catch(() => []);
    return completion(briefs.map(({ name }) => name).filter((name) => name.toLowerCase().startsWith(start)));
  });
}

const completion = (names: readonly string[]) => ({
  completion: { values: names.slice(0, MAX_VALUES), total: names.length, hasMore: names.length > MAX_VALUES },
});

const shown = (text: string): string => clipHarmless(text, MAX_ECHO_CHARS);

// What the guest may ask of a server besides its tools: resources and prompts. The guard (call-guard.ts) has judged,
// counted and limited each of these calls like a call of a tool.

import type { Downstream } from '../../downstream/downstream.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from '../../downstream/resources.js';
import type { ServerLease } from '../../downstream/server-lease.js';
import type { ServerDoc } from '../../protocol/frames.js';
import type { Handlers } from './call-guard.js';

export type ResourceCallParts = {
  readonly lease: Pick<ServerLease, 'get'>;
  /** Throws for a server that the run may not reach. */
  readonly reach: (server: string) => ServerDoc;
};

type Methods = 'resources.list' | 'resources.read' | 'prompts.list' | 'prompts.get';

/** The handlers of these methods. */
export function resourceCalls(parts: ResourceCallParts): Pick<Handlers, Methods> {
  const ask = async <T>(
    server: string,
    question: (downstream: Downstream) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    parts.reach(server);
    return question(await parts.lease.get(server, signal));
  };

  return {
    'resources.list': ({ params: { server } }, signal) =>
      ask(
        server,
        async (downstream) => {
          // One after the other: a server that may have one call under way is not to see two requests.
          const resources = await listResources(downstream, signal);
          const templates = await listResourceTemplates(downstream, signal);
          const problems = [...resources.problems, ...templates.problems];
          return { resources: resources.items, templates: templates.items, problems };
        },
        signal,
      ),
    'resources.read': ({ params: { server, uri } }, signal) =>
      ask(server, (downstream) => readResource(downstream, uri, signal), signal),
    'prompts.list': ({ params: { server } }, signal) =>
      ask(
        server,
        async (downstream) => {
          const { items, problems } = await listPrompts(downstream, signal);
          return { prompts: items, problems };
        },
        signal,
      ),
    'prompts.get': ({ params: { server, prompt, arguments: args } }, signal) =>
      ask(server, (downstream) => getPrompt(downstream, prompt, args, signal), signal),
  };
}

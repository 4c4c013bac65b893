// What the guest may ask of a server besides its tools: resources and prompts. The guard (call-guard.ts) has judged,
// counted and limited each of these calls like a call of a tool.

import type { StopClock } from '../../base/waiting/deadline.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { Downstream } from '../../servers/server/downstream.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from '../../servers/server/resources.js';
import type { ServerDoc } from '../../wire/frames.js';
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
    stopClock: StopClock,
  ): Promise<T> => {
    parts.reach(server);
    const downstream = await parts.lease.get(server, signal);
    return question(downstream.timedBy(stopClock));
  };

  return {
    'resources.list': ({ params: { server } }, signal, stopClock) =>
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
        stopClock,
      ),
    'resources.read': ({ params: { server, uri } }, signal, stopClock) =>
      ask(server, (downstream) => readResource(downstream, uri, signal), signal, stopClock),
    'prompts.list': ({ params: { server } }, signal, stopClock) =>
      ask(
        server,
        async (downstream) => {
          const { items, problems } = await listPrompts(downstream, signal);
          return { prompts: items, problems };
        },
        signal,
        stopClock,
      ),
    'prompts.get': ({ params: { server, prompt, arguments: args } }, signal, stopClock) =>
      ask(server, (downstream) => getPrompt(downstream, prompt, args, signal), signal, stopClock),
  };
}

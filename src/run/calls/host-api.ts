// Handlers for what the harness may ask the host for: one per call method, complete by their type. Each takes a call that the
// guard has admitted (call-guard.ts), and reads nothing but what was parsed when the call was made (guest-call.ts).

import { asBridgeError, BridgeError } from '../../base/errors.js';
import { loneSurrogateIn, RawJson } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import { didYouMean, findClosest } from '../../base/text/closest.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { childSpan, type Trace } from '../../base/trace.js';
import type { StopClock } from '../../base/waiting/deadline.js';
import { refreshCommand } from '../../servers/catalog/kept-catalog.js';
import type { KnownServers } from '../../servers/catalog/known-servers.js';
import type { ObservedShapes } from '../../servers/catalog/observed-shapes.js';
import { searchTools } from '../../servers/catalog/search.js';
import { ErrorAnswer } from '../../servers/connection/link.js';
import type { ServerLease } from '../../servers/pool/server-lease.js';
import type { CallProgress, Downstream } from '../../servers/server/downstream.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from '../../servers/server/resources.js';
import type { ServerBrief, ServerDoc, ToolHit } from '../../wire/frames.js';
import { failureIn } from './call-audit.js';
import type { CallContext } from './call-context.js';
import type { Admitted, Handlers } from './call-guard.js';
import { howToLoad, type LoadedServers, notLoaded } from './on-demand.js';
import { recordedServer } from './recorded-server.js';
import type { SavedByRun } from './saved-tools.js';

export function hostApi(parts: {
  readonly loaded: LoadedServers;
  readonly discovered: readonly ServerBrief[];
  /** Documentation of all that is discovered, loaded or not. */
  readonly known: Pick<KnownServers, 'docOf' | 'allDocs'>;
  /** Opens one more server for the run, or refuses it. */
  readonly loadServer: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
  /** The run's servers. */
  readonly lease: Pick<ServerLease, 'get'>;
  readonly saved: Pick<SavedByRun, 'put' | 'list' | 'get'>;
  /** Learns what tools answer. */
  readonly shapes: Pick<ObservedShapes, 'learn'>;
  /** Whether each answer of a server is told. */
  readonly isRecorded?: boolean | undefined;
  /** Hears how far a tool says it is, while it is called. */
  readonly tell: CallContext['tell'];
  /** The run's. */
  readonly trace: Trace | undefined;
  readonly runId: string;
  readonly observer: Observer;
}): Handlers {
  const { loaded } = parts;
  const asked = requestsOf(parts);
  const { runId: run, observer } = parts;
  const heard = (downstream: Downstream): Downstream =>
    parts.isRecorded === true
      ? recordedServer(downstream, (request) => observer({ type: 'run.answered', run, ...request }))
      : downstream;
  const reach = (server: string): ServerDoc => {
    const doc = loaded.visibleDoc(server);
    if (doc === undefined) throw notLoaded(server, parts.discovered);
    return doc;
  };

  // Find a server to look up; more servers may be looked up than called.
  const describe = (server: string): ServerDoc => {
    const brief = parts.discovered.find(({ name }) => name === server);
    const doc = loaded.visibleDoc(server) ?? (brief && parts.known.docOf(server));
    if (doc !== undefined) return doc;
    if (brief !== undefined) throw neverStarted(brief);
    return reach(server);
  };

  const callTool = async (
    { params, argumentsText }: Admitted<'tools.call'>,
    signal: AbortSignal,
    stopClock: StopClock,
  ) => {
    const { server, tool } = params;
    const doc = reach(server);
    if (!doc.tools.some(({ name }) => name === tool)) throw unknownTool(doc, tool);
    const surrogate = loneSurrogateIn(argumentsText);
    if (surrogate !== undefined) throw notWellFormed(server, tool, surrogate);
    const args = new RawJson(argumentsText);
    const onProgress = ({ progress, total, message }: CallProgress) =>
      parts.tell({
        type: 'tool.progress',
        tool: shownTool(server, tool),
        done: progress,
        total: total ?? null,
        message: message ?? null,
      });
    const downstream = await parts.lease.get(server, signal);
    const result = await asked(downstream, { method: 'tools/call', target: tool }, async (trace) =>
      heard(downstream.during({ stopClock, trace })).callTool(tool, args, onProgress, signal),
    );
    parts.shapes.learn(downstream, tool, result.text);
    return result;
  };

  return {
    'tools.call': callTool,
    'servers.list': () => parts.discovered,
    'tools.list': ({ params }) => describe(params.server).tools,
    'docs.get': ({ params: { server, tool } }) => {
      const doc = describe(server);
      if (tool === null) return doc.tools;
      const found = doc.tools.find(({ name, alias }) => name === tool || alias === tool);
      if (found === undefined) throw unknownTool(doc, tool);
      return [found];
    },
    'docs.search': ({ params: { query, limit } }) =>
      searchTools(parts.known.allDocs(), query, limit).map(({ server, tool, score }): ToolHit => {
        const has = loaded.visibleDoc(server.name);
        // A tool of a loaded server is shown as the run has it: with the shapes of its answers.
        const own = has?.tools.find(({ name }) => name === tool.name);
        return {
          server: server.name,
          alias: server.alias,
          loaded: has !== undefined,
          score,
          tool: own ?? tool,
        };
      }),
    'servers.load': async ({ params: { server } }, signal) =>
      loaded.visibleDoc(server) ?? loaded.add(await parts.loadServer(server, signal)),
    ...resourceCalls({ lease: parts.lease, reach, asked, heard }),
    'saved.put': ({ params }) => parts.saved.put(params),
    'saved.list': () => parts.saved.list(),
    'saved.get': ({ params }) => ({ source: parts.saved.get(params.name) }),
  };
}

function neverStarted(brief: ServerBrief): BridgeError {
  return new BridgeError(
    'E_SERVER_NOT_LOADED',
    `The tools of server '${shownName(brief.name)}' are not known yet: it has never been started. ${howToLoad(brief.name, brief.onDemand)} ` +
      `Or ask the user to run \`${refreshCommand(brief.name)}\`.`,
    { fault: 'guest' },
  );
}

/** Neither harness sends it: a server would get something else than what the code has passed. */
const notWellFormed = (server: string, tool: string, surrogate: string): BridgeError =>
  new BridgeError(
    'E_TOOL_FAILED',
    `Tool '${tool}' of server '${server}' was not called: its arguments hold a lone surrogate, '${surrogate}', which other programs refuse.`,
    { fault: 'guest', remedy: 'Leave it out, or pass the bytes that it stands for as base64.' },
  );

function unknownTool(doc: ServerDoc, tool: string): BridgeError {
  const names = doc.tools.map(({ name }) => name);
  const hint =
    findClosest(tool, names) === undefined
      ? ` It has: ${names
          .slice(0, 20)
          .map((name) => shownName(name))
          .join(', ')}.`
      : didYouMean(tool, names);
  return new BridgeError(
    'E_TOOL_UNKNOWN',
    `Server '${shownName(doc.name)}' has no tool '${shownName(tool)}'.${hint}`,
    {
      fault: 'guest',
    },
  );
}

// Records of requests to servers: the step in the trace that its server is told of, how long it took, and what came of it.

/** Answers or throws as `send` does, which is given the step of the request. */
type AskingRecord = <T>(
  downstream: Downstream,
  about: { readonly method: string; readonly target?: string },
  send: (trace: Trace | undefined) => Promise<T>,
) => Promise<T>;

function requestsOf({
  runId: run,
  trace,
  observer,
}: {
  readonly runId: string;
  readonly trace: Trace | undefined;
  readonly observer: Observer;
}): AskingRecord {
  return async ({ spec }, { method, target }, send) => {
    const step = childSpan(trace);
    const startedAt = performance.now();
    const tell = (error?: string, refusal?: number) =>
      observer({
        type: 'run.request',
        run,
        server: spec.name,
        method,
        target,
        transport: spec.transport === 'stdio' ? 'pipe' : 'tcp',
        durationMs: performance.now() - startedAt,
        error,
        refusal,
        span: step?.span,
      });
    try {
      const answer = await send(step);
      tell(answer instanceof RawJson && failureIn(answer.text) !== undefined ? 'tool_error' : undefined);
      return answer;
    } catch (thrown) {
      const { code, cause } = asBridgeError(thrown);
      tell(code, cause instanceof ErrorAnswer ? cause.code : undefined);
      throw thrown;
    }
  };
}

// Requests of the guest to a server besides calls of its tools: resources and prompts. The guard (call-guard.ts) has judged,
// counted and limited each of these calls like a call of a tool.

/** The handlers of these methods. */
function resourceCalls(parts: {
  readonly lease: Pick<ServerLease, 'get'>;
  /** Throws for a server that the run may not reach. */
  readonly reach: (server: string) => ServerDoc;
  readonly asked: AskingRecord;
  readonly heard: (downstream: Downstream) => Downstream;
}): Pick<Handlers, 'resources.list' | 'resources.read' | 'prompts.list' | 'prompts.get'> {
  const ask = async <T>(
    server: string,
    about: Parameters<AskingRecord>[1],
    question: (downstream: Downstream) => Promise<T>,
    signal: AbortSignal,
    stopClock: StopClock,
  ): Promise<T> => {
    parts.reach(server);
    const downstream = await parts.lease.get(server, signal);
    return parts.asked(downstream, about, (trace) =>
      question(parts.heard(downstream.during({ stopClock, trace }))),
    );
  };

  return {
    'resources.list': ({ params: { server } }, signal, stopClock) =>
      ask(
        server,
        { method: 'resources/list' },
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
      ask(
        server,
        { method: 'resources/read', target: uri },
        (downstream) => readResource(downstream, uri, signal),
        signal,
        stopClock,
      ),
    'prompts.list': ({ params: { server } }, signal, stopClock) =>
      ask(
        server,
        { method: 'prompts/list' },
        async (downstream) => {
          const { items, problems } = await listPrompts(downstream, signal);
          return { prompts: items, problems };
        },
        signal,
        stopClock,
      ),
    'prompts.get': ({ params: { server, prompt, arguments: args } }, signal, stopClock) =>
      ask(
        server,
        { method: 'prompts/get', target: prompt },
        (downstream) => getPrompt(downstream, prompt, args, signal),
        signal,
        stopClock,
      ),
  };
}

// The one door between a guest and the host: whatever a call asks for passes here first, by exact name, and the policy
// is asked anew each time. What is denied is refused by its rule and shown nowhere; what costs too much is refused by the
// limit, whether it is about a tool, a resource or a prompt. What a call does is the business of host-api.ts behind it.

import { didYouMean } from '../base/closest.js';
import { BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip } from '../base/text.js';
import type { CallParams, ServerDoc, ToolDoc, ToolHit } from '../protocol/frames.js';
import { RawJson, sliceAt, stringify } from '../protocol/json-text.js';
import type { Gates } from './gates.js';
import type { HostApi } from './host-api.js';
import { keepTo, keepToBytes, withinSeconds } from './limits.js';
import { denied, type JudgedTool, type Limit, type Policy, type RequestMethod } from './policy.js';
import type { Question } from './question.js';

export type DoorParts = {
  readonly runId: string;
  readonly policy: () => Policy;
  readonly gates: Gates;
  /** A loaded server whole, with what policy hides of it. */
  readonly whole: (server: string) => ServerDoc | undefined;
  /** A tool as policy judges it, and whether it has changed by now. */
  readonly subject: (server: string, tool: string) => JudgedTool;
  readonly observer: Observer;
};

/** Stands in events where the name of a tool does, when code asks for a server. */
export const LOADING = 'servers/load';
/** Names and reasons in events: hostile code chooses the names. */
const MAX_TOLD_CHARS = 500;

type OfServer = { readonly server: string };

/** The same questions, answered only where the policy allows. */
export function door(api: HostApi, parts: DoorParts): HostApi {
  const { policy } = parts;
  const calls = new Map<string, number>();

  const passServer = (server: string): void => {
    const verdict = policy().server(server);
    if (!verdict.allowed) throw denied(`Server '${server}'`, verdict);
  };
  const passTool = (server: string, tool: string): void => {
    passServer(server);
    const tools = parts.whole(server)?.tools ?? [];
    const known = tools.find(({ name }) => name === tool);
    const verdict = policy().tool(server, parts.subject(server, tool));
    if (verdict.allowed) return;
    // A mistyped name is on no allow list either.
    const hint = known === undefined ? didYouMean(tool, namesOf(tools.filter(maySee(server)))) : '';
    throw denied(`Tool '${tool}' of server '${server}'`, verdict, hint);
  };
  const passRequest = (server: string, method: RequestMethod): void => {
    passServer(server);
    const verdict = policy().request(server, method);
    if (!verdict.allowed) throw denied(`'${method}' of server '${server}'`, verdict);
  };

  const maySee = (server: string) => (tool: ToolDoc) => policy().tool(server, tool).allowed;
  // Whoever answers has left out what is denied; here nothing of it gets through.
  const visibleTools = (server: string, tools: unknown) =>
    (tools as readonly ToolDoc[]).filter(maySee(server));
  const visibleHits = (hits: unknown) =>
    (hits as readonly ToolHit[]).filter(({ server, tool }) => maySee(server)(tool));

  /** Counts a call, of the run and of its server. */
  const count = (server: string): void => {
    const all = (calls.get('') ?? 0) + 1;
    const own = (calls.get(`.${server}`) ?? 0) + 1;
    const few = 'Make fewer calls in one run, or split the work over several.';
    keepTo(policy().runLimits.callsPerRun, 'callsPerRun', all, 'calls in one run', few);
    const what = `calls of server '${server}' in one run`;
    keepTo(policy().serverLimits(server).callsPerRun, 'callsPerRun', own, what, few);
    calls.set('', all);
    calls.set(`.${server}`, own);
  };

  /** Whatever is asked of a server, held to the server's limits. `name` is a tool's or a method's. */
  const limited = async <P extends OfServer>(
    question: Question<P>,
    name: string,
    argumentsAt: readonly string[],
    ...[params, text, signal]: Parameters<Question<P>>
  ): Promise<RawJson> => {
    const { server } = params;
    const { bytesPerCall, secondsPerCall, callsInFlight } = policy().serverLimits(server);
    const what = `'${name}' of server '${server}'`;
    keepToBytes(bytesPerCall, argumentsOf(text, argumentsAt, bytesPerCall), `for the arguments of ${what}`);
    count(server);
    const ask = (ends: AbortSignal) => question(params, text, ends);
    const work = () => withinSeconds(secondsPerCall, what, signal, ask);
    const place = { server, run: parts.runId, max: callsInFlight.max };
    const answer = await parts.gates.enter(place, work, signal);
    // A list was put together here; its text goes on from here too.
    const result = answer instanceof RawJson ? answer : new RawJson(stringify(answer ?? null));
    keepToBytes(bytesPerCall, result.text, `for the result of ${what}`);
    return result;
  };

  const tell = (server: string, name: string, { code, message }: BridgeError): void => {
    const [where = '', tool = '', why = ''] = [server, name, message].map((text) =>
      clip(text, MAX_TOLD_CHARS),
    );
    parts.observer({ type: 'run.refused', run: parts.runId, server: where, tool, code, message: why });
  };
  /** The same question; what of it is refused is told. */
  const telling =
    <P extends OfServer>(question: Question<P>, nameOf: (params: P) => string): Question<P> =>
    async (params, text, signal) => {
      try {
        return await question(params, text, signal);
      } catch (thrown) {
        // Of what is behind the door, only loading a server has one of these codes, and that is a refusal too.
        if (thrown instanceof BridgeError && ['E_DENIED', 'E_LIMIT'].includes(thrown.code))
          tell(params.server, nameOf(params), thrown);
        throw thrown;
      }
    };
  const request = <P extends OfServer>(method: RequestMethod, question: Question<P>): Question<P> =>
    telling(
      (params, text, signal) => {
        passRequest(params.server, method);
        return limited(question, method, ['params'], params, text, signal);
      },
      () => method,
    );

  return {
    ...api,
    'tools.call': telling<CallParams['tools.call']>(
      (params, text, signal) => {
        passTool(params.server, params.tool);
        return limited(api['tools.call'], params.tool, ['params', 'arguments'], params, text, signal);
      },
      ({ tool }) => tool,
    ),
    'tools.list': async (params, text, signal) => {
      passServer(params.server);
      return visibleTools(params.server, await api['tools.list'](params, text, signal));
    },
    'docs.get': async (params, text, signal) => {
      passServer(params.server);
      return visibleTools(params.server, await api['docs.get'](params, text, signal));
    },
    'docs.search': async (params, text, signal) =>
      visibleHits(await api['docs.search'](params, text, signal)),
    'servers.load': telling<CallParams['servers.load']>(
      (params, text, signal) => {
        passServer(params.server);
        // Starting a server is a call of it. A person may have to be asked first, so nothing limits how long it takes.
        if (parts.whole(params.server) === undefined) count(params.server);
        return api['servers.load'](params, text, signal);
      },
      () => LOADING,
    ),
    'resources.list': request('resources/list', api['resources.list']),
    'resources.read': request('resources/read', api['resources.read']),
    'prompts.list': request('prompts/list', api['prompts.list']),
    'prompts.get': request('prompts/get', api['prompts.get']),
  };
}

const namesOf = (tools: readonly ToolDoc[]): string[] => tools.map(({ name }) => name);

/** The text of a call's arguments; empty where its frame is too short for the limit to matter. */
function argumentsOf(text: string, path: readonly string[], limit: Limit | undefined): string {
  if (limit === undefined || text.length <= limit.max) return '';
  return sliceAt(text, path) ?? '';
}

// The one door between a guest and the host: whatever a call asks for passes here first, by exact name, and the policy
// is asked anew each time. What is denied is refused by its rule and shown nowhere; what costs too much is refused by the
// limit. What a call is about is the business of host-api.ts behind it.

import { didYouMean } from '../base/closest.js';
import { Deadline } from '../base/deadline.js';
import { BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip } from '../base/text.js';
import type { CallParams, ServerDoc, ToolDoc, ToolHit } from '../protocol/frames.js';
import { RawJson, sliceAt } from '../protocol/json-text.js';
import type { Gates } from './gates.js';
import type { HostApi } from './host-api.js';
import { denied, type JudgedTool, type Limit, type Policy } from './policy.js';
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

/** Names and reasons in events: hostile code chooses the names. */
const MAX_TOLD_CHARS = 500;

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
  const maySee = (server: string) => (tool: ToolDoc) => policy().tool(server, tool).allowed;

  const passResources = (server: string): void => {
    passServer(server);
    const verdict = policy().resources(server);
    if (!verdict.allowed) throw denied(`What server '${server}' has besides tools`, verdict);
  };
  const toServer =
    <P extends { readonly server: string }>(
      pass: (server: string) => void,
      question: Question<P>,
    ): Question<P> =>
    (params, text, signal) => {
      pass(params.server);
      return question(params, text, signal);
    };

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
    keepTo(policy().runLimits.callsPerRun, 'callsPerRun', all, 'tool calls in one run', few);
    const what = `calls of server '${server}' in one run`;
    keepTo(policy().serverLimits(server).callsPerRun, 'callsPerRun', own, what, few);
    calls.set('', all);
    calls.set(`.${server}`, own);
  };

  const callTool = async (params: CallParams['tools.call'], text: string, signal: AbortSignal) => {
    const { server, tool } = params;
    passTool(server, tool);
    const { bytesPerCall, secondsPerCall, callsInFlight } = policy().serverLimits(server);
    const what = `'${tool}' of server '${server}'`;
    keepToBytes(bytesPerCall, argumentsOf(text, bytesPerCall), `for the arguments of ${what}`);
    count(server);
    const ask = (ends: AbortSignal) => api['tools.call'](params, text, ends);
    const work = () => withinSeconds(secondsPerCall, what, signal, ask);
    const place = { server, run: parts.runId, max: callsInFlight.max };
    const result = await parts.gates.enter(place, work, signal);
    if (result instanceof RawJson) keepToBytes(bytesPerCall, result.text, `for the result of ${what}`);
    return result;
  };
  const tell = ({ server, tool }: CallParams['tools.call'], { code, message }: BridgeError): void => {
    const [where = '', name = '', why = ''] = [server, tool, message].map((text) =>
      clip(text, MAX_TOLD_CHARS),
    );
    parts.observer({ type: 'run.refused', run: parts.runId, server: where, tool: name, code, message: why });
  };

  return {
    ...api,
    'tools.call': async (params, text, signal) => {
      try {
        return await callTool(params, text, signal);
      } catch (thrown) {
        // Nothing behind the door has these two codes.
        if (thrown instanceof BridgeError && ['E_DENIED', 'E_LIMIT'].includes(thrown.code))
          tell(params, thrown);
        throw thrown;
      }
    },
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
    'servers.load': toServer(passServer, api['servers.load']),
    'resources.list': toServer(passResources, api['resources.list']),
    'resources.read': toServer(passResources, api['resources.read']),
    'prompts.list': toServer(passResources, api['prompts.list']),
    'prompts.get': toServer(passResources, api['prompts.get']),
  };
}

const namesOf = (tools: readonly ToolDoc[]): string[] => tools.map(({ name }) => name);

function keepTo(limit: Limit | undefined, name: string, got: number, what: string, remedy: string): void {
  if (limit !== undefined && got > limit.max) throw exceeded(limit, name, `${got} ${what}`, remedy);
}

/** The text of a call's arguments; empty where its frame is too short for the limit to matter. */
function argumentsOf(text: string, limit: Limit | undefined): string {
  if (limit === undefined || text.length <= limit.max) return '';
  return sliceAt(text, ['params', 'arguments']) ?? '';
}

function keepToBytes(limit: Limit | undefined, text: string, what: string): void {
  if (limit === undefined) return;
  const bytes = Buffer.byteLength(text);
  keepTo(limit, 'bytesPerCall', bytes, `bytes ${what}`, 'Ask for less, or pass less, in one call.');
}

/** `work` with a deadline of its own where there is a limit. */
async function withinSeconds<T>(
  limit: Limit | undefined,
  what: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => T,
): Promise<Awaited<T>> {
  if (limit === undefined) return await work(signal);
  using deadline = new Deadline(signal);
  deadline.start(limit.max * 1000);
  const startedAt = performance.now();
  try {
    return await work(deadline.signal);
  } catch (thrown) {
    if (deadline.cause !== 'timeout') throw thrown;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    throw exceeded(
      limit,
      'secondsPerCall',
      `${seconds} s without an answer of ${what}`,
      'Ask it for less at a time.',
    );
  }
}

const exceeded = ({ max, rule }: Limit, name: string, got: string, remedy: string): BridgeError =>
  new BridgeError('E_LIMIT', `Limit ${name}: at most ${max}, got ${got}. It is set by ${rule}.`, {
    fault: 'guest',
    remedy,
  });

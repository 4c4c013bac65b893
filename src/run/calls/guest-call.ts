// A call as one value, made once where trust changes: from a frame that a sandbox has sent, or of what the agent itself
// asks for. Nobody behind this file looks into a frame again.

import { BridgeError } from '../../base/errors.js';
import { sliceAt, stringify } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip } from '../../base/text/text.js';
import type { RequestMethod } from '../../policy/rules/policy.js';
import { type CallMethod, type CallParams, callParams, type GuestFrame } from '../../wire/frames.js';

export type CallFrame = Extract<GuestFrame, { type: 'call' }>;

/** Target of a call: what the call wants of which server. `name` is what policy, limits, audit and log call it. */
export type CallTarget =
  | { readonly kind: 'tool'; readonly server: string; readonly name: string }
  | { readonly kind: 'request'; readonly server: string; readonly name: RequestMethod }
  | { readonly kind: 'start'; readonly server: string; readonly name: typeof LOADING }
  /** A look at what is known of the server, without asking the server. */
  | { readonly kind: 'lookup'; readonly server: string }
  | { readonly kind: 'no server' };

/** Stands where the name of a tool does, when code asks for a server. */
const LOADING = 'servers/load';

type CallOf<M extends CallMethod> = {
  /** No other call of the run that is under way has it. */
  readonly id: number;
  readonly method: M;
  /** Checked by the wire's own schema. Of a tool's arguments it has nothing: they are kept as text alone. */
  readonly params: CallParams[M];
  /** JSON, as the caller has written it: the arguments of a tool, or all parameters of another method. */
  readonly argumentsText: string;
  readonly target: CallTarget;
};

export type GuestCall<M extends CallMethod = CallMethod> = { readonly [K in M]: CallOf<K> }[M];

/** Names in errors: a refusal quotes what it refuses, and hostile code could have its own megabytes sent back to it. */
const MAX_NAME_CHARS = 256;

/** A name as it is told of a call: itself, but for one that is longer than that of any tool. */
export const keptName = (name: string): string =>
  name.length <= MAX_NAME_CHARS ? name : shownName(name, MAX_NAME_CHARS);

/** The call that a frame makes, or what is wrong with it (E_PROTOCOL). `text` is the frame's own line. */
export function callFrom({ id, method, params }: CallFrame, text: string): GuestCall | BridgeError {
  if (!Object.hasOwn(callParams, method)) {
    return protocolError(`There is no method '${clip(method, MAX_NAME_CHARS)}'.`);
  }
  const known = method as CallMethod;
  const parsed = callParams[known].safeParse(params);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined ? '' : ` ${issue.path.join('.')}: ${issue.message}`;
    return protocolError(`Wrong parameters for ${known}:${where}`);
  }
  const argumentsAt = known === 'tools.call' ? ['params', 'arguments'] : ['params'];
  const argumentsText = sliceAt(text, argumentsAt) ?? '{}';
  // The schema of the method has just been passed, which the compiler cannot know of a name in a variable.
  return asCall({ id, method: known, params: parsed.data, argumentsText } as Untargeted);
}

/** The one call of a run without code: the agent asks for a tool itself. */
export const toolCall = (server: string, tool: string, args: unknown): GuestCall =>
  asCall({
    id: 1,
    method: 'tools.call',
    params: { server, tool, arguments: undefined },
    argumentsText: stringify(args) ?? '{}',
  });

/** The one request of the agent for a prompt, which a person has chosen. */
export const promptCall = (
  server: string,
  prompt: string,
  args: Readonly<Record<string, string>>,
): GuestCall => {
  const params = { server, prompt, arguments: args };
  return asCall({ id: 1, method: 'prompts.get', params, argumentsText: stringify(params) ?? '{}' });
};

type Untargeted = { readonly [M in CallMethod]: Omit<CallOf<M>, 'target'> }[CallMethod];

const asCall = (call: Untargeted): GuestCall => ({ ...call, target: targetOf(call) }) as GuestCall;

const REQUESTS = {
  'resources.list': 'resources/list',
  'resources.read': 'resources/read',
  'prompts.list': 'prompts/list',
  'prompts.get': 'prompts/get',
} as const satisfies Partial<Record<CallMethod, RequestMethod>>;

function targetOf({ method, params }: Untargeted): CallTarget {
  switch (method) {
    case 'tools.call':
      return { kind: 'tool', server: params.server, name: params.tool };
    case 'resources.list':
    case 'resources.read':
    case 'prompts.list':
    case 'prompts.get':
      return { kind: 'request', server: params.server, name: REQUESTS[method] };
    case 'servers.load':
      return { kind: 'start', server: params.server, name: LOADING };
    case 'tools.list':
    case 'docs.get':
      return { kind: 'lookup', server: params.server };
    case 'docs.search':
    case 'servers.list':
    case 'saved.put':
    case 'saved.list':
    case 'saved.get':
      return { kind: 'no server' };
  }
}

const protocolError = (message: string): BridgeError =>
  new BridgeError('E_PROTOCOL', message, { fault: 'guest' });

// Servers that are not there: what a recorded run asked of them is answered from its record, request by request, and what it did
// not ask is refused and told. Starts nothing, connects to nothing, and learns nothing.

import { BridgeError, type ErrorCode } from '../../base/errors.js';
import { RawJson } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { readMessage } from '../connection/inbound.js';
import type { ServerSlot } from '../pool/slot.js';
import type { Downstream } from '../server/downstream.js';
import type { ServerTool } from '../server/tool-list.js';
import { canonicalJson } from './catalog-file.js';

/** A request of a run to a server, with what came of it. */
export type TapedRequest = {
  readonly server: string;
  readonly method: string;
  /** Parameters as JSON. */
  readonly sent: string;
  /** The result as JSON; undefined where there was none. */
  readonly answer?: string | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
};

/** The parameters of a call of a tool. */
export const callText = (tool: string, args: RawJson): string =>
  `{"name":${JSON.stringify(tool)},"arguments":${args.text}}`;

const MAX_SHOWN_CHARS = 300;

/** Requests of one recorded run; each is given out once. */
export class Tape {
  readonly #left: { readonly request: TapedRequest; readonly key: string }[];
  readonly #differences: string[] = [];
  #given = 0;

  constructor(requests: readonly TapedRequest[]) {
    this.#left = requests.map((request) => ({ request, key: keyOf(request) }));
  }

  /** How many were given out. */
  get given(): number {
    return this.#given;
  }

  /** How many nobody has asked for. */
  get left(): number {
    return this.#left.length;
  }

  /** Requests that are not in the record, each as a sentence. */
  get differences(): readonly string[] {
    return this.#differences;
  }

  /** The text of the recorded result. Throws the recorded error, or E_TOOL_FAILED where the record has no such request. */
  take(asked: Pick<TapedRequest, 'server' | 'method' | 'sent'>): string {
    const key = keyOf(asked);
    const at = this.#left.findIndex((one) => one.key === key);
    const [found] = at === -1 ? [] : this.#left.splice(at, 1);
    if (found === undefined) throw this.#unknown(asked);
    this.#given++;
    const { answer, error } = found.request;
    if (answer !== undefined) return answer;
    const { code = 'E_TOOL_FAILED', message = 'It had no answer.' } = error ?? {};
    throw new BridgeError(code as ErrorCode, message, { fault: 'downstream' });
  }

  #unknown({ server, method, sent }: Pick<TapedRequest, 'server' | 'method' | 'sent'>): BridgeError {
    const next = this.#left.find(({ request }) => request.server === server && request.method === method);
    const instead =
      next === undefined
        ? 'nothing more of this server'
        : clipHarmlessLine(next.request.sent, MAX_SHOWN_CHARS);
    const message = `The recorded run did not ask ${method} of server '${shownName(server)}' with ${clipHarmlessLine(sent, MAX_SHOWN_CHARS)}; it asked ${instead}.`;
    this.#differences.push(message);
    return new BridgeError('E_TOOL_FAILED', message, {
      fault: 'guest',
      remedy: 'Nothing was sent: this is a run with recorded answers.',
    });
  }
}

const keyOf = ({ server, method, sent }: Pick<TapedRequest, 'server' | 'method' | 'sent'>): string =>
  JSON.stringify([server, method, canonicalJson(JSON.parse(sent))]);

/** A server's place in a pool whose servers are a record; `tools` are what the server listed when it was last started. */
export class ReplayedSlot implements ServerSlot {
  readonly spec: DownstreamSpec;
  readonly isAsking = false;
  readonly #downstream: Downstream;

  constructor(spec: DownstreamSpec, tape: Tape, tools: readonly ServerTool[]) {
    this.spec = spec;
    this.#downstream = replayed(spec, tape, tools);
  }

  get state(): ServerSlot['state'] {
    const { name } = this.spec;
    return { name, state: 'idle', tools: undefined, problems: [], reason: undefined, retryInMs: undefined };
  }

  insteadSentence(): string {
    return '';
  }

  get(): Promise<Downstream> {
    return Promise.resolve(this.#downstream);
  }

  rootsChanged(): void {}

  retire(onGone: () => void): void {
    onGone();
  }

  hold(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function replayed(spec: DownstreamSpec, tape: Tape, tools: readonly ServerTool[]): Downstream {
  const server = spec.name;
  const downstream: Downstream = {
    spec,
    serverVersion: undefined,
    instructions: undefined,
    closed: new Promise(() => {}),
    tools: () => tools,
    problems: () => [],
    has: () => true,
    callTool: async (tool, args) => {
      return new RawJson(tape.take({ server, method: 'tools/call', sent: callText(tool, args) }));
    },
    ask: async ({ method, params }) => {
      const text = tape.take({ server, method, sent: JSON.stringify(params) });
      const message = readMessage(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
      return message !== undefined && 'result' in message ? message.result : {};
    },
    calledBy: () => downstream,
    during: () => downstream,
  };
  return downstream;
}

// The state of an agent's conversation that another bridge needs to go on with it: the requests that wait for an answer, what
// was said in the greeting of 2025, and where lines end. Everything else passes unseen.

import { EnvelopeReader, envelopeOf } from '../../wire/envelope.js';
import { LineSplitter } from '../../wire/lines.js';

/** Longest line that a bridge takes from an agent (MAX_FRAME_BYTES of wire/frames.ts, which is too much to load here). */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 10;

/** A line of the agent's. */
export type Said = {
  readonly text: string;
  /** The id's own JSON text; undefined for a notification. */
  readonly id: string | undefined;
  /** Undefined for an answer. */
  readonly method: string | undefined;
};

/** Methods that nobody may call a second time unasked. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'tasks/update', 'tasks/cancel']);

export const LOST_CALL =
  'E_SHUTDOWN: The shared bridge has ended while this call was under way. What the call had already done stays done. The next call starts another bridge: call again if doing it twice does no harm.';

export class AgentConversation {
  readonly #skipped = new EnvelopeReader();
  readonly #lines = new LineSplitter(MAX_LINE_BYTES, (piece) => this.#skipped.push(piece));
  /** Requests of the agent without an answer yet, by the JSON text of their ids. */
  readonly #open = new Map<string, Said>();
  /** Requests to the agent, likewise: its answers are for the bridge that asked. */
  readonly #asked = new Set<string>();
  /** Requests of a bridge that has ended; the agent's answers to them are for nobody. */
  readonly #stale = new Set<string>();
  /** `initialize`, `notifications/initialized` and the last `logging/setLevel`, as they were said. */
  readonly #greeting = new Map<string, Said>();
  /** The last bridge's answer to `initialize`; another bridge that answers otherwise has other tools. */
  #greeted: string | undefined;
  /** Ids whose next answer is for nobody: the agent has had it. */
  readonly #swallowed = new Set<string>();
  #unfinished: Buffer = Buffer.alloc(0);

  /** Whether the agent waits for the answer to some request. */
  get waits(): boolean {
    return this.#open.size > 0;
  }

  /** The lines that `chunk` of the agent's completes; or, for one that is too long for any bridge, the line that says so. */
  *hear(chunk: Buffer): Generator<Said | { readonly refusal: string }, void, void> {
    for (const line of this.#lines.push(chunk)) {
      if ('oversized' in line) yield { refusal: tooLong(line.oversized, this.#skipped.take().id) };
      else if (line.text.trim() !== '') yield saidIn(line.text);
    }
  }

  /** Whether a line is for the bridge; to be asked once for each, as it is sent. */
  passesOn(said: Said): boolean {
    const { text, id, method } = said;
    if (method === undefined) {
      if (id === undefined) return true;
      this.#asked.delete(id);
      return !this.#stale.delete(id);
    }
    if (id !== undefined) this.#open.set(id, said);
    else if (method === 'notifications/cancelled') this.#forget(text);
    if (REPEATED.has(method)) this.#greeting.set(method, said);
    return true;
  }

  /** Lines for the agent that `chunk` of the bridge's completes: whole ones only, since a half one would spoil the next. */
  *tell(chunk: Buffer): Generator<Buffer, void, void> {
    const bytes = this.#unfinished.length === 0 ? chunk : Buffer.concat([this.#unfinished, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const line = bytes.subarray(start, end + 1);
      start = end + 1;
      yield* this.#toldLine(line);
    }
    this.#unfinished = bytes.subarray(start);
  }

  /** The bridge is gone, and another one is to go on; `unsent` cannot have reached it whole. */
  cut(unsent: ReadonlySet<Said> = new Set()): {
    /** Lines for the agent: an answer for each call that was under way, and that its questions are over. */
    readonly answers: readonly string[];
    /** Lines for the next bridge: the greeting, requests that change nothing when repeated, and calls that reached nobody. */
    readonly again: readonly Said[];
  } {
    this.#unfinished = Buffer.alloc(0);
    const open = [...this.#open.values()];
    const isLost = (said: Said) => isCall(said) && !unsent.has(said);
    const lost = open.filter(isLost);
    for (const { id } of lost) if (id !== undefined) this.#open.delete(id);
    const questions = [...this.#asked];
    for (const id of questions) this.#stale.add(id);
    this.#asked.clear();
    const greeting = [...this.#greeting.values()].filter(({ id }) => id === undefined || !this.#open.has(id));
    // The agent has had the answers to these.
    for (const { id } of greeting) if (id !== undefined) this.#swallowed.add(id);
    const again = open.filter((said) => !isLost(said));
    return {
      answers: [...lost.map(lostAnswer), ...questions.map(questionOver)],
      again: [...greeting, ...again],
    };
  }

  /** An answer to each request that waits, where no other bridge can be had; they wait no longer. */
  refuse(why: string): readonly string[] {
    const answers = [...this.#open.values()].map(({ id }) => errorLine(id, INTERNAL_ERROR, why));
    this.#open.clear();
    return answers;
  }

  *#toldLine(line: Buffer): Generator<Buffer, void, void> {
    const { id, hasMethod, isAnswer } = envelopeOf(line.toString());
    if (id === undefined) return yield line;
    if (hasMethod) {
      this.#asked.add(id);
      return yield line;
    }
    if (!isAnswer) return yield line;
    const isGreeting = this.#greeting.get('initialize')?.id === id;
    if (this.#swallowed.delete(id)) {
      if (isGreeting && this.#isOther(line)) for (const method of LISTS) yield changedLine(method);
      return;
    }
    if (isGreeting) this.#greeted = line.toString();
    this.#open.delete(id);
    yield line;
  }

  #isOther(line: Buffer): boolean {
    const isOther = this.#greeted !== undefined && this.#greeted !== line.toString();
    this.#greeted = line.toString();
    return isOther;
  }

  #forget(text: string): void {
    const { params } = parseLine(text) as { params?: { requestId?: unknown } };
    // A call that was cancelled is not answered.
    if (params?.requestId !== undefined) this.#open.delete(JSON.stringify(params.requestId));
  }
}

// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;
const LISTS = ['tools', 'resources', 'prompts'].map((list) => `notifications/${list}/list_changed`);
/** Methods that a bridge that goes on has to be told again. */
const REPEATED: ReadonlySet<string> = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
]);

const isCall = ({ method = '' }: Said): boolean => CALLS.has(method);

const changedLine = (method: string): Buffer =>
  Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);

/**
 * Answers as the tool, which models are shown, and not with an error of the protocol, which some hosts keep to themselves.
 */
function lostAnswer({ id, text, method }: Said): string {
  if (method !== 'tools/call') return errorLine(id, INTERNAL_ERROR, LOST_CALL);
  const isModern = text.includes('io.modelcontextprotocol/protocolVersion');
  const result = {
    content: [{ type: 'text', text: LOST_CALL }],
    isError: true,
    ...(isModern ? { resultType: 'complete' } : {}),
  };
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

const errorLine = (id: string | undefined, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${id ?? null},"error":${JSON.stringify({ code, message })}}`;

const tooLong = (bytes: number, id: string | undefined): string =>
  errorLine(id, PARSE_ERROR, `a message of ${bytes} bytes exceeds ${MAX_LINE_BYTES}`);

/** Closes the question on the person's screen: nobody waits for the answer. */
const questionOver = (id: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"The bridge that asked has ended."}}`;

function saidIn(text: string): Said {
  const { method, id } = parseLine(text);
  return {
    text,
    // Not all ids are numbers that JavaScript can hold.
    id: typeof id === 'string' || Number.isSafeInteger(id) ? JSON.stringify(id) : envelopeOf(text).id,
    method: typeof method === 'string' ? method : undefined,
  };
}

function parseLine(text: string): { readonly method?: unknown; readonly id?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

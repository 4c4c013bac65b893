// The guest's calls of one run: admitted up to the limits, answered in any order, each cancellable by itself, all
// ended together with the run. A slow call holds up nothing but itself, and while it waits only its text is kept.

import { asBridgeError, BridgeError } from '../../base/errors.js';
import { RawJson, stringify } from '../../base/json/json-text.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { clip } from '../../base/text/text.js';
import { Scheduler, UNLIMITED } from '../../base/waiting/scheduler.js';
import {
  type HostFrame,
  MAX_CALLS_IN_FLIGHT,
  MAX_PENDING_BYTES,
  MAX_QUEUED_CALLS,
  MAX_RUN_BYTES,
  MAX_UNREAD_BYTES,
  type Refusal,
} from '../../wire/frames.js';
import type { CallGuard } from './call-guard.js';
import { type CallFrame, callFrom, type GuestCall, keptName } from './guest-call.js';

/** Words about a call that waits, or that is refused; all of them are the frame's own claim. */
type Label = {
  readonly id: number;
  readonly server: string | null;
  readonly tool: string | null;
  readonly method: string;
};
/** A refusal quotes what it refuses; hostile code could have its own megabytes sent back to it. */
const MAX_MESSAGE_CHARS = 8_000;
/** All calls are of one run, and none is refused for those that wait. */
const OF_THE_RUN = { owner: 'the run', limits: UNLIMITED, memoryBytes: 0 };
/** Most tools that are named when a run waits for them: code may have called a thousand. */
const MAX_NAMES_SHOWN = 3;

export class Dispatcher implements Disposable {
  readonly #guard: Pick<CallGuard, 'answer'>;
  readonly #send: (frame: HostFrame) => boolean;
  readonly #queue: Scheduler;
  readonly #pending = new Map<number, { readonly label: Label; readonly controller: AbortController }>();
  #pendingChars = 0;
  #repliedChars = 0;
  #answered = 0;

  /** `send` is false when the guest has too much unread and the frame was dropped. */
  constructor(
    guard: Pick<CallGuard, 'answer'>,
    send: (frame: HostFrame) => boolean,
    maxInFlight = MAX_CALLS_IN_FLIGHT,
  ) {
    this.#queue = new Scheduler({ atOnce: Math.min(maxInFlight, MAX_CALLS_IN_FLIGHT) });
    this.#guard = guard;
    this.#send = send;
  }

  /** Calls that were admitted so far. */
  get calls(): number {
    return this.#answered + this.#pending.size;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** `github.search_issues (3), jira.get`, in the order in which they were asked for; empty when none is. */
  get waitingFor(): string {
    const counts = new Map<string, number>();
    for (const { label } of this.#pending.values()) {
      const awaited = awaitedName(label);
      counts.set(awaited, (counts.get(awaited) ?? 0) + 1);
    }
    const names = [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count})`));
    const shown = names.slice(0, MAX_NAMES_SHOWN);
    const more = names.length - shown.length;
    return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
  }

  /** The servers that it waits for, as its code names them. */
  get servers(): ReadonlySet<string> {
    return new Set([...this.#pending.values()].flatMap(({ label: { server } }) => server ?? []));
  }

  /** Takes a call; its answer is sent when it is there. `text` is the frame's own line, which is ASCII. */
  accept(frame: CallFrame, text: string): void {
    const { id, method } = frame;
    const label: Label = { id, server: nameIn(frame, 'server'), tool: nameIn(frame, 'tool'), method };
    const obstacle = this.#obstacle(label.id, text.length);
    if (obstacle !== undefined) return this.#refuse(label, obstacle);
    const call = callFrom(frame, text);
    const controller = new AbortController();
    this.#pending.set(label.id, { label, controller });
    this.#pendingChars += text.length;
    void this.#answer(label, call, text.length, controller.signal);
  }

  /** The guest no longer waits for this call. */
  abandon(id: number): void {
    this.#pending.get(id)?.controller.abort('cancelled');
  }

  /** Each call that is under way or waits is refused, where its code goes on and would wait for ever. */
  refuseAll(error: BridgeError): void {
    for (const { label, controller } of this.#pending.values()) {
      controller.abort('cancelled');
      this.#refuse(label, error);
    }
  }

  [Symbol.dispose](): void {
    for (const { controller } of this.#pending.values()) controller.abort('cancelled');
    this.#pending.clear();
  }

  #obstacle(id: number, chars: number): BridgeError | undefined {
    if (this.#pending.has(id)) {
      return new BridgeError('E_PROTOCOL', `The call id ${id} is in use.`, { fault: 'guest' });
    }
    if (this.#pending.size >= MAX_CALLS_IN_FLIGHT + MAX_QUEUED_CALLS) {
      const most = `at most ${MAX_CALLS_IN_FLIGHT} are made at once, and ${MAX_QUEUED_CALLS} more may wait`;
      return new BridgeError('E_TOO_MANY_CALLS', `${this.#pending.size} calls are under way: ${most}.`, {
        fault: 'guest',
        remedy: 'Make the calls in smaller batches, and await each batch before the next.',
      });
    }
    if (this.#pendingChars + chars > MAX_PENDING_BYTES) {
      const all = this.#pendingChars + chars;
      return tooMuch(
        `With this call, the calls under way hold ${all} bytes of arguments; at most ${MAX_PENDING_BYTES} are allowed.`,
      );
    }
    if (this.#repliedChars > MAX_RUN_BYTES) {
      return tooMuch(
        `This run has received ${this.#repliedChars} bytes of answers; after ${MAX_RUN_BYTES} no further call is made.`,
        'Split the work over several runs, or ask for less in each call.',
      );
    }
    return undefined;
  }

  /** `call` is an error where its frame says nothing that can be asked: it is refused in its turn, like a failed answer. */
  async #answer(
    label: Label,
    call: GuestCall | BridgeError,
    chars: number,
    signal: AbortSignal,
  ): Promise<void> {
    using _turn = await this.#queue.take(OF_THE_RUN, signal);
    try {
      if (call instanceof BridgeError) throw call;
      if (!signal.aborted) this.#reply(label, await this.#guard.answer(call, signal));
    } catch (thrown) {
      if (!signal.aborted) this.#refuse(label, asBridgeError(thrown));
    } finally {
      this.#pendingChars -= chars;
      if (this.#pending.delete(label.id)) this.#answered++;
    }
  }

  #reply(label: Label, value: unknown): void {
    const json = value instanceof RawJson ? value : new RawJson(stringify(value ?? null));
    this.#repliedChars += json.text.length;
    if (this.#send({ type: 'reply', id: label.id, value: json })) return;
    this.#refuse(
      label,
      tooMuch(`More than ${MAX_UNREAD_BYTES} bytes of answers wait for the code to read them.`),
    );
  }

  #refuse({ id, server, tool }: Label, error: BridgeError): void {
    const message = clip(error.advice, MAX_MESSAGE_CHARS);
    const refusal: Refusal = { code: error.code, message, server, tool };
    this.#send({ type: 'refusal', id, error: refusal });
  }
}

function nameIn({ params }: CallFrame, key: 'server' | 'tool'): string | null {
  const name = params[key];
  return typeof name === 'string' ? keptName(name) : null;
}

/** Who answers it, for people. */
function awaitedName({ method, server, tool }: Label): string {
  if (tool !== null) return shownTool(server ?? '', tool);
  const [kind] = method.split('.', 1);
  return kind === 'resources' || kind === 'prompts' ? `${kind} of ${shownName(server ?? '')}` : 'the bridge';
}

const tooMuch = (message: string, remedy = 'Await fewer calls at a time, or ask for less in each.') =>
  new BridgeError('E_TOO_MUCH_DATA', message, { fault: 'guest', remedy });

// Runs of one bridge, as it remembers them for the page: those under way with their calls, and the last ones that ended. Code and
// output are kept as MCP_BRIDGE_RECORD says, as they are; secrets are taken out when somebody asks for the text.

import type { BridgeEvent } from '../../base/log/events.js';
import type { Redact } from '../../base/secrets/redact.js';
import { clip, linesOf } from '../../base/text/text.js';
import type { Settings } from '../../settings/environment/settings.js';
import {
  type Recorded,
  type Repeatable,
  RUNNING,
  type SeenCall,
  type SeenRun,
  type Told,
} from '../told/told.js';

const MAX_ENDED = 200;
/** Further calls of a run are counted, and not told. */
const MAX_CALLS = 2_000;
const MAX_NAME_CHARS = 256;
const MAX_REASON_CHARS = 300;
const MAX_RULE_CHARS = 1_000;
/** Strings of JavaScript take two bytes for each character at most. */
const BYTES_OF_CHARACTER = 2;

type Remembered = {
  seen: SeenRun;
  readonly redact: Redact;
  /** Ended ones. */
  readonly calls: SeenCall[];
  /** By what counts them in their run. */
  readonly underWay: Map<number, SeenCall>;
  code?: string;
  output?: Omit<Extract<BridgeEvent, { type: 'run.output' }>, 'type' | 'run' | 'principal' | 'request'>;
  /** Memory of both, counted once: each run that ends has those of all others added up. */
  bytes: number;
  endedAtMs?: number;
};

export class RememberedRuns {
  readonly #runs = new Map<string, Remembered>();
  /** Code of runs that have not started yet. */
  readonly #codes = new Map<string, string>();
  readonly #record: Settings['record'];
  readonly #tell: (message: Told) => void;

  /** `tell` is called with each change. */
  constructor(record: Settings['record'], tell: (message: Told) => void) {
    this.#record = record;
    this.#tell = tell;
  }

  /** `redact` knows the secrets of the bridge that the event is of. */
  observe(event: BridgeEvent, redact: Redact): void {
    if (event.type === 'run.code') {
      if (this.#record !== undefined) this.#codes.set(event.run, event.code);
    } else if (event.type === 'run.started') this.#begin(event, redact);
    else if (event.type === 'run.calling') this.#beginCall(event, redact);
    else if (event.type === 'run.call') this.#addCall(event, redact);
    else if (event.type === 'run.ended') this.#end(event, redact);
    else if (event.type === 'run.output') this.#addOutput(event);
    else if (event.type === 'run.rejected') this.#addRejected(event, redact);
  }

  /** Everything that is remembered, for a page that has just come. */
  all(): readonly Told[] {
    return [...this.#runs.values()].flatMap(({ seen, calls, underWay }) => [
      { is: 'run', run: seen } as const,
      ...[...calls, ...underWay.values()].map((call) => ({ is: 'call', run: seen.run, call }) as const),
    ]);
  }

  /** Code and output of a run without secrets; null where they are not remembered. */
  recorded(run: string): Recorded | null {
    this.#forget();
    const { code, output, redact = String } = this.#runs.get(run) ?? {};
    if (code === undefined) return null;
    const { stdout = '', stderr = '', result, error, files = [], texts = [], pictures = [] } = output ?? {};
    return {
      code: redact(code),
      stdout: redact(stdout),
      stderr: redact(stderr),
      ...(result === undefined ? {} : { result: redact(result) }),
      ...(error === undefined ? {} : { error: redact(error) }),
      files: files.map((name) => redact(name)),
      texts: texts.map(({ name, text }) => ({ name: redact(name), text: redact(text) })),
      pictures: [...pictures],
    };
  }

  #begin(event: Extract<BridgeEvent, { type: 'run.started' }>, redact: Redact): void {
    const { run, client, servers, language } = event;
    const { bytes: codeBytes } = event.code;
    const code = this.#codes.get(run);
    this.#codes.delete(run);
    const seen: SeenRun = {
      run,
      at: new Date().toISOString(),
      client: clip(redact(client), MAX_NAME_CHARS),
      ...principalOf(event),
      language,
      servers: servers.map((name) => clip(redact(name), MAX_NAME_CHARS)),
      status: RUNNING,
      callCount: 0,
      failedCalls: 0,
      codeBytes,
      isRecorded: code !== undefined,
    };
    this.#runs.set(run, {
      seen,
      redact,
      calls: [],
      underWay: new Map(),
      ...(code === undefined ? {} : { code }),
      bytes: bytesOf([code]),
    });
    this.#tell({ is: 'run', run: seen });
  }

  #beginCall(event: Extract<BridgeEvent, { type: 'run.calling' }>, redact: Redact): void {
    const known = this.#runs.get(event.run);
    if (known === undefined || known.underWay.size >= MAX_CALLS) return;
    const call: SeenCall = {
      ...seenCall(event, redact),
      isUnderWay: true,
      durationMs: 0,
      argumentBytes: event.argumentBytes,
    };
    known.underWay.set(call.call, call);
    this.#tell({ is: 'call', run: event.run, call });
  }

  #addCall(event: Extract<BridgeEvent, { type: 'run.call' }>, redact: Redact): void {
    const known = this.#runs.get(event.run);
    if (known === undefined) return;
    known.underWay.delete(event.call);
    const { error, durationMs, result, argumentsText } = event;
    const { callCount, failedCalls } = known.seen;
    const counted = { callCount: callCount + 1, failedCalls: failedCalls + (error === undefined ? 0 : 1) };
    known.seen = { ...known.seen, ...counted };
    if (known.calls.length >= MAX_CALLS) return;
    const call: SeenCall = {
      ...seenCall(event, redact),
      ...(error === undefined ? {} : { error }),
      durationMs: Math.round(durationMs),
      argumentBytes: event.arguments.bytes,
      ...(result === undefined ? {} : { resultBytes: result.bytes }),
      ...(argumentsText === undefined ? {} : { argumentsText: redact(argumentsText) }),
    };
    known.calls.push(call);
    this.#tell({ is: 'call', run: event.run, call });
  }

  #end(event: Extract<BridgeEvent, { type: 'run.ended' }>, redact: Redact): void {
    const known = this.#runs.get(event.run);
    if (known === undefined) return;
    const { servers, status, error, durationMs, calls } = event;
    known.seen = {
      ...known.seen,
      servers: servers.map((name) => clip(redact(name), MAX_NAME_CHARS)),
      status,
      ...(error === undefined ? {} : { error: reasonOf(error, redact) }),
      durationMs: Math.round(durationMs),
      callCount: calls,
    };
    known.endedAtMs = Date.now();
    known.underWay.clear();
    this.#tell({ is: 'run', run: known.seen });
    this.#forget();
  }

  #addOutput({ run, ...output }: Extract<BridgeEvent, { type: 'run.output' }>): void {
    const known = this.#runs.get(run);
    if (known?.code === undefined) return;
    known.output = output;
    const { stdout, stderr, result, error, files = [], texts = [], pictures = [] } = output;
    known.bytes = bytesOf([
      ...[known.code, stdout, stderr, result, error],
      ...files,
      ...texts.map(({ text }) => text),
      ...pictures.map(({ data }) => data),
    ]);
    this.#forget();
  }

  #addRejected(event: Extract<BridgeEvent, { type: 'run.rejected' }>, redact: Redact): void {
    const { run, client, servers, language, error } = event;
    const seen: SeenRun = {
      run,
      at: new Date().toISOString(),
      client: clip(redact(client), MAX_NAME_CHARS),
      ...principalOf(event),
      language,
      servers: servers.slice(0, MAX_CALLS).map((name) => clip(redact(name), MAX_NAME_CHARS)),
      status: error.kind === 'E_CANCELLED' ? 'cancelled' : 'refused',
      error: reasonOf(error, redact),
      durationMs: 0,
      callCount: 0,
      failedCalls: 0,
      isRecorded: false,
    };
    this.#runs.set(run, { seen, redact, calls: [], underWay: new Map(), bytes: 0, endedAtMs: Date.now() });
    this.#tell({ is: 'run', run: seen });
    this.#forget();
  }

  /** Forgets runs that are too many, and texts that are too old or too much; the oldest go first. */
  #forget(): void {
    const ended = [...this.#runs.values()].filter(({ endedAtMs }) => endedAtMs !== undefined);
    for (const { seen } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#runs.delete(seen.run);
    const { seconds, bytes } = this.#record ?? { seconds: 0, bytes: 0 };
    let left = bytes;
    for (const one of [...this.#runs.values()].reverse()) {
      if (one.code === undefined) continue;
      left -= one.bytes;
      const isOld = one.endedAtMs !== undefined && Date.now() - one.endedAtMs > seconds * 1_000;
      if (left >= 0 && !isOld) continue;
      delete one.code;
      delete one.output;
      one.seen = { ...one.seen, isRecorded: false };
      this.#tell({ is: 'run', run: one.seen });
    }
  }
}

const principalOf = ({ principal }: BridgeEvent): Pick<SeenRun, 'principal'> =>
  principal === undefined ? {} : { principal };

/** The first line only, as in the audit: what code raises may quote what a tool has answered. */
function reasonOf(
  { kind, message }: { readonly kind: string; readonly message: string },
  redact: Redact,
): NonNullable<SeenRun['error']> {
  const [first = ''] = linesOf(redact(message));
  return { kind: clip(kind, MAX_NAME_CHARS), message: clip(first, MAX_REASON_CHARS) };
}

const bytesOf = (texts: readonly (string | undefined)[]): number =>
  BYTES_OF_CHARACTER * texts.reduce((sum, text = '') => sum + text.length, 0);

/** Parts of a call that are told when it begins and when it has ended. */
const seenCall = (
  { call, server, tool, allowed, rule }: Extract<BridgeEvent, { type: 'run.calling' | 'run.call' }>,
  redact: Redact,
) => ({
  call,
  server: clip(redact(server), MAX_NAME_CHARS),
  tool: clip(redact(tool), MAX_NAME_CHARS),
  isAllowed: allowed,
  rule: clip(redact(rule), MAX_RULE_CHARS),
  endedAt: new Date().toISOString(),
});

// Requests of runs to servers with their answers, as a bridge remembers them so that a run can be run again: on the terms of
// MCP_BRIDGE_RECORD, in memory alone. The reason is all that is kept of a run that cannot be run again.

type RequestTold = Extract<BridgeEvent, { type: 'run.answered' }>;

type RecordedRun = Omit<Extract<BridgeEvent, { type: 'run.code' }>, 'type' | 'code'> & {
  readonly redact: Redact;
  readonly requests: RequestTold[];
  bytes: number;
  isCut: boolean;
  lastAtMs: number;
};

export class RecordedRequests {
  readonly #record: Settings['record'];
  readonly #runs = new Map<string, RecordedRun>();

  constructor(record: Settings['record']) {
    this.#record = record;
  }

  /** `redact` knows the secrets of the bridge that the event is of. */
  observe(event: BridgeEvent, redact: Redact): void {
    if (this.#record === undefined) return;
    if (event.type === 'run.code') {
      const { type: _type, code: _code, ...about } = event;
      const requests: RequestTold[] = [];
      this.#runs.set(event.run, { ...about, redact, requests, bytes: 0, isCut: false, lastAtMs: Date.now() });
      this.#forget();
    } else if (event.type === 'run.answered') this.#add(event);
  }

  /** Without secrets; null for a run that is not remembered. */
  of(run: string): Repeatable | null {
    this.#forget();
    const found = this.#runs.get(run);
    if (found === undefined) return null;
    const { form, timeoutSeconds, isCut, requests, redact } = found;
    return {
      form: isCut ? 'too long' : form,
      timeoutSeconds,
      requests: requests.map(({ server, method, sent, answer, error }) => ({
        ...{ server, method, sent: redact(sent) },
        ...(answer === undefined ? {} : { answer: redact(answer) }),
        ...(error === undefined ? {} : { error: { code: error.code, message: redact(error.message) } }),
      })),
    };
  }

  #add(event: RequestTold): void {
    const run = this.#runs.get(event.run);
    if (run === undefined || run.form !== 'cell' || run.isCut) return;
    run.requests.push(event);
    run.bytes += BYTES_OF_CHARACTER * (event.sent.length + (event.answer?.length ?? 0));
    run.lastAtMs = Date.now();
    if (run.bytes > this.#most) {
      run.isCut = true;
      run.bytes = 0;
      run.requests.length = 0;
    }
    this.#forget();
  }

  /** As much as may be remembered of code and output. */
  get #most(): number {
    return this.#record?.bytes ?? 0;
  }

  /** Forgets what is too old, too many or too much; the oldest run goes first. */
  #forget(): void {
    const oldestMs = Date.now() - (this.#record?.seconds ?? 0) * 1_000;
    let left = this.#most;
    for (const [at, [id, run]] of [...this.#runs].reverse().entries()) {
      left -= run.bytes;
      if (at >= MAX_ENDED || left < 0 || run.lastAtMs < oldestMs) this.#runs.delete(id);
    }
  }
}

// Tells of everything that a guest has a server do, whatever comes of it: one event for each tool call, each question
// about resources and prompts, and each server that code asks for. Events have sizes and digests and never data, except
// for the arguments where the operator wants them. Decides nothing: it is handed the guard's verdict.

import { asBridgeError } from '../../base/errors.js';
import { RawJson, sliceAt } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import type { Verdict } from '../../policy/rules/policy.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { digestOf, type TextDigest } from '../audit/digest.js';
import type { RunCall } from '../events.js';
import { type CallTarget, type GuestCall, keptName } from './guest-call.js';

/** A call with the one verdict on it. */
type JudgedCall = {
  readonly call: GuestCall;
  /** Target of the call; nothing is told of a call that asks nothing of a server. */
  readonly target: Extract<CallTarget, { readonly name: string }>;
  readonly verdict: Verdict;
};

/** Failures are told in less; looking for one in 40 MB of data takes 30 ms, in which nothing else is done. */
const MAX_FAILURE_CHARS = 1024 * 1024;
/** Looked for first, since most results are none. */
const SAYS_ERROR = /"isError"\s*:\s*true/;
/**
 * Characters of a call's arguments that are reported. Whoever keeps them also searches them for secrets, which takes
 * time.
 */
const MAX_ARGUMENTS_CHARS = 64 * 1024;

export class CallAudit {
  readonly #parts;

  constructor(parts: {
    readonly runId: string;
    readonly mode: SettingValues['audit'];
    readonly observer: Observer;
  }) {
    this.#parts = parts;
  }

  /** Answers or throws as `work` does, and tells of the call when that has ended. */
  async record<T>(judged: JudgedCall, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const startedAt = performance.now();
    this.#tellBegun(judged);
    const tell = (result: TextDigest | undefined, error: string | undefined) =>
      this.#tell(judged, { result, error, durationMs: performance.now() - startedAt });
    try {
      const answer = await work();
      if (answer instanceof RawJson) tell(digestFor(answer.text, this.#parts.mode), failureIn(answer.text));
      else tell(undefined, undefined);
      return answer;
    } catch (thrown) {
      tell(undefined, signal.aborted ? 'E_CANCELLED' : asBridgeError(thrown).code);
      throw thrown;
    }
  }

  #tellBegun(judged: JudgedCall): void {
    const argumentBytes = judged.call.argumentsText.length;
    this.#parts.observer({ type: 'run.calling', ...this.#about(judged), argumentBytes });
  }

  #about({ call: { id }, target, verdict }: JudgedCall): RunCall {
    return {
      run: this.#parts.runId,
      call: id,
      server: keptName(target.server),
      tool: keptName(target.name),
      allowed: verdict.allowed,
      rule: verdict.rule,
    };
  }

  #tell(
    judged: JudgedCall,
    ended: {
      readonly result: TextDigest | undefined;
      /** The code of what it failed with. */
      readonly error: string | undefined;
      readonly durationMs: number;
    },
  ): void {
    const { mode, observer } = this.#parts;
    const { argumentsText } = judged.call;
    observer({
      type: 'run.call',
      ...this.#about(judged),
      failed: ended.error !== undefined,
      arguments: digestFor(argumentsText, mode),
      argumentsText: keptText(argumentsText, mode),
      ...ended,
    });
  }
}

/** The code that the guest fails with when a server says that its tool has failed, which is an answer to the protocol. */
export const failureIn = (text: string): string | undefined =>
  text.length <= MAX_FAILURE_CHARS && SAYS_ERROR.test(text) && sliceAt(text, ['isError']) === 'true'
    ? 'E_TOOL_FAILED'
    : undefined;

/** The beginning of a text that may be told; undefined where the operator does not want arguments kept. */
export const keptText = (text: string, mode: SettingValues['audit']): string | undefined =>
  mode === 'arguments' ? text.slice(0, MAX_ARGUMENTS_CHARS) : undefined;

const digestFor = (text: string, mode: SettingValues['audit']): TextDigest =>
  mode === 'off' ? { bytes: text.length, sha256: undefined } : digestOf(text);

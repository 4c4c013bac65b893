// Tells of every tool call that a guest makes, whatever comes of it: one event for each, of sizes and digests and never
// of data, except for the arguments where the operator wants them. Decides nothing.

import { asBridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip } from '../base/text.js';
import { weigh } from '../base/weight.js';
import type { AuditMode } from '../config/variables.js';
import { type CallParams, MAX_NAME_CHARS, type ServerDoc } from '../protocol/frames.js';
import { RawJson, sliceAt } from '../protocol/json-text.js';
import type { HostApi } from './host-api.js';
import type { Policy } from './policy.js';

export type RecordedParts = {
  readonly runId: string;
  readonly mode: AuditMode;
  readonly policy: () => Policy;
  /** A loaded server whole, with what policy hides of it. */
  readonly whole: (server: string) => ServerDoc | undefined;
  readonly observer: Observer;
};

/** Of the arguments' text that is told: whoever keeps it also looks for secrets in it. */
const MAX_ARGUMENTS_CHARS = 64 * 1024;

/** The same questions and answers, with an event for each tool call that has ended. */
export function recorded(api: HostApi, { runId, mode, policy, whole, observer }: RecordedParts): HostApi {
  const callTool = async (params: CallParams['tools.call'], text: string, signal: AbortSignal) => {
    const startedAt = performance.now();
    const { server, tool } = params;
    const known = whole(server)?.tools.find(({ name }) => name === tool);
    const verdict = policy().tool(server, { name: tool, changed: known?.changed ?? null });
    const args = sliceAt(text, ['params', 'arguments']) ?? '{}';
    const tell = (answer: string | undefined, error: string | undefined) =>
      observer({
        type: 'run.call',
        run: runId,
        call: Number(sliceAt(text, ['id'])),
        server: clip(server, MAX_NAME_CHARS),
        tool: clip(tool, MAX_NAME_CHARS),
        allowed: verdict.allowed,
        rule: verdict.rule,
        error,
        failed: error !== undefined,
        durationMs: performance.now() - startedAt,
        arguments: weighed(args, mode),
        result: answer === undefined ? undefined : weighed(answer, mode),
        argumentsText: mode === 'arguments' ? args.slice(0, MAX_ARGUMENTS_CHARS) : undefined,
      });
    try {
      const result = await api['tools.call'](params, text, signal);
      tell(result instanceof RawJson ? result.text : undefined, undefined);
      return result;
    } catch (thrown) {
      tell(undefined, signal.aborted ? 'E_CANCELLED' : asBridgeError(thrown).code);
      throw thrown;
    }
  };
  return { ...api, 'tools.call': callTool };
}

const weighed = (text: string, mode: AuditMode) =>
  mode === 'off' ? { bytes: text.length, sha256: undefined } : weigh(text);

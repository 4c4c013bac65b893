// Tells of everything that a guest has a server do, whatever comes of it: one event for each tool call, each question
// about resources and prompts, and each server that code asks for, of sizes and digests and never of data, except for the arguments where the operator wants
// them. Decides nothing.

import { asBridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip } from '../base/text.js';
import { type Weight, weigh } from '../base/weight.js';
import type { AuditMode } from '../config/variables.js';
import { MAX_NAME_CHARS } from '../protocol/frames.js';
import { RawJson, sliceAt } from '../protocol/json-text.js';
import { LOADING } from './door.js';
import type { HostApi } from './host-api.js';
import type { JudgedTool, Policy, RequestMethod, Verdict } from './policy.js';
import type { Question } from './question.js';

export type RecordedParts = {
  readonly runId: string;
  readonly mode: AuditMode;
  readonly policy: () => Policy;
  /** A tool as policy judges it. */
  readonly subject: (server: string, tool: string) => JudgedTool;
  readonly observer: Observer;
};

/** `tool` is the tool's real name, the MCP method of a question about resources or prompts, or `servers/load`. */
type Asked = { readonly server: string; readonly tool: string; readonly verdict: Verdict };

/** What went wrong is told in less; looking through 40 MB of data for it takes 30 ms, in which nothing else is done. */
const MAX_FAILURE_CHARS = 1024 * 1024;
/** Looked for first, since most results are none. */
const SAYS_ERROR = /"isError"\s*:\s*true/;
/** Of the arguments' text that is told: whoever keeps it also looks for secrets in it. */
const MAX_ARGUMENTS_CHARS = 64 * 1024;

/** The same questions and answers, with an event for each that has ended. */
export function recorded(api: HostApi, { runId, mode, policy, subject, observer }: RecordedParts): HostApi {
  const telling =
    <P>(question: Question<P>, askedBy: (params: P) => Asked, argumentsAt: readonly string[]): Question<P> =>
    async (params, text, signal) => {
      const startedAt = performance.now();
      const { server, tool, verdict } = askedBy(params);
      const args = sliceAt(text, argumentsAt) ?? '{}';
      const tell = (result: Weight | undefined, error: string | undefined) =>
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
          result,
          argumentsText: keptText(args, mode),
        });
      try {
        const answer = await question(params, text, signal);
        if (answer instanceof RawJson) tell(weighed(answer.text, mode), failureIn(answer.text));
        else tell(undefined, undefined);
        return answer;
      } catch (thrown) {
        tell(undefined, signal.aborted ? 'E_CANCELLED' : asBridgeError(thrown).code);
        throw thrown;
      }
    };
  const called = ({ server, tool }: { readonly server: string; readonly tool: string }): Asked => ({
    server,
    tool,
    verdict: policy().tool(server, subject(server, tool)),
  });
  const requested =
    (method: RequestMethod) =>
    ({ server }: { readonly server: string }): Asked => ({
      server,
      tool: method,
      verdict: policy().request(server, method),
    });
  const loaded = ({ server }: { readonly server: string }): Asked => ({
    server,
    tool: LOADING,
    verdict: policy().server(server),
  });
  return {
    ...api,
    'tools.call': telling(api['tools.call'], called, ['params', 'arguments']),
    'servers.load': telling(api['servers.load'], loaded, ['params']),
    'resources.list': telling(api['resources.list'], requested('resources/list'), ['params']),
    'resources.read': telling(api['resources.read'], requested('resources/read'), ['params']),
    'prompts.list': telling(api['prompts.list'], requested('prompts/list'), ['params']),
    'prompts.get': telling(api['prompts.get'], requested('prompts/get'), ['params']),
  };
}

/** The code that the guest fails with when a server says that its tool has failed, which is an answer to the protocol. */
const failureIn = (text: string): string | undefined =>
  text.length <= MAX_FAILURE_CHARS && SAYS_ERROR.test(text) && sliceAt(text, ['isError']) === 'true'
    ? 'E_TOOL_FAILED'
    : undefined;

/** Of arguments, as far as they are told; undefined where the operator does not want them kept. */
export const keptText = (text: string, mode: AuditMode): string | undefined =>
  mode === 'arguments' ? text.slice(0, MAX_ARGUMENTS_CHARS) : undefined;

const weighed = (text: string, mode: AuditMode): Weight =>
  mode === 'off' ? { bytes: text.length, sha256: undefined } : weigh(text);

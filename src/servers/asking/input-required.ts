// A server of the modern era asks its user by its answer: `input_required`, with questions and a state of its own. The
// questions go the way of those that servers of 2025 push (asking/passed-on.ts), and the request is sent once more with
// the answers and the state as it was.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { isObject, type JsonObject } from '../../base/json/json-object.js';
import { clipHarmless } from '../../base/text/text.js';
import type { FailureCode } from '../connection/call-error.js';

/** A server that still asks after so many answers is not taken to end. */
const MAX_ROUNDS = 10;
/** Questions of one round: a person answers no more at once. */
const MAX_QUESTIONS = 8;
/** Before a request is sent again that was only put off, in ms. */
const PAUSE_MS = 250;
/** Longest state, in characters, that is carried back. */
const MAX_STATE_CHARS = 1_000_000;

type InputParts = {
  /** Names what was asked for and its server, as the beginning of a sentence. */
  readonly what: string;
  readonly failure: FailureCode;
  readonly send: (params: JsonObject) => Promise<object>;
  /** Undefined for a method that is not answered. */
  readonly answer: (method: string, params: unknown, signal: AbortSignal) => Promise<JsonObject> | undefined;
};

/** The final result of a request. Throws as `send` does, and E_TOOL_FAILED for what the bridge does not pass on. */
export async function withInput(params: JsonObject, parts: InputParts, signal: AbortSignal): Promise<object> {
  const { what, failure, send } = parts;
  const refused = (said: string) => refusal(failure, `${what} ${said}`);
  let result = await send(params);
  for (let round = 1; Reflect.get(result, 'resultType') === 'input_required'; round++) {
    if (round > MAX_ROUNDS) throw refused(`still asks for input after ${MAX_ROUNDS} rounds.`);
    const { inputRequests, requestState } = result as JsonObject;
    const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
    const state = requestState ?? undefined;
    const fault = troubleOf(state, questions.length);
    if (fault !== undefined) throw refused(fault);
    if (questions.length === 0) await sleep(PAUSE_MS, undefined, { signal });
    const answers = await Promise.all(
      questions.map(async ([key, question]) => [key, await answered(question, parts, signal)] as const),
    );
    result = await send({
      ...params,
      ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) }),
      ...(state === undefined ? {} : { requestState: state }),
    });
  }
  return result;
}

async function answered(
  question: unknown,
  { what, failure, answer }: InputParts,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { method, params } = Object(question) as { method?: unknown; params?: unknown };
  const given = typeof method === 'string' ? answer(method, params, signal) : undefined;
  if (given !== undefined) return given;
  if (method === 'sampling/createMessage') {
    throw refusal(
      failure,
      `${what} asks for the use of the agent's model (sampling), which the bridge never passes on.`,
      'Use another tool of it, or one that needs no model.',
    );
  }
  const asked = clipHarmless(String(method), 100);
  throw refusal(failure, `${what} asks for '${asked}', which the agent does not offer.`);
}

/** The trouble with the question as a whole, as the rest of a sentence. The state is opaque: it goes back as it came. */
function troubleOf(state: unknown, questions: number): string | undefined {
  if (state === undefined && questions === 0)
    return 'asks for input, but names neither a question nor a state.';
  if (questions > MAX_QUESTIONS)
    return `asks ${questions} questions at once; at most ${MAX_QUESTIONS} are put.`;
  if (state !== undefined && typeof state !== 'string') return 'asks for input with a state that is no text.';
  if (state !== undefined && state.length > MAX_STATE_CHARS)
    return `asks for input with a state of ${state.length} characters; at most ${MAX_STATE_CHARS} are carried.`;
  return undefined;
}

function refusal(failure: FailureCode, message: string, remedy?: string): BridgeError {
  return new BridgeError(failure, message, {
    fault: 'downstream',
    ...(remedy === undefined ? {} : { remedy }),
  });
}

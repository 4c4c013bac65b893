// A prompt that a person has chosen in the host's menu, and what completes its arguments: asked of the server that has it, by
// the guard, limits and audit that every call passes. What the server answers is shown as the answers of its tools are.

import { z } from 'zod';
import { asBridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { answerChars, MAX_ANSWER_CHARS } from '../../code-exec/execute-result.js';
import { showStrings } from '../../run/answer/payload.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/envelope.js';
import { withoutClaims } from '../calls/tool-calls.js';
import type { AgentRequest } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { type AllowedParams, paramsBy } from '../requests/complaint.js';
import { type OfferedPrompt, offeredPrompts } from './prompts.js';

const INTERNAL_ERROR = -32_603;
/** The protocol's own limit. */
const MAX_VALUES = 100;
const MAX_VALUE_CHARS = 1_000;
const MAX_NAMES_SHOWN = 20;

const Get = z.object({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() });

const ALLOWED: AllowedParams = {
  fields: {
    name: 'the name of a prompt, as prompts/list names it',
    arguments: 'an object of texts by argument names',
  },
  whole: 'an object with name and arguments',
};

/** Answers prompts/get. */
export function answerPrompts(server: AgentServer, bridge: Bridge): void {
  server.answer('prompts/get', async (params, { caller, signal }) => {
    const { name, arguments: args = {} } = paramsBy(Get, params, ALLOWED);
    const { server: of, prompt } = promptNamed(name, bridge);
    const { timeoutSeconds, maxTimeoutSeconds } = bridge.settings;
    const answer = await bridge.callServer(
      {
        server: of,
        prompt,
        args,
        setBy: 'name',
        timeoutSeconds,
        softTimeoutSeconds: maxTimeoutSeconds,
      },
      { caller, signal, tell: () => {} },
    );
    if ('message' in answer) {
      const { message, remedy = '' } = answer;
      throw failed(bridge.redactor.redact(`${message} ${remedy}`.trim()));
    }
    const result = showStrings(withoutClaims(JSON.parse(answer.text)));
    const chars = answerChars(result);
    if (chars <= MAX_ANSWER_CHARS) return result;
    throw failed(`The prompt has ${chars} characters; at most ${MAX_ANSWER_CHARS} can be passed on.`);
  });
}

/** Values for an argument of the prompt, by its server; none where the server completes nothing, or cannot now. */
export async function completeArgument(
  bridge: Bridge,
  { name, ...asked }: { readonly name: string; readonly argument: object; readonly context?: object },
  { caller, signal }: AgentRequest,
): Promise<object> {
  const { server, prompt } = promptNamed(name, bridge);
  try {
    const result = await bridge.completePrompt(server, { prompt, ...asked }, { caller, signal });
    return { completion: usableCompletion(result) };
  } catch (thrown) {
    // A menu has no place for a reason; whoever gets the prompt is told it.
    if (asBridgeError(thrown).code === 'E_CANCELLED') throw thrown;
    return { completion: { values: [], total: 0, hasMore: false } };
  }
}

function usableCompletion(result: object) {
  const { values, total, hasMore } = Object(Reflect.get(result, 'completion'));
  const texts = (Array.isArray(values) ? values : []).filter(
    (value): value is string => typeof value === 'string' && value.length <= MAX_VALUE_CHARS,
  );
  return {
    values: showStrings(texts.slice(0, MAX_VALUES)),
    ...(Number.isSafeInteger(total) ? { total: Number(total) } : {}),
    hasMore: hasMore === true || texts.length > MAX_VALUES,
  };
}

/** Throws -32602 where there is none of this name. */
function promptNamed(name: string, bridge: Bridge): OfferedPrompt {
  const offered = offeredPrompts(bridge);
  const found = offered.find(({ shown }) => shown.name === name);
  if (found !== undefined) return found;
  const names = offered.map(({ shown }) => shown.name);
  const known =
    names.length === 0
      ? 'No server that was started has any.'
      : `Prompts: ${names.slice(0, MAX_NAMES_SHOWN).join(', ')}${names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : ''}.`;
  throw new WrongParams(`There is no prompt '${shownName(name)}'.${didYouMean(name, names)} ${known}`);
}

const failed = (message: string): Error => Object.assign(new Error(message), { code: INTERNAL_ERROR });

// What a configured server's `execute` has answered, as the agent is sent it. Such a server may give back more than any
// answer of ours can carry; its command has run, so the agent gets what fits instead of an error.

import { isObject } from '../../base/json/json-object.js';
import { HeadTail } from '../../base/text/text.js';
import { answerChars, MAX_ANSWER_CHARS } from '../../code-exec/execute-result.js';

/** Limit for all texts together. In JSON, a character that does not show takes at most seven. */
const MAX_TEXT_CHARS = Math.floor(MAX_ANSWER_CHARS / 8);
/** More are no output of a command. */
const MAX_TEXTS = 100;

type Result = Readonly<Record<string, unknown>>;
type TextBlock = { readonly type: 'text'; readonly text: string };

/** `text` is the CallToolResult as the server wrote it. */
export function relayedResult(text: string): Result {
  const result = withBlocks(JSON.parse(text) as Result);
  const chars = answerChars(result);
  if (chars <= MAX_ANSWER_CHARS) return result;
  const { content, isError } = result;
  const texts = (Array.isArray(content) ? content : []).filter(isText).slice(0, MAX_TEXTS);
  const kept = texts.map(({ text: whole }) => {
    const cut = new HeadTail(Math.floor(MAX_TEXT_CHARS / texts.length));
    cut.add(whole);
    return { type: 'text', text: cut.toString() };
  });
  const note = `[the server's answer has ${chars} characters, more than can be handed on: head and tail of its texts are here, and nothing else of it]`;
  return { content: [{ type: 'text', text: note }, ...kept], isError: isError === true };
}

/** Content that is one text or one block as the list that every host wants. */
function withBlocks(result: Result): Result {
  const { content } = result;
  if (typeof content === 'string') return { ...result, content: [{ type: 'text', text: content }] };
  return isObject(content) ? { ...result, content: [content] } : result;
}

const isText = (block: unknown): block is TextBlock => {
  const { type, text } = Object(block) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string';
};

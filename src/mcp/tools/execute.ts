// The tool `execute`: one command, handed to the `execute` of a configured server, or run in a container of its own, whose
// volume at /work the other commands of this bridge have as well. The agent need not know which of the two it is.

import { resolve } from 'node:path/posix';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { HeadTail } from '../../base/text/text.js';
import { commandReader } from '../../code-exec/execute-definition.js';
import {
  answerChars,
  MAX_ANSWER_CHARS,
  refusalResult,
  resultOf,
  SURE_OUTPUT_BYTES,
} from '../../code-exec/execute-result.js';
import { hostView } from '../../hosts/records/all-hosts.js';
import { outcomeWithoutRun } from '../../run/outcome/outcome.js';
import { WORK } from '../../sandbox/spec/promises.js';
import type { Settings } from '../../settings/environment/settings.js';
import { type BridgeTool, executeDefinition, limitsOf } from './definitions.js';

/** The rest of what a host shows is for our own lines, and for characters that are made visible. */
const OUTPUT_SHARE = 0.8;
/** Beyond a command's own time: for its turn at the server, and the way there and back. */
const SPARE_SECONDS = 30;
const NAME = 'execute';

export const execute = (settings: Settings): BridgeTool =>
  settings.executeServer === undefined ? launchTool(settings) : relayTool(settings.executeServer, settings);

const toolWith = (settings: Settings, call: BridgeTool['call']): BridgeTool => ({
  definition: executeDefinition(settings),
  outputMode: 'sections',
  call,
});

/** The server says what is wrong with arguments, and how its answers look. */
const relayTool = (server: string, settings: Settings): BridgeTool =>
  toolWith(settings, async (given, context, bridge) => {
    const { timeoutSeconds, maxTimeoutSeconds } = settings;
    const args = given as Readonly<Record<string, unknown>>;
    const { timeout_ms: timeoutMs } = args;
    const said = typeof timeoutMs === 'number' ? timeoutMs / 1000 : undefined;
    const asked = said ?? timeoutSeconds;
    // The server's own default is not known here.
    const softTimeoutSeconds = (said ?? maxTimeoutSeconds) + SPARE_SECONDS;
    const setBy = 'MCP_BRIDGE_EXECUTE_SERVER';
    const call = { server, tool: NAME, setBy, args, timeoutSeconds: asked, softTimeoutSeconds };
    const answer = await bridge.callServer(call, context);
    if ('message' in answer) return outcomeWithoutRun('error', answer, asked);
    return { result: relayedResult(answer.text), isRelayed: true };
  });

function launchTool(settings: Settings): BridgeTool {
  const read = commandReader(limitsOf(settings));
  return toolWith(settings, async (given, context, bridge) => {
    const asked = read(given);
    if ('problem' in asked) return { result: refusalResult(asked.problem, asked.remedy), isRelayed: false };
    const { command, args, stdin, timeout_ms: timeoutMs, cwd, env } = asked.values;
    const outputBytes = Math.min(settings.executeOutputBytes, shownBy(context.caller.client));
    const wanted = {
      argv: [command, ...args],
      stdin: stdin === '' ? undefined : Buffer.from(stdin),
      cwd: resolve(WORK, cwd),
      env,
      maxOutputBytes: outputBytes,
      shownBytes: Math.min(outputBytes, SURE_OUTPUT_BYTES),
    } as const;
    const input = { command: wanted, timeoutSeconds: timeoutMs / 1000 };
    const outcome = await bridge.runCommand(input, context);
    if ('failed' in outcome) return outcome.failed;
    return { result: resultOf(outcome.end, timeoutMs, outcome.whole), isRelayed: false };
  });
}

/**
 * How much output, in bytes, a host shows its model: where the host cuts, the line that says where all of it is would be
 * lost with the middle.
 */
const shownBy = (client: string): number => {
  const { roomBytes = Number.POSITIVE_INFINITY } = hostView(client);
  return Math.floor(roomBytes * OUTPUT_SHARE);
};

// Answer of a configured server's `execute`, as the agent is sent it. Such a server may give back more than any answer of ours
// can carry; its command has run, so the agent gets what fits instead of an error.

/** Limit for all texts together. In JSON, a character that does not show takes at most seven. */
const MAX_TEXT_CHARS = Math.floor(MAX_ANSWER_CHARS / 8);
/** More are no output of a command. */
const MAX_TEXTS = 100;

/** `text` is the CallToolResult as the server wrote it. */
function relayedResult(text: string): JsonObject {
  const result = withBlocks(JSON.parse(text) as JsonObject);
  const chars = answerChars(result);
  if (chars <= MAX_ANSWER_CHARS) return result;
  const { content, isError } = result;
  const texts = (Array.isArray(content) ? content : []).filter(isText).slice(0, MAX_TEXTS);
  const kept = texts.map(({ text: whole }) => {
    const cut = new HeadTail(Math.floor(MAX_TEXT_CHARS / texts.length));
    cut.add(whole);
    return { type: 'text', text: cut.toString() };
  });
  const note = `[the server's answer has ${chars} characters, too many to pass on: only the head and tail of its texts are here]`;
  return { content: [{ type: 'text', text: note }, ...kept], isError: isError === true };
}

/** Content that is one text or one block as the list that every host wants. */
function withBlocks(result: JsonObject): JsonObject {
  const { content } = result;
  if (typeof content === 'string') return { ...result, content: [{ type: 'text', text: content }] };
  return isObject(content) ? { ...result, content: [content] } : result;
}

const isText = (block: unknown): block is { readonly type: 'text'; readonly text: string } => {
  const { type, text } = Object(block) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string';
};

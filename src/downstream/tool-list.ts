// tools/list, read with tolerance: the SDK's own reader loses the whole server over one odd tool, compiles every
// output schema, and does not follow pages. Here a tool needs a name and nothing else.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isObject } from './json-object.js';

/** One tool in the server's own words. Schemas are data: nothing compiles them. */
export type Tool = {
  readonly name: string;
  /** Its description, else its title, else empty. */
  readonly description: string;
  /** `{}` when the server gave no object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  /** The server runs it only as a task, a part of MCP that the bridge does not speak. */
  readonly needsTask: boolean;
};

export type ToolList = {
  readonly tools: readonly Tool[];
  /** What was left out and why, in words for the operator. */
  readonly problems: readonly string[];
};

/** The SDK sets a timer for every request; the longest that exists leaves the decision to our own clocks. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** A server that still names a next page after this many is not taken to end. */
const MAX_PAGES = 100;

const page = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: z.string().optional().catch(undefined),
});
const text = z.string().catch('');
// The object itself: zod's copy of it would leave out a property called `__proto__`.
const schema = z.custom<Readonly<Record<string, unknown>>>(isObject);
const rawTool = z.looseObject({
  name: z.string(),
  title: text,
  description: text,
  inputSchema: schema.catch({}),
  outputSchema: schema.optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.unknown() }).optional().catch(undefined),
});

/** All pages; the abort of `signal` ends the request under way. */
export async function listTools(client: Client, signal: AbortSignal): Promise<ToolList> {
  const tools = new Map<string, Tool>();
  const problems: string[] = [];
  const seen = new Set<string>();
  let unusable = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const answer = await requestPage(client, cursor, signal);
    for (const item of answer.tools) {
      const tool = readTool(item);
      if (tool === undefined || tools.has(tool.name)) unusable++;
      else tools.set(tool.name, tool);
    }
    cursor = answer.nextCursor;
    if (cursor === undefined || cursor === '') break;
    if (seen.has(cursor) || pages === MAX_PAGES) {
      problems.push(`tools/list does not end: stopped after ${pages} pages`);
      break;
    }
    seen.add(cursor);
  }
  if (unusable > 0) problems.push(`left out for want of a name of their own: ${unusable} of its tools`);
  return { tools: [...tools.values()], problems };
}

async function requestPage(client: Client, cursor: string | undefined, signal: AbortSignal) {
  try {
    // A signal of its own for each page, since the SDK never takes its listener off.
    const options = { timeout: NO_TIMEOUT_MS, signal: AbortSignal.any([signal]) };
    const params = cursor === undefined ? {} : { cursor };
    return await client.request({ method: 'tools/list', params }, page, options);
  } catch (thrown) {
    // A server that has only resources or prompts need not know the method.
    if (thrown instanceof McpError && thrown.code === ErrorCode.MethodNotFound) return page.parse({});
    throw thrown;
  }
}

function readTool(item: unknown): Tool | undefined {
  const { data } = rawTool.safeParse(item);
  if (data === undefined || data.name === '') return undefined;
  return {
    name: data.name,
    description: data.description || data.title,
    inputSchema: data.inputSchema,
    outputSchema: data.outputSchema,
    needsTask: data.execution?.taskSupport === 'required',
  };
}

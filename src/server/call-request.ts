// The request `tools/call`, checked in place of the SDK, which answers one that is malformed as a fault of ours (-32603), in
// the words of its schema. What a tool's arguments may be is the tool's own business: it answers as a tool.

import { type CallToolRequest, CallToolRequestParamsSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { WrongParams } from '../protocol/wrong-params.js';
import { described, echo } from './tools/complaint.js';

const ALLOWED: Readonly<Record<string, string>> = {
  params: 'an object with name and arguments',
  name: 'the name of a tool',
  arguments: 'an object by argument names',
};

/** Throws -32602 that names the field, what was got and what is allowed. */
export const CallTool = z.object({
  method: z.literal('tools/call'),
  params: z.unknown().transform((params): CallToolRequest['params'] => {
    const parsed = CallToolRequestParamsSchema.safeParse(params);
    if (parsed.success) return parsed.data;
    const field = String(parsed.error.issues[0]?.path[0] ?? 'params');
    const got = field === 'params' ? params : (params as Readonly<Record<string, unknown>>)[field];
    const allowed = ALLOWED[field] ?? 'what MCP says of a call of a tool';
    throw new WrongParams(`${echo(field)}: got ${described(got)}, expected ${allowed}.`);
  }),
});

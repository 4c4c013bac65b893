// The request `tools/call`, checked in place of the SDK, which answers one that is malformed as a fault of ours (-32603), in
// the words of its schema. What a tool's arguments may be is the tool's own business: it answers as a tool.

import { CallToolRequestParamsSchema } from '@modelcontextprotocol/core';
import type { CallToolRequest } from '@modelcontextprotocol/server';
import { type AllowedParams, paramsBy } from './request-params.js';

const ALLOWED: AllowedParams = {
  fields: {
    name: 'the name of a tool',
    arguments: 'an object by argument names',
    task: 'what MCP says of a call of a tool',
    _meta: 'what MCP says of a call of a tool',
  },
  whole: 'an object with name and arguments',
};

/** Throws -32602 that names the field, what was got and what is allowed. */
export const callParams = (params: unknown): CallToolRequest['params'] =>
  paramsBy(CallToolRequestParamsSchema, params, ALLOWED);

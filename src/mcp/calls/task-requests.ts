// The requests of the extension io.modelcontextprotocol/tasks, by which a client follows a call that was answered with a task.

import { MissingRequiredClientCapabilityError, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AgentRequest } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { offersOf, TASKS_EXTENSION } from '../requests/client-offers.js';
import { fieldsOf } from '../requests/request-params.js';
import type { Tasks } from './tasks.js';

const anything = { params: z.unknown() };
const REQUIRED = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };

/** Answers tasks/get, tasks/update and tasks/cancel for this principal. */
export function answerTaskRequests<R extends object>(
  server: AgentServer,
  tasks: Tasks<R>,
  principal: string,
): void {
  // By the SDK's own way: it keeps names that an earlier version had from every other handler.
  const answer = (method: string, handler: (taskId: unknown, request: AgentRequest) => object) =>
    server.setRequestHandler(method, anything, (params: unknown, context: ServerContext) => {
      const request = new AgentRequest(server, context);
      request.checkVersion();
      if (!offersOf(request.capabilities).tasks)
        throw new MissingRequiredClientCapabilityError(
          REQUIRED,
          `${method} is for clients that declare the extension ${TASKS_EXTENSION} with the request.`,
        );
      return { ...handler(fieldsOf(params)['taskId'], request) };
    });
  answer('tasks/get', (taskId) => tasks.get(principal, taskId));
  answer('tasks/update', (taskId, { context }) => {
    // Where the SDK puts it, as of every request.
    tasks.update(principal, taskId, context.mcpReq.inputResponses);
    return {};
  });
  answer('tasks/cancel', (taskId) => {
    tasks.cancel(principal, taskId);
    return {};
  });
}

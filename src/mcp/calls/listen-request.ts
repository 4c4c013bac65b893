// Tasks that a request `subscriptions/listen` names. All else in the request is the SDK's, which knows of lists and resources
// only.

import { MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server';
import { isObject } from '../../base/json/json-object.js';
import { clipHarmless } from '../../base/text/text.js';
import type { RpcError } from '../../wire/envelope.js';
import { WrongParams } from '../../wire/wrong-params.js';
import { offersOf, TASKS_EXTENSION } from '../requests/client-offers.js';

/** The method, and those of the notifications that answer it. */
export const LISTEN = 'subscriptions/listen';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
export const TASK_CHANGED = 'notifications/tasks';
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const MAX_SHOWN_CHARS = 80;

/** The tasks that a client wants to hear of, or why it may not. */
export type AskedTasks = { readonly taskIds: readonly string[] } | { readonly error: RpcError };

/**
 * Undefined where `message` is no such request, says nothing of tasks, or not what its client can do, which the SDK refuses.
 */
export function tasksAskedFor(message: unknown): AskedTasks | undefined {
  if (!isObject(message) || message['method'] !== LISTEN) return undefined;
  const params = isObject(message['params']) ? message['params'] : {};
  const { notifications, _meta: meta } = params;
  const taskIds = isObject(notifications) ? (notifications['taskIds'] ?? []) : [];
  const capabilities = isObject(meta) ? meta[CAPABILITIES] : undefined;
  if (!isObject(capabilities) || (Array.isArray(taskIds) && taskIds.length === 0)) return undefined;
  if (!offersOf(capabilities).tasks)
    return errorOf(
      new MissingRequiredClientCapabilityError(
        { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
        `notifications.taskIds is for clients that declare the extension ${TASKS_EXTENSION} with the request.`,
      ),
    );
  if (Array.isArray(taskIds) && taskIds.every((taskId) => typeof taskId === 'string')) return { taskIds };
  const got = clipHarmless(JSON.stringify(taskIds), MAX_SHOWN_CHARS);
  return errorOf(
    new WrongParams(
      `notifications.taskIds: got ${got}, expected a list of ids, as calls were answered with them.`,
    ),
  );
}

const errorOf = ({ code, message, data }: RpcError): AskedTasks => ({
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

/** A notification of subscription `id`. */
export const notificationOf = (id: string | number, method: string, params: object) => ({
  jsonrpc: '2.0' as const,
  method,
  params: { ...params, _meta: { ...Object(Reflect.get(params, '_meta')), [SUBSCRIPTION_ID]: id } },
});

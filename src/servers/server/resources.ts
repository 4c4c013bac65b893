// Resources and prompts of one server: what it lists, and what it gives, relayed as the text that it wrote. Says of a
// name that the server does not know what it does know. Keeps nothing.

import { BridgeError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json/json-object.js';
import type { RawJson } from '../../base/json/json-text.js';
import { closest } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { rawResultOf } from '../connection/inbound.js';
import type { Downstream, ServerRequest } from './downstream.js';
import {
  checkHas,
  failureOf,
  type Listed,
  type ListingKind,
  list,
  PROMPTS,
  RESOURCES,
  TEMPLATES,
} from './listing.js';

/** To find out what a server has, when it did not know what it was asked for. */
const HINT_WITHIN_MS = 3_000;
const MAX_NAMES_SHOWN = 20;

/** Throws E_RESOURCE_FAILED where the server has none; as all that follow, also what a call of a tool throws. */
export const listResources = (server: Downstream, signal: AbortSignal): Promise<Listed> =>
  list(server, RESOURCES, signal);

/** Templates that can be made into the URI of a resource; empty where the server knows no templates. */
export const listResourceTemplates = (server: Downstream, signal: AbortSignal): Promise<Listed> =>
  list(server, TEMPLATES, signal);

/** Throws E_PROMPT_FAILED where the server has none. */
export const listPrompts = (server: Downstream, signal: AbortSignal): Promise<Listed> =>
  list(server, PROMPTS, signal);

/** The ReadResourceResult in the server's own characters; E_RESOURCE_FAILED where it gives none. */
export async function readResource(server: Downstream, uri: string, signal: AbortSignal): Promise<RawJson> {
  const what = `Resource '${shown(uri)}' of server '${shownName(server.spec.name)}'`;
  const question = { what, method: 'resources/read', params: { uri } } as const;
  return give(server, RESOURCES, question, uri, signal);
}

/** The GetPromptResult in the server's own characters; E_PROMPT_FAILED where it gives none. */
export async function getPrompt(
  server: Downstream,
  name: string,
  args: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RawJson> {
  const what = `Prompt '${shown(name)}' of server '${shownName(server.spec.name)}'`;
  const question = { what, method: 'prompts/get', params: { name, arguments: args } } as const;
  return give(server, PROMPTS, question, name, signal);
}

async function give(
  server: Downstream,
  kind: ListingKind,
  question: Omit<ServerRequest, 'failure'>,
  word: string,
  signal: AbortSignal,
): Promise<RawJson> {
  checkHas(server, kind);
  const failure = failureOf(kind);
  if (word.length > kind.maxKeyChars) {
    const longest = `${kind.key === 'uri' ? 'The URI' : 'The name'} has ${word.length} characters; at most ${kind.maxKeyChars} are asked for`;
    throw new BridgeError(failure, `${question.what}: ${longest}.`, { fault: 'guest' });
  }
  try {
    const raw = rawResultOf(await server.ask({ ...question, failure }, signal));
    if (raw === undefined) throw new Error('an answer that did not come through the transport');
    return raw;
  } catch (thrown) {
    throw await explained(thrown, server, kind, word, signal);
  }
}

/** The thrown error, with what there is instead of `word` as its remedy where a wrong word may be the cause. */
async function explained(
  thrown: unknown,
  server: Downstream,
  kind: ListingKind,
  word: string,
  signal: AbortSignal,
): Promise<unknown> {
  // Only what the server itself said has a cause here.
  const isRefusal =
    thrown instanceof BridgeError && thrown.code === failureOf(kind) && thrown.cause !== undefined;
  if (!isRefusal || signal.aborted) return thrown;
  using deadline = new Deadline(signal);
  deadline.start(HINT_WITHIN_MS);
  const listed = await list(server, kind, deadline.signal).catch(() => undefined);
  const remedy = listed === undefined ? undefined : advice(kind, word, listed.items);
  if (remedy === undefined) return thrown;
  const { code, fault, message, cause } = thrown;
  return new BridgeError(code, message, { fault, remedy, cause });
}

function advice({ of, key }: ListingKind, word: string, items: readonly JsonObject[]): string | undefined {
  const known = items.find((item) => item[key] === word);
  // It exists, so the fault is another.
  if (known !== undefined) return of === 'prompts' ? argumentsOf(known) : undefined;
  const names = items.map((item) => String(item[key]));
  const near = closest(word, names);
  if (near !== undefined) return `Did you mean '${shown(near)}'?`;
  const some = names.slice(0, MAX_NAMES_SHOWN).map(shown).join(', ');
  if (of === 'prompts') return `It has: ${some}.`;
  return 'await runtime.list_resources(server) names those that it lists.';
}

function argumentsOf(prompt: JsonObject): string | undefined {
  const { arguments: args } = prompt;
  if (!Array.isArray(args) || args.length === 0) return undefined;
  const names = args.slice(0, MAX_NAMES_SHOWN).map((argument) => {
    const { name, required } = Object(argument);
    return `${shown(String(name))}${required === true ? '' : ' (optional)'}`;
  });
  return `Its arguments: ${names.join(', ')}.`;
}

/** A stranger's word in a sentence of ours. */
const shown = (word: string): string => shownName(word);

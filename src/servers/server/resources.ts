// Resources and prompts of one server: what it lists, and what it gives, relayed as the text that it wrote. Says of a
// name that the server does not know what it does know. Keeps nothing.

import { BridgeError } from '../../base/errors.js';
import { excessOf, type RawJson } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { findClosest } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { rawResultOf } from '../connection/inbound.js';
import type { Downstream, ServerRequest } from './downstream.js';
import { eachPage } from './tool-list.js';

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
  const what = `Resource '${shownName(uri)}' of server '${shownName(server.spec.name)}'`;
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
  const what = `Prompt '${shownName(name)}' of server '${shownName(server.spec.name)}'`;
  const question = { what, method: 'prompts/get', params: { name, arguments: args } } as const;
  return give(server, PROMPTS, question, name, signal);
}

/** CompleteResult for an argument of a prompt, as the server says it; E_PROMPT_FAILED where it says none. */
export async function completePrompt(
  server: Downstream,
  { prompt, ...asked }: { readonly prompt: string; readonly argument: object; readonly context?: object },
  signal: AbortSignal,
): Promise<object> {
  const what = `Completion for prompt '${shownName(prompt)}' of server '${shownName(server.spec.name)}'`;
  const params = { ref: { type: 'ref/prompt', name: prompt }, ...asked };
  return server.ask({ what, method: 'completion/complete', params, failure: 'E_PROMPT_FAILED' }, signal);
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
    const longest = `${kind.key === 'uri' ? 'The URI' : 'The name'} has ${word.length} characters; at most ${kind.maxKeyChars} are allowed`;
    throw new BridgeError(failure, `${question.what}: ${longest}.`, { fault: 'guest' });
  }
  try {
    const raw = rawResultOf(await server.ask({ ...question, failure }, signal));
    if (raw === undefined) throw new Error('an answer that did not come through the transport');
    return raw;
  } catch (thrown) {
    throw await explainError(thrown, server, kind, word, signal);
  }
}

/** The thrown error, with what there is instead of `word` as its remedy where a wrong word may be the cause. */
async function explainError(
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
  // The item exists, so the fault is another.
  if (known !== undefined) return of === 'prompts' ? argumentsOf(known) : undefined;
  const names = items.map((item) => String(item[key]));
  const near = findClosest(word, names);
  if (near !== undefined) return `Did you mean '${shownName(near)}'?`;
  const some = names
    .slice(0, MAX_NAMES_SHOWN)
    .map((name) => shownName(name))
    .join(', ');
  if (of === 'prompts') return `It has: ${some}.`;
  return 'await runtime.list_resources(server) names those that it lists.';
}

function argumentsOf(prompt: JsonObject): string | undefined {
  const { arguments: args } = prompt;
  if (!Array.isArray(args) || args.length === 0) return undefined;
  const names = args.slice(0, MAX_NAMES_SHOWN).map((argument) => {
    const { name, required } = Object(argument);
    return `${shownName(String(name))}${required === true ? '' : ' (optional)'}`;
  });
  return `Its arguments: ${names.join(', ')}.`;
}

// Items that one server lists of a kind, resources, their templates or prompts: all pages, read with tolerance and within
// limits. An item needs the one member by which it is asked for, and keeps whatever else fits.

/** Items that a server lists; `problems` says in words which of them are missing. */
type Listed = { readonly items: readonly JsonObject[]; readonly problems: readonly string[] };

/** Some servers list a file tree; more of it is for reading and not for listing. */
const MAX_ITEMS = 5_000;
/** A URI may hold a query; what browsers and proxies take. */
const MAX_URI_CHARS = 8_000;
const MAX_NAME_CHARS = 256;
/** Longest title or description of one item; the rest is cut. */
const MAX_TEXT_CHARS = 4_000;
/** Longest item as JSON; of a longer one only the name is kept. */
const MAX_ITEM_CHARS = 50_000;
const ITEM_LIMITS = { maxDepth: 32, maxValues: 5_000 };
/** Limit for all items together, the same as for a list of tools. */
const MAX_LIST_CHARS = 8 * 1024 * 1024;
/** Members whose text is for people, and compared with nothing. */
const WORDS: ReadonlySet<string> = new Set(['title', 'description']);

type ListingKind = {
  readonly method: string;
  /** The name under which its result holds the items. */
  readonly member: string;
  readonly of: 'resources' | 'prompts';
  /** Which member tells the items apart, and what it may be long. */
  readonly key: 'uri' | 'uriTemplate' | 'name';
  readonly maxKeyChars: number;
};

const RESOURCES: ListingKind = {
  of: 'resources',
  method: 'resources/list',
  member: 'resources',
  key: 'uri',
  maxKeyChars: MAX_URI_CHARS,
};
const TEMPLATES: ListingKind = {
  of: 'resources',
  method: 'resources/templates/list',
  member: 'resourceTemplates',
  key: 'uriTemplate',
  maxKeyChars: MAX_URI_CHARS,
};
const PROMPTS: ListingKind = {
  of: 'prompts',
  method: 'prompts/list',
  member: 'prompts',
  key: 'name',
  maxKeyChars: MAX_NAME_CHARS,
};

/** Throws as `checkHas` and `Downstream.ask` do. */
export async function list(server: Downstream, kind: ListingKind, signal: AbortSignal): Promise<Listed> {
  checkHas(server, kind);
  const { method, key, maxKeyChars } = kind;
  const items = new Map<string, JsonObject>();
  let unusable = 0;
  let chars = 0;
  let isFull = false;
  const request = (params: object) =>
    server.ask(
      {
        what: `${method} of server '${shownName(server.spec.name)}'`,
        method: method as ServerRequest['method'],
        params: { ...params },
        failure: failureOf(kind),
      },
      signal,
    );
  const ofPages = await eachPage(kind, request, (page) => {
    for (const raw of page) {
      const name = isObject(raw) ? raw[key] : undefined;
      if (!isObject(raw) || typeof name !== 'string' || name === '' || name.length > maxKeyChars) unusable++;
      else if (items.size === MAX_ITEMS || chars > MAX_LIST_CHARS) isFull = true;
      else if (!items.has(name)) {
        const item = withinLimits(raw, key, name);
        chars += JSON.stringify(item).length;
        items.set(name, item);
      }
    }
    return !isFull;
  });
  const problems = [...ofPages];
  if (unusable > 0)
    problems.push(`left out because they have no usable ${key}: ${unusable} of ${kind.member}`);
  if (isFull) problems.push(`${method} has more than this: stopped after ${items.size}`);
  return { items: [...items.values()], problems };
}

/** The item with its words made harmless and cut; what is too large or too deep is left out, all but its name. */
function withinLimits(raw: JsonObject, key: string, name: string): JsonObject {
  const json = JSON.stringify(raw);
  if (json.length > MAX_ITEM_CHARS || excessOf(json, ITEM_LIMITS) !== undefined) return { [key]: name };
  return Object.fromEntries(
    Object.entries(raw).map(([member, value]) => {
      const isWords =
        typeof value === 'string' && (WORDS.has(member) || (member === 'name' && key !== 'name'));
      return [member, isWords ? clipHarmless(value, MAX_TEXT_CHARS) : value];
    }),
  );
}

/** Throws `failureOf(kind)` where the server said in its greeting that it has none. */
function checkHas(server: Downstream, { of }: ListingKind): void {
  if (server.has(of)) return;
  const tools = server.tools().length;
  const has = tools === 0 ? 'no tools either' : `${tools} tool${tools === 1 ? '' : 's'}`;
  const message = `Server '${shownName(server.spec.name)}' has no ${of}.`;
  throw new BridgeError(failureOf({ of }), message, { fault: 'guest', remedy: `It has ${has}.` });
}

const failureOf = ({ of }: Pick<ListingKind, 'of'>) =>
  of === 'prompts' ? 'E_PROMPT_FAILED' : 'E_RESOURCE_FAILED';

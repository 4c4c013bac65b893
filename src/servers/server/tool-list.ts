// tools/list, read with tolerance: the SDK's own reader loses the whole server over one odd tool, compiles every
// output schema, and does not follow pages. Here a tool needs a name and nothing else; what is too large of it is left
// out, since the whole list goes into every sandbox that loads the server.

import { z } from 'zod';
import { excessOf } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip, clipHarmless, clipHarmlessLine } from '../../base/text/text.js';
import type { McpClient } from '../connection/client.js';
import { ErrorAnswer, METHOD_NOT_FOUND } from '../connection/link.js';
import { type HeaderParameter, headerParametersOf } from './header-parameters.js';

/** A server's own claims about a tool's effects (ToolAnnotations); undefined where it makes none. */
export type ToolHints = {
  readonly readOnly: boolean | undefined;
  readonly destructive: boolean | undefined;
  readonly openWorld: boolean | undefined;
};

/** One tool in the server's own words. Schemas are data: nothing compiles them. */
export type ServerTool = {
  readonly name: string;
  /** The tool's description, else its title, else empty. */
  readonly description: string;
  /** `{}` when the server gave no object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  /** The server runs it only as a task, a part of MCP that the bridge does not speak. */
  readonly needsTask: boolean;
  /** Absent where it says nothing of its effects. */
  readonly hints?: ToolHints;
};

export type ToolList = {
  readonly tools: readonly ServerTool[];
  /** Header parameters by the name of their tool, of tools that have any; empty where calls have no headers. */
  readonly headerParameters: ReadonlyMap<string, readonly HeaderParameter[]>;
  /** How long the server says that the list is good; undefined where it does not say. */
  readonly ttlMs: number | undefined;
  /** When the list was read, by performance.now(). */
  readonly readAt: number;
  /** Tools and schemas that were left out, and why, as messages for the operator. */
  readonly problems: readonly string[];
};

/** The largest servers have some hundred tools. */
export const MAX_TOOLS = 2_000;
/** MCP recommends at most 128 characters. */
const MAX_NAME_CHARS = 256;
/** Beyond what the catalogue shows of it nobody reads, but a thousand of them would be kept. */
const MAX_DESCRIPTION_CHARS = 32_000;
/** Longest schema as JSON. Generated schemas of 50 KB are rare; a longer one than this is made to hurt. */
const MAX_SCHEMA_CHARS = 100_000;
export const SCHEMA_LIMITS = { maxDepth: 64, maxValues: 20_000 };
/** Limit for all schemas and descriptions of a server together. */
const MAX_LIST_CHARS = 8 * 1024 * 1024;

/** How many tools with a wrong mark are named one by one; of a server that is wrong in all of them the rest is counted. */
const MAX_WRONG_MARKS = 5;

const text = z.string().catch('');
// The object itself: zod's copy of it would leave out a property called `__proto__`.
const schema = z.custom<Readonly<Record<string, unknown>>>(isObject);
const rawTool = z.looseObject({
  name: z.string(),
  title: text,
  description: text,
  inputSchema: schema.catch({}),
  outputSchema: schema.optional().catch(undefined),
  annotations: schema.optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.unknown() }).optional().catch(undefined),
});

/**
 * All pages; the abort of `signal` ends the request under way. `hasHeaders` says whether requests have headers, in which
 * parameters may have to be repeated: tools of which this is not rightly said are left out then.
 */
export async function listTools(
  client: McpClient,
  signal: AbortSignal,
  hasHeaders: boolean,
): Promise<ToolList> {
  const headerParameters = new Map<string, readonly HeaderParameter[]>();
  const tools = new Map<string, ServerTool>();
  const problems: string[] = [];
  let unusable = 0;
  let tooMany = 0;
  let chars = 0;
  let wronglyMarked = 0;
  const withoutSchema = new Set<string>();
  let ttlMs: number | undefined;
  const request = async (params: object) => {
    const page = await client.request('tools/list', { ...params }, { signal });
    const ttl: unknown = Reflect.get(page, 'ttlMs');
    if (typeof ttl === 'number' && ttl >= 0) ttlMs = Math.min(ttl, ttlMs ?? Number.POSITIVE_INFINITY);
    return page;
  };
  const ofPages = await eachPage({ method: 'tools/list', member: 'tools' }, request, (items) => {
    for (const item of items) {
      const tool = readTool(item);
      if (tool === undefined || tools.has(tool.name)) {
        unusable++;
        continue;
      }
      // Parameters are read from the whole schema, which may be too large to be kept.
      const parameters = hasHeaders && client.isModern ? headerParametersOf(tool.inputSchema) : [];
      if (typeof parameters === 'string') {
        if (problems.length < MAX_WRONG_MARKS)
          problems.push(`left out '${shownName(tool.name)}': ${clipHarmless(parameters, 300)}`);
        else wronglyMarked++;
        continue;
      }
      if (parameters.length > 0) headerParameters.set(tool.name, parameters);
      const kept = withinLimits(tool);
      if (kept.isCut) withoutSchema.add(tool.name);
      chars += kept.chars;
      if (tools.size === MAX_TOOLS || chars > MAX_LIST_CHARS) tooMany++;
      else tools.set(tool.name, kept.tool);
    }
    return true;
  });
  problems.push(...ofPages);
  if (wronglyMarked > 0)
    problems.push(`left out because of a wrong x-mcp-header too: ${wronglyMarked} of its tools`);
  if (unusable > 0)
    problems.push(`left out because they have no name of their own: ${unusable} of its tools`);
  if (tooMany > 0) problems.push(`left out because the list is too long: ${tooMany} of its tools`);
  if (withoutSchema.size > 0) {
    problems.push(
      `shown without a schema, which is too large or too deep: ${withoutSchema.size} of its tools`,
    );
  }
  return { tools: [...tools.values()], headerParameters, ttlMs, readAt: performance.now(), problems };
}

/** The tool without what is too much of it, and how much the rest is. */
function withinLimits(tool: ServerTool): {
  readonly tool: ServerTool;
  readonly isCut: boolean;
  readonly chars: number;
} {
  const [input, output] = [tool.inputSchema, tool.outputSchema].map((schema) => {
    const json = JSON.stringify(schema ?? {});
    const fits = json.length <= MAX_SCHEMA_CHARS && excessOf(json, SCHEMA_LIMITS) === undefined;
    return { fits, chars: fits ? json.length : 0 };
  }) as [{ fits: boolean; chars: number }, { fits: boolean; chars: number }];
  const description = clip(tool.description, MAX_DESCRIPTION_CHARS);
  return {
    tool: {
      ...tool,
      description,
      inputSchema: input.fits ? tool.inputSchema : {},
      outputSchema: output.fits ? tool.outputSchema : undefined,
    },
    isCut: !input.fits || !output.fits,
    chars: tool.name.length + description.length + input.chars + output.chars,
  };
}

/** A tool as MCP writes it; undefined where it has no usable name. */
export function readTool(item: unknown): ServerTool | undefined {
  const { data } = rawTool.safeParse(item);
  if (data === undefined || data.name === '' || data.name.length > MAX_NAME_CHARS) return undefined;
  return {
    name: data.name,
    description: data.description || data.title,
    inputSchema: data.inputSchema,
    outputSchema: data.outputSchema,
    needsTask: data.execution?.taskSupport === 'required',
    ...hintsIn(data.annotations),
  };
}

/** Anything but true and false is nothing said. */
function hintsIn(annotations: Readonly<Record<string, unknown>> = {}): Pick<ServerTool, 'hints'> {
  const [readOnly, destructive, openWorld] = ['readOnlyHint', 'destructiveHint', 'openWorldHint'].map(
    (name) => {
      const said = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
      return typeof said === 'boolean' ? said : undefined;
    },
  );
  if ([readOnly, destructive, openWorld].every((said) => said === undefined)) return {};
  return { hints: { readOnly, destructive, openWorld } };
}

// When a server's own word may have its list of tools read again. The first word counts at once; while the list turns out to
// be what it was, the next one has to wait, twice as long each time. However often a list does change, reading it takes a
// small share of the time.

/** Between two readings that a server has caused: at least, and where nothing changes, at most. */
const GAP_MS = { least: 1_000, most: 60_000 };
/** The time that a list has taken is at most one part in so many. */
const PARTS = 20;

export class ListPace {
  readonly #now: () => number;
  /** Between the end of the last reading and the next that a word of the server causes. */
  #gapMs = 0;
  /** The gap between the end of the last reading and the next that somebody who uses the server causes. */
  #leastMs = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The server says that its list has changed. One that has not said so for long is believed at once. */
  noteTold(): void {
    const now = this.#now();
    if (now - this.#toldAt > GAP_MS.most) this.#gapMs = 0;
    this.#toldAt = now;
  }

  /** How long until the list may be read because the server has said so. */
  get waitMs(): number {
    return this.#leftMs(Math.max(this.#gapMs, this.#leastMs));
  }

  /** How long the next reading has to wait where somebody is about to use the server. */
  get waitForUserMs(): number {
    return this.#leftMs(this.#leastMs);
  }

  /** The list has been read, or could not be, in `tookMs`. */
  read(isChanged: boolean, tookMs: number): void {
    this.#readAt = this.#now();
    this.#leastMs = Math.min(Math.max(GAP_MS.least, PARTS * tookMs), GAP_MS.most);
    this.#gapMs = isChanged ? GAP_MS.least : Math.min(Math.max(GAP_MS.least, 2 * this.#gapMs), GAP_MS.most);
  }

  #leftMs(gapMs: number): number {
    return Math.max(0, this.#readAt + gapMs - this.#now());
  }
}

// A list that a server gives on pages, followed to its end or to where it is not taken to have one. Knows neither what
// is listed nor how it is asked for; reads a page with tolerance.

/** A server that still names a next page after this many is not taken to end. */
const MAX_PAGES = 100;

/** Characters of an odd thing that a server said, in words about it. */
const MAX_SHOWN_CHARS = 100;

/**
 * Gives the items of each page, which the result of `method` holds as `member`, to `onItems`, until there is no next page or `onItems` says false. A page is asked for by
 * the very thing that names it, text or not: MCP wants a text, and servers count or write objects.
 * Returns what was wrong with the list, in words for the operator. Throws as `request` does; a server that does not know
 * the method has an empty list.
 */
export async function eachPage(
  { method, member }: { readonly method: string; readonly member: string },
  request: (params: { readonly cursor?: unknown }) => Promise<object>,
  onItems: (items: readonly unknown[]) => boolean,
): Promise<readonly string[]> {
  const seen = new Set<string>();
  const problems: string[] = [];
  let first = '';
  let cursor: unknown;
  for (let pages = 1; ; pages++) {
    let page: object;
    try {
      page = await request(pages === 1 ? {} : { cursor });
    } catch (thrown) {
      if (isMethodUnknown(thrown)) return problems;
      if (pages === 1 || isText(cursor) || !(serversOwn(thrown) instanceof ErrorAnswer)) throw thrown;
      const refused = `names its next page by ${displayJson(cursor)} and then refuses that`;
      return [...problems, `${method} ${refused}: stopped there`];
    }
    const { [member]: items, nextCursor } = page as JsonObject;
    const isList = Array.isArray(items);
    if (!isList && items !== undefined && items !== null)
      problems.push(`${method} gives ${displayJson(items)} as its \`${member}\`, which is not a list`);
    if (cursor === '' && JSON.stringify(items) === first) return problems;
    if (pages === 1) first = JSON.stringify(items) ?? '';
    if (!onItems(isList ? items : []) || isEnd(nextCursor)) return problems;
    cursor = nextCursor;
    const name = JSON.stringify(cursor);
    if (seen.has(name) || pages === MAX_PAGES)
      return [...problems, `${method} does not end: stopped after ${pages} pages`];
    seen.add(name);
  }
}

/** An empty text may name a page: a server by which it ends the list answers it with the first page. */
const isEnd = (cursor: unknown): boolean => cursor === undefined || cursor === null || cursor === false;

const isText = (cursor: unknown): boolean => typeof cursor === 'string' && cursor !== '';

const displayJson = (said: unknown): string => clipHarmlessLine(JSON.stringify(said), MAX_SHOWN_CHARS);

/** The server's own error, or one of ours that was made of it. */
const serversOwn = (thrown: unknown): unknown =>
  thrown instanceof ErrorAnswer ? thrown : Object(thrown).cause;

function isMethodUnknown(thrown: unknown): boolean {
  const error = serversOwn(thrown);
  return error instanceof ErrorAnswer && error.code === METHOD_NOT_FOUND;
}

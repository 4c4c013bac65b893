// A list that a server gives on pages, followed to its end or to where it is not taken to have one. Knows neither what
// is listed nor how it is asked for; reads a page with tolerance.

import type { JsonObject } from '../../base/json/json-object.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { ErrorAnswer, METHOD_NOT_FOUND } from '../connection/error-answer.js';

/** A server that still names a next page after this many is not taken to end. */
const MAX_PAGES = 100;

/** Characters of an odd thing that a server said, in words about it. */
const MAX_SHOWN_CHARS = 100;

/** The MCP method, and under which name its result holds the items. */
export type PagedList = { readonly method: string; readonly member: string };

/**
 * Gives the items of each page to `onItems`, until there is no next page or `onItems` says false. A page is asked for by
 * the very thing that names it, text or not: MCP wants a text, and servers count or write objects.
 * Returns what was wrong with the list, in words for the operator. Throws as `request` does; a server that does not know
 * the method has an empty list.
 */
export async function eachPage(
  { method, member }: PagedList,
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
      const refused = `names its next page by ${shown(cursor)} and then refuses that`;
      return [...problems, `${method} ${refused}: stopped there`];
    }
    const { [member]: items, nextCursor } = page as JsonObject;
    const isList = Array.isArray(items);
    if (!isList && items !== undefined && items !== null)
      problems.push(`${method} gives ${shown(items)} as its \`${member}\`, which is no list`);
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

const shown = (said: unknown): string => clipHarmlessLine(JSON.stringify(said), MAX_SHOWN_CHARS);

/** The server's own error, or one of ours that was made of it. */
const serversOwn = (thrown: unknown): unknown =>
  thrown instanceof ErrorAnswer ? thrown : Object(thrown).cause;

function isMethodUnknown(thrown: unknown): boolean {
  const error = serversOwn(thrown);
  return error instanceof ErrorAnswer && error.code === METHOD_NOT_FOUND;
}

// A list that a server gives on pages, followed to its end or to where it is not taken to have one. Knows neither what
// is listed nor how it is asked for; reads a page with tolerance.

import { ErrorAnswer, METHOD_NOT_FOUND } from './error-answer.js';
import { isObject } from './json-object.js';

/** A server that still names a next page after this many is not taken to end. */
const MAX_PAGES = 100;

/** The MCP method, and under which name its result holds the items. */
export type PagedList = { readonly method: string; readonly member: string };

/**
 * Gives the items of each page to `onItems`, until there is no next page or `onItems` says false.
 * Returns what was wrong with the list, in words for the operator. Throws as `request` does; a server that does not know
 * the method has an empty list.
 */
export async function eachPage(
  { method, member }: PagedList,
  request: (params: { readonly cursor?: string }) => Promise<object>,
  onItems: (items: readonly unknown[]) => boolean,
): Promise<string | undefined> {
  const seen = new Set<string>();
  let cursor: unknown;
  for (let pages = 1; ; pages++) {
    let page: object;
    try {
      page = await request(typeof cursor === 'string' ? { cursor } : {});
    } catch (thrown) {
      if (isMethodUnknown(thrown)) return undefined;
      throw thrown;
    }
    const items = isObject(page) ? page[member] : undefined;
    if (!onItems(Array.isArray(items) ? items : [])) return undefined;
    cursor = isObject(page) ? page['nextCursor'] : undefined;
    if (typeof cursor !== 'string' || cursor === '') return undefined;
    if (seen.has(cursor) || pages === MAX_PAGES)
      return `${method} does not end: stopped after ${pages} pages`;
    seen.add(cursor);
  }
}

/** The server's own error, or one of ours that was made of it. */
function isMethodUnknown(thrown: unknown): boolean {
  const error = thrown instanceof ErrorAnswer ? thrown : Object(thrown).cause;
  return error instanceof ErrorAnswer && error.code === METHOD_NOT_FOUND;
}

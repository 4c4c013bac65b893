// The address of a snippet: its name, escaped, and nothing more. Whoever reads it looks the name up (snippets.ts).

import { PACKAGE_NAME } from '../../base/version.js';

/** Address of the list of snippets. */
export const SNIPPETS_URI = `resource://${PACKAGE_NAME}/snippets`;
/** RFC 6570. */
export const SNIPPET_URI_TEMPLATE = `${SNIPPETS_URI}/{name}`;

export const snippetUri = (name: string): string => `${SNIPPETS_URI}/${encodeURIComponent(name)}`;

/** Undefined for what is no address of a snippet. */
export function parseSnippetUri(uri: string): string | undefined {
  if (!uri.startsWith(`${SNIPPETS_URI}/`)) return undefined;
  try {
    return decodeURIComponent(uri.slice(SNIPPETS_URI.length + 1));
  } catch {
    return undefined;
  }
}

// The operator's snippets as resources: one list of them, and each by its name. Nothing is read before somebody reads
// one; a list of resources costs no look into the folder.

import { asBridgeError } from '../../base/errors.js';
import {
  parseSnippetUri,
  SNIPPET_URI_TEMPLATE,
  SNIPPETS_URI,
  snippetUri,
} from '../../run/programs/snippet-uri.js';
import type { SnippetBrief, Snippets } from '../../run/programs/snippets.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/wrong-params.js';
import { offersSnippets } from '../tools/definitions.js';

const LIST_MIME_TYPE = 'application/json';
/** Type of every snippet, whatever its language: a client must not run what it reads. */
const CODE_MIME_TYPE = 'text/plain';

export const SNIPPETS_RESOURCE = {
  uri: SNIPPETS_URI,
  name: 'snippets',
  title: 'Snippets',
  description:
    'Programs that execute_code runs by `snippet_name`, each with its language and what it says of itself.',
  mimeType: LIST_MIME_TYPE,
};

export const SNIPPET_TEMPLATE = {
  uriTemplate: SNIPPET_URI_TEMPLATE,
  name: 'snippet',
  title: 'The code of a snippet',
  mimeType: CODE_MIME_TYPE,
};

/** Undefined where no tool runs any, or no folder holds any. */
export function offeredSnippets({ settings, snippets }: Bridge): Snippets | undefined {
  return offersSnippets(settings, snippets.folder) ? snippets : undefined;
}

export type SnippetContent = {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly content: Buffer;
};

/** Undefined for an address of something else. Throws WrongParams where there is nothing to read. */
export async function readSnippets(uri: string, snippets: Snippets): Promise<SnippetContent | undefined> {
  const name = parseSnippetUri(uri);
  if (name === undefined && uri !== SNIPPETS_URI) return undefined;
  try {
    if (name === undefined) {
      const content = Buffer.from(listText(await snippets.list()));
      return { uri, name: 'snippets.json', mimeType: LIST_MIME_TYPE, content };
    }
    const { file, code } = await snippets.find(name);
    return { uri, name: file, mimeType: CODE_MIME_TYPE, content: Buffer.from(code) };
  } catch (thrown) {
    throw new WrongParams(asBridgeError(thrown).advice);
  }
}

/** JSON with a line for each. */
function listText(briefs: readonly SnippetBrief[]): string {
  const lines = briefs.map(({ name, language, description }) =>
    JSON.stringify({
      name,
      language: language.name,
      ...(description === '' ? {} : { description }),
      uri: snippetUri(name),
    }),
  );
  return `{"snippets": [${lines.map((line) => `\n${line}`).join(',')}\n]}\n`;
}

// What can be read besides answers: the bridge's own description of itself, the operator's snippets, and what runs have
// left, for as long as it is kept. A URI is looked up and never made into a path. Whatever a file is called, its type is one that nothing runs.

import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { clipHarmless, harmless } from '../base/text.js';
import { offeredLanguages } from '../config/languages/plan.js';
import { MAX_FILE_BYTES } from '../protocol/frames.js';
import { WrongParams } from '../protocol/wrong-params.js';
import { duration } from '../render/files.js';
import { fileType } from '../run/artifacts/file-type.js';
import type { KeptContent, KeptFiles } from '../run/artifacts/kept-files.js';
import { KEPT_URI_TEMPLATE, parseKeptUri } from '../run/artifacts/kept-uri.js';
import type { Bridge } from './bridge.js';
import { CAPABILITIES_MIME_TYPE, CAPABILITIES_URI, capabilities } from './capabilities.js';
import { offeredSnippets, readSnippets, SNIPPET_TEMPLATE, SNIPPETS_RESOURCE } from './snippet-resources.js';

const OUTPUT = /^std(?:out|err)\.txt$/;

/** Answers resources/list, resources/templates/list and resources/read. */
export function offerResources(server: Server, bridge: Bridge): void {
  const { kept, settings } = bridge;
  const { tools } = settings;
  const languages = offeredLanguages(settings);
  const snippets = offeredSnippets(bridge);

  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [
      {
        uri: CAPABILITIES_URI,
        name: 'capabilities',
        title: `What ${tools.join(' and ')} can do`,
        description: 'The helpers inside the sandbox and how to load servers.',
        mimeType: CAPABILITIES_MIME_TYPE,
      },
      ...(snippets === undefined ? [] : [SNIPPETS_RESOURCE]),
      ...kept.list().map(({ uri, name, mimeType, sizeBytes }) => ({ uri, name, mimeType, size: sizeBytes })),
    ],
  }));

  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      ...(snippets === undefined ? [] : [SNIPPET_TEMPLATE]),
      ...(kept.isOn ? [keptTemplate(kept)] : []),
    ],
  }));

  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    if (uri === CAPABILITIES_URI) {
      const text = capabilities(bridge.servers.names, { tools, languages });
      return { contents: [{ uri, mimeType: CAPABILITIES_MIME_TYPE, text }] };
    }
    const snippet = snippets && (await readSnippets(uri, snippets));
    if (snippet !== undefined) return { contents: [contentsOf(snippet)] };
    const found = await kept.read(uri);
    if (found === undefined) throw new WrongParams(notFound(uri, kept));
    return { contents: [contentsOf(found)] };
  });
}

const keptTemplate = ({ keepSeconds }: KeptFiles) => ({
  uriTemplate: KEPT_URI_TEMPLATE,
  name: 'kept',
  title: 'Files and long output of runs',
  description: `Answers name the addresses; readable for ${duration(keepSeconds)}.`,
});

function notFound(uri: string, { isOn, keepSeconds }: KeptFiles): string {
  if (parseKeptUri(uri) === undefined)
    return `There is no resource '${clipHarmless(uri, 200)}'. resources/list names those that there are.`;
  if (!isOn)
    return 'Nothing is kept: the operator has switched it off (MCP_BRIDGE_KEEP_SECONDS, MCP_BRIDGE_KEEP_MB).';
  return `This is no longer kept: what a run leaves can be read for ${duration(keepSeconds)}, and less while much is left. Run the code again.`;
}

type Contents = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** Text may grow by its escapes; the same bytes in base64 always fit into one message. */
const MAX_TEXT_JSON_CHARS = (MAX_FILE_BYTES * 4) / 3;

/** As text where that is safe, exact and short enough; output is shown by the same rule as in answers. */
function contentsOf({
  uri,
  name,
  mimeType,
  content,
}: Pick<KeptContent, 'uri' | 'name' | 'mimeType' | 'content'>): Contents {
  const text = OUTPUT.test(name) ? harmless(content.toString()) : exactText(name, content);
  return text === undefined || JSON.stringify(text).length > MAX_TEXT_JSON_CHARS
    ? { uri, mimeType, blob: content.toString('base64') }
    : { uri, mimeType, text };
}

/** Undefined where text would not be all of it: a byte order mark is left out of what is shown. */
function exactText(name: string, content: Buffer): string | undefined {
  const { text } = fileType(name, content);
  return text !== undefined && Buffer.byteLength(text) === content.length ? text : undefined;
}

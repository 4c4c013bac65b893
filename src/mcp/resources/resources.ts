// Resources that can be read besides answers: the bridge's own description of itself, the operator's snippets, and what runs
// have left, for as long as that is kept. A URI is looked up and never made into a path. Whatever a file is called, its type is
// one that nothing runs.

import { clipHarmless, harmless } from '../../base/text/text.js';
import { duration } from '../../run/answer/files.js';
import { fileType } from '../../run/artifacts/file-type.js';
import type { KeptContent, KeptFiles } from '../../run/artifacts/kept-files.js';
import { KEPT_URI_TEMPLATE, parseKeptUri } from '../../run/artifacts/kept-uri.js';
import { offeredLanguages } from '../../settings/environment/plan.js';
import type { Bridge } from '../../tenant/bridge.js';
import { MAX_FILE_BYTES } from '../../wire/frames.js';
import { WrongParams } from '../../wire/wrong-params.js';
import { type AgentServer, CACHED_FOR, keptFor } from '../requests/agent-server.js';
import { checkCursor, textIn } from '../requests/complaint.js';
import { CAPABILITIES_MIME_TYPE, CAPABILITIES_URI, capabilities } from './capabilities.js';
import { offeredSnippets, readSnippets, SNIPPET_TEMPLATE, SNIPPETS_RESOURCE } from './snippet-resources.js';

const OUTPUT = /^std(?:out|err)\.txt$/;

/** Answers resources/list, resources/templates/list and resources/read. */
export function offerResources(server: AgentServer, bridge: Bridge): void {
  const { kept, settings } = bridge;
  const { tools } = settings;
  const languages = offeredLanguages(settings);
  const snippets = offeredSnippets(bridge);
  /** Only clients of a later era know what is said of an answer's age. */
  const aged = (answer: object, age: object) => (server.era === 'legacy' ? answer : { ...answer, ...age });

  server.answer('resources/list', (params) => {
    checkCursor(params);
    const resources = [
      {
        uri: CAPABILITIES_URI,
        name: 'capabilities',
        title: `What ${tools.join(' and ')} can do`,
        description: 'The helpers inside the sandbox and how to load servers.',
        mimeType: CAPABILITIES_MIME_TYPE,
      },
      ...(snippets === undefined ? [] : [SNIPPETS_RESOURCE]),
      ...kept.list().map(({ uri, name, mimeType, sizeBytes }) => ({ uri, name, mimeType, size: sizeBytes })),
    ];
    return aged({ resources }, CACHED_FOR.resources);
  });

  server.answer('resources/templates/list', (params) => {
    checkCursor(params);
    const resourceTemplates = [
      ...(snippets === undefined ? [] : [SNIPPET_TEMPLATE]),
      ...(kept.isOn ? [keptTemplate(kept)] : []),
    ];
    return aged({ resourceTemplates }, CACHED_FOR.templates);
  });

  server.answer('resources/read', async (params) => {
    const uri = textIn(params, 'uri', 'the address of a resource, as resources/list names it');
    if (uri === CAPABILITIES_URI) {
      const text = capabilities(bridge.servers.names, { tools, languages });
      return aged({ contents: [{ uri, mimeType: CAPABILITIES_MIME_TYPE, text }] }, CACHED_FOR.capabilities);
    }
    const snippet = snippets && (await readSnippets(uri, snippets));
    if (snippet !== undefined) return aged({ contents: [contentsOf(snippet)] }, CACHED_FOR.snippets);
    const found = await kept.read(uri);
    if (found !== undefined) return aged({ contents: [contentsOf(found)] }, keptFor(kept.keepSeconds));
    const wrong = new WrongParams(notFound(uri, kept));
    // By which clients of a later era tell it from other wrong parameters.
    throw server.era === 'legacy' ? wrong : Object.assign(wrong, { data: { uri } });
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

/** Contents as text where that is safe, exact and short enough; output is shown by the same rule as in answers. */
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

// Answers that a server object takes from its bridge: calls of tools, resources, names of snippets, prompts. Resources are the bridge's
// own description of itself, the operator's snippets, and what runs have left, for as long as that is kept. A URI is looked up
// and never made into a path. Whatever a file is called, its type is one that nothing runs. This file is loaded when the first
// of these answers is asked for, or ahead of that; nobody who only lists the tools waits for it.

import { z } from 'zod';
import { asBridgeError } from '../../base/errors.js';
import { clipHarmless, makeHarmless } from '../../base/text/text.js';
import { PACKAGE_NAME } from '../../base/version.js';
import { duration } from '../../run/answer/files.js';
import { fileType } from '../../run/artifacts/file-type.js';
import type { KeptContent, KeptFiles } from '../../run/artifacts/kept-files.js';
import { KEPT_URI_TEMPLATE, parseKeptUri } from '../../run/artifacts/kept-uri.js';
import type { SnippetBrief, Snippets } from '../../run/programs/snippets.js';
import { offeredLanguages } from '../../settings/environment/plan.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/envelope.js';
import { MAX_FILE_BYTES } from '../../wire/frames.js';
import { answerCalls, type CallsParts, toolsOf } from '../calls/tool-calls.js';
import { type AgentServer, CACHED_FOR, keptFor } from '../requests/agent-server.js';
import { type AllowedParams, checkCursor, paramsBy, textIn } from '../requests/complaint.js';
import { offersSnippets } from '../tools/definitions.js';
import { answerPrompts, completeArgument } from './asked-prompts.js';
import { CAPABILITIES_MIME_TYPE, CAPABILITIES_URI, capabilities } from './capabilities.js';

// The address of a snippet: its name, escaped, and nothing more. Whoever reads it looks the name up (snippets.ts).

/** Address of the list of snippets. */
const SNIPPETS_URI = `resource://${PACKAGE_NAME}/snippets`;
/** RFC 6570. */
const SNIPPET_URI_TEMPLATE = `${SNIPPETS_URI}/{name}`;

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

const OUTPUT = /^std(?:out|err)\.txt$/;

/** Answers on `server` whatever is asked of `bridge`. */
export function answerFrom(
  bridge: Bridge,
  server: AgentServer,
  parts: Omit<CallsParts, 'bridge' | 'tools'>,
): void {
  answerCalls(server, { ...parts, bridge, tools: toolsOf(bridge.settings) });
  const snippets = offersSnippets(bridge.settings, bridge.snippets.folder) ? bridge.snippets : undefined;
  offerResources(server, bridge, snippets);
  answerPrompts(server, bridge);
  answerCompletions(server, bridge, snippets);
}

/** Answers resources/list, resources/templates/list and resources/read. `snippets`: undefined where no tool runs any. */
function offerResources(server: AgentServer, bridge: Bridge, snippets: Snippets | undefined): void {
  const { kept, settings } = bridge;
  const { tools } = settings;
  const languages = offeredLanguages(settings);
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
    // Clients of later eras tell this error from other wrong parameters by its `uri`.
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
    return `There is no resource '${clipHarmless(uri, 200)}'. resources/list names all.`;
  if (!isOn)
    return 'No files are kept: the operator has switched that off (MCP_BRIDGE_KEEP_SECONDS, MCP_BRIDGE_KEEP_MB).';
  return `This is no longer kept: files of a run can be read for ${duration(keepSeconds)}, or less if there are many. Run the code again.`;
}

type Readable = Pick<KeptContent, 'uri' | 'name' | 'mimeType' | 'content'>;

/** Text may grow by its escapes; the same bytes in base64 always fit into one message. */
const MAX_TEXT_JSON_CHARS = (MAX_FILE_BYTES * 4) / 3;

/** Contents as text where that is safe, exact and short enough; output is shown by the same rule as in answers. */
function contentsOf({ uri, name, mimeType, content }: Readable) {
  const text = OUTPUT.test(name) ? makeHarmless(content.toString()) : exactText(name, content);
  return text === undefined || JSON.stringify(text).length > MAX_TEXT_JSON_CHARS
    ? { uri, mimeType, blob: content.toString('base64') }
    : { uri, mimeType, text };
}

/** Undefined where text would not be all of it: a byte order mark is left out of what is shown. */
function exactText(name: string, content: Buffer): string | undefined {
  const { text } = fileType(name, content);
  return text !== undefined && Buffer.byteLength(text) === content.length ? text : undefined;
}

// The operator's snippets as resources: one list of them, and each by its name. Nothing is read before somebody reads
// one; a list of resources costs no look into the folder.

const LIST_MIME_TYPE = 'application/json';
/** Type of every snippet, whatever its language: a client must not run what it reads. */
const CODE_MIME_TYPE = 'text/plain';

const SNIPPETS_RESOURCE = {
  uri: SNIPPETS_URI,
  name: 'snippets',
  title: 'Snippets',
  description:
    'Programs that execute_code runs by `snippet_name`, each with its language and its own description.',
  mimeType: LIST_MIME_TYPE,
};

const SNIPPET_TEMPLATE = {
  uriTemplate: SNIPPET_URI_TEMPLATE,
  name: 'snippet',
  title: 'The code of a snippet',
  mimeType: CODE_MIME_TYPE,
};

/** Undefined for an address of something else. Throws WrongParams where there is nothing to read. */
async function readSnippets(uri: string, snippets: Snippets): Promise<Readable | undefined> {
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

// completion/complete: the names of snippets, for the one argument that this bridge can complete itself, `name` of the template
// of a snippet; arguments of prompts are completed by their servers. What else is asked about is answered as the protocol says: by an error for what there is not, by
// nothing for what has no names to offer.

/** The protocol's own limit. */
const MAX_VALUES = 100;
const MAX_ECHO_CHARS = 200;

const Complete = z.object({
  ref: z.object({ type: z.string(), uri: z.string().optional(), name: z.string().optional() }),
  argument: z.object({ name: z.string(), value: z.string() }),
  context: z.object({ arguments: z.record(z.string(), z.string()).optional() }).optional(),
});

const ALLOWED: AllowedParams = {
  fields: {
    ref: 'an object with type and, for ref/resource, uri, for ref/prompt, name',
    argument: 'an object with name and value, both texts',
    context: 'an object with arguments, texts by argument names',
  },
  whole: 'an object with ref and argument',
};

function answerCompletions(server: AgentServer, bridge: Bridge, snippets: Snippets | undefined): void {
  server.answer('completion/complete', async (params, request) => {
    const { ref, argument, context } = paramsBy(Complete, params, ALLOWED);
    if (ref.type === 'ref/prompt' && ref.name !== undefined)
      return await completeArgument(
        bridge,
        { name: ref.name, argument, ...(context && { context }) },
        request,
      );
    if (ref.type === 'ref/resource' && ref.uri === KEPT_URI_TEMPLATE) return completion([]);
    if (ref.type !== 'ref/resource' || ref.uri !== SNIPPET_URI_TEMPLATE || snippets === undefined)
      throw new WrongParams(
        `There is no '${clipText(ref.uri ?? ref.name ?? ref.type)}' to complete. Allowed: ${snippets === undefined ? '' : `${SNIPPET_URI_TEMPLATE} and `}the name of a prompt.`,
      );
    if (argument.name !== 'name')
      throw new WrongParams(`The template has no argument '${clipText(argument.name)}'. It has: name.`);
    const start = argument.value.toLowerCase();
    // A folder that cannot be read has no names; whoever runs or reads a snippet is told why.
    const briefs = await snippets.list().catch(() => []);
    return completion(briefs.map(({ name }) => name).filter((name) => name.toLowerCase().startsWith(start)));
  });
}

const completion = (names: readonly string[]) => ({
  completion: { values: names.slice(0, MAX_VALUES), total: names.length, hasMore: names.length > MAX_VALUES },
});

const clipText = (text: string): string => clipHarmless(text, MAX_ECHO_CHARS);

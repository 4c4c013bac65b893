// A server's question to the person, made fit to be put: capped, harmless, and with the asking server's name ahead of
// its words, or a `>` ahead of each line of them. What would have to be changed to be shown safely, and must not be (a
// property's name, an allowed value), makes the whole question unfit. Pure; who is asked and when is for others to decide.

import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../../base/json/json-object.js';
import { excessOf } from '../../base/json/json-text.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip, clipHarmless, harmless, inOneLine, isHarmless, webAddress } from '../../base/text/text.js';
import { isAllSeen } from '../../base/text/unseen.js';

type Modes = { readonly form: boolean; readonly url: boolean };

/** Params for the agent, or why there are none, as the end of a sentence. */
type Elicitation = { readonly params: Readonly<JsonObject> } | { readonly unfit: string };

/** Limits of a question that a dialog can show; MCP wants flat forms of few fields. */
const MAX_QUESTION_CHARS = 100_000;
const QUESTION_LIMITS = { maxDepth: 12, maxValues: 5_000 };
const MAX_MESSAGE_CHARS = 4_000;
const MAX_LABEL_CHARS = 1_000;
const MAX_ID_CHARS = 256;

/** `redact` takes out of the server's words what the configuration knows for secret. */
export function readElicitation(
  raw: unknown,
  server: string,
  modes: Modes,
  redact: (text: string) => string,
): Elicitation {
  if (!isObject(raw) || typeof raw['message'] !== 'string') return { unfit: 'it holds no message' };
  const json = JSON.stringify(raw);
  if (json.length > MAX_QUESTION_CHARS)
    return { unfit: `it is longer than ${MAX_QUESTION_CHARS} characters` };
  const excess = excessOf(json, QUESTION_LIMITS);
  if (excess !== undefined) return { unfit: `it ${excess}` };
  const words = quoted(clipHarmless(redact(raw['message']), MAX_MESSAGE_CHARS));
  const asks = words.includes('\n') ? ' asks:\n' : ' ';
  const message = `[server '${shownName(server)}']${asks}${words}`;
  const mode = raw['mode'] ?? 'form';
  if (mode === 'url' && modes.url) return readUrl(raw, message);
  if (mode !== 'form' || !modes.form)
    return { unfit: `the agent has no way to ask in the mode ${clip(String(mode), 20)}` };
  const schema = isObject(raw['requestedSchema']) ? shownSchema(raw['requestedSchema']) : undefined;
  if (schema === undefined) return { unfit: 'its form cannot be shown safely' };
  // `mode` as the server had it: clients of before 2025-11-25 know none.
  const said = raw['mode'] === undefined ? {} : { mode };
  return { params: { ...said, message, requestedSchema: schema } };
}

function readUrl(raw: JsonObject, message: string): Elicitation {
  // The modern era has no such id, since its servers do not tell when a page has been dealt with; agents of 2025 want one.
  const elicitationId = raw['elicitationId'] ?? randomUUID();
  const url = webAddress(raw['url']);
  if (url === undefined) return { unfit: 'its address is no http or https URL' };
  if (typeof elicitationId !== 'string' || elicitationId.length > MAX_ID_CHARS)
    return { unfit: 'it has no elicitationId' };
  return { params: { mode: 'url', message, url, elicitationId } };
}

/** Many blanks would push what follows onto a line of its own; U+2800 is a braille pattern without dots. */
const BLANKS = /(?:[^\S\n]|\u2800){2,}/g;
/** Where a question names its server; in a server's own words it is nothing of that kind. */
const NAMES_A_SERVER = /[[［](?=\W{0,9}server\b)/gi;

/** A server's words, which cannot look like the beginning of another question: several lines have a `>` each. */
function quoted(words: string): string {
  const said = words
    .trim()
    .replace(BLANKS, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .replace(NAMES_A_SERVER, '\\$&');
  return said.includes('\n') ? said.replace(/^/gm, '> ').replace(/(?<! ) +$/gm, '') : said;
}

/** The schema with its labels made harmless; undefined where something else in it is not. */
function shownSchema(schema: JsonObject): JsonObject | undefined {
  try {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [nameOf(key), shownMember(key, value)]),
    );
  } catch (thrown) {
    if (thrown === UNFIT) return undefined;
    throw thrown;
  }
}

const UNFIT = Symbol('unfit');

function shownMember(key: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (key === 'title') return clip(quoted(inOneLine(harmless(value))), MAX_LABEL_CHARS);
    if (key === 'description') return clip(quoted(harmless(value)), MAX_LABEL_CHARS);
    return key === 'default' ? shows(value, isHarmless) : unchanged(value);
  }
  if (Array.isArray(value))
    return value.map((member) => (key === 'required' ? nameOf(member) : shownMember('', member)));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [nameOf(name), shownMember(name, member)]),
  );
}

/** A value that the person chooses or that the server compares: one line, as it is. */
const unchanged = (text: string): string => shows(text, isOneLine);

/** A name is compared too, and nobody looks at it twice: it has not even what emoji need and does not show. */
const nameOf = (name: unknown): unknown =>
  typeof name === 'string' ? shows(name, (text) => isAllSeen(text) && isOneLine(text)) : name;

const isOneLine = (text: string): boolean => isHarmless(text) && !/[\t\n]/.test(text);

function shows(text: string, isFit: (text: string) => boolean): string {
  if (!isFit(text)) throw UNFIT;
  return text;
}

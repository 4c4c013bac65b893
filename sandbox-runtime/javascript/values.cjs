// What a tool answered, as JavaScript: the structured value, the JSON in its text, or the text itself. An image or another
// blob is a Buffer with a `mediaType`. Loses nothing: who wants the whole CallToolResult has mcp.callToolRaw.

'use strict';

const { MCPError } = require('./errors.cjs');
const { encode, parse } = require('./json.cjs');

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const ADDRESS = /^\s*data:([^,;]*)([^,]{0,200}),/i;
const MAX_SHOWN_CHARS = 300;
/** What may stand in a CallToolResult besides what the tool has to say. */
const NO_VALUES = new Set(['content', 'structuredContent', 'isError', '_meta', 'resultType']);
const ANY_TYPE = 'application/octet-stream';

/**
 * The value of a CallToolResult; throws MCPError where it says `isError`, or says something that nobody can read. Content
 * that is one text or one block is read as such; where there is neither content nor structure, what stands in their place
 * is the value.
 */
function unwrap(server, tool, result) {
  const { content, structuredContent, isError } = result ?? {};
  const blocks = blocksOf(content);
  if (isError) throw new MCPError(server, tool, textsOf(blocks ?? []) || saidIn(result));
  if (structuredContent !== undefined && structuredContent !== null) return structuredContent;
  if (blocks === undefined)
    throw new MCPError(
      server,
      tool,
      `the tool answered with content that MCP does not know: ${cut(content)}`,
    );
  if (content === undefined || content === null) {
    const others = Object.entries(result ?? {}).filter(([name]) => !NO_VALUES.has(name));
    return others.length === 0 ? null : Object.fromEntries(others);
  }
  const values = blocks.map((block) => valueOfBlock(block));
  return values.length === 0 ? null : values.length === 1 ? values[0] : values;
}

/** Undefined for what is neither a list of blocks nor one of them. */
function blocksOf(content) {
  if (content === undefined || content === null) return [];
  if (Array.isArray(content)) return content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return typeof content === 'object' ? [content] : undefined;
}

const textsOf = (blocks) =>
  blocks
    .map((block) => (typeof block === 'string' ? block : block?.text))
    .filter((text) => typeof text === 'string')
    .join('\n');

/** What a failed tool said otherwise than by texts. */
function saidIn({ isError: _, _meta, resultType, ...said }) {
  const heard = Object.entries(said).filter(
    ([, value]) => value && !(Array.isArray(value) && value.length === 0),
  );
  return heard.length === 0 ? 'the tool failed without saying why' : cut(Object.fromEntries(heard));
}

function cut(value) {
  const text = encode(value).trimEnd();
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}…`;
}

/** One content block: its data, its text (unless told otherwise, the JSON in it), or for what is neither, all of it. */
function valueOfBlock(block, fromText = readText) {
  if (block?.type === 'text' && typeof block.text === 'string') return fromText(block.text);
  if (block?.type === 'image' || block?.type === 'audio') return bytesOf(block.data, block.mimeType) ?? block;
  if (block?.type === 'resource' && typeof block.resource === 'object')
    return contentOf(block.resource) ?? block;
  return block;
}

/** A resource's text, or its bytes; undefined for what is neither. */
function contentOf(resource) {
  if (typeof resource?.text === 'string') return resource.text;
  const bytes = bytesOf(resource?.blob, resource?.mimeType);
  return bytes === undefined ? undefined : Object.assign(bytes, { uri: resource.uri });
}

/** Of base64 of any kind, with line breaks, or of a `data:` address; undefined for anything else. */
function bytesOf(data, mediaType) {
  if (typeof data !== 'string') return undefined;
  const [head = '', inAddress = '', parameters = ''] = ADDRESS.exec(data) ?? [];
  const bytes = decoded(data.slice(head.length), head === '' || /base64/i.test(parameters));
  return bytes && Object.assign(bytes, { mediaType: (mediaType ?? inAddress.trim()) || ANY_TYPE });
}

function decoded(data, isBase64) {
  let text = data;
  try {
    if (data.includes('%')) text = decodeURIComponent(data);
  } catch {
    return undefined;
  }
  if (!isBase64) return Buffer.from(text.trim());
  const plain = text.replace(/\s+/g, '');
  const isWhole = BASE64.test(plain) && plain.replace(/=+$/, '').length % 4 !== 1;
  return isWhole ? Buffer.from(plain, 'base64') : undefined;
}

function readText(text) {
  // Most texts are prose; parsing them only to fail would cost more than this look at the first character.
  if (!/^\s*[[{"\-0-9tfn]/.test(text)) return text;
  let value;
  try {
    value = parse(text);
  } catch {
    return text;
  }
  // A version "1.10" is no number: where it would not print as it came, the text is what was meant.
  return typeof value === 'number' && String(value) !== text.trim() ? text : value;
}

module.exports = { contentOf, unwrap, valueOfBlock };

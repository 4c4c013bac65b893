// What a tool answered, as JavaScript: the structured value, the JSON in its text, or the text itself. An image or another
// blob is a Buffer with a `mediaType`. Loses nothing: who wants the whole CallToolResult has mcp.callToolRaw.

'use strict';

const { MCPError } = require('./errors.cjs');
const { parse } = require('./json.cjs');

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const ANY_TYPE = 'application/octet-stream';

/** The value of a CallToolResult; throws MCPError where it says `isError`. */
function unwrap(server, tool, result) {
  const blocks = Array.isArray(result?.content) ? result.content : [];
  if (result?.isError)
    throw new MCPError(server, tool, textsOf(blocks) || 'the tool failed without saying why');
  if (result?.structuredContent !== undefined && result.structuredContent !== null)
    return result.structuredContent;
  const values = blocks.map((block) => valueOfBlock(block));
  return values.length === 0 ? null : values.length === 1 ? values[0] : values;
}

const textsOf = (blocks) =>
  blocks
    .filter((block) => typeof block?.text === 'string')
    .map(({ text }) => text)
    .join('\n');

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

function bytesOf(data, mediaType) {
  if (typeof data !== 'string' || data.length % 4 !== 0 || !BASE64.test(data)) return undefined;
  return Object.assign(Buffer.from(data, 'base64'), { mediaType: mediaType ?? ANY_TYPE });
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

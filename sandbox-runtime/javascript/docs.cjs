// Documentation of tools as entries with a line for each: what mcp.queryToolDocs and mcp.searchToolDocs give. Printed they
// are those lines.

'use strict';

const { inspect } = require('node:util');
const { howToLoad } = require('./catalog.cjs');
const { signatureOf } = require('./signature.cjs');

const DETAILS = ['summary', 'full'];
const MAX_SENTENCE_CHARS = 160;

class ToolDocs extends Array {
  [inspect.custom]() {
    return this.length === 0 ? '(no tools)' : this.map(lineOf).join('\n');
  }

  // What map() and filter() make of it are plain arrays.
  static get [Symbol.species]() {
    return Array;
  }
}

function lineOf({ alias, signature, description, load }) {
  const sentence = firstSentence(description);
  const about = [load === undefined ? '' : `Not loaded. ${load}`, sentence]
    .filter((part) => part !== '')
    .join(' ');
  return `mcp_${alias}.${signature}${about === '' ? '' : `  // ${about}`}`;
}

/** `entries` are {brief, tool, score?}: the server's, loaded or not, and the tool. */
function docsOf(entries, detail) {
  if (!DETAILS.includes(detail)) throw new RangeError(`detail is '${detail}'; it can be 'summary' or 'full'`);
  return ToolDocs.from(entries, (entry) => docOf(entry, detail));
}

function docOf({ brief, tool, score }, detail) {
  const { name, description, inputSchema, outputSchema, observed, changed } = tool;
  const isFull = detail === 'full';
  const doc = {
    server: brief.name,
    tool: name,
    signature: signatureOf(tool),
    description: isFull ? description.trim() : firstSentence(description),
    ...(brief.loaded ? {} : { load: howToLoad(brief) }),
    ...(score === undefined ? {} : { score }),
    ...(changed ? { changed } : {}),
    ...(isFull ? { inputSchema, outputSchema, ...(observed ? { observed } : {}) } : {}),
  };
  return Object.defineProperty(doc, 'alias', { value: brief.alias });
}

/** Up to a full stop before a new sentence, or the first paragraph. */
function firstSentence(text) {
  const paragraph = text.trim().split('\n\n')[0].replace(/\s+/g, ' ');
  const sentence = /^.*?[^\s.]{2}\.(?= [A-Z])/.exec(paragraph)?.[0] ?? paragraph;
  return sentence.length <= MAX_SENTENCE_CHARS ? sentence : `${sentence.slice(0, MAX_SENTENCE_CHARS - 1)}…`;
}

module.exports = { docsOf };

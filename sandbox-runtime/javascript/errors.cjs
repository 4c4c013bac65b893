// What goes wrong with servers and tools, in words that say the next step.

'use strict';

const MAX_NAMES_SHOWN = 20;
/** Of a name's letters, those that may be wrong. */
const MAX_WRONG = 0.4;

/** What no name is to look like another one by: controls, what does not show, blanks that are no plain space. */
const ODD = /[\\\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

/** `name` exactly, and so that no other one looks like it: what does not show, or looks like something else, is an escape. */
function shownName(name) {
  const isAlike = name.normalize('NFKC') !== name;
  const form = (character) => {
    const point = character.codePointAt(0);
    if (character === ' ' || !(ODD.test(character) || (isAlike && point > 0x7f))) return character;
    if (character === '\\') return '\\\\';
    const hex = point.toString(16);
    if (point <= 0xff) return `\\x${hex.padStart(2, '0')}`;
    return point <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
  };
  return [...name].map(form).join('');
}

/** A tool with its server; a dot of the server's own name has a backslash ahead of it. */
const shownTool = (server, tool) =>
  `${shownName(String(server)).replaceAll('.', '\\.')}.${shownName(String(tool))}`;

/** A tool or a server failed or refused; `server` and `tool` are null where the call named none, `code` is stable. */
class MCPError extends Error {
  constructor(server, tool, text, code = 'E_TOOL_FAILED') {
    // A tool's own words rarely say whose they are; the other messages do.
    super(code === 'E_TOOL_FAILED' ? `${shownTool(server, tool)}: ${text}` : text);
    Object.assign(this, { server, tool, text, code });
  }
}

/** No such server, or one that this run did not load. */
class UnknownServerError extends MCPError {}

/** The server has no such tool. */
class UnknownToolError extends MCPError {}

for (const kind of [MCPError, UnknownServerError, UnknownToolError])
  Object.defineProperty(kind.prototype, 'name', { value: kind.name, configurable: true, writable: true });

const refusal = ({ server, tool, message, code }) => new MCPError(server, tool, message, code);

/** Gives an error the trace of the code that made the call, without ours: an answer has none. */
function tracedTo(error, trace) {
  const { stack } = trace;
  const at = typeof stack === 'string' ? stack.indexOf('\n    at ') : -1;
  if (error instanceof Error && at !== -1) error.stack = `${error.name}: ${error.message}${stack.slice(at)}`;
  return error;
}

/** ` Did you mean 'x'?`, or nothing where no candidate is close. */
function didYouMean(word, candidates) {
  const wanted = String(word).toLowerCase().slice(0, 100);
  let best = '';
  let least = Math.max(1, Math.floor(wanted.length * MAX_WRONG)) + 1;
  for (const candidate of candidates) {
    const wrong = distance(wanted, candidate.toLowerCase().slice(0, 100));
    if (wrong < least) [best, least] = [candidate, wrong];
  }
  return best === '' ? '' : ` Did you mean '${shownName(best)}'?`;
}

/** Levenshtein's. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + same));
    }
    row = next;
  }
  return row[other.length];
}

/** The names, cut with a count of the rest. */
function someOf(names) {
  const every = [...names];
  const rest = every.length - MAX_NAMES_SHOWN;
  return every.slice(0, MAX_NAMES_SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

module.exports = {
  MCPError,
  UnknownServerError,
  UnknownToolError,
  didYouMean,
  refusal,
  shownName,
  shownTool,
  someOf,
  tracedTo,
};

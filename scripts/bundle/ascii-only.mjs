// A plugin of the bundle. V8 keeps a text with one character beyond Latin-1 in two bytes for each, and reads it more slowly: a
// dozen such characters in the sentences of a chunk cost a tenth of the time that it takes to load. So they are written as
// escapes, which mean the same in strings, templates and regular expressions.

const BEYOND = /[^\0-\x7f]/g;
/** Where an escape would be taken for what it is. */
const RAW = /String\.raw`[^`]*[^\0-\x7f]/;

export function asciiOnly() {
  return {
    name: 'ascii-only',
    generateBundle(_options, output) {
      for (const chunk of Object.values(output)) {
        if (chunk.type !== 'chunk') continue;
        if (RAW.test(chunk.code)) throw new Error(`${chunk.fileName} has a raw text that is not ASCII`);
        chunk.code = chunk.code.replace(BEYOND, escapeUnit);
      }
    },
  };
}

/** As one or two units of UTF-16. */
const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

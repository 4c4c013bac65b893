// A plugin of the bundle: code in another language, which lies beside the source that asks for it (src/base/files/read-text.ts),
// becomes a text in its place. What tsc writes has no bundler: there the files themselves are copied to where it looks for them.

import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ASKED = /\btextBeside\(new URL\('(\.\/[^']+)', import\.meta\.url\)\)/g;
const ASKED_OTHERWISE = /\btextBeside\((?!new URL\('\.\/[^']+', import\.meta\.url\)\))/;
/** What tsc does not write. */
const BESIDE = /\.(?:py|js|css)$/;

export function textsBeside() {
  return {
    name: 'texts-beside',
    transform(/** @type {string} */ code, /** @type {string} */ id) {
      if (id.includes('node_modules')) return;
      if (ASKED_OTHERWISE.test(code))
        throw new Error(`${id} asks for a text in words that the bundler does not know`);
      if (code.search(ASKED) === -1) return;
      const textOf = (/** @type {string} */ _asked, /** @type {string} */ file) =>
        JSON.stringify(readFileSync(join(dirname(id), file), 'utf8'));
      // Lines stay where they are.
      return { code: code.replace(ASKED, textOf), map: null };
    },
  };
}

/**
 * Copies them from the folder of the sources to that of what tsc has written.
 * @param {string} src
 * @param {string} dist
 */
export function copyTexts(src, dist) {
  for (const name of readdirSync(src, { encoding: 'utf8', recursive: true }))
    if (BESIDE.test(name)) cpSync(join(src, name), join(dist, name));
}

// What a script measured, put into its region of README.md. Only the script that measures writes there.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const README = join(dirname(dirname(fileURLToPath(import.meta.url))), 'README.md');

/** Replaces what stands between `<!-- measured:NAME -->` and `<!-- /measured -->`; fails where there is no such region. */
export function putIntoReadme(name, markdown) {
  const region = new RegExp(`(<!-- measured:${name} -->\\n)[\\s\\S]*?(<!-- /measured -->)`);
  const text = readFileSync(README, 'utf8');
  if (!region.test(text)) throw new Error(`README.md has no region <!-- measured:${name} -->`);
  writeFileSync(
    README,
    text.replace(region, (_all, open, close) => `${open}${markdown}\n${close}`),
  );
}

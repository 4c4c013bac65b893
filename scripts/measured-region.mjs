// What a script measured, put into its region of a document. Only the script that measures a region writes there; the
// regions stand between `<!-- measured:NAME -->` and `<!-- /measured -->`.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);

/** By the region's name, the document that has it, as a path from the repository's root. */
export const REGIONS = {
  agents: 'docs/hosts.md',
  bench: 'docs/benchmark.md',
  'bench-summary': 'README.md',
  clients: 'docs/hosts.md',
  context: 'docs/benchmark.md',
  'context-summary': 'README.md',
  peers: 'docs/compared-with.md',
};

/** Text that has the content of its region `name` replaced by `markdown`; throws where it has no such region. */
export function withRegion(text, name, markdown) {
  const region = new RegExp(`(<!-- measured:${name} -->\\n)[\\s\\S]*?(<!-- /measured -->)`);
  if (!region.test(text)) throw new Error(`${REGIONS[name]} has no region <!-- measured:${name} -->`);
  return text.replace(region, (_all, open, close) => `${open}${markdown}\n${close}`);
}

/** Writes `markdown` into the region `name`, and returns the path of its document. */
export function putIntoRegion(name, markdown) {
  const file = fileURLToPath(new URL(REGIONS[name], ROOT));
  writeFileSync(file, withRegion(readFileSync(file, 'utf8'), name, markdown));
  return REGIONS[name];
}

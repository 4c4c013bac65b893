// The parsers of files that are no plain JSON. Each is loaded when the first text needs it: most who start a bridge need none,
// and wait for it. At once and not by `import()`, since configuration is read at once.

import { createRequire } from 'node:module';
import { replacedPart } from '../../base/replaced-part.js';

const require = createRequire(import.meta.url);

/** The package `yaml`. Throws E_REPLACED where it has gone. */
export const yamlParser = (): typeof import('yaml') => loadPart(() => require('yaml'));

/** The package `smol-toml`, likewise. */
export const tomlParser = (): typeof import('smol-toml') => loadPart(() => require('smol-toml'));

/** The package `jsonc-parser`, likewise: JSON with comments. */
export const jsoncParser = (): typeof import('jsonc-parser') => loadPart(() => require('jsonc-parser'));

/** The package `dotenv`, likewise. */
export const dotenvParser = (): typeof import('dotenv') => loadPart(() => require('dotenv'));

/** Types of the package `@marcbachmann/cel-js`: where expressions are parsed and evaluated, and a part of an expression. */
export type CelEnvironment = import('@marcbachmann/cel-js').Environment;
export type CelNode = import('@marcbachmann/cel-js').ASTNode;

/** The package `@marcbachmann/cel-js`, likewise: conditions of the policy file. */
export const celParser = (): typeof import('@marcbachmann/cel-js') =>
  loadPart(() => require('@marcbachmann/cel-js'));

function loadPart<T>(load: () => T): T {
  try {
    return load();
  } catch (thrown) {
    throw replacedPart(thrown);
  }
}

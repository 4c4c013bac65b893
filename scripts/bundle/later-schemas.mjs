// The SDK makes some three hundred zod schemas while it is loaded, and those of a protocol all at once at its first message.
// That takes half as long as Node's own start, and the bridge uses a dozen of them. This plugin of the bundle rewrites the
// SDK's own modules so that each schema is made when it is first used, and as it was written:
// `const A = z.object({ b: B })` becomes `const A$later = later$(() => (z.object({ b: B$later() })))`, and A `A$later()`.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Rewriting, thunkOf } from './rewriting.mjs';

const SDK = /[\\/]node_modules[\\/]@modelcontextprotocol[\\/](core|client|server)[\\/]dist[\\/][^\\/]+\.mjs$/;
/** Where both halves of the SDK import schemas from. */
const CORE = '@modelcontextprotocol/core/internal';
/** Where the bridge's own sources import some of them from. */
const OWN_CORE = '@modelcontextprotocol/core';
/** The same schemas, as functions that give them. */
const LATER_CORE = '\0later-core';
/** Functions that make all schemas of one protocol. */
const BUILDER = /^build(?:\$\d+)?$/;
/** What the server's half makes of every schema, for programs that check values by the names of types. The bridge is none. */
const BY_NAME = /\b(?:isSpecType|specTypeSchemas)\b/;
/** Outside of a comment. */
const USES_BY_NAME = /^(?!\s*\*).*\b(?:isSpecType|specTypeSchemas)[.[]/m;
const FILLS_BY_NAME = /^for \(const .*\) register\(key, /;

const LATER = `
function later$(make) {
  let made;
  let isMade = false;
  return () => {
    if (!isMade) made = make();
    isMade = true;
    return made;
  };
}
`;

/** The plugin, for the packages below `root`. Throws where the SDK is written otherwise than it expects. */
export function laterSchemas(root) {
  const folder = join(root, 'node_modules/@modelcontextprotocol/core/dist');
  const core = new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.mjs'))
      .map((name) => /** @type {const} */ ([name, rewrittenCore(readFileSync(join(folder, name), 'utf8'))]))
      .filter(([, { names }]) => names.length > 0),
  );
  const known = new Set([...core.values()].flatMap(({ names }) => names));
  if (known.size < 100) throw new Error(`${folder}: only ${known.size} schemas are found there`);
  const exported = [...core].map(
    ([name, { names }]) =>
      `export { ${names.map(thunkOf).join(', ')} } from ${JSON.stringify(join(folder, name))};`,
  );
  return {
    name: 'later-schemas',
    resolveId: (specifier) => (specifier === LATER_CORE ? LATER_CORE : undefined),
    load: (id) => (id === LATER_CORE ? exported.join('\n') : undefined),
    async transform(code, id) {
      const half = SDK.exec(id)?.[1];
      const isOurs = half === undefined && !id.includes('node_modules') && !id.startsWith('\0');
      if ((isOurs && BY_NAME.test(code)) || (half === 'server' && USES_BY_NAME.test(code)))
        throw new Error(`${id} checks values by the names of their types, which the bundle leaves out`);
      if (isOurs && code.includes(`from '${OWN_CORE}'`))
        return { code: rewrittenOwn(code, known), map: null };
      if (half === undefined) return undefined;
      // Lines stay where they are, so that the SDK's source maps still hold.
      if (half === 'core')
        return core.has(basename(id)) ? { code: core.get(basename(id)).text, map: null } : undefined;
      if (!code.includes(CORE)) return undefined;
      const { id: used } = await this.resolve(CORE, id);
      if (dirname(used) !== folder) throw new Error(`${id} uses another ${CORE}: ${used}`);
      return { code: rewrittenHalf(code, known, half === 'server'), map: null };
    },
  };
}

function rewrittenCore(code) {
  const rewriting = new Rewriting(code);
  const names = rewriting.deferConstants(rewriting.body);
  // The plain names are for whoever needs them at once; what nobody imports is left out of the bundle.
  const text = `${rewriting.finish()}${LATER}export { ${names.map(thunkOf).join(', ')} };\n`;
  return { names, text };
}

function rewrittenOwn(code, known) {
  const rewriting = new Rewriting(code, 'ts');
  const used = rewriting.deferImports(OWN_CORE, known);
  return `${rewriting.finish()}${importLater(used)}`;
}

function rewrittenHalf(code, known, isServer) {
  const rewriting = new Rewriting(code);
  const used = rewriting.deferImports(CORE, known);
  for (const statement of rewriting.body) {
    if (isServer && FILLS_BY_NAME.test(rewriting.textOf(statement))) rewriting.remove(statement);
    if (statement.type === 'FunctionDeclaration' && BUILDER.test(statement.id.name))
      rewriting.deferMembers(statement);
  }
  rewriting.deferConstants(rewriting.body);
  return `${rewriting.finish()}${LATER}${importLater(used)}`;
}

const importLater = (names) =>
  `import { ${names.map(thunkOf).join(', ')} } from ${JSON.stringify(LATER_CORE)};\n`;

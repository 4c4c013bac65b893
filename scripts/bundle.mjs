// Joins the command line and the packages that it uses into a few files, because hosts start the bridge often and
// wait for it: nearly four hundred small modules take twice as long. Replaces dist/cli/main.js, which then needs
// no node_modules; the rest of dist/ stays one file per source, as tsc wrote it. Usage: node scripts/bundle.mjs

import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
// As deep as every other folder of dist/: the program finds the package's files from where its own file lies.
const folder = join(dist, 'bundle');
const licences = 'LICENSES.txt';

const bundle = await rolldown({
  cwd: root,
  input: { main: 'src/cli/main.ts' },
  platform: 'node',
  transform: { target: JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions.target },
  // `module` comes first: a package's UMD file under `main` calls a `require` that no bundler can follow.
  resolve: { mainFields: ['module', 'main'], extensionAlias: { '.js': ['.ts', '.js'] } },
  plugins: [withoutValidators()],
  // Such as an import that was not found, which would only fail when somebody needs it.
  onLog: (level, { message }) => {
    if (level === 'warn') throw new Error(message);
  },
});
const { output } = await bundle.write({
  dir: dist,
  entryFileNames: 'cli/[name].js',
  chunkFileNames: 'bundle/[name].js',
  // Names that hold from build to build: a bridge that runs while it is built anew still loads chunks later.
  minifyInternalExports: false,
  sourcemap: true,
});
await bundle.close();
// Not by the shell that runs this: that of Windows has no chmod.
chmodSync(join(dist, 'cli/main.js'), 0o755);

const chunks = output.filter(({ type }) => type === 'chunk');
const missing = chunks
  .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
  .filter(isForeign);
if (missing.length > 0) throw new Error(`not bundled: ${[...new Set(missing)].join(', ')}`);

const written = new Set([...output.map(({ fileName }) => basename(fileName)), licences]);
for (const name of readdirSync(folder)) if (!written.has(name)) rmSync(join(folder, name));
writeFileSync(join(folder, licences), notices(chunks.flatMap(({ moduleIds }) => moduleIds)));

/**
 * Each half of the SDK imports a validator of JSON schemas, 290 kB of it, for forms and outputs that it would check. The bridge
 * gives it one that checks nothing (src/server/agent-server.ts), so nobody needs that code, and loading it would take a
 * good part of the time to start.
 */
function withoutValidators() {
  const shims = /^@modelcontextprotocol\/(?:client|server)\/_shims$/;
  const stub = '\0no-validators';
  return {
    name: 'without-validators',
    resolveId: (specifier) => (shims.test(specifier) ? stub : undefined),
    load: (id) =>
      id === stub
        ? `export { default as process } from 'node:process';
           export const CORS_IS_POSSIBLE = false;
           export class DefaultJsonSchemaValidator {
             constructor() { throw new Error('The bundle has no validator of JSON schemas.'); }
           }`
        : undefined,
  };
}

function isForeign(specifier) {
  return !isBuiltin(specifier) && !output.some(({ fileName }) => fileName === specifier);
}

/** Whose code is in the bundle, and on what terms; the licences ask for it to go wherever the code goes. */
function notices(moduleIds) {
  const paths = moduleIds.map((id) => id.replaceAll('\\', '/'));
  const packages = paths.map((path) => path.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]);
  return [...new Set(packages.filter(Boolean))].sort().map(notice).join('\n');
}

function notice(path) {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : readFileSync(join(path, file), 'utf8');
  return `${name} ${version} (${license})\n\n${text.trim()}\n\n${'-'.repeat(80)}\n`;
}

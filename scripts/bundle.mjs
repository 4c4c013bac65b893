// Joins the command line and the packages that it uses into a few files, because hosts start the bridge often and
// wait for it: nearly four hundred small modules take twice as long. Replaces dist/cli/main.js, which then needs
// no node_modules; the rest of dist/ stays one file per source, as tsc wrote it. Usage: node scripts/bundle.mjs
//
// What `serve` loads before it answers its first requests is a chunk of its own, scripts/bundle/start-chunks.mjs.

import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { asciiOnly } from './bundle/ascii-only.mjs';
import { laterSchemas } from './bundle/later-schemas.mjs';
import { bundleParsers, separateParsers } from './bundle/parsers.mjs';
import { startChunks } from './bundle/start-chunks.mjs';
import { withoutValidators } from './bundle/without-validators.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
// As deep as every other folder of dist/: the program finds the package's files from where its own file lies.
const folder = join(dist, 'bundle');
const licences = 'LICENSES.txt';

const parsers = separateParsers();
const common = {
  cwd: root,
  platform: 'node',
  transform: { target: JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions.target },
  // `module` comes first: a package's UMD file under `main` calls a `require` that no bundler can follow.
  resolve: { mainFields: ['module', 'main'], extensionAlias: { '.js': ['.ts', '.js'] } },
  // Such as an import that was not found, which would only fail when somebody needs it.
  onLog: (level, { message }) => {
    if (level === 'warn') throw new Error(message);
  },
};
const bundle = await rolldown({
  ...common,
  input: { main: 'src/cli/main.ts' },
  plugins: [withoutValidators(), laterSchemas(root), parsers.plugin, asciiOnly()],
});
const { output } = await bundle.write({
  dir: dist,
  entryFileNames: 'cli/[name].js',
  chunkFileNames: 'bundle/[name].js',
  codeSplitting: { groups: startChunks(root) },
  // Names that hold from build to build: a bridge that runs while it is built anew still loads chunks later.
  minifyInternalExports: false,
  // Without comments and white space, which Node would read at each start. Names stay, for whoever reads a stack.
  minify: { compress: false, mangle: false, codegen: true },
  sourcemap: true,
});
await bundle.close();
// Not by the shell that runs this: that of Windows has no chmod.
chmodSync(join(dist, 'cli/main.js'), 0o755);

const files = [...output, ...(await bundleParsers(parsers.packages, folder, common))];
const chunks = files.filter(({ type }) => type === 'chunk');
const missing = chunks
  .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
  .filter(isForeign);
if (missing.length > 0) throw new Error(`not bundled: ${[...new Set(missing)].join(', ')}`);

const written = new Set([...files.map(({ fileName }) => basename(fileName)), licences]);
for (const name of readdirSync(folder)) if (!written.has(name)) rmSync(join(folder, name));
writeFileSync(join(folder, licences), notices(chunks.flatMap(({ moduleIds }) => moduleIds)));

function isForeign(specifier) {
  return !isBuiltin(specifier) && !files.some(({ fileName }) => fileName === specifier);
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

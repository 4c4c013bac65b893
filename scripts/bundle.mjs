// Joins the command line and the packages that it uses into a few files, because hosts start the bridge often and
// wait for it: nearly four hundred small modules take twice as long. Replaces dist/cli/main.js, which then needs
// no node_modules; the rest of dist/ stays one file per source, as tsc wrote it, with what tsc leaves out. Usage: node scripts/bundle.mjs
// src/cli/compiled-code.ts loads what lies in dist/bundle.
//
// What `serve` loads before it answers its first requests is a chunk of its own, scripts/bundle/start-chunks.mjs.

import { createHash } from 'node:crypto';
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { asciiOnly } from './bundle/ascii-only.mjs';
import { bundlePage } from './bundle/page.mjs';
import { bundleParsers, separateParsers } from './bundle/parsers.mjs';
import { startChunks } from './bundle/start-chunks.mjs';
import { copyTexts, textsBeside } from './bundle/texts-beside.mjs';
import { withoutValidators } from './bundle/without-validators.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
// As deep as a room: what finds the package's files from where its own file lies stands right below one (src/base/version.ts).
const folder = join(dist, 'bundle');
const licences = 'LICENSES.txt';
/** What `cli/main.ts` loads, by what was asked for, and where it lies below src/cli. */
const PARTS = {
  serve: 'serving/serve',
  'start-relay': 'windows/start-relay',
  program: 'program',
  output: 'terminal/output',
};

const parsers = separateParsers();
/** @satisfies {import('rolldown').InputOptions} */
const common = /** @type {const} */ ({
  cwd: root,
  platform: 'node',
  transform: { target: JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).compilerOptions.target },
  // `module` comes first: a package's UMD file under `main` calls a `require` that no bundler can follow.
  resolve: {
    mainFields: ['module', 'main'],
    extensionAlias: { '.js': ['.ts', '.js'] },
    alias: { 'node-fetch': join(root, 'scripts/bundle/global-fetch.mjs') },
  },
  // How long it took says how busy the machine was, and nothing of what was built.
  checks: { bundlerTimings: false },
  // Such as an import that was not found, which would only fail when somebody needs it.
  onLog: (level, { message }) => {
    if (level === 'warn') throw new Error(message);
  },
});
/** Scripts and not modules: V8 keeps what it has compiled of a script only. */
const scripts = /** @type {const} */ ({
  dir: folder,
  format: 'cjs',
  exports: 'named',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  sourcemap: true,
});
// Without comments and white space, which Node would read at each start. Names stay, for whoever reads a stack.
const minify = { compress: false, mangle: false, codegen: true };
const bundle = await rolldown({
  ...common,
  input: Object.fromEntries(Object.entries(PARTS).map(([name, file]) => [name, `src/cli/${file}.ts`])),
  plugins: [withoutValidators(), parsers.plugin, textsBeside(), asciiOnly()],
  // It has a class for each kind of object of a cluster, ten megabytes of them, and says of none that it does nothing by itself.
  treeshake: { moduleSideEffects: [{ test: /@kubernetes\/client-node/, sideEffects: false }] },
});
const { output } = await bundle.write({
  ...scripts,
  codeSplitting: { groups: startChunks(root) },
  // Names that hold from build to build, for whoever compares them.
  minifyInternalExports: false,
  minify,
});
await bundle.close();
const build = markBuild(output.filter(({ type }) => type === 'chunk').map(({ fileName }) => fileName));

const start = await rolldown({
  ...common,
  input: { main: 'src/cli/main.ts' },
  transform: { ...common.transform, define: { BUILD: JSON.stringify(build) } },
  plugins: [bundledParts(), asciiOnly()],
});
const { output: first } = await start.write({ ...scripts, minify });
await start.close();
// Nothing but the step from a package of modules to a script: what a module imports of Node is made ready whole.
writeFileSync(
  join(dist, 'cli/main.js'),
  `#!/usr/bin/env node
import { createRequire } from 'node:module';
createRequire(import.meta.url)('../bundle/main.cjs');
`,
);
rmSync(join(dist, 'cli/main.js.map'), { force: true });
// Not by the shell that runs this: that of Windows has no chmod.
chmodSync(join(dist, 'cli/main.js'), 0o755);

copyTexts(join(root, 'src'), dist);

const page = await bundlePage(root, folder, common);
const files = [
  ...output,
  ...first,
  ...page.output,
  ...(await bundleParsers(parsers.packages, common, scripts)),
];
const chunks = files.filter((file) => file.type === 'chunk');
const missing = chunks
  .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
  .filter(isForeign);
if (missing.length > 0) throw new Error(`not bundled: ${[...new Set(missing)].join(', ')}`);

const kept = new Set([...files.map(({ fileName }) => basename(fileName)), page.style, licences]);
for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name));
writeFileSync(join(folder, licences), notices(chunks.flatMap(({ moduleIds }) => moduleIds)));

/** Has `main.ts` load the files that are written here. */
function bundledParts() {
  const resolveId = (name) => (name === './parts.js' ? join(root, 'src/cli/bundled-parts.ts') : null);
  return { name: 'bundled-parts', resolveId };
}

/** Names the build in each file's last line: a file of another one must not be taken for a part of it. */
function markBuild(names) {
  const hash = createHash('sha256');
  for (const name of names.sort()) hash.update(readFileSync(join(folder, name)));
  const id = hash.digest('hex').slice(0, 16);
  for (const name of names) appendFileSync(join(folder, name), `\n//# build ${id}\n`);
  return id;
}

function isForeign(specifier) {
  return !isBuiltin(specifier) && !files.some(({ fileName }) => fileName === specifier);
}

/** Whose code is in the bundle, and on what terms; the licences ask for it to go wherever the code goes. */
function notices(moduleIds) {
  const paths = moduleIds.map((id) => id.replaceAll('\\', '/'));
  const packages = paths.map((path) => path.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]);
  /** Packages by the text of their terms, which stands once for all that have it. */
  const titles = new Map();
  for (const path of [...new Set(packages.filter(Boolean))].sort()) {
    const { title, text } = notice(path);
    titles.set(text, [...(titles.get(text) ?? []), title]);
  }
  // Texts that are alike stand beside one another, so that they take little room when they are packed.
  const terms = [...titles.keys()].sort((one, other) =>
    withoutOwner(one).localeCompare(withoutOwner(other), 'en'),
  );
  return terms.map((text) => `${titles.get(text).join('\n')}\n\n${text}\n\n${'-'.repeat(80)}\n`).join('\n');
}

function withoutOwner(text) {
  return text.replace(/^.*copyright.*$/gim, '');
}

function notice(path) {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : readFileSync(join(path, file), 'utf8');
  return { title: `${name} ${version} (${license})`, text: text.trim() };
}

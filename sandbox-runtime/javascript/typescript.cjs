// TypeScript made into JavaScript by esbuild, local imports and all, with a source map by which traces name the lines of
// the program's own files. As CommonJS where that is possible, since there `require`, `module` and `__dirname` mean what
// they say; as an ES module where the code awaits at its top level. Types are left out, never checked.

'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { STAND_INS } = require('./scope.cjs');

/** Of the code that is made, map included; more than any program that comes in one call. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Where esbuild is looked for: the PATH is the program's, whose call may have set it to anything. */
const SEARCHED = [path.dirname(process.execPath), process.env.PATH, '/usr/local/bin', '/usr/bin', '/bin']
  .filter(Boolean)
  .join(':');

/** What esbuild advises those who call it. */
const NOT_FOR_PROGRAMS = /^ {2}You can mark the path .*\n(?: {2}\S.*\n)*\n?/gm;

/** A function that runs the program, and its arguments. Ends the process where there is nothing to run. */
function prepare(file) {
  const common = file.endsWith('.mts') ? undefined : build(file, 'cjs');
  if (common?.code !== undefined) return commonJs(file, common.code);
  const made = build(file, 'esm');
  if (made.code !== undefined) return esModule(made.code);
  if (made.isMissing) return byNode(file);
  process.stderr.write(made.complaint);
  process.exit(made.status);
}

function build(file, format) {
  const made = spawnSync(
    'esbuild',
    [
      file,
      '--bundle',
      '--platform=node',
      `--format=${format}`,
      // The oldest Node that programs meet; a newer one loses nothing.
      '--target=node18',
      '--external:mcp',
      '--sourcemap=inline',
      `--source-root=${pathToFileURL(process.cwd()).href}/`,
      ...Object.entries(STAND_INS).map(([name, standIn]) => `--define:${name}=${standIn}`),
      '--log-level=error',
    ],
    {
      env: { ...process.env, PATH: SEARCHED },
      maxBuffer: MAX_OUTPUT_BYTES,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  if (made.status === 0) return { code: made.stdout };
  const isMissing = made.error?.code === 'ENOENT';
  const complaint =
    made.stderr?.replace(NOT_FOR_PROGRAMS, '') || `esbuild: ${made.signal ?? made.error?.message}\n`;
  return { isMissing, complaint, status: made.status || 1 };
}

/** As Node itself starts a main module, under the name that it has. */
function commonJs(file, code) {
  const main = new Module(file, null);
  main.id = '.';
  main.filename = file;
  main.paths = Module._nodeModulePaths(path.dirname(file));
  process.mainModule = main;
  Module._cache[file] = main;
  return [main._compile.bind(main), code, file];
}

function esModule(code) {
  const folder = ownFolder();
  // For what is left to be imported: `mcp`.
  fs.symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  const file = path.join(folder, 'main.mjs');
  fs.writeFileSync(file, code);
  return [Module.runMain, file];
}

/** In TMPDIR; where a call has set that to what is no folder, in the one that every sandbox has. */
function ownFolder() {
  const place = fs.existsSync(os.tmpdir()) ? os.tmpdir() : '/tmp';
  return fs.mkdtempSync(path.join(place, 'typescript-'));
}

/** Where no esbuild is: Node takes the types out itself, from 22.18 on. */
function byNode(file) {
  if (process.features.typescript) return [Module.runMain, file];
  process.stderr.write(
    `This image cannot run TypeScript: it has no esbuild, and Node ${process.versions.node} does not run it ` +
      'before 22.18. Send JavaScript, or use another image.\n',
  );
  process.exit(1);
}

module.exports = { prepare };

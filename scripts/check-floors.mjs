// Checks the architecture of src/ by scripts/rooms.json: every file lies in a folder of a room, rooms use only rooms below them and of
// those only what their faces name, folders of a room use only folders below them, each npm package stays behind its door, and no file
// imports itself by a detour. The last holds for sandbox-runtime too, whose imports it reads by a rule of their own, see importsOf.
// Reads import lines, not types. Usage: node scripts/check-floors.mjs [SRC [SANDBOX_RUNTIME]]

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The rooms from the ground up. Of each: what it is, the rooms that it `uses`, its `folders` from the ground up, the files that lie
 * beside them (`top`), and its `face`: the files that other rooms may import. `against` are imports that stand against the order until
 * they are mended.
 */
const { rooms: ROOMS, against } = JSON.parse(readFileSync(new URL('rooms.json', import.meta.url), 'utf8'));
const AGAINST = new Set(against.map(({ edge }) => edge));
/** What a reader takes in at a glance. */
const MAX_FILES = 20;

/** The doors: floors or single files that may import a package. */
const PACKAGES = {
  // Questions on a terminal.
  '@clack/prompts': ['cli/setup/dialogue.ts'],
  // Conditions of the policy file.
  // Which cluster is meant, and how one logs in there.
  '@kubernetes/client-node': ['engine/kubernetes/api.ts'],
  '@marcbachmann/cel-js': ['settings/files/parsers.ts'],
  '@modelcontextprotocol/client': ['servers/'],
  '@modelcontextprotocol/core': ['mcp/', 'servers/login/'],
  '@modelcontextprotocol/node': ['code-exec/'],
  '@modelcontextprotocol/server': ['code-exec/', 'mcp/', 'service/'],
  '@toon-format/toon': ['run/answer/render.ts'],
  'cli-table3': ['cli/terminal/'],
  dotenv: ['settings/files/parsers.ts'],
  commander: ['cli/'],
  execa: ['base/process/process.ts'],
  'fastest-levenshtein': ['base/text/closest.ts'],
  // Signatures of access tokens.
  jose: ['service/oauth/'],
  'jsonc-parser': ['settings/files/', 'hosts/edit/'],
  minisearch: ['servers/catalog/'],
  open: ['cli/'],
  'p-queue': ['code-exec/', 'run/', 'servers/', 'tenant/'],
  // The page of `ui`.
  preact: ['watch/page/'],
  'preact/hooks': ['watch/page/'],
  picocolors: ['base/log/', 'cli/terminal/'],
  pino: ['base/log/'],
  'smol-toml': ['settings/files/parsers.ts'],
  // Frames of an exec.
  ws: ['engine/kubernetes/'],
  yaml: ['policy/rules/', 'settings/files/'],
  zod: [
    'code-exec/',
    'engine/',
    'hosts/',
    'mcp/',
    'policy/',
    'run/',
    'sandbox/',
    'servers/',
    'service/',
    'settings/',
    'watch/',
    'wire/',
  ],
};

/** What a line of code may say only in certain places, and what to do instead. */
const WORDS = [
  { pattern: /^\s*export default\b/, doors: [], advice: 'export by name' },
  {
    pattern: /\bprocess\.env\b/,
    doors: ['cli/'],
    advice: 'take Settings, or the environment as a parameter',
  },
  { pattern: /\bconsole\.\w+\(/, doors: ['cli/'], advice: 'stdout belongs to MCP; emit a BridgeEvent' },
];

const IMPORT =
  /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

const JAVASCRIPT_IMPORT = /\b(?:require\(|import\(|from|import)\s*'(\.[^']+)'/g;

/** A list in brackets may go over several lines. */
const PYTHON_IMPORT =
  /^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n;]+)|import[ \t]+([^\n;]+))/gm;

/** A text in three quotes first: what looks like an import in a docstring, or in a program that a test runs, is none. */
const PYTHON_TEXT_OR_COMMENT =
  /"""(?:\\[\s\S]|[^\\])*?"""|'{3}(?:\\[\s\S]|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#.*/g;

const STRING_OR_COMMENT =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/.*/g;

const repository = join(fileURLToPath(new URL('.', import.meta.url)), '..');
const own = join(repository, 'src');
const root = process.argv[2] ?? own;
/** Of another src, only where it is named. */
const runtime = process.argv[3] ?? (root === own ? join(repository, 'sandbox-runtime') : undefined);
const violations = [];
/** File to the files that it imports; paths are relative to the root, with forward slashes. */
const graph = new Map();
/** Of AGAINST, those that were met; and of the faces, what others import. */
const met = new Set();
const used = new Set();

const files = sourceFiles(root);
for (const file of files) check(file, readFileSync(join(root, file), 'utf8'));
for (const folder of new Set(files.map((file) => posix.dirname(file)))) checkFolder(folder);
checkCycles('src', graph);
if (root === own) checkTables();
const runtimeFiles = runtime === undefined ? undefined : checkRuntime(runtime);

for (const violation of violations) console.error(violation);
console.error(
  violations.length === 0
    ? `rooms: ${graph.size} files, imports go down only`
    : `rooms: ${violations.length} violations`,
);
if (violations.length === 0 && runtimeFiles !== undefined)
  console.error(`sandbox-runtime: ${runtimeFiles} files, none imports itself`);
process.exitCode = violations.length === 0 ? 0 : 1;

function sourceFiles(folder, pattern = /\.tsx?$/) {
  return readdirSync(folder, { recursive: true })
    .map((name) => name.split(sep).join('/'))
    .filter((name) => pattern.test(name))
    .sort();
}

function checkCycles(tree, imports) {
  for (const cycle of cycles(imports)) {
    violations.push(
      `${tree}/${cycle[0]}:1: imports itself: ${cycle.join(' -> ')}; move what they share to a file below both`,
    );
  }
}

/** Returns how many files there are. */
function checkRuntime(folder) {
  const names = new Set(sourceFiles(folder, /\.(py|[cm]js)$/));
  const imports = new Map();
  for (const name of names)
    imports.set(name, importsOf(name, readFileSync(join(folder, name), 'utf8'), names));
  checkCycles('sandbox-runtime', imports);
  return names.size;
}

/**
 * The files among `names` that `file` imports. An import counts wherever it stands: at the top, inside a function, under
 * `if TYPE_CHECKING`, or as importlib.import_module of a literal. One inside a function only puts off the moment at which
 * the two have to be there, and one for types ties a reader as much; what both need goes into a file below both. A package counts where it
 * is named itself (`from harness import X`), and not as what Python loads on the way to a module of it.
 */
function importsOf(file, text, names) {
  if (!file.endsWith('.py')) {
    const found = withoutComments(text).matchAll(JAVASCRIPT_IMPORT);
    return [...found]
      .map(([, target]) => posix.normalize(posix.join(posix.dirname(file), target)))
      .filter((target) => names.has(target));
  }
  const modules = [...text.matchAll(/\bimport_module\("([\w.]+)"\)/g)].map(([, module]) => module);
  const code = text.replace(PYTHON_TEXT_OR_COMMENT, (part) => (part.startsWith('#') ? '' : '""'));
  for (const [, from, listed, plain] of code.matchAll(PYTHON_IMPORT)) {
    const targets = (listed ?? plain)
      .replace(/[()]/g, '')
      .split(',')
      .map((name) => name.trim().split(/\s/)[0]);
    if (from === undefined) modules.push(...targets);
    for (const name of from === undefined ? [] : targets) {
      const whole = fromRoot(from, file);
      const submodule = `${whole}.${name}`;
      modules.push(fileOf(submodule, names) === undefined ? whole : submodule);
    }
  }
  return [
    ...new Set(modules.map((module) => fileOf(module, names)).filter((target) => target !== undefined)),
  ];
}

/** The source of what is imported as JavaScript; the page's is of two kinds. */
function sourceOf(path) {
  const [source, page] = ['.ts', '.tsx'].map((ending) => path.replace(/\.js$/, ending));
  return files.includes(page) ? page : source;
}

/** A relative name begins with dots: one for the folder of its own file, one more for each folder above. */
function fromRoot(module, file) {
  const name = module.replace(/^\.+/, '');
  if (name === module) return module;
  const folder = posix.join(file, '../'.repeat(module.length - name.length)).replace(/\/$/, '');
  return [...folder.split('/'), name].filter((part) => part !== '' && part !== '.').join('.');
}

function fileOf(module, names) {
  const path = module.replaceAll('.', '/');
  return [`${path}.py`, `${path}/__init__.py`].find((name) => names.has(name));
}

function check(file, text) {
  const code = withoutComments(text);
  const imported = [];
  graph.set(file, imported);
  const [room] = file.split('/');
  checkPlace(file);
  for (const match of code.matchAll(IMPORT)) {
    const target = match[1] ?? match[2] ?? match[3];
    const at = match.index + match[0].indexOf(target);
    if (target.startsWith('node:')) continue;
    if (!target.startsWith('.')) {
      checkPackage(file, code, at, target);
      continue;
    }
    const resolved = sourceOf(posix.normalize(posix.join(posix.dirname(file), target)));
    imported.push(resolved);
    if (resolved.split('/')[0] === room) checkFolders(file, code, at, resolved);
    else checkRooms(file, code, at, resolved);
  }
  for (const { pattern, doors, advice } of WORDS) {
    if (isBehind(file, doors)) continue;
    for (const [index, line] of code.split('\n').entries()) {
      const found = line.match(pattern);
      if (found !== null)
        violations.push(`src/${file}:${index + 1}: ${found[0].trim()} is not for here; ${advice}`);
    }
  }
}

/** In a folder of a room, two levels below src/; beside the folders only where `top` says so, or where there are none. */
function checkPlace(file) {
  const [name, folder, ...rest] = file.split('/');
  const room = ROOMS[name];
  const say = (complaint) => violations.push(`src/${file}:1: ${complaint}`);
  if (folder === undefined || room === undefined) {
    say(`is in no room; there are ${Object.keys(ROOMS).join(', ')}`);
    return;
  }
  const folders = Object.keys(room.folders);
  if (rest.length > 1) say('lies more than two folders deep');
  else if (rest.length === 1) {
    if (!folders.includes(folder))
      say(`${name}/ has no folder ${folder}; it has ${folders.join(', ') || 'none'}`);
  } else if (folders.length > 0 && !room.top.includes(folder.replace(/\.ts$/, '')))
    say(`lies beside the folders of ${name}/; put it into one: ${folders.join(', ')}`);
}

/** One rule for a file that has a folder's name: it lies in it. */
function checkFolder(folder) {
  const inside = files.filter((file) => posix.dirname(file) === folder);
  if (inside.length > MAX_FILES)
    violations.push(`src/${folder}:1: has ${inside.length} files, and at most ${MAX_FILES} are for a folder`);
  if (files.includes(`${folder}.ts`))
    violations.push(`src/${folder}.ts:1: stands beside the folder of its name; put it into it`);
}

/** An import of `resolved`, which is in the same room: from folder to folder it goes down. What lies beside them may use all. */
function checkFolders(file, code, at, resolved) {
  const [name, folder, isDeep] = file.split('/');
  const [, other, isOtherDeep] = resolved.split('/');
  if (isDeep === undefined || isOtherDeep === undefined || folder === other) return;
  const folders = Object.keys(ROOMS[name]?.folders ?? {});
  if (folders.indexOf(other) < folders.indexOf(folder)) return;
  const edge = `${file} -> ${resolved}`;
  if (AGAINST.has(edge)) met.add(edge);
  else report(file, code, at, `${name}/${folder}/ may not use ${name}/${other}/, which stands above it`);
}

/** An import of `resolved`, which is in another room. */
function checkRooms(file, code, at, resolved) {
  const [name] = file.split('/');
  const [other] = resolved.split('/');
  used.add(resolved);
  const edge = `${file} -> ${resolved}`;
  const uses = ROOMS[name]?.uses ?? [];
  if (!uses.includes(other)) {
    if (AGAINST.has(edge)) met.add(edge);
    else report(file, code, at, `${name}/ may not use ${other}/; it may use ${uses.join(', ') || 'nothing'}`);
  }
  const face = ROOMS[other]?.face;
  if (Array.isArray(face) && !face.includes(inRoom(resolved)))
    report(file, code, at, `${resolved} is ${other}/'s own; its face is in scripts/rooms.json`);
}

function inRoom(file) {
  return file.split('/').slice(1).join('/').replace(/\.ts$/, '');
}

/** Nothing stands in rooms.json that is not there any more. */
function checkTables() {
  const say = (complaint) => violations.push(`scripts/rooms.json:1: ${complaint}`);
  for (const edge of AGAINST) if (!met.has(edge)) say(`${edge} is gone; take it off "against"`);
  const order = Object.keys(ROOMS);
  for (const [name, { uses, folders, top, face }] of Object.entries(ROOMS)) {
    for (const other of uses)
      if (order.indexOf(other) >= order.indexOf(name)) say(`${name} uses ${other}, which is not below it`);
    for (const folder of Object.keys(folders))
      if (!files.some((file) => posix.dirname(file) === `${name}/${folder}`))
        say(`${name}/${folder} is empty`);
    for (const file of top) if (!files.includes(`${name}/${file}.ts`)) say(`${name}/${file}.ts is gone`);
    for (const file of Array.isArray(face) ? face : [])
      if (!used.has(`${name}/${file}.ts`)) say(`nobody imports ${name}/${file}; take it off the face`);
  }
}

function checkPackage(file, code, at, target) {
  const name = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
  const doors = PACKAGES[name];
  if (doors === undefined) report(file, code, at, `${name} has no door; add one to scripts/check-floors.mjs`);
  else if (!isBehind(file, doors))
    report(file, code, at, `${name} may be imported only in ${doors.join(', ')}`);
}

function isBehind(file, doors) {
  return doors.some((door) => (door.endsWith('/') ? file.startsWith(door) : file === door));
}

function report(file, code, at, message) {
  violations.push(`src/${file}:${code.slice(0, at).split('\n').length}: ${message}`);
}

/** Comments become blanks, so that lines keep their numbers; strings stay, whatever they look like. */
function withoutComments(text) {
  return text.replace(STRING_OR_COMMENT, (part) =>
    part.startsWith('/') ? part.replace(/[^\n]/g, ' ') : part,
  );
}

/** One path for each group of files that import each other, found depth first. */
function cycles(imports) {
  const found = [];
  const done = new Set();
  const path = [];
  const visit = (file) => {
    if (done.has(file)) return;
    const start = path.indexOf(file);
    if (start >= 0) {
      found.push([...path.slice(start), file]);
      return;
    }
    path.push(file);
    for (const next of imports.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return found;
}

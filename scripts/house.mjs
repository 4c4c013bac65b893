// How easy the house is to move into, in numbers, by room: files, mean and longest lines, named types, names of types that mean
// several things, files that could live in the one that imports them, and comments without a subject. Judges nothing;
// CONTRIBUTING.md says what is wanted. `--beside` a commit or an older checkout shows what a change has done.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { parseSync, Visitor } from 'rolldown/utils';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** A file below this that only one other imports could live in that one: see `crumbsOf`. */
const CRUMB_LINES = 100;
/** Modules of Node that only compute: a file that imports another one is not pure. */
const PURE_MODULES = new Set(['node:buffer', 'node:crypto', 'node:path', 'node:url', 'node:util']);
/** What only computes of a module that does more. */
const PURE_NAMES = new Set(['isIP']);
/** Names by which a file reaches what is outside of it without an import. */
const OUTSIDE = new Set([
  'process',
  'fetch',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'Date',
  'performance',
]);
const LINES = 1_000;
const BARE = 'comments that begin without their subject';
const PUBLIC = new Set(['_meta', '_write', '_final', '_destroy', '_handle']);
const HOSTS = 'src/hosts/records';
const SEVERAL = 'type names with more than one meaning';

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));

/** The files that `file` imports by these names; those of packages are none. */
const filesOf = (file, names) =>
  names
    .filter((name) => name.startsWith('.'))
    .map((name) => join(dirname(file), name.replace(/\.js$/, '.ts')));

const lineCount = (text) => text.trimEnd().split('\n').length;
const roomOf = (file, src) => relative(src, file).split(sep)[0];

function read(file) {
  const text = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, text);
  const lineAt = (offset) => text.slice(0, offset).split('\n').length;
  const types = [];
  const classes = [];
  const imports = [];
  const later = [];
  const used = [];
  let reachesOut = false;
  const privates = [];
  // What a file adds to a type of another by `declare module` is no type of its own.
  let added = 0;
  // Members of our own classes begin with `#`; a member of MCP's messages and Node's way of making a stream do with `_`. No
  // package has `_handle`, but Node: base/log/lossy-writer.ts says what for.
  const onMember = (node, key) => {
    const name = key?.name ?? key?.value;
    if (typeof name === 'string' && /^_[a-z]/i.test(name) && !PUBLIC.has(name))
      privates.push({ line: lineAt(node.start), name });
  };
  new Visitor({
    MemberExpression: (node) => onMember(node, node.property),
    MethodDefinition: (node) => onMember(node, node.key),
    PropertyDefinition: (node) => onMember(node, node.key),
    TSTypeAliasDeclaration: ({ id }) => types.push(id.name),
    TSModuleDeclaration: () => added++,
    'TSModuleDeclaration:exit': () => added--,
    TSInterfaceDeclaration: ({ id }) => added === 0 && types.push(id.name),
    ClassDeclaration: ({ id }) => id && classes.push(id.name),
    ImportDeclaration: ({ source: { value: from }, importKind, specifiers }) => {
      imports.push(from);
      const names = specifiers.flatMap((one) => {
        if (one.type !== 'ImportSpecifier') return ['*'];
        return one.importKind === 'type' ? [] : [one.local.name];
      });
      // An import of types is gone when the file runs.
      if (importKind === 'type' || (specifiers.length > 0 && names.length === 0)) return;
      used.push(from);
      const isPure = PURE_MODULES.has(from) || names.every((name) => PURE_NAMES.has(name));
      reachesOut ||= from.startsWith('node:') && !isPure;
    },
    ImportExpression: ({ source }) => {
      reachesOut = true;
      if (source.type === 'Literal') later.push(String(source.value));
    },
    Identifier: ({ name }) => {
      reachesOut ||= OUTSIDE.has(name);
    },
    ExportNamedDeclaration: ({ source }) => source && imports.push(source.value),
  }).visit(program);
  return {
    file,
    lines: lineCount(text),
    privates,
    types,
    classes,
    imports: filesOf(file, [...imports, ...later]),
    later: new Set(filesOf(file, later)),
    used: filesOf(file, used),
    reachesOut,
    bareOf: comments
      .filter(({ value }) => /^[*\s]*(?:The same|Likewise|As of|Of|Those|What|Whoever)\b/.test(value))
      .map(({ start }) => lineAt(start)),
  };
}

function look(checkout) {
  const src = join(checkout, 'src');
  const files = filesIn(src).map(read);
  const rooms = groupBy(files, ({ file }) => roomOf(file, src));
  const meanings = groupBy(
    files.flatMap(({ file, types, classes }) => [...types, ...classes].map((name) => ({ name, file }))),
    ({ name }) => name,
  );
  const at = (file, line) => `${relative(checkout, file)}${line === undefined ? '' : `:${line}`}`;
  const lines = files.reduce((sum, { lines }) => sum + lines, 0);
  const types = files.reduce((sum, { types }) => sum + types.length, 0);
  const folders = [...new Set(files.map(({ file }) => relative(src, dirname(file))))];
  return {
    rooms: [...rooms].map(([room, some]) => ({
      room,
      files: some.length,
      mean: Math.round(some.reduce((sum, { lines }) => sum + lines, 0) / some.length),
      longest: Math.max(...some.map(({ lines }) => lines)),
    })),
    counts: {
      files: files.length,
      lines,
      'lines of a file, mean and median': `${Math.round(lines / files.length)}, ${median(files.map(({ lines }) => lines))}`,
      'folders, and how deep': `${folders.length}, ${Math.max(...folders.map((folder) => folder.split(sep).length))}`,
      'named types, and classes': `${types}, ${files.reduce((sum, { classes }) => sum + classes.length, 0)}`,
      'named types for 1,000 lines': ((types / lines) * LINES).toFixed(1),
    },
    lists: {
      [SEVERAL]: [...meanings]
        .filter(([, some]) => some.length > 1)
        .map(([name, some]) => `${name}: ${some.map(({ file }) => at(file)).join(', ')}`),
      ...crumbsOf(files, checkout),
      'private members of other packages': files.flatMap(({ file, privates }) =>
        privates.map(({ line, name }) => `${at(file, line)} ${name}`),
      ),
      [BARE]: files.flatMap(({ file, bareOf }) => bareOf.map((line) => at(file, line))),
    },
  };
}

/**
 * Small files with one importer, and apart from them those that CONTRIBUTING.md wants where they are. A file that is loaded later has
 * its own moment, and is none of them.
 */
function crumbsOf(files, checkout) {
  const importers = new Map();
  for (const one of files)
    for (const target of new Set(one.imports)) importers.set(target, [...(importers.get(target) ?? []), one]);
  const reaching = new Set(files.filter(({ reachesOut }) => reachesOut).map(({ file }) => file));
  const tested = new Set(filesIn(join(checkout, 'test')).flatMap(importedByTest));
  const small = files.filter(({ file, lines }) => {
    const [only, ...others] = importers.get(file) ?? [];
    return lines < CRUMB_LINES && only !== undefined && others.length === 0 && !only.later.has(file);
  });
  const isHost = ({ file }) => dirname(file) === join(checkout, HOSTS);
  // One step far: a path from almost every file to `node:fs` leads through files of which it takes a word.
  const isPure = ({ file, used }) => ![file, ...used].some((one) => reaching.has(one));
  const isTested = (one) => tested.has(one.file) && isPure(one);
  const name = ({ file }) => relative(checkout, file);
  return {
    [`files under ${CRUMB_LINES} lines with one importer`]: small
      .filter((one) => !isHost(one) && !isTested(one))
      .map(name),
    'left out there: a host each': small.filter(isHost).map(name),
    'left out there: pure, with a test of its own': small.filter(isTested).map(name),
  };
}

/** Files of src/ that a test imports itself. */
const importedByTest = (file) =>
  file.endsWith('.test.ts')
    ? filesOf(
        file,
        [...readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g)].map(([, name]) => name),
      )
    : [];

function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

const { list, beside, check } = takeOptions({
  command: 'node scripts/house.mjs',
  about: 'Counts what makes src/ easy or hard to move into.',
  options: {
    list: { says: 'name each of this checkout, not only how many' },
    check: {
      says: 'only look whether each name of a type means one thing and comments begin with their subjects; exit with 1 if not',
    },
    beside: { value: 'COMMIT', says: 'a commit, or another checkout, to stand before this one' },
  },
});

if (check) {
  const { [SEVERAL]: several, [BARE]: bare } = look(ROOT).lists;
  for (const name of several) console.error(`A type has one meaning; rename all but one: ${name}`);
  for (const place of bare)
    console.error(`A comment begins with its subject or a verb; say the noun: ${place}`);
  console.log(`words: ${several.length} ${SEVERAL}, ${bare.length} ${BARE}`);
  process.exit(several.length + bare.length === 0 ? 0 : 1);
}

/** What stands before this checkout: a folder as it is, and a commit in a worktree of its own for as long as it is looked at. */
function lookBeside(named) {
  if (existsSync(join(named, 'src'))) return look(resolve(named));
  const folder = mkdtempSync(join(tmpdir(), 'house-'));
  const git = (...words) => execFileSync('git', words, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    git('worktree', 'add', '--quiet', '--detach', folder, named);
    return look(folder);
  } catch (thrown) {
    if (thrown.stderr === undefined) throw thrown;
    console.error(
      `--beside: '${named}' is neither a commit of this repository nor a checkout with a folder src. Git says: ${String(thrown.stderr).trim()}`,
    );
    process.exitCode = 2;
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    git('worktree', 'prune');
  }
}

const before = beside === undefined ? undefined : lookBeside(beside);
if (process.exitCode === 2) process.exit();
const looks = [...(before === undefined ? [] : [before]), look(ROOT)];
const table = new Table({ head: ['', ...(before === undefined ? [] : [beside]), basename(ROOT)] });
const rooms = [...new Set(looks.flatMap((one) => one.rooms.map(({ room }) => room)))].sort();
for (const room of rooms)
  table.push([
    room,
    ...looks.map((one) => {
      const found = one.rooms.find((each) => each.room === room);
      return found === undefined ? '' : `${found.files} files, mean ${found.mean}, longest ${found.longest}`;
    }),
  ]);
for (const name of Object.keys(looks[0].counts))
  table.push([name, ...looks.map(({ counts }) => counts[name])]);
for (const name of Object.keys(looks[0].lists))
  table.push([name, ...looks.map(({ lists }) => lists[name].length)]);
console.log(table.toString());
if (list)
  for (const { lists } of looks.slice(-1))
    for (const [name, found] of Object.entries(lists)) console.log(`\n${name}:\n  ${found.join('\n  ')}`);

// How easy the house is to move into, in numbers, by floor: files, mean and longest lines, functions that are too long,
// names of types that mean several things, crumbs, and comments without a subject. Judges nothing; CONTRIBUTING.md says
// what is wanted. `--beside` an older checkout shows what a change has done.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { parseSync, Visitor } from 'rolldown/utils';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** A function above is a table, or has more than one story. */
const LONG_FUNCTION_LINES = 60;
/** A file below this that only one other imports could live in that one. */
const CRUMB_LINES = 30;

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));

const lineCount = (text) => text.trimEnd().split('\n').length;
const floorOf = (file, src) => relative(src, file).split(sep)[0];

function read(file) {
  const text = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, text);
  const lineAt = (offset) => text.slice(0, offset).split('\n').length;
  const functions = [];
  const types = [];
  const imports = [];
  const onFunction = (node) => {
    const lines = lineAt(node.end) - lineAt(node.start) + 1;
    if (lines > LONG_FUNCTION_LINES) functions.push({ line: lineAt(node.start), lines });
  };
  new Visitor({
    FunctionDeclaration: onFunction,
    FunctionExpression: onFunction,
    ArrowFunctionExpression: onFunction,
    TSTypeAliasDeclaration: ({ id }) => types.push(id.name),
    TSInterfaceDeclaration: ({ id }) => types.push(id.name),
    ClassDeclaration: ({ id }) => id && types.push(id.name),
    ImportDeclaration: ({ source }) => imports.push(source.value),
    ExportNamedDeclaration: ({ source }) => source && imports.push(source.value),
  }).visit(program);
  return {
    file,
    lines: lineCount(text),
    functions,
    types,
    imports: imports
      .filter((name) => name.startsWith('.'))
      .map((name) => join(dirname(file), name.replace(/\.js$/, '.ts'))),
    bareOf: comments.filter(({ value }) => /^\*?\s*Of /.test(value)).map(({ start }) => lineAt(start)),
  };
}

function look(checkout) {
  const src = join(checkout, 'src');
  const files = filesIn(src).map(read);
  const floors = grouped(files, ({ file }) => floorOf(file, src));
  const importers = new Map();
  for (const { file, imports } of files)
    for (const target of new Set(imports)) importers.set(target, [...(importers.get(target) ?? []), file]);
  const meanings = grouped(
    files.flatMap(({ file, types }) => types.map((name) => ({ name, file }))),
    ({ name }) => name,
  );
  const at = (file, line) => `${relative(checkout, file)}${line === undefined ? '' : `:${line}`}`;
  return {
    floors: [...floors].map(([floor, some]) => ({
      floor,
      files: some.length,
      mean: Math.round(some.reduce((sum, { lines }) => sum + lines, 0) / some.length),
      longest: Math.max(...some.map(({ lines }) => lines)),
    })),
    counts: {
      files: files.length,
      lines: files.reduce((sum, { lines }) => sum + lines, 0),
    },
    lists: {
      [`functions over ${LONG_FUNCTION_LINES} lines`]: files.flatMap(({ file, functions }) =>
        functions.map(({ line, lines }) => `${at(file, line)} (${lines})`),
      ),
      'type names with more than one meaning': [...meanings]
        .filter(([, some]) => some.length > 1)
        .map(([name, some]) => `${name}: ${some.map(({ file }) => at(file)).join(', ')}`),
      [`files under ${CRUMB_LINES} lines with one importer`]: files
        .filter(({ file, lines }) => lines < CRUMB_LINES && importers.get(file)?.length === 1)
        .map(({ file }) => at(file)),
      'comments that begin with "Of "': files.flatMap(({ file, bareOf }) =>
        bareOf.map((line) => at(file, line)),
      ),
    },
  };
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const { list, beside } = takeOptions({
  command: 'node scripts/house.mjs',
  about: 'Counts what makes src/ easy or hard to move into.',
  options: {
    list: { says: 'name each of this checkout, not only how many' },
    beside: { value: 'CHECKOUT', says: 'another checkout to stand before this one, such as an older one' },
  },
});
const checkouts = [...(beside === undefined ? [] : [resolve(beside)]), ROOT];
for (const checkout of checkouts)
  if (!existsSync(join(checkout, 'src'))) {
    console.error(`${checkout} has no folder src: name a checkout of this project.`);
    process.exit(2);
  }
const looks = checkouts.map(look);
const table = new Table({ head: ['', ...checkouts.map((path) => basename(path))] });
const floors = [...new Set(looks.flatMap((one) => one.floors.map(({ floor }) => floor)))].sort();
for (const floor of floors)
  table.push([
    floor,
    ...looks.map((one) => {
      const found = one.floors.find((each) => each.floor === floor);
      return found === undefined ? '' : `${found.files} files, mean ${found.mean}, longest ${found.longest}`;
    }),
  ]);
for (const name of ['files', 'lines']) table.push([name, ...looks.map(({ counts }) => counts[name])]);
for (const name of Object.keys(looks[0].lists))
  table.push([name, ...looks.map(({ lists }) => lists[name].length)]);
console.log(table.toString());
if (list)
  for (const { lists } of looks.slice(-1))
    for (const [name, found] of Object.entries(lists)) console.log(`\n${name}:\n  ${found.join('\n  ')}`);

// Has the type checker see scripts/ and the page's script: all of them loosely (tsconfig.scripts-loose.json), and strictly
// (tsconfig.scripts.json) what does not stand in loose-scripts.json. That list is of what was there before it, and may only shrink: a file
// that has become strict, or is gone, is taken off it. Relies on the build, whose declarations say what is imported from dist/.
// Usage: node scripts/check-scripts.mjs

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const LIST = 'scripts/loose-scripts.json';

/**
 * What tsc says of a project, by file.
 * @param {string} project
 */
function complaints(project) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, '--pretty', 'false', '-p', project], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  /** @type {Map<string, string[]>} */
  const byFile = new Map();
  // What continues a complaint is indented.
  for (const line of stdout.split('\n').filter((each) => /^\S/.test(each))) {
    const file = /^(.+?)\(\d+,\d+\): error /.exec(line)?.[1] ?? '';
    byFile.set(file, [...(byFile.get(file) ?? []), line]);
  }
  if (status !== 0 && byFile.size === 0) throw new Error(`tsc -p ${project}: ${stderr}`);
  return byFile;
}

/** @type {readonly string[]} */
const listed = JSON.parse(readFileSync(join(root, LIST), 'utf8'));
const loose = complaints('tsconfig.scripts-loose.json');
const strict = complaints('tsconfig.scripts.json');
const found = [
  ...[...loose.values()].flat(),
  ...[...strict].flatMap(([file, lines]) => (listed.includes(file) || loose.has(file) ? [] : lines)),
  ...listed
    .filter((file) => !strict.has(file))
    .map((file) => `${LIST}: ${file} is strict by now, or gone; take it off the list`),
];
for (const line of found) console.error(line);
console.log(`types of scripts: ${found.length} problems, ${listed.length} files are not strict yet`);
process.exitCode = found.length === 0 ? 0 : 1;

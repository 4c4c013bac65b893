// Everything below a folder, and whether what has changed in it is a program's own doing: the same folder in which that program
// was used alone has changed in the same way. A snapshot reads; the rest is pure.

import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {ReadonlyMap<string, { mode: number, content: string }>} Snapshot of each file, link and folder, by its path in it
 * @typedef {{ path: string, how: 'new' | 'gone' | 'changed' }} Change
 */

/**
 * @param {string} folder
 * @returns {Snapshot}
 */
export function snapshotOf(folder) {
  const found = new Map();
  for (const path of /** @type {string[]} */ (readdirSync(folder, { recursive: true }))) {
    const file = join(folder, path);
    const facts = lstatSync(file);
    const content = facts.isFile()
      ? readFileSync(file, 'latin1')
      : facts.isSymbolicLink()
        ? readlinkSync(file)
        : '';
    found.set(path, { mode: facts.mode, content });
  }
  return found;
}

/**
 * The changes between two snapshots, told apart by what the same use of the same folder changed without us: `theirs` is made
 * there as well, and `ours` is not. A file that was there before has to have become the same in both, line by line.
 * @param {readonly [before: Snapshot, after: Snapshot]} withUs
 * @param {readonly [before: Snapshot, after: Snapshot]} without
 */
export function toldApart(withUs, without) {
  const known = new Set(changesBetween(...without).map(named));
  const isTheirs = (/** @type {Change} */ change) =>
    known.has(named(change)) &&
    (change.how !== 'changed' || foreignLines(change.path, withUs[1], without[1]).length === 0);
  const changes = changesBetween(...withUs);
  return { theirs: changes.filter(isTheirs), ours: changes.filter((change) => !isTheirs(change)) };
}

/**
 * Lines, and the mode, in which a file differs from the one without us, but for ids, times and counts. JSON is compared in one
 * form, since hosts write it anew in theirs.
 * @param {string} path
 * @param {Snapshot} withUs
 * @param {Snapshot} without
 */
export function foreignLines(path, withUs, without) {
  const [ours, theirs] = [withUs, without].map((snapshot) => {
    const { mode = 0, content = '' } = snapshot.get(path) ?? {};
    return [
      `mode ${mode.toString(8).replaceAll(/\d/g, (digit) => 'abcdefgh'[Number(digit)] ?? '')}`,
      ...linesOf(path, content),
    ];
  });
  return [...missing(ours ?? [], theirs ?? [], '+'), ...missing(theirs ?? [], ours ?? [], '-')];
}

/**
 * @param {string} path
 * @param {string} content
 */
function linesOf(path, content) {
  if (!path.endsWith('.json')) return content.split('\n');
  try {
    return JSON.stringify(JSON.parse(content), null, 1).split('\n');
  } catch {
    return content.split('\n');
  }
}

/**
 * Each of `lines` as often as `others` lack it.
 * @param {readonly string[]} lines
 * @param {readonly string[]} others
 * @param {string} sign
 */
function missing(lines, others, sign) {
  const left = others.map(withoutIds);
  return lines.flatMap((line) => {
    const at = left.indexOf(withoutIds(line));
    if (at < 0) return `${sign} ${line.trim()}`;
    left.splice(at, 1);
    return [];
  });
}

/**
 * @param {Snapshot} before
 * @param {Snapshot} after
 * @returns {Change[]}
 */
function changesBetween(before, after) {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path) => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was?.mode === is?.mode && was?.content === is?.content) return [];
    return { path, how: was === undefined ? 'new' : is === undefined ? 'gone' : 'changed' };
  });
}

/**
 * Programs name files after ids, times and processes, logs after the server, and a database has two more files while it is open.
 * @param {Change} change
 */
const named = ({ path, how }) =>
  `${how} ${withoutIds(path.replace(/-(?:wal|shm)$/, '').replace(/mcp-logs-\w+/, 'mcp-logs'))}`;

/** @param {string} text */
const withoutIds = (text) =>
  text
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{16,}\b|\d+/g, '0')
    .replace(/,$/, '');

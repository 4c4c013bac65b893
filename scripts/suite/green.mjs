// Which states have passed: the hash of a git tree says what was tested, whatever commit or clone it is in. Kept in the user's cache
// directory, a line of JSON for each run that passed.
// As a program, `scripts/test --was-green`: exits with 0 where the tree of HEAD has passed and with 1 where it has not. Runs nothing,
// and needs git alone.

import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const FILE = join(
  process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
  'mcp-sandbox-bridge/green-trees.jsonl',
);

const git = (args, env = {}) =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', env: { ...process.env, ...env } }).trim();

const treeOfHead = () => git(['rev-parse', 'HEAD^{tree}']);

/** The hash of the tree that a commit of everything here would have, with changes that are not committed; undefined outside of git. */
export function treeHere() {
  const folder = mkdtempSync(join(tmpdir(), 'suite-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    git(['read-tree', 'HEAD'], env);
    git(['add', '--all'], env);
    return git(['write-tree'], env);
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Keeps that `tree` has passed, and the facts of that run. */
export function keepGreen(tree, facts) {
  mkdirSync(dirname(FILE), { recursive: true });
  appendFileSync(FILE, `${JSON.stringify({ tree, ...facts })}\n`);
}

/** The newest run that passed on `tree`. */
function greenRun(tree) {
  let text = '';
  try {
    text = readFileSync(FILE, 'utf8');
  } catch {
    // Nothing has passed yet.
  }
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .findLast((run) => run.tree === tree);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tree = treeOfHead();
  const run = greenRun(tree);
  if (run === undefined) console.log(`The tree of HEAD, ${tree}, has not passed scripts/test.`);
  else
    console.log(
      `The tree of HEAD, ${tree}, passed scripts/test${run.isAll ? ' --all' : ''} on ${run.date}: ${run.passed} passed.`,
    );
  process.exitCode = run === undefined ? 1 : 0;
}

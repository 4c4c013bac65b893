// `scripts/test`: sets this checkout up, runs the parts of the suite one after the other, looks once more at each test file that
// failed, alone, and prints one table. The last part looks for what the others left behind. --help says which parts there are.
// Whatever ends this ends all that it has started. A state that has passed is kept in mind (green.mjs).

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leaveWrong, takeOptions } from '../options.mjs';
import { keepGreen, treeHere } from './green.mjs';
import { measureUnits, NODE_START } from './machine-units.mjs';
import { endEverything, listTemporary, MARK, orphans, processesOf, run } from './processes.mjs';
import { total, verdict, whyRed } from './results.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** What the run leaves: the files that were unsteady, with their first failures. */
const UNSTEADY_FILE = '.cache/suite/unsteady.json';
/** Something of which nothing is heard for so many starts of Node hangs: longer than the limit of any test in vitest.config.ts. */
const SILENT_NODE_STARTS = 10_000;
const LEAST_SILENT_MS = 600_000;
/** With more, the first look has told enough. */
const MAX_LOOKED_AT_AGAIN = 10;

const { all: isAll, only } = takeOptions({
  command: 'scripts/test',
  about: 'Sets this checkout up and tests it.',
  options: {
    all: { says: 'everything: also the ordinary user beside root, engines elsewhere, every wall and fault' },
    only: { value: 'PARTS', says: 'only these parts, separated by commas; a wrong name lists them' },
    'was-green': { says: 'say whether the tree of HEAD has passed, by the exit code; runs nothing' },
  },
});
process.chdir(ROOT);
const isRoot = process.getuid() === 0;
// Inherited by whatever a part starts.
process.env[MARK] = randomBytes(8).toString('hex');
// A folder for everybody's temporary files, so that what is left can be told from what others leave. Its name is short: rootless podman
// keeps its containers' state below it, and refuses to tidy up after a container where that path is longer than 50 characters.
const scratch = mkdtempSync('/tmp/s-');
process.env.TMPDIR = join(scratch, 't');
mkdirSync(process.env.TMPDIR);
// Some tests go on as another user.
chmodSync(scratch, 0o755);
chmodSync(process.env.TMPDIR, 0o1777);
process.once('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));
const users = [[]];
const before = listTemporary();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
  process.once(signal, () => {
    console.log(`\n${signal}: ending what was started`);
    endEverything(process.env[MARK], before, users);
    process.exit(128 + constants.signals[signal]);
  });

const ran = [];
async function part(name, work) {
  console.log(`\n── ${name}`);
  const startedAt = performance.now();
  const results = await work().catch((thrown) => verdict(false, thrown.stack));
  ran.push({ name, results, seconds: (performance.now() - startedAt) / 1000 });
}

const tree = treeHere();
await part('set-up', setUp);
if (total(ran[0].results, 'failed') > 0) process.exit(3);
measureUnits({ withSandbox: true });
// These need the packages that have just been installed.
const [{ partsOf }, { print }, { asUser, testUser }] = await Promise.all(
  ['./parts.mjs', './report.mjs', './test-user.mjs'].map((module) => import(module)),
);
if (isRoot) users.push(asUser(await testUser()));
before.push(...users.flatMap(orphans));
const silentMs = Math.max(LEAST_SILENT_MS, SILENT_NODE_STARTS * Number(process.env[NODE_START]));
const parts = chooseParts();
for (const one of parts) await part(one.name, () => one.run());
const unsteady = [];
await lookAgain();
await part('nothing-left', nothingLeft);
conclude();

/** Also what some tests need and are passed over without: gVisor, what carries a network, what stands for engines of other machines. */
async function setUp() {
  const further = ['--with', 'network', '--with', 'gvisor', ...(isRoot ? ['--with', 'remote'] : [])];
  const wishes = isAll || only !== undefined ? [further, []] : [[]];
  for (const wish of wishes) {
    if ((await run(['scripts/setup', ...wish])).exitCode === 0) return verdict(true);
  }
  return verdict(false, 'scripts/setup failed');
}

function chooseParts() {
  const parts = partsOf({ root: ROOT, scratch, silentMs, isAll }).filter(({ asRoot }) => isRoot || !asRoot);
  if (only === undefined) return parts.filter(({ inAll }) => isAll || !inAll);
  const names = only.split(',');
  const unknown = names.find((name) => !parts.some((one) => one.name === name));
  if (unknown !== undefined)
    leaveWrong(
      `--only: there is no part '${unknown}'. There are: ${parts.map(({ name }) => name).join(', ')}.`,
    );
  return parts.filter(({ name }) => names.includes(name));
}

/** Runs each file that failed once more, alone. What passes then is unsteady, and its results replace those of the first time. */
async function lookAgain() {
  const failed = ran.flatMap(({ name, results }) =>
    results.filter((one) => one.failed > 0 && one.file !== undefined).map((first) => ({ name, first })),
  );
  if (failed.length > MAX_LOOKED_AT_AGAIN)
    return console.log(`\n${failed.length} files failed: too many to be chance, so none is looked at again.`);
  for (const { name, first } of failed) {
    console.log(`\n── ${name}: ${first.file}, once more`);
    const again = await parts.find((one) => one.name === name).run([first.file]);
    if (total(again, 'failed') > 0) continue;
    unsteady.push({ part: name, file: first.file, failures: first.failures });
    const { results } = ran.find((one) => one.name === name);
    results.splice(results.indexOf(first), 1, ...again);
  }
}

/** One assertion each: containers of ours, processes that a part started, temporary folders of ours. */
async function nothingLeft() {
  const look = () => ({
    'containers without a bridge': users.flatMap(orphans).filter((name) => !before.includes(name)),
    processes: processesOf(process.env[MARK]),
    'temporary folders': listTemporary().filter((name) => !before.includes(name)),
  });
  /** @type {Record<string, string[]>} */
  let found = look();
  // Another bridge of this user may be starting or removing a sandbox at this moment.
  for (let looked = 0; looked < 10 && Object.values(found).some(({ length }) => length > 0); looked++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = look();
    found = Object.fromEntries(
      Object.entries(found).map(([what, left]) => [what, left.filter((one) => now[what].includes(one))]),
    );
  }
  return Object.entries(found).flatMap(([what, left]) => {
    console.log(`  ${left.length || 'none'}  ${what}`);
    return verdict(left.length === 0, `${what}:\n${left.join('\n')}`);
  });
}

function conclude() {
  const results = ran.flatMap((one) => one.results);
  const red = whyRed(results, unsteady);
  const counts = print(ran, unsteady, red);
  const date = new Date().toISOString();
  mkdirSync(dirname(UNSTEADY_FILE), { recursive: true });
  writeFileSync(UNSTEADY_FILE, `${JSON.stringify({ date, tree, unsteady }, null, 2)}\n`);
  process.exitCode = red === undefined ? 0 : 1;
  if (red !== undefined || only !== undefined || tree === undefined) return;
  // What changed meanwhile has not been tested.
  if (treeHere() === tree)
    keepGreen(tree, { date, ...counts, unsteady: unsteady.map(({ file }) => file), isAll, isRoot });
}

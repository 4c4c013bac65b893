// Tries the first hour of a newcomer: the packed package, installed by a new ordinary user in an empty home on Debian, set
// up, called by a real client, and undone. Exits with 1 when something that is demanded did not hold, 2 for a wrong
// option, 3 when this machine lacks something; --help says how.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { firstHour, TARGETS } from './install/first-hour.mjs';
import { startMachine } from './install/machine.mjs';
import { nodeFolder } from './install/node.mjs';
import { packedPackage } from './install/packed-package.mjs';
import { startRegistry } from './install/registry.mjs';
import { debianRoot } from './install/root.mjs';
import { NODES, SUITES } from './install/suites.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CACHE = join(ROOT, '.cache/install');
const NEEDED = ['mmdebstrap', 'unshare', 'nsenter'];

const say = (text) => console.error(pc.dim(text));
const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};

const {
  suite: suites,
  node: nodes,
  unhurried,
  json,
} = takeOptions({
  command: 'npm run test:install --',
  about:
    'Tries the first hour of a new user on Debian, as root: the packed package, installed by npm and by npx into an empty\nhome, set up, called by a client, and undone. It takes some three minutes for each release and Node.',
  options: {
    suite: {
      value: 'NAME',
      says: 'a Debian release; may be repeated',
      among: Object.keys(SUITES),
      multiple: true,
    },
    node: {
      value: 'MAJOR',
      says: 'a version of Node; may be repeated',
      among: Object.keys(NODES),
      multiple: true,
    },
    unhurried: { says: 'do not fail for a target of seconds that is missed, as on a busy machine' },
    json: { value: 'FILE', says: 'write the whole report there' },
  },
});

if (process.platform !== 'linux' || process.arch !== 'x64' || process.getuid() !== 0)
  leave(
    3,
    'The machines are made from Debian packages, as root on Linux on x86-64. Run it there, for example with sudo.',
  );
const folders = [...process.env.PATH.split(delimiter), '/usr/sbin', '/sbin'];
const missing = NEEDED.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
if (missing.length > 0)
  leave(3, `This machine lacks ${missing.join(', ')}. Run \`apt-get install mmdebstrap util-linux\`.`);

mkdirSync(CACHE, { recursive: true });
// On a real disk, since a file system in memory cannot hold every image; below the cache, which git ignores.
const scratch = mkdtempSync(join(CACHE, 'trying-'));
const tidy = () => rmSync(scratch, { recursive: true, force: true });
process.once('exit', tidy);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const tarball = packedPackage(scratch);
const reports = [];
for (const suite of suites) for (const node of nodes) reports.push(await tryOn(suite, node));
print(reports);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(reports, null, 2)}\n`);
const holds = ({ ok, isTarget = false }) => ok || (isTarget && unhurried);
process.exit(reports.every(({ checks }) => checks.every(holds)) ? 0 : 1);

async function tryOn(suite, node) {
  const where = `${suite}, Node ${node}`;
  const root = await debianRoot(suite, CACHE, say);
  const nodeHome = await nodeFolder(node, CACHE, say);
  const home = join(scratch, `${suite}-${node}`);
  const registry = await startRegistry(tarball, manifest);
  const machine = await startMachine(root, home, nodeHome);
  try {
    const tell = (text) => say(`${where}: ${text}`);
    const report = await firstHour(machine, { home, registry, manifest, say: tell });
    return { suite, node, ...report, checks: [...report.checks, ...inTime(report.answers)] };
  } catch (thrown) {
    const failed = { check: 'the trial itself', ok: false, detail: thrown.message };
    return { suite, node, facts: {}, seconds: {}, answers: {}, sizes: {}, checks: [failed] };
  } finally {
    await machine.end();
    registry.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function inTime({ withImageToMake, withImage }) {
  const within = (what, seconds, target) => ({
    check: `${what} within ${target} s`,
    ok: seconds <= target,
    isTarget: true,
    detail: `${seconds.toFixed(1)} s`,
  });
  return [
    within('setup, with the image to make, and a first answer', withImageToMake, TARGETS.withImageToMake),
    within('a first answer, with the image there,', withImage, TARGETS.withImage),
  ];
}

function print(all) {
  console.log(`${manifest.name} ${manifest.version}, packed: ${kilobytes(statSync(tarball).size)}`);
  const head = [
    'Debian',
    'Node',
    'npm',
    'podman',
    'installed',
    'packages',
    'npx',
    'npm i -g',
    'to make',
    'there',
    'held',
  ];
  const table = new Table({ head, style: { head: ['bold'] } });
  for (const { suite, facts, node, seconds, answers, sizes, checks } of all) {
    const held = checks.filter(({ ok }) => ok).length;
    table.push([
      suite,
      facts.node ?? node,
      facts.npm ?? '',
      facts.podman ?? '',
      sizes.bytes === undefined ? '' : kilobytes(sizes.bytes),
      sizes.packages ?? '',
      ...[seconds['npx -y'], seconds['npm i -g'], answers.withImageToMake, answers.withImage].map(secondsOf),
      `${held} of ${checks.length}`,
    ]);
  }
  console.log(table.toString());
  console.log(
    'to make, there: seconds to the first answer with the image to make, and with the image there.',
  );
  for (const { suite, node, checks } of all)
    for (const { check, detail } of checks.filter(({ ok }) => !ok))
      console.log(`${pc.red('FAIL')} ${suite}, Node ${node}: ${check}: ${detail}`);
}

function kilobytes(bytes) {
  return `${Math.round(bytes / 1_000)} kB`;
}

function secondsOf(seconds) {
  return seconds === undefined ? '' : `${seconds.toFixed(1)} s`;
}

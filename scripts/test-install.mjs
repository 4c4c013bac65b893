// Tries the first hour of a newcomer: the packed package, installed by a new ordinary user in an empty home on Debian, set
// up, called by a real client, and undone; and counts it, from the package and from a fresh clone, with an image that is built
// and one that is pulled. Exits with 1 when something that is demanded did not hold, 2 for a wrong
// option, 3 when this machine lacks something; --help says how.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { command } from './host/command.mjs';
import { CERTIFICATES, countedSetup, IMAGES, SOURCES } from './install/counted-setup.mjs';
import { firstHour, TARGETS } from './install/first-hour.mjs';
import { startImageRegistry } from './install/image-registry.mjs';
import { startMachine } from './install/machine.mjs';
import { nodeFolder } from './install/node.mjs';
import { packedPackage } from './install/packed-package.mjs';
import { startRegistry } from './install/registry.mjs';
import { debianRoot } from './install/root.mjs';
import { NEWCOMER, NODES, SUITES } from './install/suites.mjs';
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
  part: parts,
  source: sources,
  image: images,
  times,
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
    part: {
      value: 'NAME',
      says: 'the whole first hour with its undo, or only what it counts; may be repeated',
      among: ['hour', 'counts'],
      multiple: true,
    },
    source: { value: 'NAME', says: 'where what is counted comes from', among: SOURCES, multiple: true },
    image: { value: 'NAME', says: 'where its image comes from', among: IMAGES, multiple: true },
    times: { value: 'COUNT', says: 'how often each is counted', kind: 'count', default: 1 },
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
if (parts.includes('hour'))
  for (const suite of suites) for (const node of nodes) reports.push(await tryOn(suite, node));
if (reports.length > 0) print(reports);
const counts = parts.includes('counts') ? await countAll() : [];
if (counts.length > 0) printCounts(counts);
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ reports, counts }, null, 2)}\n`);
const holds = ({ ok, isTarget = false }) => ok || (isTarget && unhurried);
process.exit([...reports, ...counts].every(({ checks }) => checks.every(holds)) ? 0 : 1);

/** Each source with each image, as often as was asked for, on the first release and Node that were chosen. */
async function countAll() {
  const [suite] = suites;
  const node = nodes.at(-1);
  const counted = [];
  for (let time = 1; time <= times; time++)
    for (const source of sources)
      for (const image of images)
        counted.push({ suite, node, ...(await countOn(suite, node, source, image)) });
  return counted;
}

async function countOn(suite, node, source, image) {
  const root = await debianRoot(suite, CACHE, say);
  const nodeHome = await nodeFolder(node, CACHE, say);
  const home = join(scratch, `${source}-${image}`);
  const npm = await startRegistry(tarball, manifest);
  const served = image === 'pulled' ? await startImageRegistry(await savedImage()) : undefined;
  const machine = await startMachine(root, home, nodeHome);
  try {
    const counted = await countedSetup(machine, {
      ...{ home, source, image, name: manifest.name, checkout: ROOT, say },
      ownRegistry: { npm_config_registry: npm.url, npm_config_update_notifier: 'false' },
      npmRegistry: {
        npm_config_registry: (await command(['npm', 'config', 'get', 'registry'])).trim(),
        NODE_EXTRA_CA_CERTS: `${NEWCOMER.home}/${CERTIFICATES}`,
      },
      imageRegistry: served?.address,
    });
    return {
      ...counted,
      checks: [
        ...counted.checks,
        ...inTime({ [image]: counted.seconds.firstAnswer - counted.seconds.installed }),
      ],
    };
  } catch (thrown) {
    const failed = {
      check: `${source}, image ${image}: the trial itself`,
      ok: false,
      detail: thrown.message,
    };
    return { source, image, commands: [], questions: [], seconds: {}, chars: {}, checks: [failed] };
  } finally {
    await machine.end();
    npm.close();
    served?.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** This machine's own image of the bridge as a folder, for a registry to serve. */
async function savedImage() {
  const folder = join(scratch, 'image');
  if (existsSync(folder)) return folder;
  const name = `localhost/${manifest.name}/python:${manifest.version}`;
  await command(['podman', 'save', '--quiet', '--format', 'oci-dir', '--output', folder, name]);
  return folder;
}

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

function inTime(answers) {
  const within = (what, seconds, target) => ({
    check: `${what} within ${target} s`,
    ok: seconds <= target,
    isTarget: true,
    detail: `${seconds.toFixed(1)} s`,
  });
  const WORDS = {
    withImageToMake: 'setup, with the image to make, and a first answer',
    withImage: 'a first answer, with the image there,',
    built: 'a first answer after setup is started, with an image that is built,',
    pulled: 'a first answer after setup is started, with an image that is pulled,',
  };
  return Object.entries(answers).map(([name, seconds]) => within(WORDS[name], seconds, TARGETS[name]));
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

function printCounts(all) {
  const head = [
    'from',
    'image',
    'commands',
    'questions',
    'installed',
    'first answer',
    'set up',
    'adopted call',
    'characters',
  ];
  const table = new Table({ head, style: { head: ['bold'] } });
  for (const { source, image, commands, questions, seconds, chars } of all) {
    const { installed, firstAnswer, setUp, adopted } = seconds;
    const times = [installed, firstAnswer, setUp, adopted].map(secondsOf);
    table.push([
      source,
      image,
      commands.length,
      questions.length,
      ...times,
      `${chars.before ?? '?'} > ${chars.after ?? '?'}`,
    ]);
  }
  console.log(table.toString());
  console.log(
    'Seconds since the first command was typed; characters of tools in the context before and after adopt.',
  );
  const [first] = all;
  console.log(`commands: ${first.commands.join('; ')}\nquestions: ${first.questions.join(' | ')}`);
  for (const { checks } of all)
    for (const { check, detail } of checks.filter(({ ok }) => !ok))
      console.log(`${pc.red('FAIL')} ${check}: ${detail}`);
}

function kilobytes(bytes) {
  return `${Math.round(bytes / 1_000)} kB`;
}

function secondsOf(seconds) {
  return seconds === undefined ? '' : `${seconds.toFixed(1)} s`;
}

// Tries the packed package on machines like most users have: cgroup v2, systemd, crun, an ordinary user. Boots each in
// qemu from Debian packages, without a network and without KVM, and says what held and what differs from this machine.
// With --engine-in-guest it is only their engines that are in there, and the bridge is here, as with a laptop's machine.
// Exits with 1 when something that is demanded did not hold, 2 for a wrong option, 3 when this machine lacks something; --help says how.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import pc from 'picocolors';
import { median } from './bench/statistics.mjs';
import { command } from './host/command.mjs';
import { engineJob } from './host/engine-job.mjs';
import { engineJudges, measuredSteps } from './host/engine-judge.mjs';
import { startEngineMachine } from './host/engine-machine.mjs';
import { jobDisk } from './host/job-disk.mjs';
import { differences, judge } from './host/judge.mjs';
import { runMachine } from './host/machine.mjs';
import { NAMESPACE_JUDGES, namespaceWords } from './host/namespace-judge.mjs';
import { newerQemu } from './host/qemu.mjs';
import { namespaceMachine, rootDisk } from './host/root-disk.mjs';
import { NAMESPACES, SUITES } from './host/suites.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Program, and the Debian package that has it. */
const NEEDED = {
  'qemu-system-x86_64': 'qemu-system-x86',
  mmdebstrap: 'mmdebstrap',
  'mkfs.ext4': 'e2fsprogs',
  podman: 'podman',
  ssh: 'openssh-client',
};
/** Of one machine, from its start to its end. */
const TIMEOUT_MS = 45 * 60_000;
const CONSOLE_LINES = 30;

const say = (text) => console.error(pc.dim(text));
const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};

const options = () =>
  takeOptions({
    command: 'npm run test:host --',
    about: 'Tries the packed package on whole machines of other kinds, in qemu; as root, and it takes long.',
    options: {
      suite: {
        value: 'NAME',
        says: 'a Debian release; may be repeated',
        among: Object.keys(SUITES),
        multiple: true,
      },
      'engine-in-guest': {
        says: 'run the bridge here, over ssh to the engine in the machine, which then sleeps, restarts and is turned off',
      },
      'no-user-namespaces': {
        says: 'a machine that gives podman none, in the ways that AppArmor and the kernel have; without --suite',
      },
      install: { says: 'install what this machine lacks' },
      here: {
        value: 'FILE',
        says: 'compare with what an earlier --json wrote instead of asking doctor here',
      },
      json: { value: 'FILE', says: 'write the whole report there' },
    },
  });

/** Installs what is missing only when told to. */
function demandPrograms(install, unneeded) {
  if (process.platform !== 'linux' || process.arch !== 'x64' || process.getuid?.() !== 0)
    leave(
      3,
      'The disks are made from Debian packages, as root on Linux on x86-64. Run it there, for example with sudo.',
    );
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const packages = Object.entries(NEEDED)
    .filter(
      ([program]) =>
        !unneeded.includes(program) && !folders.some((folder) => existsSync(join(folder, program))),
    )
    .map(([, name]) => name);
  if (packages.length === 0) return;
  const argv = ['apt-get', 'install', '--no-install-recommends', '-y', ...packages];
  if (!install)
    leave(3, `This machine lacks ${packages.join(', ')}. Run \`${argv.join(' ')}\`, or this with --install.`);
  execFileSync(argv[0], argv.slice(1), { stdio: 'inherit' });
}

/** Our image in this machine's engine; the machines get it, as one would copy it to a computer without a registry. */
async function imageHere() {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const image = `localhost/mcp-sandbox-bridge/python:${version}`;
  await command(['podman', 'image', 'exists', image]).catch(() =>
    leave(3, `There is no image ${image}. Run scripts/setup.`),
  );
  return image;
}

/** What doctor says here, to compare with: asked now, or of a file that an earlier run with --json wrote. */
async function machineHere(file) {
  if (file !== undefined) return JSON.parse(readFileSync(file, 'utf8')).machines[0];
  say('this machine: doctor and doctor --probe');
  const ask = async (...args) =>
    JSON.parse(
      await command([process.execPath, join(ROOT, 'dist/cli/main.js'), ...args, '--json'], {
        accepted: [0, 1, 2],
      }),
    );
  return { name: 'here', doctor: await ask('doctor'), probe: await ask('doctor', '--probe') };
}

async function tryOn(suite, machine, disk, scratch) {
  const console = join(scratch, `${suite}.log`);
  const startedAt = performance.now();
  say(`${suite}: starting the machine; everything in it takes long`);
  const lines = await runMachine(machine, disk, {
    timeoutMs: TIMEOUT_MS,
    console,
    onLine: sayOfStep(suite, 'by its own clock'),
  });
  const report = reportOf(suite, lines, judge(lines), { startedAt, console });
  return { ...report, measures: [...launchCosts(lines), ...kernelMemory(lines)] };
}

/** What a cold call takes each way; the machine's clock counts instructions, a million for a millisecond. */
function launchCosts(lines) {
  const { ms } = lines.find(({ step }) => step === 'launches')?.value ?? {};
  if (ms === undefined) return [];
  const [template, engine] = [ms.template, ms.engine].map((taken) => taken && Math.round(median(taken)));
  const byEngine = `a cold call by the engine's client: ${engine} million instructions`;
  if (template === undefined)
    return [`${byEngine}; no sandbox came from a template, and its doctor says why`];
  return [`${byEngine}; from a template: ${template} (${(template / engine).toFixed(2)})`];
}

/** What the machine lost to each attack on the kernel's memory, and what ended it. */
function kernelMemory(lines) {
  const { attacks = [] } = lines.find(({ step }) => step === 'limits')?.value ?? {};
  return attacks
    .filter(({ name }) => name.startsWith('memory of the kernel: '))
    .map(({ name, lostMb, said }) => `${name}: the machine lost ${lostMb} MB; ${said}`);
}

async function tryEngineOf(suite, root, image, scratch) {
  const folder = join(scratch, suite);
  const console = join(scratch, `${suite}.log`);
  const startedAt = performance.now();
  say(`${suite}: starting the machine; everything in it takes long`);
  mkdirSync(folder);
  const machine = await startEngineMachine(root, { image, scratch: folder, console });
  const onLine = sayOfStep(suite, 'by the clock here');
  const lines = await engineJob(machine, { scratch: folder, onLine }).finally(() => machine.end());
  const commandSeconds = lines.find(({ step }) => step === 'connection')?.value?.commandSeconds;
  const report = reportOf(suite, lines, judge(lines, engineJudges(commandSeconds)), { startedAt, console });
  return { ...report, measures: measuredSteps(lines) };
}

/** The machine that gives podman no user namespace, and whether the bridge says why. */
async function tryWithoutNamespaces(image, scratch) {
  const name = 'no user namespaces';
  const console = join(scratch, 'namespaces.log');
  const disk = await jobDisk(scratch, image, say, { 'ubuntu.json': JSON.stringify(await saidOnUbuntu()) });
  const machine = await namespaceMachine(say);
  const qemu = await newerQemu(say);
  const startedAt = performance.now();
  say(`${name}: starting the machine; everything in it takes long`);
  const lines = await runMachine(machine, disk, {
    timeoutMs: TIMEOUT_MS,
    console,
    qemu,
    kernelArgs: [`init=${NAMESPACES.init}`],
    onLine: sayOfStep(name, 'by its own clock'),
  });
  const report = reportOf(name, lines, judge(lines, NAMESPACE_JUDGES), { startedAt, console });
  return { ...report, measures: namespaceWords(lines) };
}

/** What the bridge says where Ubuntu's switch is set, which no kernel of Debian has. */
async function saidOnUbuntu() {
  const { noUserNamespace } = await import('../dist/engine/machine/user-namespaces.js');
  return noUserNamespace('podman', 'cannot clone: Permission denied\n', {
    read: (path) => (path === '/proc/sys/kernel/apparmor_restrict_unprivileged_userns' ? '1\n' : undefined),
    find: () => ({ path: '/usr/bin/podman', isOwn: false }),
  });
}

const sayOfStep =
  (suite, clock) =>
  ({ step, seconds, error }) =>
    say(`${suite}: ${step}${error === undefined ? '' : ` FAILED (${error})`}, ${seconds} s ${clock}`);

function reportOf(suite, lines, checks, { startedAt, console }) {
  const value = (step) => lines.find((line) => line.step === step)?.value;
  return {
    name: suite,
    facts: value('machine'),
    doctor: value('doctor'),
    probe: value('probe'),
    checks,
    minutes: (performance.now() - startedAt) / 60_000,
    lines,
    console: readFileSync(console, 'utf8'),
  };
}

function print({ name, facts, checks, measures = [], minutes, console: log, lines }) {
  const failed = checks.filter(({ ok }) => !ok);
  const words = facts === undefined ? '' : `: ${Object.values(facts).join(', ')}`;
  console.log(`\n${pc.bold(name)}${words}`);
  for (const { check, ok, detail } of checks)
    console.log(`  ${ok ? pc.green('ok  ') : pc.red('FAIL')} ${check}${ok ? '' : `: ${detail}`}`);
  console.log(`  ${checks.length - failed.length} of ${checks.length} hold; ${minutes.toFixed(1)} minutes`);
  for (const sentence of measures) console.log(pc.dim(`  ${sentence}`));
  if (!lines.some(({ step }) => step === 'end'))
    console.log(pc.dim(stripVTControlCharacters(log).trimEnd().split('\n').slice(-CONSOLE_LINES).join('\n')));
}

function printDifferences(machines) {
  const names = machines.map(({ name }) => name);
  const table = new Table({
    head: ['what differs', ...names],
    style: { head: ['bold'] },
    wordWrap: true,
    colWidths: [26, ...names.map(() => 32)],
  });
  for (const row of differences(machines)) table.push(row);
  console.log(`\n${table}`);
}

const {
  suite: suites,
  'engine-in-guest': isEngineOnly,
  'no-user-namespaces': isWithoutNamespaces,
  install,
  here: earlier,
  json,
} = options();
// That one brings a newer qemu along.
demandPrograms(install, isWithoutNamespaces ? ['qemu-system-x86_64', 'ssh'] : []);
const image = await imageHere();
const scratch = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-host-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

if (isWithoutNamespaces) {
  const tried = await tryWithoutNamespaces(image, scratch);
  print(tried);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ machines: [tried] }, undefined, 1)}\n`);
  process.exit(tried.checks.every(({ ok }) => ok) ? 0 : 1);
}
const disk = isEngineOnly ? undefined : await jobDisk(scratch, image, say);
const thisMachine = await machineHere(earlier);
const roots = new Map();
for (const suite of suites) roots.set(suite, await rootDisk(suite, say));
// Each machine keeps one processor of this one busy.
const tried = await Promise.all(
  suites.map((suite) =>
    isEngineOnly
      ? tryEngineOf(suite, roots.get(suite), image, scratch)
      : tryOn(suite, roots.get(suite), disk, scratch),
  ),
);
for (const machine of tried) print(machine);
printDifferences([thisMachine, ...tried]);
if (json !== undefined)
  writeFileSync(json, `${JSON.stringify({ machines: [thisMachine, ...tried] }, undefined, 1)}\n`);
process.exitCode = tried.every(({ checks }) => checks.every(({ ok }) => ok)) ? 0 : 1;

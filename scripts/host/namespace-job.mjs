// What is done in a machine that gives podman no user namespace, as its user, who may be root here: each situation is
// made, setup, doctor and the first call are asked, their remedy is followed, and podman is asked again. Writes one line of
// JSON per step to the file it is given.

import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { ask, run, withBridge } from './bridge.mjs';
import { step } from './job-steps.mjs';
import { commandIn, SITUATIONS } from './namespace-situations.mjs';

const [reportFile, jobDir] = process.argv.slice(2);
const BRIDGE = [join(jobDir, 'app/node_modules/.bin/mcp-sandbox-bridge')];
const UBUNTU = JSON.parse(readFileSync(join(jobDir, 'app/ubuntu.json'), 'utf8'));
const SWITCH = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';

const report = openSync(reportFile, 'w');
const doStep = (name, work) => step(name, work, (line) => writeSync(report, `${JSON.stringify(line)}\n`));

async function shell(line) {
  const { exitCode, stdout, stderr } = await run('sudo', ['sh', '-c', line]);
  if (exitCode !== 0) throw new Error(`${line}: ${stderr}`);
  return stdout;
}

/** What keeps a namespace of an earlier podman open would give it to the next one. */
const endPodman = () => run('sh', ['-c', 'podman system migrate; pkill -u "$(id -u)" -x "podman|catatonit"']);

const doctor = () => ask(BRIDGE, ['doctor', '--json']);
const engineIn = ({ findings }) => findings.find(({ name }) => name === 'engine');

/** Whether podman is let in. Doctor would go on to fetch and build an image, for which there is no network. */
async function answers() {
  const { exitCode, stderr } = await run('podman', ['info']);
  if (exitCode === 0) return { status: 'ok', detail: 'podman info answers' };
  // The kernel says what of a profile refused it.
  return { status: 'fail', detail: `${stderr.trim()}; ${await shell('dmesg | grep DENIED | tail -n 1')}` };
}

async function inSituation({ made, undone, remedy }) {
  await endPodman();
  await shell(made);
  try {
    const podman = await run('podman', ['info']);
    const engine = engineIn(await doctor());
    const { steps } = await ask(BRIDGE, ['setup', '--yes', '--no-register', '--json']);
    const first = await withBridge(BRIDGE, {}, (call) => call({ code: '1' }));
    const followed = await follow[remedy](engine.remedy);
    return { podman: podman.stderr, engine, setup: steps, first, followed, after: await answers() };
  } finally {
    await endPodman();
    await shell(undone);
  }
}

/** By who knows the command; each returns what was run. */
const follow = {
  said: async (remedy) => {
    const command = commandIn(remedy);
    return { command, said: await shell(command) };
  },
  profile: async () => {
    const log = await shell('dmesg | grep userns_create');
    const name = /userns_create.* profile="([^"]+)"/.exec(log)?.[1];
    const file = `/etc/apparmor.d/${name}`;
    const command = `sed -i '/{$/a userns,' ${file} && sudo apparmor_parser -r ${file}`;
    return { command, said: log.split('\n')[0] + (await shell(command)) };
  },
  ubuntu: async () => {
    const command = commandIn(UBUNTU.remedy);
    return { command, said: await shell(command) };
  },
};

await doStep('machine', async () => ({
  os: /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1],
  kernel: release(),
  podman: (await run('podman', ['--version'])).stdout.trim(),
  mediates: (await shell('cat /sys/kernel/security/apparmor/features/namespaces/mask')).trim(),
  ubuntuSwitch: existsSync(SWITCH) ? 'has the switch of Ubuntu' : 'lacks the switch of Ubuntu',
}));
for (const situation of SITUATIONS) await doStep(situation.name, () => inSituation(situation));
await doStep('end', async () => true);

// What is done in the machine, as its user: loads the image, asks doctor, does the main job, attacks the limits. Writes
// one line of JSON per step to the file it is given, a step that fails included. Judges only what an attack came to.

import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { ask, run } from './bridge.mjs';
import { attackLimits, DELEGATED, engineFacts, launches, leftovers, mainJob, step } from './job-steps.mjs';
import { LIMIT_ATTACKS, LIMIT_SETTINGS } from './limit-attacks.mjs';

const [reportFile, jobDir] = process.argv.slice(2);
const MODULES = join(jobDir, 'app/node_modules');
const BRIDGE = [join(MODULES, '.bin/mcp-sandbox-bridge')];

const report = openSync(reportFile, 'w');
const doStep = (name, work) => step(name, work, (line) => writeSync(report, `${JSON.stringify(line)}\n`));

await doStep('machine', async () => ({
  os: /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1],
  kernel: release(),
  node: process.version,
  ...(await engineFacts()),
  // podman 4.3 leaves out cpu when it tells this.
  delegated: existsSync(DELEGATED) ? readFileSync(DELEGATED, 'utf8').trim() : 'nothing',
}));
await doStep('image', async () => {
  const load = ['load', '--quiet', '--input', join(jobDir, 'image.tar')];
  const { exitCode, stdout, stderr } = await run('podman', load);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim();
});
await doStep('doctor', () => ask(BRIDGE, ['doctor', '--json']));
await doStep('main job', () => mainJob(BRIDGE, {}, MODULES));
await doStep('launches', () => launches(BRIDGE));
await doStep('limits', () => attackLimits(BRIDGE, {}, LIMIT_ATTACKS));
await doStep('probe', () =>
  ask(BRIDGE, ['doctor', '--probe', '--json'], { MCP_BRIDGE_CPUS: LIMIT_SETTINGS.MCP_BRIDGE_CPUS }),
);
await doStep('left', () => leftovers());
await doStep('end', async () => true);

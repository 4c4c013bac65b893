// On what a run was made: facts of the machine, the programs and the code. Figures without them mean nothing.

import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { HOST_PYTHON } from './host-python.mjs';
import { ROOT } from './stage.mjs';

function outputOf(program, args) {
  try {
    return execFileSync(program, args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

export function machineFacts(choice) {
  const status = outputOf('git', ['status', '--porcelain']);
  return {
    date: new Date().toISOString(),
    commit: outputOf('git', ['rev-parse', 'HEAD']),
    uncommittedChanges: status === undefined ? undefined : status !== '',
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryMb: Math.round(totalmem() / 2 ** 20),
    kernel: release(),
    node: process.version,
    hostPython: HOST_PYTHON,
    user: process.getuid?.() === 0 ? 'root' : 'an ordinary user',
    engine: choice,
  };
}

/** How busy the machine is: the load of the last minute. */
export const loadNow = () => Math.round(loadavg()[0] * 100) / 100;

/** The facts in one line, for below a table or above a plot. */
export function machineLine({ cpu, cores, kernel, node, hostPython, engine, user }) {
  const container = `${engine.binary} ${engine.version} as ${user} (${engine.ociRuntime}, ${engine.storageDriver})`;
  const python = hostPython === undefined ? 'no Python' : `Python ${hostPython.version}`;
  return `${cores} cores of ${cpu}, Linux ${kernel}, Node ${node}, ${python}, ${container}`;
}

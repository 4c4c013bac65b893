// What of ours lives while a host runs and after it has gone: processes, told by the home folder in their environment or
// arguments, and containers, told by the bridge that owns them. Reads /proc; ends nothing.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { MAIN, pause } from '../bench/stage.mjs';

const OWNER_LABEL = 'mcp-sandbox-bridge.owner-pid';
const POLL_MS = 5;

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Living processes that were told of `home`: [{ pid, line }]. */
function processesAt(home) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({
      pid: Number(name),
      line: read(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
      env: read(`/proc/${name}/environ`),
    }))
    .filter(({ line, env }) => line !== '' && (line.includes(home) || env.includes(home)));
}

/** Pids of the bridges that were started with `home`. */
export const bridgesAt = (home) =>
  processesAt(home)
    .filter(({ line }) => line.includes(MAIN))
    .map(({ pid }) => pid);

/** Names of the containers, in any state, that the bridge `pid` has started. */
export function containersOf(pid, engine) {
  const out = execFileSync(
    engine,
    ['ps', '--all', `--filter=label=${OWNER_LABEL}=${pid}`, '--format={{.Names}}'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return out.split('\n').filter((name) => name !== '');
}

/** { ms, left }: how long until nothing was seen any more, and what is left after `withinMs` all the same. */
export async function waitUntilGone(home, bridges, engine, withinMs) {
  const startedAt = performance.now();
  let ms = 0;
  const last = async (look) => {
    let seen = look();
    while (seen.length > 0 && ms < withinMs) {
      await pause(POLL_MS);
      seen = look();
      ms = performance.now() - startedAt;
    }
    return seen;
  };
  const processes = await last(() => processesAt(home).map(({ line }) => line));
  // Asking the engine takes longer than most ends; what the first look does not find has not delayed anything.
  const containers = await last(() => bridges.flatMap((pid) => containersOf(pid, engine)));
  return { ms, left: [...processes, ...containers] };
}

// A bridge that is killed in the middle of a run: another process of this program starts one, is given SIGKILL, and the
// container's first process is watched from here. The code in it ignores every signal that can be ignored.

import { spawn } from 'node:child_process';
import type { Environment } from '../../base/process/environment.js';
import type { Engine } from '../../engine/engine.js';
import type { Settings } from '../../settings/environment/settings.js';
import { IDLE_ATTACK } from './attack.js';
import { firstProcessOf, isAlive } from './host-look.js';

const START_WITHIN_MS = 60_000;
const GONE_WITHIN_MS = 5_000;
const POLL_MS = 20;
/** Time from the greeting to code that runs; the code needs none of our attention. */
const CODE_RUNS_AFTER_MS = 200;
const RUN_SECONDS = 20;

/**
 * Milliseconds from the SIGKILL to the end of the container's first process; undefined when that process lived on, null when no
 * container could be seen. Where the container runs on another machine, its engine is asked. Files that the dead bridge left on
 * disk are the next sweep's.
 */
export async function killOwner(
  main: string,
  { stateDir, maxTimeoutSeconds }: Settings,
  env: Environment,
  { factsOf }: Pick<Engine, 'factsOf'>,
  signal: AbortSignal,
): Promise<number | undefined | null> {
  const seconds = Math.min(RUN_SECONDS, maxTimeoutSeconds);
  const child = spawn(process.execPath, [main, 'run', '-', '--timeout', String(seconds)], {
    env: { ...env, MCP_BRIDGE_LOG_LEVEL: 'debug', MCP_BRIDGE_WARM: '0', MCP_BRIDGE_STATE_DIR: stateDir },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const timer = setTimeout(kill, START_WITHIN_MS);
  try {
    child.stdin.on('error', () => {});
    child.stdin.end(IDLE_ATTACK);
    const container = await waitForGreeting(child.stderr);
    if (container === undefined) return null;
    await sleep(CODE_RUNS_AFTER_MS);
    const pid = firstProcessOf(stateDir, container);
    if (pid === undefined && factsOf === undefined) return null;
    const goesOn = async () =>
      pid === undefined ? (await factsOf?.(container, signal))?.isRunning === true : isAlive(pid);
    if (!(await goesOn())) return null;
    const killedAt = performance.now();
    kill();
    while (await goesOn()) {
      if (performance.now() - killedAt > GONE_WITHIN_MS) return undefined;
      await sleep(POLL_MS);
    }
    return performance.now() - killedAt;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** The name of the first sandbox that its log calls ready; undefined when the log ends without. */
async function waitForGreeting(log: NodeJS.ReadableStream): Promise<string | undefined> {
  let said = '';
  log.setEncoding('utf8');
  return await new Promise((resolve) => {
    log.on('data', (text: string) => {
      said += text;
      // A trial of an OCI runtime is no run.
      const name = [...said.matchAll(/sandbox (\S+) ready/g)].find(([, one]) => !one?.includes('-try-'))?.[1];
      if (name !== undefined) resolve(name);
    });
    log.on('close', () => resolve(undefined));
  });
}

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

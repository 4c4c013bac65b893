// The units of time of this machine. A test or a part of the suite that needs a deadline takes a multiple of one of them, so that
// no verdict rests on how fast somebody's machine is. They are measured once, at the start of a test run, and handed on in the
// environment to whatever it starts.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Milliseconds from starting `node -e 0` to its end. */
export const NODE_START = 'TEST_NODE_START_MS';
/** Milliseconds from `podman run` of the base image's Python to its end. */
export const COLD_SANDBOX = 'TEST_COLD_SANDBOX_MS';

const TRIES = 3;
/** What a cold sandbox counts as where there is no engine, in starts of Node: the ratio of two machines where both were measured. */
const NODE_STARTS_OF_SANDBOX = 10;
/** The default OCI runtime may refuse a machine's control groups. */
const RUNTIMES = [[], ['--runtime=runc'], ['--runtime=crun']];
const LIMITS = ['--network=none', '--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096'];

/** Measures into process.env what is not there yet. Takes three starts of Node, and of a sandbox where `withSandbox` says so. */
export function measureUnits({ withSandbox = false } = {}) {
  process.env[NODE_START] ??= String(medianMs([process.execPath, '-e', '0']));
  if (!withSandbox) return;
  process.env[COLD_SANDBOX] ??= String(
    coldSandboxMs() ?? NODE_STARTS_OF_SANDBOX * Number(process.env[NODE_START]),
  );
}

/** Undefined where podman starts no container of the base image. */
function coldSandboxMs() {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const image = process.env.MCP_BRIDGE_IMAGE ?? `localhost/mcp-sandbox-bridge/python:${version}`;
  for (const runtime of RUNTIMES) {
    const ms = medianMs(['podman', ...runtime, 'run', '--rm', ...LIMITS, image, 'python3', '-c', '']);
    if (ms !== undefined) return ms;
  }
  return undefined;
}

/** Undefined where the program fails. */
function medianMs([program, ...args]) {
  const took = [];
  for (let tried = 0; tried < TRIES; tried++) {
    const startedAt = performance.now();
    if (spawnSync(program, args, { stdio: 'ignore' }).status !== 0) return undefined;
    took.push(performance.now() - startedAt);
  }
  return Math.round(took.sort((a, b) => a - b)[1]);
}

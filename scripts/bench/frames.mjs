// How many calls a second the frames carry: a guest that gathers 100 calls at a time, answered by a host that does
// nothing. In a real sandbox, beside the same harness as a plain child process, which shows what the container costs.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Channel } from '../../dist/wire/channel.js';
import { HOST_PYTHON } from './host-python.mjs';
import { RUN } from './run-frame.mjs';
import { ROOT } from './stage.mjs';
import { figure } from './statistics.mjs';

const GATHERED = 100;
const BURSTS = 20;
const TARGET_PER_SECOND = 20_000;

const CODE = `
import asyncio, time

async def burst():
    started = time.perf_counter()
    await asyncio.gather(*[mcp_host.nothing() for _ in range(${GATHERED})])
    return round(${GATHERED} / (time.perf_counter() - started))

for _ in range(5):
    await burst()
[await burst() for _ in range(${BURSTS})]
`;

const NOTHING = { content: [{ type: 'text', text: 'ok' }] };

export async function frames(stage, bare, signal) {
  const contained = [];
  const child = [];
  for (let round = 0; round < stage.times(8, 2); round++) {
    contained.push(...(await inSandbox(bare, signal)));
    if (HOST_PYTHON !== undefined) child.push(...(await inChild(stage)));
  }
  const ours = figure('in a sandbox', contained, { moreIsBetter: true });
  const theirs =
    child.length === 0
      ? undefined
      : figure('harness as a plain child process', child, { moreIsBetter: true });
  return [
    {
      measure: '100 calls gathered, host does nothing',
      unit: '/s',
      ours,
      theirs,
      ratio: theirs === undefined ? undefined : ours.p50 / theirs.p50,
      target: '>= 20,000 a second',
      met: ours.p50 >= TARGET_PER_SECOND,
    },
  ];
}

async function inSandbox(bare, signal) {
  const sandbox = await bare.sandbox(signal);
  try {
    await Promise.race([sandbox.check(CODE), sandbox.ended]);
    return await new Promise((resolve, reject) => {
      sandbox.run(RUN, {
        onOutput: () => {},
        onFile: () => {},
        onGuest: (frame) => answer(frame, (reply) => sandbox.send(reply), resolve, reject),
      });
      sandbox.ended.then((end) => reject(new Error(`the sandbox ended: ${JSON.stringify(end)}`)));
    });
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}

/** Calls a second of each burst. Rejects with the harness's own words where it does not answer. */
export function inChild(stage) {
  const entry = `import sys; sys.path.insert(0, ${JSON.stringify(join(ROOT, 'sandbox-runtime'))}); from harness.main import main; main()`;
  const child = spawn(HOST_PYTHON.path, ['-I', '-u', '-B', '-X', 'utf8', '-c', entry, '{"ahead":[]}'], {
    cwd: stage.stateDir,
  });
  const values = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the harness ended with ${code}`)));
    const channel = new Channel(child, {
      onGuest: (frame) => answer(frame, (reply) => channel.send(reply), resolve, reject),
      onSupervisor: ({ type }) => {
        if (type === 'hello') channel.send({ type: 'check', code: CODE, file: null, run: null });
        else if (type === 'checked') channel.send(RUN);
      },
      onNoise: (line) => reject(new Error(`the harness said: ${line}`)),
      onViolation: reject,
    });
  });
  return values.finally(() => child.kill('SIGKILL'));
}

function answer(frame, send, resolve, reject) {
  if (frame.type === 'call') send({ type: 'reply', id: frame.id, value: NOTHING });
  else if (frame.type === 'result') resolve(frame.value);
  else reject(new Error(`the guest sent ${JSON.stringify(frame)}`));
}

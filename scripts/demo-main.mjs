// The main job on real input: a real MCP client starts the built bridge, whose configuration names three servers
// from npm, and has Python in a fresh container discover their tools, call several at once and compute something.
// Shows the code, the answer and where the time went. Uses a home folder of its own and leaves nothing behind.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import pc from 'picocolors';
import { environmentIn, furnish, MAIN_JOB, SERVERS } from './main-job.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const LOOK_EVERY_MS = 100;
/** Half a minute at most; the clean-up is over where nothing was made for two seconds. */
const LOOKS = 300;
const GONE_LOOKS = 20;

const timings = [];
async function timeWork(what, work) {
  const startedAt = performance.now();
  const value = await work();
  timings.push([what, `${Math.round(performance.now() - startedAt)} ms`]);
  return value;
}

const heading = (text) => console.log(`\n${pc.bold(text)}`);
const indentLines = (text) => text.replace(/^(?=.)/gm, '  ');

async function demonstrate(home) {
  const client = new Client({ name: 'demo', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(ROOT, 'dist/cli/main.js')],
    env: environmentIn(home),
    cwd: home,
    stderr: 'inherit',
  });
  const runPython = () =>
    client.callTool({ name: 'run_python', arguments: { code: MAIN_JOB, servers: SERVERS } }, undefined, {
      timeout: 120_000,
    });
  try {
    await timeWork('start and initialize', () => client.connect(transport));
    const listed = await timeWork('tools/list', () => client.listTools());
    const first = await timeWork('first call (finds the engine, starts three servers)', runPython);
    const second = await timeWork('second call (a fresh container again)', runPython);
    heading('The code that an agent would write');
    console.log(pc.cyan(indentLines(MAIN_JOB)));
    heading('What it gets back');
    for (const { text } of first.content) console.log(indentLines(text));
    heading('Where the time went');
    for (const [what, time] of timings) console.log(`  ${what.padEnd(54)}${time.padStart(9)}`);
    console.log(
      `  ${'tools/list, as the model pays for it'.padEnd(54)}${String(JSON.stringify(listed).length).padStart(9)} characters`,
    );
    if (first.isError || second.isError) process.exitCode = 1;
  } finally {
    await client.close();
  }
}

/** Podman's own clean-up of the last containers goes on when the bridge has ended, and makes its folders in this home again. */
async function removeForGood(folder) {
  for (let looks = 0, gone = 0; looks < LOOKS && gone < GONE_LOOKS; looks++) {
    gone = existsSync(folder) ? 0 : gone + 1;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch (thrown) {
      // Something was made in it in this moment.
      if (thrown.code !== 'ENOTEMPTY') throw thrown;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

const home = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-demo-'));
try {
  furnish(home, join(ROOT, 'node_modules'));
  await demonstrate(home);
} finally {
  await removeForGood(home);
}

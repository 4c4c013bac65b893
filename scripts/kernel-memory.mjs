// What memory of the kernel one sandbox can take here, kind by kind, and what ends it. Runs each program in a sandbox of
// the built bridge and watches what the host has left. Bounded: each stops by itself at a few times its memory limit.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { KIND_NAMES, kernelMemoryProgram } from './kernel-memory/attacks.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const USAGE = `Usage: npm run kernel-memory -- [--kind NAME]... [--bridge MAIN.js] [--json FILE]
  --kind    one of: ${KIND_NAMES.join(', ')}
  --bridge  another built command line, to compare with`;
const MEMORY_MB = 128;
const TARGET_MB = 4 * MEMORY_MB;
const POLL_MS = 20;
const SETTLE_MS = 500;
const MB = 1024 ** 2;

function options() {
  try {
    const { values } = parseArgs({
      options: {
        kind: { type: 'string', multiple: true },
        bridge: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const unknown = values.kind?.find((kind) => !KIND_NAMES.includes(kind));
    if (unknown !== undefined) throw new Error(`--kind: there is no '${unknown}'.`);
    return values;
  } catch (thrown) {
    console.error(`${thrown.message}\n${USAGE}`);
    return process.exit(2);
  }
}

const availableBytes = () =>
  Number(/^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function attempt(kind, main, home) {
  const file = join(home, 'attack.py');
  writeFileSync(file, kernelMemoryProgram(kind, TARGET_MB));
  const env = {
    ...process.env,
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
    MCP_BRIDGE_MEMORY: `${MEMORY_MB}m`,
    MCP_BRIDGE_LOG_LEVEL: 'silent',
  };
  await pause(SETTLE_MS);
  const before = availableBytes();
  let least = before;
  const poll = setInterval(() => {
    least = Math.min(least, availableBytes());
  }, POLL_MS);
  const child = spawn(process.execPath, [main, 'run', file, '--timeout', '30'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const exitCode = await new Promise((done) => child.on('close', done));
  clearInterval(poll);
  const words = said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(next:|Setting up|at |File )/.test(line));
  const ended = words.find((line) => /limit|memory|made|ended/i.test(line)) ?? words.at(-1) ?? '';
  return { kind, hostMb: Math.max(0, Math.round((before - least) / MB)), exitCode, ended };
}

const values = options();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const main = resolve(values.bridge ?? join(ROOT, 'dist/cli/main.js'));
const home = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-kernel-memory-'));
const rows = [];
try {
  for (const kind of values.kind ?? KIND_NAMES) {
    const row = await attempt(kind, main, home);
    rows.push(row);
    console.error(`${row.kind}: ${row.hostMb} MB, ${row.ended.slice(0, 120)}`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
const table = new Table({
  head: ['kind', 'the host lost at most', 'what became of it'],
  style: { head: [] },
  wordWrap: true,
  colWidths: [22, 24, 100],
});
for (const { kind, hostMb, ended } of rows) table.push([kind, `${hostMb} MB`, ended]);
console.log(table.toString());
console.log(`memory limit ${MEMORY_MB} MB; each program stops by itself at ${TARGET_MB} MB`);
if (values.json !== undefined) writeFileSync(resolve(values.json), `${JSON.stringify(rows, null, 2)}\n`);

// What an idle bridge without page, exporter, prompts and notices takes, beside another build of it, in turns in one run: memory, and
// the time and the processor time until its tools are listed. `node scripts/bench/idle-beside.mjs CHECKOUT [ROUNDS]`; CHECKOUT is one of an
// earlier commit, built. Starts no container.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rssMb, secondsUsed } from './processes.mjs';
import { displayNumber } from './report.mjs';
import { MAIN, pause, Stage } from './stage.mjs';
import { median } from './statistics.mjs';

const SETTLE_MS = 2_000;
const ROUNDS = 9;

const [folder = '', rounds = String(ROUNDS)] = process.argv.slice(2);
const theirs = join(resolve(folder), 'dist/cli/main.js');
for (const [main, what] of [
  [MAIN, 'this checkout'],
  [theirs, folder],
])
  if (!existsSync(String(main))) {
    console.error(`There is no build in ${what}. Run \`npm run build\` there, and name its folder here.`);
    process.exit(2);
  }

const stage = new Stage({ quick: true });
process.once('exit', () => stage.close());

/** One start of the build whose main file this is, until it has been idle for a while. */
async function startOnce(/** @type {string} */ main) {
  const home = stage.home();
  const env = stage.environment(home, { MCP_BRIDGE_WARM: '0' });
  const program = { command: process.execPath, args: [main], env, cwd: home };
  const startedAt = performance.now();
  return await stage.withClient(program, async (/** @type {any} */ client, /** @type {number} */ pid) => {
    await client.listTools();
    const startMs = performance.now() - startedAt;
    const processorMs = secondsUsed(pid) * 1_000;
    await pause(SETTLE_MS);
    return { startMs, processorMs, memoryMb: rssMb(pid) };
  });
}

/** @type {Record<'ours' | 'theirs', Awaited<ReturnType<typeof startOnce>>[]>} */
const found = { ours: [], theirs: [] };
for (let round = 0; round < Number(rounds); round++) {
  found.ours.push(await startOnce(MAIN));
  found.theirs.push(await startOnce(theirs));
}
for (const [what, unit] of /** @type {const} */ ([
  ['memoryMb', 'MB'],
  ['startMs', 'ms'],
  ['processorMs', 'ms'],
])) {
  const [ours = 0, beside = 1] = [found.ours, found.theirs].map((all) => median(all.map((one) => one[what])));
  const shown = [ours, beside].map(displayNumber).join(' against ');
  console.log(`${what}: ${shown} ${unit}, ${displayNumber(ours / beside)} times (medians of ${rounds})`);
}

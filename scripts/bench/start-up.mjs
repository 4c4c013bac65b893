// From the start of the process to the answer of tools/list, with fifty servers configured of which five are dead; and
// where that time goes: Node itself, the command line, the modules of `serve`, the search for configured servers.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { echoServer, MAIN, pause, ROOT, timed } from './stage.mjs';
import { figure } from './statistics.mjs';

const SERVERS = 50;
const DEAD = 5;
const TARGET_MS = 300;
const SETTLE_MS = 100;

const run = promisify(execFile);
const module = (path) => JSON.stringify(pathToFileURL(join(ROOT, 'dist', path)).href);

/** The module that main.js loads for `serve`: a file of its own, or a part of the bundle. */
function serveModule() {
  const path = /\bimport\(\s*["']([^"']*\bserve\.js)["']\s*\)/.exec(readFileSync(MAIN, 'utf8'))?.[1];
  if (path === undefined) throw new Error(`${MAIN} loads no serve.js`);
  return JSON.stringify(new URL(path, pathToFileURL(MAIN)).href);
}

const IMPORT = `
const startedAt = performance.now();
await import(${serveModule()});
console.log(performance.now() - startedAt);
process.exit();
`;
const DISCOVER = `
const { discover } = await import(${module('config/discover.js')});
const { hostFacts } = await import(${module('config/host-facts.js')});
const { parseSettings } = await import(${module('config/settings.js')});
const host = hostFacts();
const { settings } = parseSettings(process.env, host);
const startedAt = performance.now();
const { ready } = discover({ settings, env: process.env, host }, () => {});
console.log(JSON.stringify({ ms: performance.now() - startedAt, found: ready.length }));
`;

export async function startUp(stage) {
  const home = stage.home(servers());
  const env = stage.environment(home);
  const program = { command: process.execPath, args: [MAIN], env, cwd: home };
  const node = async (code) =>
    (await run(process.execPath, ['--input-type=module', '-e', code], { cwd: ROOT, env })).stdout;
  const times = { whole: [], node: [], commandLine: [], imports: [], discovery: [] };
  for (let round = 0; round < stage.times(20, 5); round++) {
    times.whole.push(await untilListed(stage, program));
    await pause(SETTLE_MS);
    const bare = (await timed(() => run(process.execPath, ['-e', '0'], { env }))).ms;
    const version = (await timed(() => run(process.execPath, [MAIN, '--version'], { env }))).ms;
    times.node.push(bare);
    times.commandLine.push(Math.max(0, version - bare));
    times.imports.push(Number(await node(IMPORT)));
    const { ms, found } = JSON.parse(await node(DISCOVER));
    if (found !== SERVERS) throw new Error(`discovery found ${found} of ${SERVERS} servers`);
    times.discovery.push(ms);
  }
  return rows(times);
}

async function untilListed(stage, program) {
  const startedAt = performance.now();
  return stage.withClient(program, async (client) => {
    await client.listTools();
    return performance.now() - startedAt;
  });
}

function servers() {
  return Object.fromEntries(
    Array.from({ length: SERVERS }, (_, index) => [
      `server-${index}`,
      index < DEAD
        ? { command: `/nonexistent/server-${index}` }
        : { ...echoServer, args: [...echoServer.args, `n=${index}`] },
    ]),
  );
}

function rows({ whole, node, commandLine, imports, discovery }) {
  const ours = figure('initialize and tools/list', whole);
  const theirs = figure('node -e 0', node);
  const part = (what, samples) => ({
    measure: `of it: ${what}`,
    unit: 'ms',
    ours: figure(what, samples),
    plotted: false,
  });
  return [
    {
      measure: `start to tools/list, ${SERVERS} servers, ${DEAD} dead`,
      unit: 'ms',
      ours,
      theirs,
      ratio: ours.p50 / theirs.p50,
      target: `<= ${TARGET_MS} ms`,
      met: ours.p50 <= TARGET_MS,
    },
    part('Node itself', node),
    part('the command line', commandLine),
    part('the modules of serve', imports),
    part('discovery', discovery),
  ];
}

// From the start of the process to the answer of tools/list, with fifty servers configured of which five are dead, for a client
// of either era; and where that time goes: Node itself, the command line, the modules of `serve`, the search for configured
// servers. The client writes its messages by hand, so that its own work is not measured.

import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { echoServer, MAIN, pause, ROOT, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const SERVERS = 50;
const DEAD = 5;
/** Times as long as Node takes to start and do nothing. */
const MAX_RATIO = 4;
const SETTLE_MS = 100;

const VERSION = '2026-07-28';
const CLIENT = { name: 'bench', version: '1.0.0' };
const META = 'io.modelcontextprotocol/';
const asked = {
  [`${META}protocolVersion`]: VERSION,
  [`${META}clientInfo`]: CLIENT,
  [`${META}clientCapabilities`]: {},
};
/** What a client says before the tools are listed, by what it opens with. */
const OPENINGS = {
  initialize: [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ],
  'server/discover': [
    { id: 1, method: 'server/discover', params: { _meta: asked } },
    { id: 2, method: 'tools/list', params: { _meta: asked } },
  ],
};

const run = promisify(execFile);
const module = (path) => JSON.stringify(pathToFileURL(join(ROOT, 'dist', path)).href);

/** Compiled anew, as at the first start of a version: later ones find it compiled. */
const IMPORT = `
const { createRequire } = await import('node:module');
const startedAt = performance.now();
createRequire(${module('cli/main.js')})('../bundle/serve.cjs');
console.log(performance.now() - startedAt);
process.exit();
`;
const DISCOVER = `
const { discover } = await import(${module('hosts/discovery/discover.js')});
const { hostFacts } = await import(${module('settings/files/host-facts.js')});
const { parseSettings } = await import(${module('settings/environment/settings.js')});
const host = hostFacts();
const { settings } = parseSettings(process.env, host);
const startedAt = performance.now();
const { ready } = discover({ settings, env: process.env, host }, () => {});
console.log(JSON.stringify({ ms: performance.now() - startedAt, found: ready.length }));
`;

export async function startUp(stage) {
  const home = stage.home(servers());
  const env = stage.environment(home);
  const node = async (code) =>
    (await run(process.execPath, ['--input-type=module', '-e', code], { cwd: ROOT, env })).stdout;
  const times = {
    initialize: [],
    'server/discover': [],
    node: [],
    commandLine: [],
    imports: [],
    discovery: [],
  };
  // The first start of a version keeps what the others find compiled.
  const first = await untilListed(OPENINGS.initialize, { env, cwd: home });
  for (let round = 0; round < stage.times(20, 5); round++) {
    for (const opening of Object.keys(OPENINGS)) {
      times[opening].push(await untilListed(OPENINGS[opening], { env, cwd: home }));
      await pause(SETTLE_MS);
    }
    const bare = (await timeWork(() => run(process.execPath, ['-e', '0'], { env }))).ms;
    const version = (await timeWork(() => run(process.execPath, [MAIN, '--version'], { env }))).ms;
    times.node.push(bare);
    times.commandLine.push(Math.max(0, version - bare));
    times.imports.push(Number(await node(IMPORT)));
    const { ms, found } = JSON.parse(await node(DISCOVER));
    if (found !== SERVERS) throw new Error(`discovery found ${found} of ${SERVERS} servers`);
    times.discovery.push(ms);
  }
  return rows({ ...times, first: [first] });
}

/** Milliseconds from the start of a bridge to the answer of the last of `messages`; each waits for the answer before. */
async function untilListed(messages, { env, cwd }) {
  const startedAt = performance.now();
  const bridge = spawn(process.execPath, [MAIN], { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => bridge.once('exit', resolve));
  const lines = createInterface({ input: bridge.stdout })[Symbol.asyncIterator]();
  for (const message of messages) {
    bridge.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    if (message.id === undefined) continue;
    const { value } = await lines.next();
    const { id, result } = JSON.parse(value);
    if (id !== message.id || result === undefined) throw new Error(`${message.method}: ${value}`);
  }
  const ms = performance.now() - startedAt;
  bridge.stdin.end();
  await ended;
  return ms;
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

function rows({ node, first, commandLine, imports, discovery, ...openings }) {
  const theirs = figure('node -e 0', node);
  const listed = Object.keys(OPENINGS).map((opening) => {
    const ours = figure(`${opening} and tools/list`, openings[opening]);
    const ratio = ours.p50 / theirs.p50;
    return {
      measure: `start to tools/list by ${opening}, ${SERVERS} servers, ${DEAD} dead`,
      unit: 'ms',
      ours,
      theirs,
      ratio,
      target: `<= ${MAX_RATIO} times`,
      met: ratio <= MAX_RATIO,
    };
  });
  const part = (what, samples) => ({
    measure: `beside it: ${what}`,
    unit: 'ms',
    ours: figure(what, samples),
    plotted: false,
  });
  return [
    ...listed,
    part('the first start of a version', first),
    part('Node itself', node),
    part('the command line', commandLine),
    part('the modules of serve', imports),
    part('discovery', discovery),
  ];
}

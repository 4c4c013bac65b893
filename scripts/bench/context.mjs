// What the bridge costs an agent's context, whatever is configured behind it, beside what the tools of real servers
// cost when each is registered by itself. In characters of what a host shows the model: tools/list and instructions.

import { MAIN, npmServer } from './stage.mjs';
import { figure } from './statistics.mjs';

const TOOL_COUNTS = [0, 10, 100, 1000];
/** tools/list at most 1,600 and instructions at most 1,200. */
const MAX_CHARS = 2_800;

export async function context(stage) {
  const real = await realServers(stage);
  const tools = real.flatMap((server) => server.sizes);
  const rows = [];
  for (const count of TOOL_COUNTS) {
    const ours = figure('the bridge', [await contextOf(stage, configureServers(real, count))]);
    const sum = Array.from({ length: count }, (_, index) => tools[index % tools.length]).reduce(
      (all, one) => all + one,
      0,
    );
    rows.push({
      measure: `context with ${count} tools configured`,
      unit: 'chars',
      ours,
      ...(count === 0 ? {} : { theirs: figure("the tools' own schemas", [sum]), ratio: sum / ours.p50 }),
      target: `flat: <= ${MAX_CHARS}`,
      met: ours.p50 <= MAX_CHARS,
    });
  }
  return rows;
}

/** The three servers from npm with the size of each of their tools, as JSON. */
async function realServers(stage) {
  const entries = [
    npmServer('server-everything'),
    npmServer('server-filesystem', stage.stateDir),
    npmServer('server-memory'),
  ];
  return Promise.all(
    entries.map(async (entry) => ({
      entry,
      sizes: await stage.withPlainClient(entry, async (client) =>
        (await client.listTools()).tools.map((tool) => JSON.stringify(tool).length),
      ),
    })),
  );
}

/** Enough of them, again and again under other names, to have `count` tools. */
function configureServers(real, count) {
  const servers = {};
  let tools = 0;
  for (let index = 0; tools < count; index++) {
    const { entry, sizes } = real[index % real.length];
    servers[`server-${index}`] = { ...entry, env: { COPY: String(index) } };
    tools += sizes.length;
  }
  return servers;
}

async function contextOf(stage, servers) {
  const home = stage.home(servers);
  const program = { command: process.execPath, args: [MAIN], env: stage.environment(home), cwd: home };
  return stage.withClient(program, async (client) => {
    const { tools } = await client.listTools();
    return JSON.stringify(tools).length + (client.getInstructions() ?? '').length;
  });
}

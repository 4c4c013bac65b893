// What the same tasks cost of a model's context, done by direct calls of the servers' tools and by run_python: characters of
// calls, code, results, look-ups and definitions, on the real servers from npm and the built bridge, with files that are the
// same every time; --help says how. Both ways must reach the same end, or it exits with 1; 2 for a wrong option.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAIN, npmServer, Stage } from './bench/stage.mjs';
import { bothWays, definitionOf } from './context/both-ways.mjs';
import { crossReference, oneFile, oneNode, todos } from './context/reading-tasks.mjs';
import { costNote, costSummary, costTable } from './context/table.mjs';
import { graph, renaming, report } from './context/writing-tasks.mjs';
import { putIntoRegion, REGIONS } from './measured-region.mjs';
import { leaveWrong, takeOptions } from './options.mjs';

const TASKS = [todos, graph, renaming, report, crossReference, oneFile, oneNode];

const options = () =>
  takeOptions({
    command: 'npm run context --',
    about:
      "Does the same tasks by direct calls and by run_python, and counts what each takes of a model's context.",
    options: {
      only: { value: 'NAME,NAME', says: 'only these tasks', among: TASKS.map(({ name }) => name) },
      publish: {
        says: `put the table into ${REGIONS.context}, and its sum into ${REGIONS['context-summary']}`,
      },
      json: { value: 'FILE', says: 'write the figures there' },
    },
  });

/** Characters before any call: what the two servers say of their tools, and what the bridge says of its one. */
async function definitions(stage, root) {
  const said = async (client) =>
    (await client.listTools()).tools.map(definitionOf).join('').length +
    (client.getInstructions() ?? '').length;
  const servers = { filesystem: npmServer('server-filesystem', root), memory: npmServer('server-memory') };
  const direct = await Promise.all(Object.values(servers).map((entry) => stage.withPlainClient(entry, said)));
  const python = await stage.withBridge({ servers }, ({ client }) => said(client));
  return { direct: direct.reduce((all, one) => all + one, 0), python };
}

async function measure() {
  const stage = new Stage({ quick: true });
  const root = mkdtempSync(join(tmpdir(), 'context-'));
  process.once('exit', () => {
    stage.close();
    rmSync(root, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const rows = [];
  for (const [index, task] of TASKS.entries()) {
    if (!only.includes(task.name)) continue;
    rows.push({ name: task.name, ...(await bothWays(task, stage, join(root, `${index}`))) });
  }
  return { rows, definitions: await definitions(stage, root) };
}

const { only, publish, json } = options();
if (publish && only.length < TASKS.length)
  leaveWrong('--publish: the document shows all tasks, not those of --only.');
if (!existsSync(MAIN)) {
  console.error('The bridge is not built. Run `npm run build`.');
  process.exit(1);
}
const costs = await measure();
const table = `${costTable(costs.rows, costs.definitions)}\n\n${costNote(costs.rows)}`;
console.log(table);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(costs, null, 1)}\n`);
if (publish) {
  putIntoRegion('context', table);
  putIntoRegion('context-summary', costSummary(costs.rows, costs.definitions));
}

// Snippets of one principal: their list, their code, and their names as completions.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import type { Party, World } from '../world.js';

const SETTINGS = { MCP_BRIDGE_TOOLS: 'run_python,execute_code', PATH: '/nonexistent' };
const LIST = 'resource://mcp-sandbox-bridge/snippets';

/** A principal with a snippet, whose bridge is not there yet. Eve has one of another name. */
async function owner(world: World): Promise<{ readonly owner: Party; readonly mark: string }> {
  const party = await world.issue(world.mark());
  const mark = world.mark().replaceAll('-', '_');
  put(world, party, 'report', mark);
  put(world, world.eve, 'mine', 'nothing');
  return { owner: party, mark };
}

function put(world: World, party: Party, name: string, mark: string): void {
  const folder = join(world.stateDirOf(party), 'snippets');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.py`), `# A snippet: ${mark}\nprint('${mark}')\n`);
}

const reading =
  (uri: string): Attack['attempt'] =>
  async (world, by) => {
    const { owner: party, mark } = await owner(world);
    const reader = by === world.ann ? party : by;
    const answer = await answerOf(reader.agent.modern('resources/read', { uri }));
    return JSON.stringify(answer).includes(mark) ? 'what it says' : undefined;
  };

export const snippetAttacks: readonly Attack[] = [
  {
    id: 'snippet-list',
    group: 'servers',
    tries: "reads the list of ann's snippets",
    wall: 'a folder of snippets for each principal',
    settings: SETTINGS,
    attempt: reading(LIST),
  },
  {
    id: 'snippet-code',
    group: 'servers',
    tries: "reads the code of ann's snippet by its name",
    wall: 'a folder of snippets for each principal',
    settings: SETTINGS,
    attempt: reading(`${LIST}/report`),
  },
  {
    id: 'snippet-completion',
    group: 'servers',
    tries: "is offered the names of ann's snippets as completions",
    wall: 'a folder of snippets for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const { owner: party } = await owner(world);
      const reader = by === world.ann ? party : by;
      const ref = { type: 'ref/resource', uri: `${LIST}/{name}` };
      const params = { ref, argument: { name: 'name', value: '' } };
      const answer = await answerOf(reader.agent.modern('completion/complete', params));
      return JSON.stringify(answer).includes('report') ? 'the name' : undefined;
    },
  },
];

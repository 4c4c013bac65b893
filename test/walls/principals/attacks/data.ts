// Data folders of one principal, which the code of no other may see.

import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerOf, textOf } from '../../../support/http-agent.js';
import type { Attack, Attempt } from '../attack.js';
import type { Party } from '../world.js';

const root = realpathSync(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'data-')));
const MARK = `mark-${Math.random().toString(36).slice(2)}`;

/** A folder with a file that has the mark. */
function folder(name: string): string {
  const path = join(root, name);
  mkdirSync(path, { mode: 0o755 });
  writeFileSync(join(path, 'mark.txt'), MARK);
  return path;
}

const principals = join(root, 'principals.json');
writeFileSync(
  principals,
  JSON.stringify({
    version: 1,
    tokens: {
      ann: { servers: '*', data: [`${folder('of-ann')}:sales`] },
      eve: { servers: '*', data: [`${folder('of-eve')}:own`] },
    },
  }),
  { mode: 0o600 },
);
writeFileSync(join(root, 'of-eve', 'mark.txt'), 'nothing');

const SETTINGS = {
  MCP_BRIDGE_TOOLS: 'run_python,execute',
  MCP_BRIDGE_EXECUTE_SERVER: 'desk',
  MCP_BRIDGE_PRINCIPALS: principals,
  MCP_BRIDGE_DATA: `${folder('of-the-operator')}:operators`,
  MCP_BRIDGE_WARM: '1',
};

const run = async ({ agent }: Party, code: string): Promise<string> =>
  textOf(await answerOf(agent.modern('tools/call', { name: 'run_python', arguments: { code } })));

const seen = (text: string): string | undefined => (text.includes(MARK) ? 'the file' : undefined);

const READS = `
import glob
[open(name).read() for name in glob.glob("/data/**/mark.txt", recursive=True)]
`;

/** Code of ann sees her folder first: what waits for her is not for another. */
const afterAnn =
  (code: string): Attempt =>
  async (world, by) => {
    await run(world.ann, '1');
    return seen(await run(by, code));
  };

export const dataAttacks: readonly Attack[] = [
  {
    id: 'data-of-another',
    group: 'runs',
    tries: "reads files of ann's data folder, in a sandbox that may have waited for her",
    wall: 'sandboxes that see other folders are none that could stand in for one another',
    settings: SETTINGS,
    attempt: afterAnn(READS),
  },
  {
    id: 'data-of-the-operator',
    group: 'runs',
    tries: "reads files of the operator's own data folder",
    wall: "a principal's folders are those of its own entry",
    settings: SETTINGS,
    attempt: async (_world, by) => seen(await run(by, 'open("/data/operators/mark.txt").read()')),
    control: async (world) => {
      // Ann has what her entry names under its own name.
      return seen(await run(world.ann, 'open("/data/sales/mark.txt").read()'));
    },
  },
  {
    id: 'data-in-the-tools',
    group: 'runs',
    tries: "is told of ann's data folder by the list of tools",
    wall: 'descriptions of tools name the folders of their own principal',
    settings: SETTINGS,
    attempt: async (_world, by) => {
      const listed = JSON.stringify(await answerOf(by.agent.modern('tools/list', {})));
      return listed.includes('/data/sales') ? 'its name' : undefined;
    },
  },
];

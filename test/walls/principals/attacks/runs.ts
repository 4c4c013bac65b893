// What needs runs in containers: files that they leave, tools that they save, what the sandbox says of servers, their queue.

import { answerOf, type Exchange, textOf } from '../../../support/http-agent.js';
import { coldSandboxes, HANGS_MS, pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import type { Party, World } from '../world.js';
import { SOON_MS } from '../world.js';

const SETTINGS = {
  MCP_BRIDGE_TOOLS: 'run_python,execute',
  MCP_BRIDGE_EXECUTE_SERVER: 'desk',
  MCP_BRIDGE_SAVE_TOOLS: 'on',
};
const ONE_AT_A_TIME = { ...SETTINGS, MCP_BRIDGE_CONCURRENCY: '1', MCP_BRIDGE_PRINCIPAL_WAITING: '3' };
const WARM = { ...SETTINGS, MCP_BRIDGE_WARM: '1' };
const WAITING = 3;

const running = ({ agent }: Party, code: string, servers: readonly string[] = [], meta = {}): Exchange =>
  agent.modern('tools/call', { name: 'run_python', arguments: { code, servers } }, { meta });

/** The whole answer of a run, as text. */
const run = async (by: Party, code: string, servers: readonly string[] = []): Promise<string> =>
  textOf(await answerOf(running(by, code, servers)));

/** A run that leaves a file with this text, too long to stand in the answer; the addresses that its answer names. */
async function leaves(by: Party, mark: string): Promise<readonly string[]> {
  const code = `open('/workspace/out/notes.txt', 'w').write('${mark}\\n' * 20_000)`;
  const answer = JSON.stringify(await answerOf(running(by, code)));
  return [...new Set(answer.match(/resource:\/\/[\w./-]+\/kept\/[\w./-]+/g) ?? [])];
}

const seen = (text: string, mark: string, what: string): string | undefined =>
  text.includes(mark) ? what : undefined;

async function until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!condition() && performance.now() < end) await pause(50);
  return condition();
}

/** So many runs of one principal that one is under way and the others wait. */
function flood(world: World, by: Party, seconds: number): readonly Exchange[] {
  const code = `import time; time.sleep(${seconds})`;
  return Array.from({ length: WAITING + 1 }, () => running(by, code, [], { progressToken: world.mark() }));
}

/** Resolves when all of them but the one under way have been told that they wait. */
async function wait(flooded: readonly Exchange[]): Promise<void> {
  const told = () => flooded.filter(({ messages }) => messages.length > 0).length;
  if (!(await until(() => told() >= WAITING, HANGS_MS)))
    throw new Error(`${told()} have been told that they wait`);
}

export const runAttacks: readonly Attack[] = [
  {
    id: 'run-files-listed',
    group: 'runs',
    tries: "finds the files of ann's runs in the list of resources",
    wall: 'a list of kept files for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const [uri = 'none'] = await leaves(world.ann, world.mark());
      return seen(JSON.stringify(await answerOf(by.agent.modern('resources/list', {}))), uri, 'the address');
    },
  },
  {
    id: 'run-files-read',
    group: 'runs',
    tries: 'reads such a file by its address',
    wall: 'a folder of kept files for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const [uri = 'none'] = await leaves(world.ann, mark);
      return seen(
        JSON.stringify(await answerOf(by.agent.modern('resources/read', { uri }))),
        mark,
        'the text',
      );
    },
  },
  {
    id: 'run-changes-heard',
    group: 'runs',
    tries: "listens for changes of the list of resources, to know when ann's runs leave something",
    wall: 'a bus of changes for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const stream = by.agent.modern('subscriptions/listen', {
        notifications: { resourcesListChanged: true },
      });
      await stream.begun;
      await leaves(world.ann, world.mark());
      const heard = await until(() => stream.text().includes('resources/list_changed'), SOON_MS);
      stream.abort();
      return heard ? 'the change' : undefined;
    },
  },
  {
    id: 'run-output-heard',
    group: 'runs',
    tries: "hears the output of ann's run as log notifications, on a stream of her own session",
    wall: 'log notifications go to the request that asked for them',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const session = await by.agent.open();
      await answerOf(by.agent.legacy('logging/setLevel', { level: 'debug' }, { session }));
      const stream = by.agent.listen(session);
      await stream.begun;
      const code = `import time\nprint('${mark}', flush=True)\ntime.sleep(2)`;
      const params = { name: 'run_python', arguments: { code } };
      const own = by === world.ann ? session : await world.ann.agent.open();
      const call = world.ann.agent.legacy('tools/call', params, { session: own });
      await call.ended;
      const heard = stream.text() + (by === world.ann ? call.text() : '');
      stream.abort();
      return seen(heard, mark, 'the output');
    },
  },
  {
    id: 'run-of-a-denied-server',
    group: 'runs',
    tries: "loads ann's server into a run, by its name and by all of them",
    wall: 'what a principal may not use is as if it were not configured',
    settings: SETTINGS,
    attempt: async (_world, by) => {
      const code = "print(await mcp_vault.execute(command='env', args=['VAULT_SECRET']))";
      const answers = [await run(by, code, ['vault']), await run(by, code, ['*'])];
      return seen(answers.join('\n'), 'of-the-vault', 'what it has in its environment');
    },
  },
  {
    id: 'run-searches-denied-servers',
    group: 'runs',
    tries: "finds ann's server and its documentation by the search inside a run",
    wall: 'the catalog of a principal has the servers that exist for it',
    settings: SETTINGS,
    attempt: async (_world, by) => {
      const code = [
        'from mcp import runtime',
        "print(await runtime.search_tool_docs('runs a command', limit=20))",
        'print(await runtime.list_servers())',
      ].join('\n');
      return seen(await run(by, code, ['desk']), 'vault', 'its name');
    },
  },
  {
    id: 'run-loads-a-denied-server',
    group: 'runs',
    tries: "has a run load ann's server while it runs",
    wall: 'what a principal may not use is as if it were not configured',
    settings: { ...SETTINGS, MCP_BRIDGE_AUTOLOAD: 'always' },
    attempt: async (_world, by) => {
      const code = [
        'from mcp import runtime',
        "vault = await runtime.load_server('vault')",
        "print(await vault.execute(command='env', args=['VAULT_SECRET']))",
      ].join('\n');
      return seen(await run(by, code), 'of-the-vault', 'what it has in its environment');
    },
  },
  {
    id: 'run-saved-tools',
    group: 'runs',
    tries: 'uses a function that a run of ann’s has saved',
    wall: 'a folder of saved tools for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const name = world.mark().replaceAll('-', '_');
      await run(world.ann, `def ${name}():\n    "Says something."\n    return 1\nsave_tool(${name})`);
      const answer = await run(by, `from user_tools import ${name}\nprint('it is there', ${name}())`);
      return seen(answer, 'it is there 1', 'what it returns');
    },
  },
  {
    id: 'run-left-in-the-sandbox',
    group: 'runs',
    tries: 'finds in a sandbox that was started ahead what a run of ann’s has left in one',
    wall: 'a sandbox is never used twice',
    settings: WARM,
    attempt: async (world) => {
      const mark = world.mark();
      await run(world.ann, `open('/tmp/left', 'w').write('${mark}')`);
      return seen(
        await run(
          world.eve,
          "import os; print(open('/tmp/left').read() if os.path.exists('/tmp/left') else '')",
        ),
        mark,
        'the text',
      );
    },
    // Within one sandbox it is there.
    control: async (world) => {
      const mark = world.mark();
      const code = `open('/tmp/left', 'w').write('${mark}'[::-1])\nprint(open('/tmp/left').read()[::-1])`;
      return seen(await run(world.ann, code), mark, 'the text');
    },
  },
  {
    id: 'run-cancelled-by-another',
    group: 'runs',
    tries: "cancels ann's run by the id of its request",
    wall: 'a cancellation reaches the calls of its own session alone',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const session = await world.ann.agent.open();
      const params = {
        name: 'run_python',
        arguments: { code: `import time; time.sleep(5); print('${mark}')` },
      };
      const call = world.ann.agent.legacy('tools/call', params, { session, id: 77 });
      await pause(1_000);
      const own = by === world.ann ? session : await by.agent.open();
      await by.agent.post(
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } },
        own,
      ).ended;
      const isAnswered = await until(() => call.text().includes(mark), 5_000 + coldSandboxes(20));
      call.abort();
      return isAnswered ? undefined : 'the run was cancelled';
    },
  },
  {
    id: 'queue-filled',
    group: 'runs',
    tries: 'fills the places of runs that wait, so that ann’s is refused',
    wall: 'a queue of runs for each principal',
    settings: ONE_AT_A_TIME,
    attempt: async (world, by) => {
      const before = flood(world, by, 2);
      await wait(before);
      const answer = await run(world.ann, "print('done')");
      await Promise.all(before.map(({ ended }) => ended));
      return /Nothing has run: (?:\d+ of )?your runs/.test(answer)
        ? 'ann is told to come back later'
        : undefined;
    },
  },
  {
    id: 'queue-in-front-of-another',
    group: 'runs',
    tries: 'has all of her waiting runs go before one that ann asks for later',
    wall: 'queues are served in turn',
    settings: { ...SETTINGS, MCP_BRIDGE_CONCURRENCY: '1' },
    attempt: async (world, by) => {
      const before = flood(world, by, 2);
      await wait(before);
      await run(world.ann, "print('done')");
      const left = before.filter(
        ({ messages }) => !messages.some(({ method }) => method === undefined),
      ).length;
      await Promise.all(before.map(({ ended }) => ended));
      return left === 0 ? 'ann’s run comes last' : undefined;
    },
  },
  {
    id: 'queue-counted',
    group: 'runs',
    tries: 'reads in the sentence about her place how many runs ann has waiting',
    wall: 'of another queue one run in a round counts, however many wait',
    settings: { ...SETTINGS, MCP_BRIDGE_CONCURRENCY: '1' },
    attempt: async (world, by) => {
      const before = flood(world, world.ann, 2);
      await wait(before);
      const mine = running(by, '1', [], { progressToken: 'place' });
      await mine.ended;
      await Promise.all(before.map(({ ended }) => ended));
      return mine.text().includes(`${WAITING} runs ahead`) ? 'the number' : undefined;
    },
  },
];

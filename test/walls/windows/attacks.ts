// The attacks of one window on another, as data: eve's window tries to see, use, answer or stop what is ann's, and must be held.
// The control is the same attempt where the wall does not stand in the way, mostly by a second window in ann's folder.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { RawAgent } from '../../support/raw-agent.js';
import { MAIN } from '../../support/start-bridge.js';
import { eventually, nodeStarts, until } from '../../support/time.js';
import type { WindowOptions } from '../../support/windows.js';
import { executing, KEEPING_ENTRY, pause, said, type Who, type World } from './world.js';

/** What got through, in a few words; undefined where it was held. */
export type Attempt = (world: World, by: Who) => Promise<string | undefined>;

export type Attack = {
  readonly id: string;
  /** One sentence: what it tries. */
  readonly tries: string;
  /** What holds it. */
  readonly wall: string;
  /** By eve it must be held; by ann, in a second window of hers, it must get through, unless there is a control. */
  readonly attempt: Attempt;
  readonly control?: Attempt;
  /** Why it cannot be tried here; undefined where it can. */
  readonly without?: string | undefined;
};

const IS_ROOT = process.getuid?.() === 0;
/** Nobody's. */
const STRANGER = 65_534;
const ASKED = { elicitation: {} };
const TASKS = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };

/** Answers every question with the name, and counts them. */
function asked(name: string): { readonly options: WindowOptions; readonly questions: string[] } {
  const questions: string[] = [];
  return {
    questions,
    options: {
      capabilities: ASKED,
      prepare: (client) =>
        client.setRequestHandler(ElicitRequestSchema, async ({ params: { message } }) => {
          questions.push(message);
          return { action: 'accept', content: { name } };
        }),
    },
  };
}

const withRoot = (uri: string): WindowOptions => ({
  capabilities: { roots: { listChanged: true } },
  prepare: (client) =>
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri, name: 'root' }] })),
});

const taskOf = async (agent: RawAgent): Promise<string> => {
  const { result } = await agent.request('tools/call', executing('wait', '3000'), TASKS).answer;
  const id = result?.['taskId'] ?? (result?.['task'] as { taskId?: unknown } | undefined)?.taskId;
  if (typeof id !== 'string') throw new Error(`no task: ${JSON.stringify(result)}`);
  return id;
};

const questionOf = async (agent: RawAgent, message: string): Promise<string> => {
  const asking = agent.request('tools/call', executing('ask', message), { capabilities: ASKED_MODERN });
  const { result } = await asking.answer;
  if (typeof result?.['requestState'] !== 'string') throw new Error(`not asked: ${JSON.stringify(result)}`);
  return result['requestState'];
};
const ASKED_MODERN = { elicitation: { form: {} } };

export const attacks: readonly Attack[] = [
  {
    id: 'state-of-a-server',
    tries: 'reads what ann has left in the memory of a server',
    wall: 'a server has a process for each folder',
    attempt: async (world, by) => {
      const mark = world.mark();
      await (await world.open('ann')).execute('keep', mark);
      return (await (await world.open(by)).execute('recall')).includes(mark) ? 'what she keeps' : undefined;
    },
  },
  {
    id: 'folder-of-a-server',
    tries: "has a server work in ann's folder",
    wall: 'a server starts in the folder of its window, also where another window started the bridge',
    attempt: async (world, by) => {
      await (await world.open('ann')).execute('pid');
      const folder = await (await world.open(by)).execute('folder');
      return folder === world.folderOf('ann') ? folder : undefined;
    },
  },
  {
    id: 'environment-of-a-server',
    tries: "reads a token of ann's environment in a server that she has started, from the same folder",
    wall: 'a server has a process for each environment that its entry makes of its window',
    attempt: async (world, by) => {
      const ann = { WINDOW_TOKEN: world.mark() };
      await (await world.open('ann', { env: ann })).execute('pid');
      const env = by === 'ann' ? ann : { WINDOW_TOKEN: 'of-eve' };
      const folder = world.folderOf('ann');
      return (await (await world.open(by, { env, folder })).execute('env', 'TOKEN')) === ann.WINDOW_TOKEN
        ? 'her token'
        : undefined;
    },
  },
  {
    id: 'roots-of-another',
    tries: "is told ann's roots by a server of the same folder",
    wall: 'a server has a process for each list of roots',
    attempt: async (world, by) => {
      const uri = `file:///${world.mark()}`;
      const folder = world.folderOf('ann');
      await (await world.open('ann', withRoot(uri))).execute('roots');
      const own = by === 'ann' ? uri : 'file:///of-eve';
      const roots = await (await world.open(by, { folder, ...withRoot(own) })).execute('roots');
      return roots.includes(uri) ? 'her roots' : undefined;
    },
  },
  {
    id: 'servers-of-another',
    tries: "calls a server that only ann's window has configured",
    wall: 'each window has the configuration that its own environment leads to',
    attempt: async (world, by) => {
      const config = join(world.desk.home, 'of-ann.json');
      const mark = world.mark();
      const entry = { ...KEEPING_ENTRY, env: { MARK: mark } };
      writeFileSync(config, JSON.stringify({ mcpServers: { desk: entry } }), { mode: 0o600 });
      const hers = { MCP_SERVERS_CONFIG: config };
      await (await world.open('ann', { env: hers })).execute('pid');
      const window = await world.open(by, { env: by === 'ann' ? hers : {}, folder: world.folderOf('ann') });
      return (await window.execute('env', 'MARK')) === mark ? 'her server' : undefined;
    },
  },
  {
    id: 'servers-of-a-project',
    tries: "starts a server of its project's file, which the user has approved for ann's folder alone",
    wall: 'approvals are read for the folder of each window',
    attempt: async (world, by) => {
      for (const who of ['ann', 'eve'] as const)
        world.projectFile(who, '.mcp.json', { mcpServers: { vault: { type: 'stdio', ...KEEPING_ENTRY } } });
      const projects = { [world.folderOf('ann')]: { enabledMcpjsonServers: ['vault'] } };
      writeFileSync(join(world.desk.home, '.claude.json'), JSON.stringify({ projects }));
      const env = { MCP_SERVERS_CONFIG: '', MCP_BRIDGE_EXECUTE_SERVER: 'vault' };
      const hers = await (await world.open('ann', { env })).execute('say', 'hers');
      if (hers !== 'hers') throw new Error(hers);
      const answer = await (await world.open(by, { env })).execute('say', 'started');
      return answer === 'started' ? 'it was started' : undefined;
    },
  },
  {
    id: 'settings-of-another',
    tries: "calls under ann's settings what its own forbid",
    wall: 'windows with other settings have another bridge',
    attempt: async (world, by) => {
      await (await world.open('ann')).execute('pid');
      const env: Record<string, string> = by === 'ann' ? {} : { MCP_BRIDGE_DENY: 'desk.*' };
      const answer = await (await world.open(by, { env, folder: world.folderOf('ann') })).execute(
        'say',
        'done',
      );
      return answer === 'done' ? 'it was called' : undefined;
    },
  },
  {
    id: 'question-of-another',
    tries: "gets the question that a server asks in ann's call",
    wall: 'a question goes to the window whose call is under way',
    attempt: async (world, by) => {
      const mark = world.mark();
      const eve = asked('eve');
      const window = await world.open(by, { ...eve.options, folder: world.folderOf('ann') });
      await window.execute('pid');
      const asker = by === 'ann' ? window : await world.open('ann', asked('ann').options);
      await asker.execute('ask', mark);
      return eve.questions.some((question) => question.includes(mark)) ? 'the question' : undefined;
    },
  },
  {
    id: 'question-while-both-call',
    tries: "gets ann's question by having a call of its own under way at the same process",
    wall: 'a question that could belong to several windows is put to none',
    attempt: async (world, by) => {
      const mark = world.mark();
      const eve = asked('eve');
      const window = await world.open(by, { ...eve.options, folder: world.folderOf('ann') });
      if (by === 'ann') await window.execute('ask', mark);
      else {
        const ann = await world.open('ann', asked('ann').options);
        const waits = window.execute('wait', '600');
        await pause(200);
        await Promise.all([waits, ann.execute('ask', mark)]);
      }
      return eve.questions.some((question) => question.includes(mark)) ? 'the question' : undefined;
    },
  },
  {
    id: 'answer-for-another',
    tries: "answers ann's question, by every id that one of the bridge's could have",
    wall: 'an answer is looked for among the questions of its own window, under ids that cannot be guessed',
    attempt: async (world) => {
      let answer: (name: string) => void = () => {};
      const ann = await world.open('ann', {
        capabilities: ASKED,
        prepare: (client) =>
          client.setRequestHandler(
            ElicitRequestSchema,
            () =>
              new Promise((resolve) => {
                answer = (name) => resolve({ action: 'accept', content: { name } });
              }),
          ),
      });
      const call = ann.execute('ask', 'who?');
      await pause(400);
      const eve = world.raw('eve');
      await eve.request('tools/list', {}).answer;
      for (let id = 0; id < 200; id++)
        for (const each of [id, String(id), `:${id}`, `asked-${id}`])
          eve.answer(each, { action: 'accept', content: { name: 'eve' } });
      await pause(200);
      answer('ann');
      return (await call).includes('eve') ? 'its answer' : undefined;
    },
    control: async (world) => {
      const ann = await world.open('ann', asked('by herself').options);
      return (await ann.execute('ask', 'who?')).includes('by herself') ? 'her answer' : undefined;
    },
  },
  {
    id: 'state-of-an-resumable-call',
    tries: "goes on with ann's call by the state that her client was given",
    wall: 'the state is known to the bridge of its window alone',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const requestState = await questionOf(ann, 'who?');
      const inputResponses = { q1: { action: 'accept', content: { name: 'stolen' } } };
      const params = { ...executing('ask', 'who?'), requestState, inputResponses };
      const other = by === 'ann' ? ann : world.raw('eve');
      const { answer } = other.request('tools/call', params, { capabilities: ASKED_MODERN });
      return said(await answer).includes('stolen') ? 'it was answered' : undefined;
    },
  },
  {
    id: 'task-of-another',
    tries: "reads ann's task by its id",
    wall: 'tasks are kept for each window',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const taskId = await taskOf(ann);
      const other = by === 'ann' ? ann : world.raw('eve');
      const { result } = await other.request('tasks/get', { taskId }, TASKS).answer;
      return result === undefined ? undefined : 'the task';
    },
  },
  {
    id: 'task-cancelled',
    tries: "cancels ann's task by its id",
    wall: 'tasks are kept for each window',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const taskId = await taskOf(ann);
      const other = by === 'ann' ? ann : world.raw('eve');
      const { error } = await other.request('tasks/cancel', { taskId }, TASKS).answer;
      return error === undefined ? 'it was cancelled' : undefined;
    },
  },
  {
    id: 'task-listened-to',
    tries: "listens for what becomes of ann's task",
    wall: 'who listens is told of the tasks of its own window',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const taskId = await taskOf(ann);
      const other = by === 'ann' ? ann : world.raw('eve');
      other.request('subscriptions/listen', { notifications: { taskIds: [taskId] } }, TASKS);
      await eventually(() => other.heard.length > 0);
      return JSON.stringify(other.heard).includes(taskId) ? 'it was told' : undefined;
    },
  },
  {
    id: 'cancellation-of-a-call',
    tries: "cancels ann's call by its id, which is the same number as that of its own",
    wall: 'ids of requests are those of their window',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const { id, answer } = ann.request('tools/call', executing('wait', '1200'));
      const other = by === 'ann' ? ann : world.raw('eve');
      if (other !== ann) await other.request('tools/list', {}).answer;
      await pause(300);
      for (const requestId of [id, String(id), 0, 1, 2])
        other.notify('notifications/cancelled', { requestId });
      const came = await Promise.race([
        answer.then(() => true),
        pause(2_000 + nodeStarts(50)).then(() => false),
      ]);
      return came ? undefined : 'it was cancelled';
    },
  },
  {
    id: 'progress-of-another',
    tries: "is told the progress of ann's call, by a token of the same name",
    wall: 'progress goes to the window that asked for it',
    attempt: async (world, by) => {
      const mark = world.mark();
      const meta = { meta: { progressToken: 'p1' } };
      const ann = world.raw('ann');
      const other = by === 'ann' ? ann : world.raw('eve');
      const own =
        other === ann ? undefined : other.request('tools/call', executing('wait', '500'), meta).answer;
      await ann.request('tools/call', executing('steps', '3', mark), meta).answer;
      await own;
      return JSON.stringify(other.heard).includes(mark) ? 'her progress' : undefined;
    },
  },
  {
    id: 'log-of-another',
    tries: "reads in its log what ann's server says of her call",
    wall: 'each window has a log of its own, and is told of what all share only',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const other = by === 'ann' ? ann : world.raw('eve');
      const before = other.log.length;
      await ann.request('tools/call', executing('say', world.mark())).answer;
      const told = () => other.log.slice(before).match(/called desk\.execute/g)?.length ?? 0;
      if (other === ann) return (await eventually(() => told() > 0)) ? 'her call' : undefined;
      // Its own call is told behind all that it was told before.
      await other.request('tools/call', executing('say', world.mark())).answer;
      await until(() => told() > 0);
      return told() > 1 ? 'her call' : undefined;
    },
  },
  {
    id: 'end-of-a-server',
    tries: "ends ann's server by having its own end itself",
    wall: 'a server has a process for each folder',
    attempt: async (world, by) => {
      const ann = await world.open('ann');
      const other = await world.open(by);
      await Promise.all([ann.execute('pid'), other.execute('pid')]);
      const call = ann.call('wait', ['2500']);
      await ann.execute('say', 'it has begun');
      await other.call('exit');
      return (await call).isError === true ? 'her call was lost' : undefined;
    },
  },
  {
    id: 'end-of-a-window',
    tries: "ends ann's call by being killed in the middle of its own at the same process",
    wall: 'a window that goes takes its own calls with it, and a server only if nobody else uses it',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      const { answer } = ann.request('tools/call', executing('wait', '1200'));
      const other = by === 'ann' ? ann : world.raw('ann');
      if (other !== ann) void other.request('tools/call', executing('wait', '30000'));
      await pause(500);
      other.kill();
      const came = await Promise.race([
        answer.then(said),
        pause(2_000 + nodeStarts(50)).then(() => 'nothing'),
      ]);
      return came.includes('waited 1200 ms') ? undefined : came;
    },
  },
  {
    id: 'what-is-no-message',
    tries: "breaks ann's conversation by what is no message, or too large a one",
    wall: 'what a window says is read for itself, and refused for itself',
    attempt: async (world, by) => {
      const ann = world.raw('ann');
      await ann.request('tools/list', {}).answer;
      const other = by === 'ann' ? ann : world.raw('eve');
      const before = ann.heard.length;
      other.writeText('{"jsonrpc":"2.0","id":7,"method":\n\u0000\n[[[[\n');
      other.writeText(`${'{"a":'.repeat(2_000)}\n`);
      other.writeText(`"${'x'.repeat(66 * 1024 * 1024)}"\n`);
      await other.request('tools/list', {}).answer;
      const answer = said(await ann.request('tools/call', executing('say', 'well')).answer);
      if (!answer.includes('well')) return answer;
      return ann.heard.length > before ? 'its errors' : undefined;
    },
  },
  {
    id: 'no-frames',
    tries: 'breaks the bridge by connections that say nothing, or what is no frame',
    wall: 'who does not greet is let go of, and who greets wrongly at once',
    attempt: async (world) => {
      const ann = await world.open('ann');
      const [bridge] = await world.desk.status();
      const said = [
        Buffer.from('GET / HTTP/1.1\r\n\r\n'),
        Buffer.from([2, 0, 0, 0, 2, 91, 93]),
        Buffer.alloc(3),
      ];
      const sockets = said.map((bytes) =>
        connect(bridge?.socket ?? '')
          .on('error', () => {})
          .end(bytes),
      );
      for (let idle = 0; idle < 50; idle++) sockets.push(connect(bridge?.socket ?? '').on('error', () => {}));
      await pause(300);
      const answer = await ann.execute('say', 'well');
      for (const socket of sockets) socket.destroy();
      return answer === 'well' ? undefined : answer;
    },
    control: async (world) => {
      await world.open('ann');
      process.kill(await world.desk.pid(), 'SIGKILL');
      const ann = await world.desk.status();
      return ann.length === 0 ? 'a kill ends it' : undefined;
    },
  },
  {
    id: 'another-user',
    tries: "connects to ann's bridge as another user of the machine",
    wall: 'the folder of the socket is its user’s alone',
    without: IS_ROOT ? undefined : 'only root can be another user',
    attempt: (world) => connectedAs(world, STRANGER),
    control: (world) => connectedAs(world, process.getuid?.() ?? 0),
  },
  {
    id: 'an-open-state-directory',
    tries: "waits with a thing of her own for what ann's bridge runs from a folder that others may write",
    wall: 'a state directory is not used where others may write it or what leads to it',
    attempt: async (world, by) => {
      const above = join(world.desk.home, 's');
      mkdirSync(join(above, 'state'), { recursive: true });
      chmodSync(above, by === 'ann' ? 0o755 : 0o777);
      const ann = await world.open('ann', { env: { MCP_BRIDGE_STATE_DIR: join(above, 'state') } });
      const answer = await ann.execute('pid');
      return /^\d+$/.test(answer) ? 'her bridge works from there' : undefined;
    },
  },
  {
    id: 'a-folder-of-anothers',
    tries: 'has ann connect to a bridge of its own, in a folder that lies where hers would',
    wall: 'a folder that others own or may enter is not used',
    attempt: async (world, by) => {
      // A socket's path has 107 bytes at most.
      const runtime = join(world.desk.home, 'r');
      spawnSync('mkdir', ['-p', join(runtime, 'mcp-sandbox-bridge')]);
      chmodSync(runtime, 0o700);
      chmodSync(join(runtime, 'mcp-sandbox-bridge'), by === 'ann' ? 0o700 : 0o777);
      const ann = await world.open('ann', { env: { XDG_RUNTIME_DIR: runtime } });
      await ann.execute('pid');
      // Her log comes by another pipe than her answer.
      await until(() => /bridge\.(?:joined|alone)/.test(ann.stderr()));
      // It lies where nobody else would look for it.
      const env = world.desk.env({ XDG_RUNTIME_DIR: runtime });
      spawnSync(process.execPath, [MAIN, 'stop', '--now'], { env, cwd: world.desk.folder });
      return ann.stderr().includes('bridge.joined') ? 'she uses it' : undefined;
    },
  },
];

/** Whether a process of this user reaches the bridge, though all folders above are open to it. */
async function connectedAs(world: World, uid: number): Promise<string | undefined> {
  await world.open('ann');
  const [bridge] = await world.desk.status();
  const code =
    "require('node:net').connect(process.argv[1]).on('connect', () => process.exit(0)).on('error', () => process.exit(1))";
  const args = ['-e', code, bridge?.socket ?? ''];
  // Only the last folder is to hold it.
  for (const folder of [world.desk.home, world.desk.runtime]) chmodSync(folder, 0o711);
  const { status } = spawnSync(process.execPath, args, { uid, gid: uid, cwd: '/' });
  chmodSync(world.desk.runtime, 0o700);
  return status === 0 ? 'it is connected' : undefined;
}

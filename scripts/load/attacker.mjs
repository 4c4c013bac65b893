// The attackers of one attack, in a process of their own that gives way to all others, as if it were another machine: attacker.mjs
// NAME, which is told `{ port, tokens }` by its parent, attacks until it is told 'stop', undoes what would go on, tells its parent
// what it has come to, and ends.

import { setPriority } from 'node:os';
import { pause } from './bridge.mjs';
import { LoadClient } from './client.mjs';

const CALLS_OF_A_SESSION = 40;
const FILE_BYTES = 5_000_000;
/** After so long what was refused comes again. */
const AGAIN_MS = 5_000;
const SESSIONS = 4;
/** The time of a call whose code goes on after it. */
const GOES_ON_SECONDS = 10;
const QUESTIONS = 3;
/** Each stands still two seconds after it has asked, and only then the next one begins in its place. */
const ALL_STAND_MS = 10_000;
const PER_SECOND = '20000';
const LEAST_PRIORITY = 19;

/** Says in the supervisor's hearing that the call has ended, and that its code goes on. */
const GOODBYE = `import os, sys
frame = sys._getframe()
while "farewell" not in frame.f_locals:
    frame = frame.f_back
os.write(frame.f_locals["self"]._leave_fd, frame.f_locals["farewell"] + bytes([0, 1]))`;
const BUSY = `import threading
def work():
    while True: pass
threading.Thread(target=work, daemon=True).start()`;
const END = 'import os\nos._exit(0)';

setPriority(LEAST_PRIORITY);
const [attack] = process.argv.slice(2);
const clients = [];
const count = { answered: 0, refused: 0 };
let isOver = false;
let given;

/** An attack is on when its `begin` has resolved; its `undo` is called when the attackers have hung up. */
const MANNERS = {
  waiting: {
    begin: ([crowd]) => {
      const files = [{ name: 'filling', text: 'x'.repeat(FILE_BYTES) }];
      const call = { session: 'crowd', code: 'import time; time.sleep(2)', files };
      for (let at = 0; at < CALLS_OF_A_SESSION; at++) callRepeatedly(crowd, 'run_python', call);
    },
    undo: ([crowd]) => endSessions(crowd, ['crowd']),
  },
  'between-calls': {
    begin: ([lingerer]) => {
      for (const [at, session] of sessions().entries()) {
        const last = at % 2 === 0 ? 'runtime.keep_running()' : GOODBYE;
        const call = { session, code: `${BUSY}\n${last}`, timeout: GOES_ON_SECONDS };
        callRepeatedly(lingerer, 'run_python', call, 1000 * GOES_ON_SECONDS);
      }
    },
    undo: ([lingerer]) => endSessions(lingerer, sessions()),
  },
  unanswered: {
    begin: async (askers) => {
      const code = 'await mcp_desk.execute(command="say", args=["asked"])';
      for (const asker of askers)
        for (let at = 0; at < QUESTIONS; at++)
          callRepeatedly(asker, 'run_python', { code, servers: ['desk'] });
      await pause(ALL_STAND_MS);
    },
    undo: () => {},
  },
  lists: flood('lists'),
  notifications: flood('notifications', PER_SECOND),
  lines: flood('lines', PER_SECOND),
};

/** A server of its own floods from its first call on, until it is told to be calm. */
function flood(...args) {
  const told = (client, words) => client.call('execute', { command: 'flood', args: words });
  return {
    begin: async ([client]) => noteAnswer(await told(client, args)),
    undo: async ([client]) => void (await told(client, ['nothing'])),
  };
}

const sessions = () => Array.from({ length: SESSIONS }, (_, at) => `goes on ${at}`);

async function endSessions(client, names) {
  await Promise.all(names.map((session) => client.call('run_python', { session, code: END })));
}

/** The same call again and again: `thenMs` after its answer, and later where it was refused. */
async function callRepeatedly(client, tool, args, thenMs = 0) {
  while (!isOver) {
    const wasRefused = noteAnswer(await client.call(tool, args));
    await pause(wasRefused ? AGAIN_MS : thenMs);
  }
}

/** Whether the bridge has refused it. */
function noteAnswer({ status, text = '', lost }) {
  if (lost !== undefined) return true;
  const isRefused = status !== 200 || /E_BUSY|E_LIMIT/.test(text);
  count[isRefused ? 'refused' : 'answered']++;
  return isRefused;
}

function openClients() {
  const { port, tokens } = given;
  for (const client of clients.splice(0)) client.close();
  clients.push(...tokens.map((token) => new LoadClient({ port, token, way: 'modern' })));
  return clients;
}

process.once('disconnect', () => process.exit(1));
process.on('message', async (message) => {
  const { begin, undo } = MANNERS[attack];
  if (message === 'stop') {
    isOver = true;
    const told = { ...count };
    await undo(openClients());
    process.send(told, () => process.exit(0));
    return;
  }
  given = message;
  await begin(openClients());
  process.send('begun');
});

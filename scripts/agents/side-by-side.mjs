// Real hosts of one user side by side, at the same time, with one bridge for all of them: each has to be given what it called for,
// and hear of its own calls only. Findings as in judge.mjs.

import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MAIN, npmServer, pause } from '../bench/stage.mjs';
import { Session } from './session.mjs';
import { CALLS, PROGRESS } from './trials.mjs';

const TRIED = ['text', 'tool call', 'seven seconds'];
const LOOK_AGAIN_MS = 300;
/** For the slowest of them to start. */
const MEET_WITHIN_MS = 90_000;

/**
 * `hosts` are { id, host, argv }; `ref` is what the bridge itself says (trials.mjs). Gives findings by the id of the host, and
 * those about all under `all`.
 */
export async function judgeSideBySide(hosts, { stage, engine, ref }) {
  const home = stage.home({ everything: npmServer('server-everything') });
  const runtime = join(home, 'runtime');
  mkdirSync(runtime, { mode: 0o700 });
  const shared = [
    ['MCP_BRIDGE_SHARED', 'on'],
    ['XDG_RUNTIME_DIR', runtime],
  ];
  const env = { ...stage.environment(home), ...Object.fromEntries(shared) };
  const sessions = hosts.map(({ id, host, argv }) => {
    const session = new Session(id, host, argv, stage, engine, {});
    session.home = home;
    session.project = join(home, `project-${id}`);
    mkdirSync(session.project);
    session.handedOn = /** @type {[string, string][]} */ ([...session.handedOn, ...shared]);
    return session;
  });
  const watch = watchBridges(env);
  // No model answers before all have asked, nor for the last time before all have had their answers: hosts start at their own pace.
  const [haveBegun, haveEnded] = [meeting(hosts.length), meeting(hosts.length)];
  const before = (next) => (next === 0 ? haveBegun() : next > TRIED.length ? haveEnded() : Promise.resolve());
  const mark = (id) => `mark of ${id}`;
  const played = await Promise.all(
    sessions.map((session) =>
      session
        .play([...TRIED.map((name) => CALLS[name]), { code: `print("${mark(session.id)}")` }], { before })
        .then((each) => judgeSession(session, each, { ref, mark, ids: hosts.map(({ id }) => id) }))
        .catch((thrown) => [{ what: 'side by side', saw: thrown.message, held: false }]),
    ),
  );
  const { most, bridges } = await watch.end();
  await promisify(execFile)(process.execPath, [MAIN, 'stop', '--now'], { env });
  return {
    ...Object.fromEntries(hosts.map(({ id }, at) => [id, played[at]])),
    all: [
      {
        what: 'one bridge for all',
        saw: `${bridges.size} shared bridge, at most ${most.length} windows at once: ${most.join(', ')}`,
        held: bridges.size === 1 && most.length >= hosts.length,
      },
    ],
  };
}

function judgeSession(session, { standIn, said }, { ref, mark, ids }) {
  const { results } = standIn.turns.at(-1);
  const texts = results.map((result) => result?.text ?? '');
  const isThere = (sent, got) => got.includes(sent) || got.includes(JSON.stringify(sent).slice(1, -1));
  const same = TRIED.filter((name, at) => isThere(ref.answers[name].text, texts[at] ?? ''));
  const own = (texts[TRIED.length] ?? '').includes(mark(session.id));
  const others = ids.filter((id) => id !== session.id && `${texts.join('')}${said}`.includes(mark(id)));
  const progress = PROGRESS.test(said) ? 'its progress shown' : 'no progress shown';
  return [
    {
      what: 'side by side',
      saw: `${same.length} of ${TRIED.length} answers as alone; ${own ? 'its own mark' : 'not its own mark'}; ${others.length} marks of others; ${progress}`,
      held: same.length === TRIED.length && own && others.length === 0,
    },
  ];
}

/** Resolves for each who comes when all have come, or when that has taken too long. */
function meeting(size) {
  let resolveAll;
  const all = new Promise((resolve) => {
    resolveAll = resolve;
  });
  let here = 0;
  return async () => {
    if (++here === size) resolveAll();
    await Promise.race([all, pause(MEET_WITHIN_MS)]);
  };
}

/** Looks again and again who uses the shared bridges: the most windows at once, and all bridges that there were. */
function watchBridges(env) {
  const bridges = new Set();
  let most = [];
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'status', '--json'], { env });
      for (const { pid, windows } of JSON.parse(stdout).bridges) {
        bridges.add(pid);
        const clients = windows.map(({ client }) => client ?? 'not greeted yet');
        if (clients.length > most.length) most = clients;
      }
      await pause(LOOK_AGAIN_MS);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await looking;
      return { most, bridges };
    },
  };
}

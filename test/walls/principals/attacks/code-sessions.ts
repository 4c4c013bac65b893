// Sessions of run_python, which keep an interpreter from call to call: their names, their handles, their ends, their number.

import { answerOf, type Exchange, textOf } from '../../../support/http-agent.js';
import { pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import type { Party, World } from '../world.js';

const SETTINGS = { MCP_BRIDGE_TOOLS: 'run_python', MCP_BRIDGE_SESSIONS: '4' };
/** For the row that is about their number. */
const FEW = { ...SETTINGS, MCP_BRIDGE_SESSIONS: '2' };
/** For those that are about what waits, and about what goes on. */
const BOUNDED = { ...SETTINGS, MCP_BRIDGE_PRINCIPAL_WAITING: '3' };
const PAID = { ...SETTINGS, MCP_BRIDGE_PRINCIPAL_CPU_SECONDS: '3' };
const group = 'sessions of code';
/** As long as a handle is, and drawn by nobody. */
const MADE_UP = `s-${'a'.repeat(16)}`;

type Asked = { readonly session?: string; readonly require_session?: boolean; readonly code: string };

const calling = ({ agent }: Party, args: Asked): Exchange =>
  agent.modern('tools/call', { name: 'run_python', arguments: args });

const call = async (by: Party, args: Asked): Promise<string> => textOf(await answerOf(calling(by, args)));

/** A session of ann's in which a name means `mark`; its name, which only this row uses, and its handle. */
async function holding(by: Party, world: World, mark: string): Promise<{ name: string; handle: string }> {
  const name = `of ${world.mark()}`;
  const text = await call(by, { session: name, code: `held = '${mark}'\nNone` });
  const [, handle] = /\((s-[a-z0-9]{16})\): new/.exec(text) ?? [];
  if (handle === undefined) throw new Error(`no session: ${text}`);
  return { name, handle };
}

const READ = "print(globals().get('held', 'nothing'))";
const seen = (text: string, mark: string): string | undefined =>
  text.includes(mark) ? 'what it holds' : undefined;

/** So many calls of one session, the first of which takes a while: what they come to where none is refused. */
async function waitTogether(world: World, by: Party, count: number): Promise<string | undefined> {
  const session = `many ${world.mark()}`;
  const code = 'import time; time.sleep(3)';
  const first = calling(by, { session, code });
  const others = Array.from({ length: count - 1 }, () => calling(by, { session, code: '1' }));
  const texts = await Promise.all([first, ...others].map(async (each) => textOf(await answerOf(each))));
  return texts.some((text) => /Nothing has run: (?:\d+ of )?your runs/.test(text))
    ? undefined
    : `all ${count} were taken`;
}

/** Leaves a busy thread behind, and does `last`; whether runs are taken afterwards, which use little themselves. */
async function usesUnpaid(by: Party, last: string): Promise<string | undefined> {
  const code = `import threading
def work():
    while True: pass
threading.Thread(target=work, daemon=True).start()
${last}`;
  await call(by, { session: 'unpaid', code });
  for (let tries = 0; tries < 2; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    if ((await call(by, { code: '1' })).includes('the most that they may use')) return undefined;
  }
  return 'its runs are taken as ever';
}

export const codeSessionAttacks: readonly Attack[] = [
  {
    id: 'code-session-by-name',
    group,
    tries: "runs code in ann's session, by its name",
    wall: 'a list of sessions for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const { name } = await holding(world.ann, world, mark);
      return seen(await call(by, { session: name, code: READ }), mark);
    },
  },
  {
    id: 'code-session-by-handle',
    group,
    tries: "runs code in ann's session, by its handle",
    wall: 'a handle names a session of its own principal alone',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const { handle } = await holding(world.ann, world, mark);
      return seen(await call(by, { session: handle, code: READ }), mark);
    },
  },
  {
    id: 'code-session-by-connection',
    group,
    tries:
      "runs code in the session of ann's connection of an earlier revision, by its name from her own connection",
    wall: 'a list of sessions for each principal, and names within a connection',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const theirs = await world.ann.agent.open();
      const own = by === world.ann ? theirs : await by.agent.open();
      const asked = (code: string) => ({ name: 'run_python', arguments: { session: 'data', code } });
      await answerOf(
        world.ann.agent.legacy('tools/call', asked(`held = '${mark}'\nNone`), { session: theirs }),
      );
      return seen(textOf(await answerOf(by.agent.legacy('tools/call', asked(READ), { session: own }))), mark);
    },
  },
  {
    id: 'code-session-exists',
    group,
    tries: 'finds out by the answer whether a handle names a session',
    wall: 'the same answer for what is another’s and for what was made up',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const { handle } = await holding(world.ann, world, world.mark());
      const there = (await call(by, { session: handle, code: '1' })).replaceAll(handle, 'HANDLE');
      const notThere = (await call(by, { session: MADE_UP, code: '1' })).replaceAll(MADE_UP, 'HANDLE');
      return there === notThere ? undefined : 'another answer';
    },
  },
  {
    id: 'code-session-ended-name',
    group,
    tries: "hears by its name how ann's session has ended",
    wall: 'ends are remembered for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const { name } = await holding(world.ann, world, world.mark());
      await call(world.ann, { session: name, code: 'import os; os._exit(42)' });
      const asked = { session: name, require_session: true, code: '1' };
      const text = await call(by, asked);
      return text.includes('exit code 42') ? 'the reason' : undefined;
    },
  },
  {
    id: 'code-session-ended-handle',
    group,
    tries: 'finds out by the answer whether a handle has named a session that has ended',
    wall: 'ends are remembered for each principal',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const { name, handle } = await holding(world.ann, world, world.mark());
      await call(world.ann, { session: name, code: 'import os; os._exit(42)' });
      const there = (await call(by, { session: handle, code: '1' })).replaceAll(handle, 'HANDLE');
      const notThere = (await call(by, { session: MADE_UP, code: '1' })).replaceAll(MADE_UP, 'HANDLE');
      return there === notThere ? undefined : 'another answer';
    },
  },
  {
    id: 'code-session-waited-for',
    group,
    tries: "finds out by how long she waits that ann's session of this name is at work",
    wall: 'a call waits for calls of its own session alone',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const { name } = await holding(world.ann, world, world.mark());
      const busy = calling(world.ann, { session: name, code: 'import time; time.sleep(6)' });
      await pause(1_000);
      const text = await call(by, { session: name, code: '1' });
      await busy.ended;
      return /waited \d+ s/.test(text) ? 'that it waited' : undefined;
    },
  },
  {
    id: 'code-session-waited-for-by-many',
    group,
    tries: 'has calls of one session wait for each other, as many as she likes, each with what it was sent',
    wall: 'a call counts among those of its principal that wait from when it has come',
    settings: BOUNDED,
    attempt: (world, by) => waitTogether(world, by, 12),
    control: (world, by) => waitTogether(world, by, 3),
  },
  {
    id: 'code-session-computes-unpaid',
    group,
    tries: 'computes between the calls of a session, where no run is under way that it would be counted for',
    wall: 'what goes on after a call costs its principal',
    settings: PAID,
    attempt: (_world, by) => usesUnpaid(by, 'runtime.keep_running()'),
    // What stands still uses nothing.
    control: (_world, by) => usesUnpaid(by, ''),
  },
  {
    id: 'code-session-driven-out',
    group,
    tries: "begins sessions until ann's has to end for want of room",
    wall: 'the number of sessions is that of one principal',
    settings: FEW,
    attempt: async (world, by) => {
      const mark = world.mark();
      const { name } = await holding(world.ann, world, mark);
      for (const number of [1, 2, 3]) await call(by, { session: `more ${number}`, code: '1' });
      const text = await call(world.ann, { session: name, require_session: true, code: READ });
      return text.includes(mark) ? undefined : `ann reads: ${text.slice(0, 120)}`;
    },
  },
  {
    id: 'code-session-of-a-removed-token',
    group,
    tries: 'runs code in the session of a token that was removed, with a new token of the same name',
    wall: 'a principal is its token and not the name of it',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const mark = world.mark();
      const owner = await world.issue(world.mark());
      const { name, handle } = await holding(owner, world, mark);
      let attacker = owner;
      if (by !== world.ann) {
        await world.revoke(owner);
        attacker = await world.issue(owner.name);
      }
      const answers = [
        await call(attacker, { session: name, code: READ }),
        await call(attacker, { session: handle, code: READ }),
      ];
      return seen(answers.join('\n'), mark);
    },
  },
];

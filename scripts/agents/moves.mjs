// What `install`, `adopt` and their undo do to a real host: its file byte for byte, a server of its own moved out of the
// model's prompt and still callable, and back in the host afterwards. Findings as in judge.mjs.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmServer } from '../bench/stage.mjs';
import { CALLS } from './trials.mjs';

const NAME = 'everything';
/** A tool of that server, as it is spelled in a prompt and never by us. */
const TOOL = 'get-sum';

/** `session` is one whose home has no servers yet; `ref` is what the bridge itself says (trials.mjs). */
export async function judgeMoves(session, ref) {
  const { prepared, standIn, concluded } = await session.play([CALLS['tool call']], { prepare, conclude });
  const [first] = standIn.turns;
  const [result] = standIn.turns.at(-1).results;
  const isGone = !first.body.includes(TOOL);
  const isCalled = result?.text.includes(ref.answers['tool call'].text) === true;
  return [
    judgeExact('uninstall', prepared.uninstalled),
    {
      what: 'adopt',
      saw: `${isGone ? 'out of its prompt' : 'still in its prompt'}, and ${isCalled ? 'called by code' : `not called: ${result?.text.slice(0, 200)}`}`,
      held: prepared.moved.join() === NAME && isGone && isCalled,
    },
    judgeExact('restore', prepared.restored),
    {
      what: 'restore later',
      saw: concluded.isBack ? 'as it was' : `as ${JSON.stringify(concluded.entry)}`,
      held: concluded.isBack,
    },
  ];
}

async function prepare({ home, host, ours, theirs }) {
  const file = join(home, host.file);
  const content = () => (existsSync(file) ? readFileSync(file).toString('latin1') : undefined);
  const args = host.add({ home, name: NAME, server: npmServer('server-everything') });
  if (args !== undefined) await theirs(args);
  const before = content();
  await ours('install');
  await ours('uninstall');
  const uninstalled = content() === before;
  await ours('install');
  const registered = content();
  await ours('adopt');
  await ours('restore');
  const restored = content() === registered;
  // Hosts write their files when they are used, so that what comes after the session is the reverse edit.
  const { servers } = await ours('adopt');
  return { uninstalled, restored, moved: servers.map(({ name }) => name) };
}

async function conclude({ home, host, ours, theirs }) {
  await ours('restore');
  const list = await theirs(host.list);
  const isBack =
    list.includes(NAME) && readFileSync(join(home, host.file), 'utf8').includes('server-everything');
  return { isBack, entry: list.slice(0, 200) };
}

const judgeExact = (what, held) => ({ what, saw: held ? 'byte for byte as before' : 'not as before', held });

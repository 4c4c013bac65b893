// `sessions`: which sessions there are, and their end at the user's word. The bridge that has one sees that its container has
// ended, finds the mark that says who wanted it, and tells whoever calls it next.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { closest } from '../../base/text/closest.js';
import { nameList } from '../../base/text/name-list.js';
import { clip } from '../../base/text/text.js';
import { killLiving } from '../../engine/machine/first-process.js';
import { Launcher } from '../../sandbox/launch/launcher.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { usageError } from '../terminal/failure.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson, visible } from '../terminal/output.js';
import { paragraph } from '../terminal/wrap.js';
import {
  type ListedSession,
  liveSessions,
  meantBy,
  NO_SESSIONS,
  processHere,
  sessionsJson,
  sessionsText,
} from './session-list.js';

const MAX_ECHO_CHARS = 80;
/** Its bridge sees the end of a process within milliseconds, and one elsewhere when its client has ended. */
const GONE_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 25;

export function sessions({ json }: { readonly json?: true }): void {
  const { settings } = prepare('error', 'ends');
  const live = liveSessions(settings.stateDir);
  if (json) return printJson(sessionsJson(live));
  process.stdout.write(live.length === 0 ? paragraph(NO_SESSIONS) : sessionsText(live));
}

/** Throws E_ARGUMENTS where the word means none, or several; E_STATE or E_ENGINE_BROKEN where it could not be ended. */
export async function endSession(word: string): Promise<void> {
  const prepared = prepare('error', 'ends');
  const session = chosen(word, liveSessions(prepared.settings.stateDir));
  const { files, handle } = session;
  const named = `Session '${visible(session.name)}' (${handle})`;
  files.markEnded(handle);
  try {
    await kill(session, prepared);
  } catch (thrown) {
    files.unmarkEnded(handle);
    throw thrown;
  }
  const until = performance.now() + GONE_WITHIN_MS;
  const isThere = () => files.all().some((each) => each.handle === handle && each.ended === null);
  while (isThere() && performance.now() < until) await sleep(LOOK_AGAIN_MS);
  process.stdout.write(
    isThere()
      ? `${named} was killed; its bridge, process ${session.owner.pid}, has not said yet that it is gone.\n`
      : `${named} has ended. Whoever calls it next is told that you have ended it.\n`,
  );
}

function chosen(word: string, live: readonly ListedSession[]): ListedSession {
  const [found, ...others] = meantBy(word, live);
  const echo = visible(clip(word, MAX_ECHO_CHARS));
  if (found === undefined) {
    const near = closest(
      word,
      live.map(({ name }) => name),
    );
    throw usageError(
      `No session '${echo}' lives.${near === undefined ? '' : ` Did you mean '${visible(near)}'?`}`,
      live.length === 0 ? 'There is none at all.' : `See which there are: ${ownCommand('sessions')}`,
    );
  }
  if (others.length === 0) return found;
  const handles = [found, ...others].map(({ handle, client }) => `${handle} of ${visible(client)}`);
  throw usageError(
    `${handles.length} sessions have the name '${echo}': ${nameList(handles)}.`,
    `Name one by its handle: ${ownCommand('sessions', 'end', found.handle)}`,
  );
}

/** By its process where that is this machine's, else through the engine. */
async function kill(session: ListedSession, { settings, discovery, observer }: Prepared): Promise<void> {
  const process = processHere(session);
  if (process !== null && killLiving(process)) return;
  await using launcher = new Launcher(settings, discovery.host, observer);
  const trouble = await launcher.killByName(session.container, interruptSignal());
  if (trouble === undefined) return;
  throw new BridgeError(
    'E_ENGINE_BROKEN',
    `Session '${visible(session.name)}' could not be ended: ${trouble}`,
    {
      fault: 'engine',
      remedy: `It may have ended in this moment: see \`${ownCommand('sessions')}\`. Otherwise it ends with its bridge, process ${session.owner.pid}.`,
    },
  );
}

// Attacks by code of a session when its call is over: the code is to stand still, whatever it says and whatever wakes it. A
// thread of the code ticks all the time, and a later call of the same session says when the thread has ticked. No look from the
// host is needed, so that the ticks are seen wherever the engine runs.

import { setTimeout as pause } from 'node:timers/promises';
import { textBeside } from '../../base/files/read-text.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { Judgement } from './control.js';
import { pythonCall } from './walls.js';

type SessionAttack = {
  readonly control: string;
  readonly requested: string;
  readonly how: string;
  /** Python, ahead of which the thread has been started. */
  readonly code: string;
  /** Time from the start of the thread: by then the thread is to stand still, or its session to have ended. */
  readonly restsAfterSeconds: number;
};

/** The time of the call that the attack is made in. */
const CALL_SECONDS = 1;
const LAST_CALL_SECONDS = 20;
/** Time for which the ticks are counted. */
const COUNTED_SECONDS = 1;
const SPARE_SECONDS = 0.5;

export const SESSION_ATTACKS: readonly SessionAttack[] = [
  {
    control: 'code after its call',
    requested: 'stands still when the time is over',
    how: 'tells the supervisor that it has ended, and goes on counting',
    code: textBeside(new URL('./session_goodbye.py', import.meta.url)),
    restsAfterSeconds: CALL_SECONDS + 1.5,
  },
  {
    control: 'code that wakes itself',
    requested: 'stands still, or ends',
    how: 'timers that wake it whenever it was stopped',
    code: textBeside(new URL('./session_timers.py', import.meta.url)),
    // The session is stopped again a few times first.
    restsAfterSeconds: 7,
  },
];

const TICKS = textBeside(new URL('./session_ticks.py', import.meta.url));
const toldSince = (seconds: number): string =>
  pythonCall('ticked', { since_s: seconds, counted_s: COUNTED_SECONDS });

/** Outcomes of the call with the attack and of the last call of its session. */
type SessionSeen = { readonly first: Outcome; readonly last: Outcome };

/** Makes the attack in a call of `callSeconds`. */
export async function attackSession(
  bridge: Bridge,
  { control, code, restsAfterSeconds }: SessionAttack,
  signal: AbortSignal,
  callSeconds = CALL_SECONDS,
): Promise<SessionSeen> {
  const call = (text: string, timeoutSeconds: number, isRequired: boolean) =>
    bridge.run(
      {
        task: { type: 'cell', code: text },
        servers: [],
        files: [],
        timeoutSeconds,
        session: { name: control, isRequired },
      },
      byCommandLine(signal),
    );
  const first = await call(`${TICKS}\n${code}`, callSeconds, false);
  await pause((restsAfterSeconds + COUNTED_SECONDS + SPARE_SECONDS) * 1000, undefined, { signal });
  return { first, last: await call(toldSince(restsAfterSeconds), LAST_CALL_SECONDS, true) };
}

export function judgeSession({ first, last }: SessionSeen, { how }: Pick<SessionAttack, 'how'>): Judgement {
  const unknown = ({ error, status }: Outcome): Judgement => ({
    observed: error?.message ?? status,
    how,
    verdict: 'UNKNOWN',
  });
  if (first.status !== 'success') return unknown(first);
  // The session was there, and it is no more.
  if (last.status === 'validation_error')
    return { observed: last.error?.message ?? 'its session has ended', how, verdict: 'ENFORCED' };
  const text = last.result?.json?.text;
  if (text === undefined) return unknown(last);
  const [all, late] = JSON.parse(text) as readonly [number, number];
  if (all === 0) return { observed: 'it never counted', how, verdict: 'UNKNOWN' };
  return late === 0
    ? { observed: `stood still, after it counted ${all} times`, how, verdict: 'ENFORCED' }
    : { observed: `went on, and counted ${late} times in a second`, how, verdict: 'NOT ENFORCED' };
}

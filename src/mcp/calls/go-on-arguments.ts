// `wait` and `stop`, which every tool that runs something takes in place of its other arguments: they name a call that was
// answered before its end.

import type { Objection } from '../../run/outcome/outcome.js';
import { complaint, described, echo } from '../requests/complaint.js';
import type { GoOn } from './long-calls.js';

const HANDLE = 'the handle of a run that goes on, such as "r-7hq2m5xw3v8kd4np"';

/** What the arguments ask of a call that goes on; undefined where they begin one. */
export function goOnIn(args: unknown): GoOn | Objection | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  const given = args as Readonly<Record<string, unknown>>;
  const names = (['wait', 'stop'] as const).filter((name) => given[name] !== undefined);
  const [name] = names;
  if (name === undefined) return undefined;
  if (names.length > 1) return complaint('stop: got it together with wait, expected one of the two.');
  const handle = given[name];
  if (typeof handle !== 'string') return complaint(`${name}: got ${described(handle)}, expected ${HANDLE}.`);
  const others = Object.keys(given).filter((other) => other !== name);
  if (others.length > 0)
    return complaint(
      `${name}: got it together with ${others.map(echo).join(', ')}, expected it alone: the run has its arguments.`,
      `To begin another run, leave ${name} out.`,
    );
  return name === 'wait' ? { wait: handle } : { stop: handle };
}

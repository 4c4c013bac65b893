// From the answers of the attempts to verdicts. Pure. A refusal is taken at its word only where nothing contradicts it:
// what arrived at a canary has arrived, whatever the attempt said.

import type { Canaries } from './canaries.js';
import type { Cage, Judgement, ProbedControl } from './control.js';
import type { Wall } from './wall.js';
import { CANARY_CONTROLS } from './walls.js';

/** A guest's answer is a claim of any length. */
const MAX_SEEN_CHARS = 200;

export type Visitors = ReturnType<Canaries['visitors']>;

export function judgeWall(
  wall: Wall,
  answers: Readonly<Record<string, unknown>>,
  visitors: Visitors,
  cage: Cage,
): ProbedControl {
  const { control, how, remedy } = wall;
  const requested = wall.requested(cage);
  const unseen = wall.unseen?.(cage);
  if (unseen !== undefined)
    return { control, requested, observed: unseen, how: 'not asked', verdict: 'UNKNOWN', required: false };
  const judgement = judge(wall, answers[control], visitors, cage);
  const remedied = judgement.verdict === 'NOT ENFORCED' && remedy !== undefined ? { remedy } : {};
  return { control, requested, ...judgement, how, required: wall.required, ...remedied };
}

function judge(
  { control, held, shown }: Wall,
  answer: unknown,
  visitors: Visitors,
  cage: Cage,
): Pick<Judgement, 'observed' | 'verdict'> {
  const arrived =
    control === CANARY_CONTROLS.tcp
      ? visitors.tcp
      : control === CANARY_CONTROLS.abstract
        ? visitors.abstract
        : 0;
  if (arrived > 0) return { observed: `${arrived} arrived`, verdict: 'NOT ENFORCED' };
  if (typeof answer !== 'string') return { observed: 'no answer', verdict: 'UNKNOWN' };
  if (answer.startsWith('?')) return { observed: answer.slice(1, MAX_SEEN_CHARS), verdict: 'UNKNOWN' };
  const observed = (shown?.(answer, cage) ?? answer).slice(0, MAX_SEEN_CHARS);
  return { observed, verdict: held(answer, cage) ? 'ENFORCED' : 'NOT ENFORCED' };
}

// From the answers of the attempts to verdicts. Pure. A refusal is taken at its word only where nothing contradicts it:
// what arrived at a canary has arrived, whatever the attempt said.

import type { Canaries } from './canaries.js';
import type { Judgement, ProbedControl, ProbedSandbox } from './control.js';
import type { Wall } from './wall.js';
import { CANARY_CONTROLS } from './walls.js';

/** A guest's answer is a claim of any length. */
const MAX_SEEN_CHARS = 200;

export type Visitors = ReturnType<Canaries['visitors']>;

export function judgeWall(
  wall: Wall,
  answers: Readonly<Record<string, unknown>>,
  visitors: Visitors,
  probed: ProbedSandbox,
): ProbedControl {
  const { control, how, remedy } = wall;
  const requested = wall.requested(probed);
  const unseen = wall.unseen?.(probed);
  if (unseen !== undefined)
    return { control, requested, observed: unseen, how: 'not asked', verdict: 'UNKNOWN', required: false };
  const judgement = judge(wall, answers[control], visitors, probed);
  const remedied = judgement.verdict === 'NOT ENFORCED' && remedy !== undefined ? { remedy } : {};
  return { control, requested, ...judgement, how, required: wall.required, ...remedied };
}

function judge(
  { control, held, shown }: Wall,
  answer: unknown,
  visitors: Visitors,
  probed: ProbedSandbox,
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
  const observed = (shown?.(answer, probed) ?? answer).slice(0, MAX_SEEN_CHARS);
  return { observed, verdict: held(answer, probed) ? 'ENFORCED' : 'NOT ENFORCED' };
}

// What became of every call: answered with its own secret and nobody else's, refused with when to come back, left by its
// client, lost, or mixed up.

import { randomBytes } from 'node:crypto';

const SECRET = /secret-[0-9a-f]{24}/g;

export const newSecret = () => `secret-${randomBytes(12).toString('hex')}`;

export class Ledger {
  runs = 0;
  toolCalls = 0;
  /** What the neighbour does that floods; it is not among the wanted ones. */
  flood = { runs: 0, toolCalls: 0 };
  answered = 0;
  refused = 0;
  /** Calls whose client has left or cancelled. */
  left = 0;
  /** Sentences, of the first of each. */
  lost = [];
  mixedUp = [];
  failed = [];
  /** By phase, then by principal: times of answered runs in ms. */
  times = new Map();

  /** So many runs and tool calls are done. */
  count(done, { isFlood = false } = {}) {
    const into = isFlood ? this.flood : this;
    into.runs += done.runs ?? 0;
    into.toolCalls += done.toolCalls ?? 0;
  }

  time(phase, principal, ms) {
    const byPrincipal = this.times.get(phase) ?? new Map();
    this.times.set(phase, byPrincipal);
    const times = byPrincipal.get(principal) ?? [];
    byPrincipal.set(principal, times);
    times.push(ms);
  }

  /**
   * What this answer to a call with `secret` counts as: 'answered', 'refused', 'left' or 'lost'. `count` says how often the
   * secret has to be in an answer that is right.
   */
  judge(answer, { secret, count, about }) {
    const others = new Set((answer.text ?? '').match(SECRET) ?? []);
    const own = (answer.text ?? '').split(secret).length - 1;
    others.delete(secret);
    if (others.size > 0) this.mixedUp.push(`${about}: the answer has ${[...others].join(', ')}`);
    if (answer.gone) {
      this.left++;
      return 'left';
    }
    if (answer.lost !== undefined) return 'lost';
    if (
      answer.status === 429 ||
      answer.status === 503 ||
      answer.status === 404 ||
      /E_BUSY|E_SHUTDOWN/.test(answer.text)
    ) {
      this.refused++;
      return 'refused';
    }
    if (answer.status !== 200 || own < count) {
      this.failed.push(`${about}: ${answer.status} ${answer.text.slice(0, 300)}`);
      return 'answered';
    }
    this.answered++;
    return 'answered';
  }
}

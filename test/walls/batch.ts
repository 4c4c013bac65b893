// Probes as one program, and what it prints as verdicts.

import { readFileSync } from 'node:fs';
import type { Seen, Verdict } from './attack.js';

const PRELUDE = readFileSync(new URL('./probes.py', import.meta.url), 'utf8');

export type BatchProbe = { readonly id: string; readonly code: string; readonly endless: boolean };

/** A program for Python that runs each probe in a process of its own, for at most `seconds`. */
export function batchProgram(
  probes: readonly BatchProbe[],
  facts: Readonly<Record<string, string | number>>,
  { seconds, atOnce }: { readonly seconds: number; readonly atOnce: number },
): string {
  // A JSON text in a JSON string is a Python string.
  const literal = (value: unknown): string => `json.loads(${JSON.stringify(JSON.stringify(value))})`;
  return `${PRELUDE}\n\nrun_probes(${literal(probes)}, ${literal(facts)}, ${seconds}, ${atOnce})\n`;
}

const VERDICTS: Readonly<Record<string, Verdict>> = {
  HELD: 'held',
  THROUGH: 'through',
  ABSENT: 'absent',
  BROKEN: 'broken',
};

/** What each probe came to. What is no answer of a probe is passed over. */
export function verdictsIn(lines: readonly string[]): ReadonlyMap<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const line of lines) {
    const match = /^\{"probe": .*\}/.exec(line.trim());
    if (match === null) continue;
    const said = JSON.parse(match[0]) as Record<string, string>;
    const verdict = VERDICTS[said['verdict'] ?? ''] ?? 'broken';
    seen.set(said['probe'] ?? '', { verdict, detail: said['detail'] ?? '' });
  }
  return seen;
}

export const missing = (why: string): Seen => ({ verdict: 'broken', detail: `no answer: ${why}` });

// What an attack on the walls between principals is: data. One principal, eve, tries to see, use, spend or stop what is
// another's, ann's, and must be held. Its control is the same attempt where the wall does not stand in the way, mostly by ann
// herself: it must get through, or the attack proves nothing.

import type { Party, World } from './world.js';

export type Group =
  | 'kept files'
  | 'sessions'
  | 'requests'
  | 'questions and tasks'
  | 'long runs'
  | 'servers'
  | 'logins and headers'
  | 'credentials'
  | 'the front'
  | 'shares'
  | 'logs and audit'
  | 'runs'
  | 'sessions of code';

/** What got through, in a few words; undefined where it was held. */
export type Attempt = (world: World, by: Party) => Promise<string | undefined>;

export type Attack = {
  readonly id: string;
  readonly group: Group;
  /** One sentence: what it tries. */
  readonly tries: string;
  /** What holds it. */
  readonly wall: string;
  /** Settings of the bridge that it is tried on, besides those of all. Attacks with the same settings share one. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly attempt: Attempt;
  /** Where the control is not the same attempt by ann. */
  readonly control?: Attempt;
};

export type Verdict =
  | { readonly is: 'held' }
  | { readonly is: 'through'; readonly what: string }
  | { readonly is: 'broken'; readonly why: string };

export type Judged = Pick<Attack, 'id' | 'group' | 'tries' | 'wall'> & {
  readonly state: 'held' | 'NOT held' | 'unproven' | 'broken';
  readonly seen: string;
  readonly control: string;
};

const said = (verdict: Verdict): string => {
  if (verdict.is === 'held') return 'held';
  return verdict.is === 'through' ? `through: ${verdict.what}` : `broken: ${verdict.why}`;
};

export async function tried(attempt: Attempt, world: World, by: Party): Promise<Verdict> {
  try {
    const what = await attempt(world, by);
    return what === undefined ? { is: 'held' } : { is: 'through', what };
  } catch (thrown) {
    return { is: 'broken', why: String(thrown) };
  }
}

export function judge({ id, group, tries, wall }: Attack, seen: Verdict, control: Verdict): Judged {
  const state = (): Judged['state'] => {
    if (seen.is === 'broken' || control.is === 'broken') return 'broken';
    if (seen.is === 'through') return 'NOT held';
    return control.is === 'through' ? 'held' : 'unproven';
  };
  return { id, group, tries, wall, state: state(), seen: said(seen), control: said(control) };
}

export function summaryLine(judged: readonly Judged[]): string {
  const ids = (state: Judged['state']) => judged.filter((one) => one.state === state).map(({ id }) => id);
  const held = ids('held').length;
  const failures = (['NOT held', 'unproven', 'broken'] as const)
    .filter((state) => ids(state).length > 0)
    .map((state) => `${state}: ${ids(state).join(', ')}`);
  const groups = new Set(judged.map(({ group }) => group)).size;
  return [
    `${judged.length} attacks of one principal on another, in ${groups} groups: ${held} held, with their controls`,
    ...failures,
  ].join('; ');
}

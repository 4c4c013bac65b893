// What the results come to: which attacks are contained and proven, in numbers, and as a table.

import type { AttackResult, Setting } from './attack.js';

export type Judged = {
  readonly id: string;
  readonly group: string;
  readonly tries: string;
  /** `absent`: this kernel or image has nothing to attack. `difference`: listed for gVisor. */
  readonly state: 'contained' | 'not contained' | 'unproven' | 'absent' | 'difference';
  readonly seen: string;
  readonly control: string;
  readonly controlPassed: boolean;
  /** Why this state is no failure, where it is not `contained`. */
  readonly reason?: string;
};

const said = (seen: AttackResult['control']): string =>
  seen === undefined ? 'impossible here' : `${seen.verdict}: ${seen.detail}`;

/** The verdict on one attack. */
export function judge({ attack, seen, control }: AttackResult, { ociRuntime }: Setting): Judged {
  const controlPassed = control?.verdict === 'through';
  const base = {
    id: attack.id,
    group: attack.group,
    tries: attack.tries,
    seen: said(seen),
    control: said(control),
    controlPassed,
  };
  // What is not there for the sandbox and is for the control has been taken away.
  const held = seen.verdict === 'held' || (seen.verdict === 'absent' && controlPassed);
  if (ociRuntime.includes('runsc') && attack.gvisor !== undefined && !(held && controlPassed))
    return { ...base, state: 'difference', reason: attack.gvisor };
  if (!controlPassed && (seen.verdict === 'absent' || isAbsent(control)))
    return {
      ...base,
      state: 'absent',
      reason: seen.verdict === 'absent' ? seen.detail : (control?.detail ?? ''),
    };
  if (!held) return { ...base, state: 'not contained' };
  if (controlPassed) return { ...base, state: 'contained' };
  if (control === undefined && attack.kind === 'probe' && attack.rootControl !== undefined)
    return { ...base, state: 'contained', reason: `its control needs a root engine: ${attack.rootControl}` };
  return { ...base, state: 'unproven' };
}

/** With the filter off, ENOSYS means that the kernel was built without the call. */
const isAbsent = (control: AttackResult['control']): boolean =>
  control !== undefined &&
  (control.verdict === 'absent' || (control.verdict === 'held' && control.detail === 'ENOSYS'));

/** A state that nothing excuses. */
export const isFailure = ({ state }: Judged): boolean => state === 'unproven' || state === 'not contained';

export type Summary = {
  readonly setting: Setting;
  readonly tried: number;
  readonly contained: number;
  readonly controlsPassed: number;
  readonly controlsElsewhere: number;
  readonly absent: number;
  readonly differences: readonly string[];
  /** Of the differences, those that got through to the sandbox's own kernel, or anywhere. */
  readonly differencesThrough: readonly string[];
  readonly notContained: readonly string[];
  readonly unproven: readonly string[];
};

export function summarize(judged: readonly Judged[], setting: Setting): Summary {
  const ids = (state: Judged['state']) => judged.filter((one) => one.state === state).map(({ id }) => id);
  const tried = judged.filter(({ state }) => state !== 'absent' && state !== 'difference');
  return {
    setting,
    tried: tried.length,
    contained: ids('contained').length,
    controlsPassed: tried.filter(({ controlPassed }) => controlPassed).length,
    controlsElsewhere: tried.filter(({ control }) => control === 'impossible here').length,
    absent: ids('absent').length,
    differences: ids('difference'),
    differencesThrough: judged
      .filter(({ state, seen }) => state === 'difference' && !/^(held|absent):/.test(seen))
      .map(({ id }) => id),
    notContained: ids('not contained'),
    unproven: ids('unproven'),
  };
}

export function summaryLine({ setting, ...of }: Summary): string {
  const parts = [
    `${of.tried} attacks: ${of.contained} contained`,
    `${of.controlsPassed} controls passed`,
    ...(of.controlsElsewhere === 0 ? [] : [`${of.controlsElsewhere} controls need a root engine`]),
    ...(of.absent === 0 ? [] : [`${of.absent} more have no target on this machine`]),
    ...(of.differences.length === 0
      ? []
      : [
          `${of.differences.length} listed differences, ${of.differencesThrough.length} of which got through inside`,
        ]),
    ...(of.notContained.length === 0 ? [] : [`NOT contained: ${of.notContained.join(', ')}`]),
    ...(of.unproven.length === 0 ? [] : [`unproven: ${of.unproven.join(', ')}`]),
  ];
  return `${setting.ociRuntime}, ${setting.mode}: ${parts.join('; ')}`;
}

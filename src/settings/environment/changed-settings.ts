// A change that somebody wants to make in an environment, judged before it is written: by the rules of the settings, and by
// whether a name is one. A start only warns of an unknown name, since another version may have it. Writes nothing.

import type { Environment } from '../../base/process/environment.js';
import { findClosest } from '../../base/text/closest.js';
import type { HostFacts } from '../files/host-facts.js';
import { absentFiles } from './setting-paths.js';
import { problem, type SettingProblem } from './setting-problems.js';
import {
  EXEC_PREFIX,
  ofCommandServer,
  PREFIX,
  readSettings,
  unknownName,
  variableNames,
} from './settings.js';

/**
 * Problems of an environment once `changes` are made in it, without those that it had before and that stay untouched. A
 * variable that is undefined in `changes` is taken away.
 */
export function problemsOfChange(
  before: Environment,
  changes: Readonly<Record<string, string | undefined>>,
  host: HostFacts,
): readonly SettingProblem[] {
  const was = new Set(readSettings(before, host).problems.map(({ setting }) => setting));
  const { settings, problems } = readSettings({ ...before, ...changes }, host);
  const isChanged = ({ setting }: SettingProblem) => Object.hasOwn(changes, setting);
  const isNew = (one: SettingProblem) => isChanged(one) || !was.has(one.setting);
  return [
    ...Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : troubleOfName(name))),
    ...problems.filter(isNew),
    ...absentFiles(settings).filter(isChanged),
  ];
}

/** A name that is nobody's setting may be a variable of a server, unless it looks like a setting. */
function troubleOfName(name: string): SettingProblem[] {
  const known: readonly string[] = variableNames;
  if (known.includes(name)) return [];
  if (name.startsWith(EXEC_PREFIX)) return [problem(name, ofCommandServer(name))];
  // People leave the prefix out, or write small letters.
  const upper = name.toUpperCase();
  const whole = upper.startsWith(PREFIX) ? upper : PREFIX + upper;
  if (known.includes(whole)) return [problem(name, unknownName(name, whole))];
  const isMeant = upper.startsWith(PREFIX) || findClosest(name, known) !== undefined;
  return isMeant ? [problem(name, unknownName(name))] : [];
}

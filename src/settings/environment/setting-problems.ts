// Settings that cannot be used, one line each, with the next step. They are told in several places: by a command that
// ends, by doctor, and by a bridge that runs nothing before they are corrected.

import { BridgeError } from '../../base/errors.js';
import { withoutUrlPasswords } from '../../base/secrets/by-key.js';
import { didYouMean } from '../../base/text/closest.js';
import { clipHarmlessLine, linesOf } from '../../base/text/text.js';
import type { BrokenSetting } from './setting-rules.js';

export type SettingProblem = {
  /** The variable. */
  readonly setting: string;
  /** One line that begins with it: what was got, and what is allowed. */
  readonly message: string;
  /** Remedy for the problem, without the variable's name. */
  readonly remedy: string;
};

const VALUE_CHARS_SHOWN = 120;
/** Where variables of a bridge are set. It is read once, so a host has to start it anew. */
const SETTING_REMEDY =
  'Correct or remove it in this shell, or in the entry that registers the bridge (field env). Then restart the host: settings are read only at the start.';

/** Safe to show to a person or a model: one line, without the password of an address. */
export const shownValue = (got: string): string =>
  `'${clipHarmlessLine(withoutUrlPasswords(got), VALUE_CHARS_SHOWN)}'`;

export const problem = (
  setting: string,
  message: string,
  remedy: string = SETTING_REMEDY,
): SettingProblem => ({
  setting,
  message,
  remedy,
});

/** The problem of a value that breaks its variable's rule. */
export function brokenRule({ setting: { name, allowed }, got, issue }: BrokenSetting): SettingProblem {
  const explanation =
    issue?.code === 'custom' && issue.params?.['explains'] === true ? ` ${issue.message}` : '';
  const more = explanation || didYouMean(got, allowed.split(/, | or /));
  return problem(name, `${name} is ${shownValue(got)}; allowed: ${allowed}.${more}`);
}

/** All of them as what a command ends with. */
export function settingsError(problems: readonly SettingProblem[]): BridgeError {
  const remedies = [...new Set(problems.map(({ remedy }) => remedy))];
  return new BridgeError('E_SETTINGS', problems.map(({ message }) => message).join('\n'), {
    fault: 'operator',
    remedy: remedies.join(' '),
  });
}

/** The problems that an error of a file tells, which has a line for each. Throws whatever is no E_SETTINGS. */
export function problemsIn(thrown: unknown): readonly SettingProblem[] {
  if (!(thrown instanceof BridgeError && thrown.code === 'E_SETTINGS')) throw thrown;
  const { message, remedy } = thrown;
  return linesOf(message).map((line) => problem(/^\w+/.exec(line)?.[0] ?? 'settings', line, remedy));
}

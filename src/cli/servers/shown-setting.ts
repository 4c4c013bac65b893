// A setting's value as anybody may read it. Hides what the log hides too: values by the names of their variables, and what looks
// like a secret by what stands before it.

import { isSecretName, Redactor } from '../../base/secrets/redact.js';
import { clipHarmlessLine } from '../../base/text/text.js';

const VALUE_CHARS_SHOWN = 200;
const HIDDEN = '…';
const redactor = new Redactor();

/** The text without what stands where a secret would, such as the password of an address. */
export const withoutSecrets = (text: string): string => redactor.redact(text);

/** A value in one line; nothing of it where its variable's name says that it is secret. */
export const shownSetting = (name: string, value: string): string =>
  isSecretName(name) ? HIDDEN : clipHarmlessLine(withoutSecrets(value), VALUE_CHARS_SHOWN);

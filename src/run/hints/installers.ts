// Programs that install packages, and what is printed where one was started and could do nothing: a shell's and a Python's
// own words. Such a command raises no exception, so a run that tried it may well have succeeded.

/** As a part of patterns. */
export const INSTALLER = '(?:pip[\\d.]*|uv|pipx|poetry|conda|mamba|apt|apt-get|apk|npm|easy_install)';

/** Shells differ in what stands in front, and in the words. */
const SAID = new RegExp(
  [
    `(?:^|[\\s:'"/])${INSTALLER}: (?:command )?not found`,
    String.raw`\bNo module named '?(?:pip|ensurepip|uv|pipx|conda)\b`,
    String.raw`\bNo matching distribution found for `,
    String.raw`\berror: externally-managed-environment\b`,
  ].join('|'),
  'm',
);
/** So much of what was printed is looked at, from its end. */
const MAX_CHARS = 20_000;

/** Whether something that was printed is an installer's failure. */
export const saysNotInstalled = (printed: string): boolean => SAID.test(printed.slice(-MAX_CHARS));

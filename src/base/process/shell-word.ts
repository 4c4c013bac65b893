// A word for a command that a person pastes into a POSIX shell. Nothing of ours runs such a command.

/** Characters that mean nothing to a shell; the first must not be a hyphen, which would make an option of the word. */
const PLAIN = /^[\w.@:/+][\w.@:/+-]*$/;

/** `text` as one word: as it is where it is plain, else between single quotes. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

// Names in one line, for a reader who has room for a line and not for all of them.

const MAX_NAMES = 30;
const MAX_NAMES_CHARS = 600;

/** The first of them, cut with a count. */
export function nameList(names: readonly string[]): string {
  const shown: string[] = [];
  let chars = 0;
  for (const name of names) {
    chars += name.length + 2;
    if (shown.length >= MAX_NAMES || chars > MAX_NAMES_CHARS) break;
    shown.push(name);
  }
  const more = names.length - shown.length;
  if (names.length === 0) return 'none';
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

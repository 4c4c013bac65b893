// How much text a value holds: for whoever keeps values of others and may keep only so much.

/** Characters of all texts in `value`, each counted once. Numbers and names of fields count for nothing. */
export function charsIn(value: unknown): number {
  const seen = new Set<object>();
  const rest = [value];
  let chars = 0;
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') chars += next.length;
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    // One by one: an array may be longer than a call has arguments.
    for (const each of Object.values(next)) rest.push(each);
  }
  return chars;
}

// What the views with lists have in common to find something by: words, and a choice of one value.

import type { ComponentChildren } from 'preact';
import { countOf } from './parts.js';

/** The choice that leaves everything in the list. */
export const ANY = '';
const MAX_CHOICES = 200;

export const distinct = (values: readonly string[]): readonly string[] =>
  [...new Set(values)].sort().slice(0, MAX_CHOICES);

/** Whether the parts of something have all of `words` in them, in either case; true of everything where there are none. */
export function hasWords<T>(
  words: string,
  partsOf: (one: T) => readonly (string | undefined)[],
): (one: T) => boolean {
  const searched = words.toLowerCase().split(/\s+/).filter(Boolean);
  return (one) => {
    if (searched.length === 0) return true;
    const text = partsOf(one).join(' ').toLowerCase();
    return searched.every((word) => text.includes(word));
  };
}

/** A field for words, and what else there is to choose by. */
export function Filters({
  label = 'Words',
  words,
  onWords,
  children,
}: {
  readonly label?: string;
  readonly words: string;
  readonly onWords: (words: string) => void;
  readonly children?: ComponentChildren;
}) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        {label} <input type="search" value={words} onInput={(event) => onWords(event.currentTarget.value)} />
      </label>
      {children}
    </form>
  );
}

/** How many of all `of` there are were found. */
export function FoundCount({
  found,
  all,
  of,
}: {
  readonly found: number;
  readonly all: number;
  readonly of: string;
}) {
  return (
    <p role="status" class="summary">
      {countOf(found, of)}
      {found === all ? '' : ` of ${all}`}
    </p>
  );
}

/** A list to choose one of, or any. */
export function Choice({
  label,
  value,
  choices,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly string[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value={ANY}>any</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    </label>
  );
}

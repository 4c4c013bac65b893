// HTML as text. Whatever is put into a template is text and shows as such: there is no way to put markup in but another
// template.

import { shownExactly } from '../../base/text/text.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Html[];

/** Attributes stand in double quotes. Characters that do not show become visible escapes. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, at) => part + (at < values.length ? markup(values[at] ?? '') : '')).join(''));

function markup(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escaped(shownExactly(String(value)));
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);

// `${NAME}` and `${NAME:-default}` as Claude Code replaces them in its configuration: nothing nested, no `$NAME`,
// a variable that is set but empty counts as set. Pure; the variables are passed in.

import type { Environment } from '../../base/process/environment.js';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^$}]|\$(?!\{))*))?\}/g;

export type ExpandedText = { readonly text: string; readonly missing: readonly string[] };

/** `missing` names the variables that are neither set nor have a default; their references stay in the text. */
export function expand(text: string, env: Environment): ExpandedText {
  const missing: string[] = [];
  const [head, tail] = atLastBrace(text);
  const expanded = head.replace(REFERENCE, (reference, name: string, fallback: string | undefined) => {
    const value = (Object.hasOwn(env, name) ? env[name] : undefined) ?? fallback;
    if (value !== undefined) return value;
    missing.push(name);
    return reference;
  });
  return { text: expanded + tail, missing };
}

/**
 * `text` in two: up to its last `}`, and what follows. No reference ends in the second part, and looking for an end from
 * each of many beginnings there would take time by the square of their number.
 */
export function atLastBrace(text: string): readonly [string, string] {
  const end = text.lastIndexOf('}') + 1;
  return [text.slice(0, end), text.slice(end)];
}

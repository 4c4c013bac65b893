// Python packages that a user adds to an image by `--pip`: which words are taken, and how a list of them stands in the tag of
// the image, from which it can be read back. Pure: whether an index has such a package is the index's to say.

import { createHash } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';

const NAME = '[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?';
const EXTRAS = String.raw`\[\s*(${NAME}(?:\s*,\s*${NAME})*)\s*\]`;
const SPECIFIER = String.raw`(?:~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.!+*-]*`;
/** PEP 508 without addresses and markers. Options, paths and addresses have characters that none of it has. */
const REQUIREMENT = new RegExp(
  String.raw`^(${NAME})\s*(?:${EXTRAS}\s*)?(${SPECIFIER}(?:\s*,\s*${SPECIFIER})*)?$`,
);
const MAX_REQUIREMENT_CHARS = 100;
/** Each is an argument of pip's, and few images need more than a dozen. */
const MAX_REQUIREMENTS = 50;

const EXAMPLE = 'For example: --pip polars,duckdb==1.2.2. Addresses, paths and options are not taken.';

/**
 * The packages of all `--pip` options, normalised and sorted: `polars`, `duckdb==1.2.2`, `fsspec[http]>=2024,<2026`.
 * Throws E_ARGUMENTS for what is no name of a package with versions, and for a package that is named twice.
 */
export function parseRequirements(options: readonly string[]): readonly string[] {
  const words = options.flatMap((option) => splitRequirements(option)).map((word) => word.trim());
  const byName = new Map<string, string>();
  for (const word of words) {
    const { name, text } = parseRequirement(word);
    const before = byName.get(name);
    if (before !== undefined && before !== text)
      throw wrong(`${JSON.stringify(before)} and ${JSON.stringify(text)}`, 'each package once');
    byName.set(name, text);
  }
  if (byName.size === 0) throw wrong('nothing');
  if (byName.size > MAX_REQUIREMENTS)
    throw wrong(`${byName.size} packages`, `at most ${MAX_REQUIREMENTS} packages`);
  return [...byName.values()].sort();
}

function parseRequirement(word: string): { readonly name: string; readonly text: string } {
  const found = word.length > MAX_REQUIREMENT_CHARS ? null : REQUIREMENT.exec(word);
  if (found === null) throw wrong(word === '' ? 'nothing' : JSON.stringify(word.slice(0, 80)));
  const [, given = '', extras, specifiers] = found;
  const name = normaliseName(given);
  const parts = (text: string | undefined) =>
    (text ?? '')
      .split(',')
      .map((part) => part.replaceAll(/\s/g, ''))
      .filter((part) => part !== '')
      .sort();
  const shownExtras = parts(extras).map(normaliseName).join(',');
  return {
    name,
    text: `${name}${shownExtras === '' ? '' : `[${shownExtras}]`}${parts(specifiers).join(',')}`,
  };
}

/** A package's name as an index compares it: small letters, and one hyphen for any run of `-`, `_` and `.`. */
export const normaliseName = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/g, '-');

/** The normalised name of a package that `parseRequirements` gave. */
export const nameOfRequirement = (requirement: string): string => /^[a-z0-9-]*/.exec(requirement)?.[0] ?? '';

const wrong = (got: string, expected = 'names of Python packages with commas between them'): BridgeError =>
  new BridgeError('E_ARGUMENTS', `--pip: got ${got}, expected ${expected}.`, {
    fault: 'operator',
    remedy: EXAMPLE,
  });

// In a tag a list is `polars_duckdb--1.2.2`: no normalised name has `_` or `--`. Whatever a tag cannot say so is hashed.

/** The beginning of the part of a tag that says which packages were added by pip. */
export const PIP = '-pip_';
const HASHED = 'sha256.';
const MAX_LIST_CHARS = 40;
const PINNED = /^([a-z0-9-]+)==([a-z0-9.]+)$/;

/** The end of a tag for packages that `parseRequirements` gave; a hash where a tag could not hold or say them. */
export function pipTag(requirements: readonly string[]): string {
  if (requirements.length === 0) return '';
  const words = requirements.map((each) => each.replace(PINNED, '$1--$2')).join('_');
  if (words.length <= MAX_LIST_CHARS && /^[a-z0-9_.-]+$/.test(words)) return `${PIP}${words}`;
  return `${PIP}${hashedList(requirements.join('\n'))}`;
}

/** Stands in a tag for a list that is too long for it, or that it cannot say. */
export const hashedList = (words: string): string =>
  `${HASHED}${createHash('sha256').update(words).digest('hex').slice(0, 16)}`;

/** The words of a list in a tag; undefined where only a hash tells. */
export const readList = (words: string): readonly string[] | undefined =>
  words.startsWith(HASHED) ? undefined : words.split('_').filter((word) => word !== '');

/** The list of a tag, given what stands in it behind PIP; undefined where only a hash tells. */
export const readPipTag = (words: string): readonly string[] | undefined =>
  readList(words)?.map((word) => word.replace(/--/, '=='));

/** Splits at the commas between two requirements: none within brackets, and none in front of a further specifier. */
function splitRequirements(option: string): readonly string[] {
  const words: string[] = [];
  for (const part of option.split(',')) {
    const before = words.at(-1);
    const isOpen = before !== undefined && before.lastIndexOf('[') > before.lastIndexOf(']');
    if (before !== undefined && (isOpen || /^\s*[<>=!~]/.test(part)))
      words[words.length - 1] = `${before},${part}`;
    else words.push(part);
  }
  return words;
}

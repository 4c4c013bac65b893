// Values that are allowed wherever an operator may set them, in a variable or in an imported file: the bounds of limits, and
// references of images.

import { MB_BYTES } from '../base/text/sizes.js';

/** CPython with asyncio needs 20 MiB before the user's first line; below this every run would end out of memory. */
export const MIN_MEMORY_BYTES = 32 * MB_BYTES;
/** The harness alone takes four processes or threads; beyond the upper end the kernel's own default limit rules. */
export const PIDS = { min: 16, max: 32_768 } as const;
/** Below a hundredth of a processor engines refuse; the upper end is a typing error. */
export const CPUS = { min: 0.01, max: 4096 } as const;
/** A day: nothing of a run lasts longer. */
export const DAY_SECONDS = 86_400;
/**
 * Limits in bytes for each output stream of a command. The minimum leaves room for the line that says what is missing.
 */
export const OUTPUT_BYTES = { min: 100, max: 64 * MB_BYTES } as const;
/**
 * Matches a name that is handed to an engine, such as an image. It must not begin with a dash, or the engine would read
 * an option.
 */
export const WORD = /^[^\s-]\S*$/;

// The grammar of image references, as engines and registries have it: [host[:port]/]path[:tag][@algorithm:digest]. What is
// no reference can be told apart without an engine, when the settings are read. Asks nobody whether an image exists.

const MAX_NAME_CHARS = 255;
const MAX_SHOWN_CHARS = 60;
/** One of the names between slashes. */
const PATH_PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const HOST_PART = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = new RegExp(`^(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[0-9a-fA-F:]+\\])(?::\\d{1,5})?$`);
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z0-9]+(?:[.+_-][A-Za-z0-9]+)*:[A-Za-z0-9=_-]+$/;
/** How many hexadecimal digits these digests have. */
const DIGEST_CHARS: Readonly<Record<string, number>> = { sha256: 64, sha512: 128 };

/** Why `text` is no image reference, as a sentence; undefined where it is one. */
export function imageReferenceTrouble(text: string): string | undefined {
  if (!WORD.test(text)) return 'It has white space in it, or begins with a dash.';
  if (/^[A-Za-z-]+:\/\//.test(text)) return 'Leave out the protocol or transport before it.';
  const [named = '', digest, ...more] = text.split('@');
  if (more.length > 0) return 'It has more than one @.';
  return nameTrouble(named) ?? (digest === undefined ? undefined : digestTrouble(digest));
}

function nameTrouble(named: string): string | undefined {
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const name = colon === -1 ? named : named.slice(0, colon);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  if (name === '') return 'It has no name.';
  if (name.length > MAX_NAME_CHARS)
    return `Its name has ${name.length} characters; at most ${MAX_NAME_CHARS} are allowed.`;
  const [first = '', ...rest] = name.split('/');
  const hasHost = rest.length > 0 && isHost(first);
  if (hasHost && !HOST.test(first)) return `${quotePart(first)} is not the host name of a registry.`;
  const wrong = (hasHost ? rest : [first, ...rest]).find((part) => !PATH_PART.test(part));
  if (wrong === '') return 'A part of its name between slashes is empty.';
  if (wrong !== undefined) {
    return PATH_PART.test(wrong.toLowerCase())
      ? `Names of images have no capital letters: ${quotePart(wrong)}.`
      : `${quotePart(wrong)} is not the name of an image. Allowed: small letters and digits, with single dots, dashes, or one or two underscores between them.`;
  }
  if (tag === '') return 'Its tag is empty: nothing follows the colon.';
  return tag === undefined || TAG.test(tag) ? undefined : `${quotePart(tag)} is not a tag.`;
}

/** Engines take the first part for a registry by the same marks. */
const isHost = (part: string): boolean =>
  /[.:]/.test(part) || part === 'localhost' || part !== part.toLowerCase();

function digestTrouble(digest: string): string | undefined {
  if (!DIGEST.test(digest)) return `${quotePart(digest)} is not a digest.`;
  const [algorithm = '', encoded = ''] = digest.split(':');
  const chars = DIGEST_CHARS[algorithm];
  if (chars === undefined || (encoded.length === chars && /^[0-9a-f]+$/.test(encoded))) return undefined;
  return `A ${algorithm} digest has ${chars} hexadecimal digits.`;
}

const quotePart = (part: string): string =>
  `'${part.length > MAX_SHOWN_CHARS ? `${part.slice(0, MAX_SHOWN_CHARS)}…` : part}'`;

// How operators name languages: rules for variables and files that take every name a language has, hand on its own one,
// and say which name is none.

import { z } from 'zod';
import { didYouMean } from '../../base/text/closest.js';
import { clipHarmless } from '../../base/text/text.js';
import { imageReferenceTrouble } from '../image-reference.js';
import { languageNamed, languages } from './records.js';

const MAX_NAME_CHARS = 60;

/** In words, for what is allowed. */
export const LANGUAGE_NAMES = languages.map(({ name }) => name).join(', ');

/** A sentence, with the name that was probably meant. */
export function noSuchLanguage(name: string): string {
  const known = languages.flatMap(({ name: own, aliases }) => [own, ...aliases]);
  return `There is no language '${clipHarmless(name, MAX_NAME_CHARS)}'.${didYouMean(name, known)}`;
}

/** Makes `message` what is said of the value, besides what is allowed. */
function objectTo(context: z.core.$RefinementCtx, input: string, message: string): never {
  context.issues.push({ code: 'custom', input, message, params: { explains: true } });
  return z.NEVER;
}

/** Any of its names becomes its own. */
export const languageName = z
  .string()
  .transform(
    (name, context): string => languageNamed(name)?.name ?? objectTo(context, name, noSuchLanguage(name)),
  );

/** `language=image` pairs, by the languages' own names. */
export const languageImages = z
  .array(z.string())
  .min(1)
  .transform((pairs, context): ReadonlyMap<string, string> => {
    const images = new Map<string, string>();
    for (const pair of pairs) {
      const [, name = '', image = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
      const shown = clipHarmless(pair, MAX_NAME_CHARS);
      if (image === '') return objectTo(context, pair, `'${shown}' is no pair of that kind.`);
      const trouble = imageReferenceTrouble(image);
      if (trouble !== undefined) return objectTo(context, pair, `'${shown}' names no image. ${trouble}`);
      const language = languageNamed(name);
      if (language === undefined) return objectTo(context, pair, noSuchLanguage(name));
      if (images.has(language.name)) return objectTo(context, pair, `${language.title} is there twice.`);
      images.set(language.name, image);
    }
    return images;
  });

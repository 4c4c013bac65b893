// Doctor's lines about the languages of execute_code: which image a call of each would start from. Asks the engine what is
// there, and no registry. A missing image is no failure: the other languages work without it.

import {
  imageReasonInWords,
  localChoice,
  missingRemedy,
  replacedImage,
} from '../../engine/images/image-choice.js';
import { kindOf } from '../../sandbox/spec/profile.js';
import { planFor } from '../../settings/environment/plan.js';
import { languages } from '../../settings/languages/records.js';
import type { Examination, Finding } from './examination.js';

/** One for each language; none where agents do not see the tool, or where there is no sandbox for other reasons. */
export async function languageFindings({ settings, pad, signal }: Examination): Promise<readonly Finding[]> {
  if (!settings.tools.includes('execute_code')) return [];
  const found = await pad();
  if ('error' in found) return [];
  const { engine } = found.value;
  return Promise.all(
    languages.map(async (language): Promise<Finding> => {
      const name = `language ${language.name}`;
      const wish = kindOf(planFor(language, settings), settings);
      const choice = await localChoice(wish, engine.images, signal);
      if (choice !== undefined) {
        const replaced = replacedImage(choice);
        const detail = `${choice.image} (${imageReasonInWords(choice.reason)})`;
        if (replaced === undefined) return { name, status: 'ok', detail };
        return {
          name,
          status: 'warn',
          detail,
          remedy: `Pull ${replaced.image}, or take it out of ${replaced.namedIn}.`,
        };
      }
      return {
        name,
        status: 'warn',
        detail: `the image ${wish.image} is not present`,
        remedy: missingRemedy(wish),
      };
    }),
  );
}

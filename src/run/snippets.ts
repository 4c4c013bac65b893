// Programs that an operator keeps for `execute_code`, by name.

import { BridgeError } from '../base/errors.js';
import type { Language } from '../config/languages/language.js';

export type Snippet = {
  readonly name: string;
  /** Of its file, without a folder. */
  readonly file: string;
  readonly language: Language;
  readonly code: string;
};

export class Snippets {
  /** Throws E_ARGUMENTS with the names that there are. */
  find(name: string): Promise<Snippet> {
    const message = `There is no snippet '${name}': no folder is set for them.`;
    return Promise.reject(new BridgeError('E_ARGUMENTS', message, { fault: 'agent' }));
  }
}

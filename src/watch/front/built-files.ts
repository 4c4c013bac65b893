// The page's own files, as the bundler has written them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replacedPart } from '../../base/replaced-part.js';
import { PACKAGE_ROOT } from '../../base/version.js';

/** Throws E_REPLACED where the file is not there. */
export function builtFile(name: 'page.js' | 'page.css'): string {
  try {
    return readFileSync(join(PACKAGE_ROOT, 'dist/bundle', name), 'utf8');
  } catch (thrown) {
    throw replacedPart(thrown);
  }
}

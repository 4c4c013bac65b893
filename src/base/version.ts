// Who we are and where we are installed. This file lies right below its room, since the bundle lies as deep in dist/.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Absolute path of the installed package, with a trailing slash. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../../', import.meta.url));

export const PACKAGE_NAME = 'mcp-sandbox-bridge';

/** The package's version; images and harness directories are named after it. */
export const VERSION: string = (
  JSON.parse(readFileSync(`${PACKAGE_ROOT}package.json`, 'utf8')) as { version: string }
).version;

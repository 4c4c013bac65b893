// A folder for tokens that is new for each test of a file.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { TokenStore } from '../../../src/servers/login/token-store.js';

/** There in each test of a file that has called `useTokenFolder`. */
export let stateDir: string;
export let store: TokenStore;

/** To be called before the file has hooks of its own: what they make in the folder is then gone before the folder is. */
export function useTokenFolder(): void {
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'oauth-'));
    store = new TokenStore(stateDir);
  });
  afterEach(() => rmSync(stateDir, { recursive: true, force: true }));
}

// A browser of this machine, driven by the playwright-core that @playwright/mcp brings along. Nothing is downloaded but
// Debian's package, and only when that was asked for.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
export const BROWSER_PACKAGE = 'chromium';

/** Absolute path of a Chromium or Chrome; undefined where there is none on PATH. */
export function browserHere() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) =>
    existsSync(path),
  );
}

/** Installs these packages of Debian's; says why not where that is not possible. */
export function installPackages(/** @type {readonly string[]} */ names) {
  if (process.getuid?.() !== 0) return '--install takes root.';
  if (spawnSync('apt-get', ['--version']).error !== undefined)
    return '--install knows apt-get alone, which is not here.';
  execFileSync('apt-get', ['install', '-y', '--no-install-recommends', ...names], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return undefined;
}

/** Starts it; names of hosts in `mapped` lead to this machine in it. */
export async function startBrowser(executablePath, mapped) {
  const require = createRequire(import.meta.url);
  const { chromium } = createRequire(require.resolve('@playwright/mcp/package.json'))('playwright-core');
  return await chromium.launch({
    executablePath,
    args: [
      `--host-resolver-rules=${mapped.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`,
      // Its own sandbox does not start as root; only our page is opened in it.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  });
}

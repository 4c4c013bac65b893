// The package as npm would publish it, made of the build that is there.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Packs this checkout into the existing folder `folder`, and returns the archive's path. `prepack`, which builds, is
 * left out: whoever packs has built, and a bridge of this checkout may be running. Throws where there is no build.
 */
export function packedPackage(folder) {
  if (!existsSync(join(ROOT, 'dist/bundle/LICENSES.txt')))
    throw new Error('There is no build to pack. Run `npm run build`.');
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  // On Windows npm is a batch file, which only a shell can start.
  const output = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  return join(folder, JSON.parse(output)[0].filename);
}

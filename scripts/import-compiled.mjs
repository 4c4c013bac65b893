// Imports a TypeScript file of src/ as the module that it is, for scripts that write something from it. Relies on tsc
// alone: it is compiled into a temporary folder inside node_modules, so that its imports resolve.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The module at `sourceFile`, which imports nothing of ours. */
export async function importCompiled(sourceFile) {
  const folder = mkdtempSync(join(root, 'node_modules/.generate-'));
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const options =
      '--ignoreConfig --module nodenext --target es2023 --skipLibCheck --noCheck --types node'.split(' ');
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    execFileSync(process.execPath, [tsc, ...options, '--outDir', folder, sourceFile], { stdio: 'inherit' });
    return await import(pathToFileURL(join(folder, basename(sourceFile).replace(/\.ts$/, '.js'))).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

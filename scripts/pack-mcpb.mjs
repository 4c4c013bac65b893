// Packs what npm would publish as one file that hosts such as Claude Desktop install by a click: an .mcpb bundle. Its
// manifest is validated and packed by the format's own program. Exits with 1 when that refuses it.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packedPackage } from './install/packed-package.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MCPB = join(ROOT, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');

const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const { out } = takeOptions({
  command: 'npm run pack:mcpb --',
  about: 'Packs the built bridge as an .mcpb bundle. `npm run build` comes first.',
  options: {
    out: { value: 'FILE', says: 'the bundle', default: `${name}-${version}.mcpb` },
  },
});
const file = resolve(out);
const scratch = mkdtempSync(join(tmpdir(), 'pack-mcpb-'));
try {
  const tarball = packedPackage(scratch);
  execFileSync('tar', ['--extract', '--file', tarball, '--directory', scratch]);
  const folder = join(scratch, 'package');
  copyFileSync(join(ROOT, 'packaging/mcpb/manifest.json'), join(folder, 'manifest.json'));
  // It says what it does on stdout, which is for our own line.
  const mcpb = (...args) =>
    execFileSync(process.execPath, [MCPB, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  mcpb('validate', folder);
  mcpb('pack', folder, file);
  console.log(`${file}: ${statSync(file).size} bytes`);
} catch (thrown) {
  console.error(`${thrown.stdout ?? ''}${thrown.stderr ?? ''}`.trim() || thrown.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

// Lints and format-checks sandbox-runtime, the probe's attacks, the peers' and the tests' Python with ruff, compiled to WebAssembly, so that neither Python nor a binary is
// needed; with --fix it writes the formatting. Settings come from ruff.toml, which the WebAssembly build cannot read
// itself: sections and one-line values, nothing more.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ruff from '@astral-sh/ruff-wasm-nodejs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = ['sandbox-runtime', 'scripts/peers', 'src', 'test'];
const fix = process.argv.includes('--fix');

function readSettings(text) {
  const settings = {};
  let section = settings;
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[')) {
      section = line
        .slice(1, -1)
        .split('.')
        .reduce((outer, key) => {
          outer[key] ??= {};
          return outer[key];
        }, settings);
    } else {
      const [key, value] = line.split(/\s*=\s*(.*)/s);
      section[key] = JSON.parse(value);
    }
  }
  return settings;
}

const settings = readSettings(readFileSync(join(root, 'ruff.toml'), 'utf8'));
const workspace = new ruff.Workspace(settings, ruff.PositionEncoding.Utf16);
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.py'))
    .map((file) => join(folder, file))
    .sort(),
);

let problems = 0;
for (const name of files) {
  const source = readFileSync(join(root, name), 'utf8');
  for (const { code, message, start_location: at } of workspace.check(source)) {
    console.error(`${name}:${at.row}:${at.column} ${code ?? 'syntax'} ${message}`);
    problems += 1;
  }
  const formatted = workspace.format(source);
  if (formatted === source) continue;
  if (fix) {
    writeFileSync(join(root, name), formatted);
  } else {
    console.error(`${name}: not formatted; run \`node scripts/check-python.mjs --fix\``);
    problems += 1;
  }
}

console.log(`ruff ${ruff.Workspace.version()}: ${files.length} files, ${problems} problems`);
process.exitCode = problems === 0 ? 0 : 1;

// Fills the generated tables of README.md from the same data that the program uses. Reads dist/, so it runs after
// the build. Usage: node scripts/generate-readme.mjs [--check]; with --check nothing is written.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const readme = fileURLToPath(new URL('../README.md', import.meta.url));
const dist = new URL('../dist/', import.meta.url);

/** Each region stands in README.md between `<!-- generated:NAME -->` and `<!-- /generated -->`. */
const REGIONS = {
  settings: async () => {
    const { settingsTable } = await import(new URL('config/settings.js', dist));
    return table(
      ['variable', 'meaning', 'default', 'allowed'],
      settingsTable().map((row) => [code(row.name), row.meaning, row.default, row.allowed]),
    );
  },
  policy: async () => {
    const { policyTable } = await import(new URL('config/policy-file.js', dist));
    return table(
      ['field', 'meaning', 'default', 'allowed'],
      policyTable().map((row) => [code(row.field), row.meaning, row.default, row.allowed]),
    );
  },
  sources: async () => {
    const { SOURCES } = await import(new URL('config/sources.js', dist));
    return table(
      ['host', 'scope', 'files', 'servers at'],
      SOURCES.map((source) => [
        source.host,
        source.scope,
        filesOf(source),
        code(`/${source.pointer.join('/')}`),
      ]),
    );
  },
};

const PLATFORMS = { any: '', darwin: ' (macOS)', linux: ' (Linux)', win32: ' (Windows)' };

function filesOf(source) {
  const patterns = Object.entries(source.files).flatMap(([platform, files]) =>
    files.map((file) => `${code(file)}${PLATFORMS[platform]}`),
  );
  return patterns.length === 0 ? 'the files that the variable names' : patterns.join('<br>');
}

const code = (text) => `\`${text}\``;

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

async function fill(text) {
  let filled = text;
  for (const [name, make] of Object.entries(REGIONS)) {
    const region = new RegExp(`(<!-- generated:${name} -->\n)[\\s\\S]*?(<!-- /generated -->)`);
    if (!region.test(filled)) {
      console.error(
        `README.md has no region '${name}'; add <!-- generated:${name} --> and <!-- /generated -->`,
      );
      continue;
    }
    const content = await make();
    filled = filled.replace(region, (_all, open, close) => `${open}${content}\n${close}`);
  }
  return filled;
}

async function main(check) {
  if (!existsSync(readme)) return 'README.md does not exist yet; nothing to fill';
  if (!existsSync(dist)) throw new Error('dist/ does not exist; run: npm run build');
  const before = readFileSync(readme, 'utf8');
  const after = await fill(before);
  if (after === before) return 'README.md: generated tables are up to date';
  if (check)
    throw new Error('README.md: generated tables are out of date; run: node scripts/generate-readme.mjs');
  writeFileSync(readme, after);
  return 'README.md: generated tables written';
}

try {
  console.error(await main(process.argv.includes('--check')));
} catch (thrown) {
  console.error(thrown.message);
  process.exitCode = 1;
}

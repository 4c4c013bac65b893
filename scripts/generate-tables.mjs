// Fills the generated tables of the documents from the same data that the program uses. Reads dist/, so it runs after
// the build. Usage: node scripts/generate-tables.mjs [--check]; with --check nothing is written.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const dist = new URL('../dist/', import.meta.url);

/** The regions of each document; they stand between `<!-- generated:NAME -->` and `<!-- /generated -->`. */
const DOCUMENTS = {
  'docs/settings.md': ['settings'],
  'docs/host-files.md': ['sources'],
  'docs/servers.md': ['policy'],
  'docs/principals.md': ['principals'],
  'docs/languages-and-commands.md': ['languages', 'exec', 'isolator'],
};

const TABLES = {
  settings: async () => {
    const { settingsTable } = await import(new URL('settings/environment/settings.js', dist).href);
    return table(
      ['variable', 'meaning', 'default', 'allowed'],
      settingsTable().map((row) => [code(row.name), row.meaning, row.default, row.allowed]),
    );
  },
  exec: async () => {
    const { settingsIn } = await import(new URL('settings/environment/setting-rules.js', dist).href);
    const { execVariables } = await import(new URL('code-exec/exec-settings.js', dist).href);
    return table(
      ['variable', 'meaning', 'default', 'allowed'],
      settingsIn(execVariables).map((row) => [code(row.name), row.meaning, row.default, row.allowed]),
    );
  },
  policy: async () => {
    const { policyTable } = await import(new URL('policy/rules/policy-file.js', dist).href);
    return table(
      ['field', 'meaning', 'default', 'allowed'],
      policyTable().map((row) => [code(row.field), row.meaning, row.default, row.allowed]),
    );
  },
  principals: async () => {
    const { principalsTable } = await import(new URL('service/principals/principals-table.js', dist).href);
    return table(
      ['field', 'meaning', 'default', 'allowed'],
      principalsTable().map((row) => [code(row.field), row.meaning, row.default, row.allowed]),
    );
  },
  languages: async () => {
    const { languages } = await import(new URL('settings/languages/records.js', dist).href);
    return table(
      ['language', 'other names', 'files', 'default file', 'image', 'its own limits', 'MCP tools'],
      languages.map((language) => [
        code(language.name),
        language.aliases.map(code).join(', '),
        language.extensions.map(code).join(' '),
        code(language.file),
        code(language.profile),
        limitsOf(language),
        language.tools === 'none' ? 'no' : 'yes',
      ]),
    );
  },
  isolator: async () => {
    const { isolatorTable } = await import(new URL('settings/languages/isolator-file.js', dist).href);
    return table(
      ['key', 'what it does here', 'allowed'],
      isolatorTable().map((row) => [code(row.key), row.here, row.allowed]),
    );
  },
  sources: async () => {
    const { SOURCES } = await import(new URL('hosts/records/all-hosts.js', dist).href);
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

const MB_BYTES = 1024 ** 2;

function limitsOf({ limits, places }) {
  const { timeoutSeconds, memoryBytes, pids } = limits;
  return [
    timeoutSeconds && `${timeoutSeconds} seconds`,
    memoryBytes && `${memoryBytes / MB_BYTES} MB of memory`,
    pids && `${pids} processes`,
    ...places.map(({ target, sizeMb }) => `${sizeMb} MB more for files in ${code(target)}`),
  ]
    .filter(Boolean)
    .join('; ');
}

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

async function fill(document, text) {
  let filled = text;
  for (const name of DOCUMENTS[document]) {
    const region = new RegExp(`(<!-- generated:${name} -->\n)[\\s\\S]*?(<!-- /generated -->)`);
    if (!region.test(filled)) {
      throw new Error(
        `${document} has no region '${name}'; add <!-- generated:${name} --> and <!-- /generated -->`,
      );
    }
    const content = await TABLES[name]();
    filled = filled.replace(region, (_all, open, close) => `${open}${content}\n${close}`);
  }
  return filled;
}

async function main(check) {
  if (!existsSync(dist)) throw new Error('dist/ does not exist; run: npm run build');
  for (const document of Object.keys(DOCUMENTS)) {
    const path = fileURLToPath(new URL(document, root));
    const before = readFileSync(path, 'utf8');
    const after = await fill(document, before);
    if (after === before) console.error(`${document}: generated tables are up to date`);
    else if (check) {
      throw new Error(`${document}: generated tables are out of date; run: node scripts/generate-tables.mjs`);
    } else {
      writeFileSync(path, after);
      console.error(`${document}: generated tables written`);
    }
  }
}

try {
  await main(process.argv.includes('--check'));
} catch (thrown) {
  console.error(thrown.message);
  process.exitCode = 1;
}

// Checks the architecture of src/: imports go down only, from floor to floor and between the rooms of a floor; each npm
// package stays behind its door, and no file imports itself by a detour. Reads import lines, not types.
// Usage: node scripts/check-floors.mjs [FOLDER]

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const BELOW_SERVER = [
  'base',
  'observe',
  'protocol',
  'config',
  'engine',
  'sandbox',
  'downstream',
  'run',
  'render',
  'exec',
  'shared',
];
/** Which floors each floor may use, besides itself. */
const FLOORS = {
  base: [],
  observe: ['base'],
  exec: ['base', 'protocol', 'config'],
  protocol: ['base'],
  shared: ['base', 'observe', 'protocol'],
  config: ['base', 'protocol'],
  engine: ['base', 'protocol', 'config'],
  sandbox: ['base', 'protocol', 'config', 'engine'],
  downstream: ['base', 'protocol', 'config'],
  run: ['base', 'protocol', 'config', 'exec', 'engine', 'sandbox', 'downstream'],
  render: ['base', 'protocol', 'config', 'run'],
  server: BELOW_SERVER,
  cli: [...BELOW_SERVER, 'server'],
};

/**
 * Rooms of a floor, and which others of its rooms each may use. What stands outside of them may use all of them, and they
 * may not use it.
 */
const ROOMS = {
  run: {
    policy: [],
    artifacts: [],
    approvals: ['policy'],
    calls: ['policy', 'approvals'],
    programs: ['artifacts'],
    outcome: ['artifacts', 'programs', 'approvals'],
  },
};

/** The doors: floors or single files that may import a package. */
const PACKAGES = {
  // Questions on a terminal.
  '@clack/prompts': ['cli/setup/dialogue.ts'],
  // Conditions of the policy file.
  '@marcbachmann/cel-js': ['config/parsers.ts'],
  '@modelcontextprotocol/client': ['downstream/'],
  '@modelcontextprotocol/core': ['downstream/oauth/', 'server/'],
  '@modelcontextprotocol/node': ['exec/'],
  '@modelcontextprotocol/server': ['exec/', 'server/'],
  '@toon-format/toon': ['render/toon.ts'],
  'cli-table3': ['cli/'],
  dotenv: ['config/'],
  commander: ['cli/'],
  execa: ['base/process.ts'],
  'fastest-levenshtein': ['base/closest.ts'],
  // Signatures of access tokens.
  jose: ['server/principals/oauth/'],
  'jsonc-parser': ['config/'],
  minisearch: ['downstream/'],
  open: ['cli/'],
  'p-queue': ['downstream/', 'exec/', 'run/', 'server/'],
  picocolors: ['cli/', 'observe/'],
  pino: ['observe/'],
  'smol-toml': ['config/'],
  yaml: ['config/', 'run/'],
  zod: [
    'protocol/',
    'config/',
    'engine/',
    'exec/',
    'sandbox/',
    'downstream/',
    'run/',
    'server/',
    'cli/install/',
  ],
};

/** What a line of code may say only in certain places, and what to do instead. */
const WORDS = [
  { pattern: /^\s*export default\b/, doors: [], advice: 'export by name' },
  {
    pattern: /\bprocess\.env\b/,
    doors: ['cli/'],
    advice: 'take Settings, or the environment as a parameter',
  },
  { pattern: /\bconsole\.\w+\(/, doors: ['cli/'], advice: 'stdout belongs to MCP; emit a BridgeEvent' },
];

const IMPORT =
  /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

const STRING_OR_COMMENT =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/.*/g;

const root = process.argv[2] ?? join(fileURLToPath(new URL('.', import.meta.url)), '..', 'src');
const violations = [];
/** File to the files that it imports; paths are relative to the root, with forward slashes. */
const graph = new Map();

for (const file of sourceFiles(root)) check(file, readFileSync(join(root, file), 'utf8'));
for (const cycle of cycles()) {
  violations.push(
    `src/${cycle[0]}:1: imports itself: ${cycle.join(' -> ')}; move what they share to a file below both`,
  );
}

for (const violation of violations) console.error(violation);
console.error(
  violations.length === 0
    ? `floors: ${graph.size} files, imports go down only`
    : `floors: ${violations.length} violations`,
);
process.exitCode = violations.length === 0 ? 0 : 1;

function sourceFiles(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => name.split(sep).join('/'))
    .filter((name) => name.endsWith('.ts'))
    .sort();
}

function check(file, text) {
  const code = withoutComments(text);
  const imported = [];
  graph.set(file, imported);
  const floor = file.split('/')[0];
  if (!file.includes('/') || FLOORS[floor] === undefined) {
    report(file, code, 0, `is on no floor; there are ${Object.keys(FLOORS).join(', ')}`);
  }
  for (const match of code.matchAll(IMPORT)) {
    const target = match[1] ?? match[2] ?? match[3];
    const at = match.index + match[0].indexOf(target);
    if (target.startsWith('node:')) continue;
    if (!target.startsWith('.')) {
      checkPackage(file, code, at, target);
      continue;
    }
    const resolved = posix.normalize(posix.join(posix.dirname(file), target)).replace(/\.js$/, '.ts');
    imported.push(resolved);
    const other = resolved.split('/')[0];
    if (other !== floor && !FLOORS[floor]?.includes(other)) {
      report(
        file,
        code,
        at,
        `${floor}/ may not use ${other}/; it may use ${FLOORS[floor]?.join(', ') || 'nothing'}`,
      );
    } else if (other === floor) checkRoom(file, code, at, resolved);
  }
  for (const { pattern, doors, advice } of WORDS) {
    if (isBehind(file, doors)) continue;
    for (const [index, line] of code.split('\n').entries()) {
      const found = line.match(pattern);
      if (found !== null)
        violations.push(`src/${file}:${index + 1}: ${found[0].trim()} is not for here; ${advice}`);
    }
  }
}

function checkRoom(file, code, at, resolved) {
  const [floor, room] = file.split('/');
  const others = ROOMS[floor]?.[room];
  if (others === undefined) return;
  const other = resolved.split('/')[1];
  if (other === room || others.includes(other)) return;
  const shown = other.endsWith('.ts') ? `${floor}/${other}` : `${floor}/${other}/`;
  const allowed = others.map((each) => `${floor}/${each}`).join(', ') || 'nothing else there';
  report(file, code, at, `${floor}/${room}/ may not use ${shown}; it may use ${allowed}`);
}

function checkPackage(file, code, at, target) {
  const name = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
  const doors = PACKAGES[name];
  if (doors === undefined) report(file, code, at, `${name} has no door; add one to scripts/check-floors.mjs`);
  else if (!isBehind(file, doors))
    report(file, code, at, `${name} may be imported only in ${doors.join(', ')}`);
}

function isBehind(file, doors) {
  return doors.some((door) => (door.endsWith('/') ? file.startsWith(door) : file === door));
}

function report(file, code, at, message) {
  violations.push(`src/${file}:${code.slice(0, at).split('\n').length}: ${message}`);
}

/** Comments become blanks, so that lines keep their numbers; strings stay, whatever they look like. */
function withoutComments(text) {
  return text.replace(STRING_OR_COMMENT, (part) =>
    part.startsWith('/') ? part.replace(/[^\n]/g, ' ') : part,
  );
}

/** One path for each group of files that import each other, found depth first. */
function cycles() {
  const found = [];
  const done = new Set();
  const path = [];
  const visit = (file) => {
    if (done.has(file)) return;
    const start = path.indexOf(file);
    if (start >= 0) {
      found.push([...path.slice(start), file]);
      return;
    }
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

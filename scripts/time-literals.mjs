// Lists the numbers of time in the tests on which a verdict may rest; --help says how. It goes by the text of statements, and so also
// names some that are harmless. With --check it demands that two kinds are gone: a time that was measured and is held against a
// number, and a wait with a limit of its own. What a machine needs is told in its own units (test/support/time.ts).

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ['test', 'sandbox-runtime/tests'];
const NUMBER = String.raw`-?\d[\d_]*(?:\.\d+)?(?:e\d+)?`;
/** What a measured time is called here. */
const MEASURED = String.raw`(?:performance\.now\(\)|Date\.now\(\)|time\.(?:monotonic|time|perf_counter)\(\)|\b(?:took\w*|elapsed\w*|duration\w*|waited\w*|lasted\w*|ms|seconds)\b|\w+(?:Ms|Seconds|_ms|_s)\b)(?!\.(?:length|size)\b)`;

/** By kind: what it is, and the statements that are of it. The first one that fits is taken. */
const KINDS = {
  judged: {
    says: 'a measured time that must be less than a number',
    pattern: new RegExp(
      String.raw`(?:${MEASURED})[^;{}]*?\.toBeLessThan(?:OrEqual)?\(\s*${NUMBER}\s*\)|(?:${MEASURED})[^;{}\n|]{0,30}[^;{}\n'|]<=?\s*${NUMBER}(?!\w)|assertLess(?:Equal)?\([^;]*(?:${MEASURED})[^;]*,\s*${NUMBER}\s*\)`,
    ),
    isDemanded: true,
  },
  waited: {
    says: 'a limit of its own for a wait, of less than 100 s',
    pattern: new RegExp(
      // Not from the end of an object, of which the wait is the last member, into what follows it.
      String.raw`(?:waitFor|expect\.poll|eventually|until)\((?:(?!\),\s*\})[^;])*?\b(?:timeout|within\w*)\b\W{1,4}${NUMBER}|(?:waitFor|eventually)\([^;{}]*,\s*${NUMBER}\s*\)|\.(?:wait|join|get|communicate)\([^)]*timeout=\d\d?(?![\d.])`,
    ),
    isDemanded: true,
  },
  slept: {
    says: 'time that is let go by',
    pattern: new RegExp(String.raw`(?:pause|sleep|delay|setTimeout)\((?:[^;()]*,)?\s*${NUMBER}\s*\)`),
  },
  given: {
    says: 'a deadline that the product is given',
    pattern: new RegExp(
      String.raw`AbortSignal\.timeout\(\s*${NUMBER}|(?:\w+(?:Ms|Seconds|_MS|_S|_seconds|_s)|timeout)['"]?\s*[:=]\s*['"]?${NUMBER}|MCP_(?:BRIDGE|EXEC)_\w*(?:TIMEOUT|PATIENCE|WAIT|IDLE|DRAIN|AFTER|LIFE|SECONDS)['"]?\s*[:=]\s*['"]${NUMBER}`,
    ),
  },
};

const { root, check } = takeOptions({
  command: 'node scripts/time-literals.mjs',
  about: 'Lists numbers of time in the tests on which a verdict may rest.',
  options: {
    root: { value: 'FOLDER', says: 'another checkout', default: ROOT },
    check: { says: 'print only what must not be there, and exit with 1 where there is some' },
  },
});

const found = FOLDERS.flatMap((folder) => filesBelow(join(root, folder))).flatMap(literalsOf);
const wanted = found.filter(({ kind }) => !check || KINDS[kind].isDemanded);
for (const { file, line, kind, text } of wanted)
  console.log(`${relative(root, file)}:${line}: ${kind}: ${text.replace(/\s+/g, ' ').slice(0, 140)}`);
if (!check)
  for (const [kind, { says }] of Object.entries(KINDS))
    console.log(`${String(found.filter((one) => one.kind === kind).length).padStart(6)}  ${kind}: ${says}`);
process.exitCode = check && wanted.length > 0 ? 1 : 0;

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|mjs|py)$/.test(entry.name))
    .map(({ path, name }) => join(path, name));
}

/** One for each statement, which ends with a semicolon, in Python with its line. */
function literalsOf(file) {
  const literals = [];
  let line = 1;
  for (const text of readFileSync(file, 'utf8').split(file.endsWith('.py') ? /(?<=\n)/ : /(?<=;[ \t]*\n)/)) {
    const [kind] = Object.entries(KINDS).find(([, { pattern }]) => pattern.test(text)) ?? [];
    if (kind !== undefined) {
      const at = KINDS[kind].pattern.exec(text);
      literals.push({ file, line: line + text.slice(0, at.index).split('\n').length - 1, kind, text: at[0] });
    }
    line += text.split('\n').length - 1;
  }
  return literals;
}

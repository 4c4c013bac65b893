// Tries the bridge by the conformance suite of the protocol: its HTTP endpoint as a server, its downstream floor as a client,
// in every revision that the suite knows. Exits with 1 when something is missed without a reason on the list, or passes that is
// on it; with 2 for a wrong option, with 3 when the suite cannot be had. --help says how.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { FixtureServer } from './conformance/fixture-server.mjs';
import { LEFT_OUT } from './conformance/left-out.mjs';
import { publish, summaryOf, tableOf } from './conformance/report.mjs';
import { RUNS, SIDES, VERSIONS } from './conformance/runs.mjs';
import { cacheFolder, Suite } from './conformance/suite.mjs';
import { judge } from './conformance/verdict.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CLIENT = join(ROOT, 'test/fixtures/conformance/client.mjs');

const {
  side: sides,
  suite: versions,
  scenario,
  json,
  publish: isPublished,
  from,
  show,
} = takeOptions({
  command: 'npm run test:conformance --',
  about:
    'Tries the built bridge by the conformance suite of MCP, which it fetches from npm: as a server and as a client, in the\nrevisions that the suite knows. Starts no container. It takes some five minutes.',
  options: {
    side: { value: 'SIDE', says: 'only this side', among: SIDES },
    suite: { value: 'VERSION', says: 'only this version of the suite', among: VERSIONS },
    scenario: { value: 'NAME', says: 'only scenarios with this in their names' },
    json: { value: 'FILE', says: 'write the whole report there' },
    publish: { says: 'write scripts/conformance/README.md' },
    from: { value: 'FILE', says: 'take an earlier report instead of trying' },
    show: { says: 'print what the suite says of each scenario that is not passed' },
  },
});
const say = (text) => console.error(pc.dim(text));
const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};

if (
  isPublished &&
  (scenario !== undefined || sides.length < SIDES.length || versions.length < VERSIONS.length)
)
  leave(2, '--publish is for a whole trial: leave out --side, --suite and --scenario. See --help.');

const NOTHING = { checks: [], said: 'The suite did not run it.', exitCode: 1 };

/** The outcome of each scenario that `run` has: [{ side, suite, revision, scenario, outcome, passed, missed, reasons, wrong }]. */
async function tryRun({ side, version, revision, isFor, isSuite, arguments: further }, suite) {
  const all = await suite.scenarios(side);
  const chosen = all.filter((each) => isFor(each) && each.name.includes(scenario ?? ''));
  if (chosen.length === 0) return [];
  const names = chosen.map(({ name }) => name);
  const server = side === 'server' ? await FixtureServer.start() : undefined;
  const target = side === 'server' ? ['--url', server.url] : ['--command', `${process.execPath} ${CLIENT}`];
  const how = [...target, ...further];
  try {
    const isWhole = server !== undefined && isSuite && scenario === undefined;
    const found = await (isWhole ? suite.runAll(side, how) : suite.run(side, names, how));
    return names.map((name) => {
      const result = found.get(name) ?? NOTHING;
      const judged = judge(result, reasonsFor(side, name, version));
      const judgedAs = { side, suite: version, revision, scenario: name, ...judged };
      print(judgedAs, result);
      return judgedAs;
    });
  } finally {
    await server?.close();
  }
}

/** A reason may be for one version of the suite alone: then it stands under `name @ version`. */
const reasonsFor = (side, name, version) => LEFT_OUT[side][`${name} @ ${version}`] ?? LEFT_OUT[side][name];

const MARKS = {
  passed: pc.green('✓'),
  partly: pc.yellow('◐'),
  'left out': pc.yellow('·'),
  skipped: pc.dim('-'),
};

function print(
  /** @type {any} */ { side, revision, scenario: name, outcome, passed, missed, wrong },
  { said },
) {
  const mark = wrong === undefined ? MARKS[outcome] : pc.red('✗');
  const count = `${passed} passed${missed.length === 0 ? '' : `, missed: ${missed.join(', ')}`}`;
  console.log(`${mark} ${side} ${revision} ${name}: ${count}`);
  if (wrong !== undefined) console.log(pc.red(`    ${wrong.slice(0, 2_000)}`));
  if (show && outcome !== 'passed') console.log(pc.dim(said));
}

async function tryAll() {
  if (!existsSync(join(ROOT, 'dist/mcp/connection/server.js')))
    leave(3, 'The bridge is not built. Run `npm run build`.');
  const suites = new Map();
  process.once('exit', () => {
    for (const suite of suites.values()) suite.close();
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  const cache = cacheFolder(ROOT);
  try {
    for (const version of versions) suites.set(version, await Suite.open(version, cache, say));
  } catch (thrown) {
    leave(3, `The suite cannot be had: ${thrown.message}`);
  }
  const results = [];
  for (const run of RUNS)
    if (sides.includes(run.side) && versions.includes(run.version))
      results.push(...(await tryRun(run, suites.get(run.version))));
  if (results.length === 0) leave(2, `No scenario has '${scenario}' in its name.`);
  return { date: new Date().toISOString(), results };
}

const report = from === undefined ? await tryAll() : JSON.parse(readFileSync(from, 'utf8'));
const { results } = report;
console.log(`\n${tableOf(results)}\n\n${summaryOf(results)}`);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 1)}\n`);
if (isPublished) say(`wrote ${publish(ROOT, report)}`);
const wrong = results.filter((each) => each.wrong !== undefined);
if (wrong.length > 0)
  leave(1, pc.red(`${wrong.length} of ${results.length} are not as the list of reasons says.`));

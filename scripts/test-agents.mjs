// Tries the built bridge in real host programs from npm, without a login, a model or a network: each is told of the bridge
// by its own `install`, a server of the host's is moved by `adopt` and put back by `restore`, and a stand-in for its model's API has it call run_python and keeps what the model would have seen.
// Exits with 1 when something that is demanded did not hold, 2 for a wrong option, 3 when no host could be tried.
// --help says how.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pc from 'picocolors';
import { judgeApprovals } from './agents/approvals.mjs';
import { judgeFirstHours, NEWCOMERS } from './agents/first-hour.mjs';
import { HOSTS } from './agents/hosts.mjs';
import { install } from './agents/install.mjs';
import { judgeEnd, judgeSession } from './agents/judge.mjs';
import { judgeLongRuns } from './agents/long-runs.mjs';
import { judgeMoves } from './agents/moves.mjs';
import { judgeHttp, serveHttp } from './agents/over-http.mjs';
import { judgeOAuth, judgeRefresh } from './agents/over-oauth.mjs';
import { judgePrompts } from './agents/prompts.mjs';
import { hostTable } from './agents/report.mjs';
import { Session } from './agents/session.mjs';
import { judgeSessions } from './agents/sessions.mjs';
import { judgeSideBySide } from './agents/side-by-side.mjs';
import { CALLS, ENDLESS, KEPT, reading, reference } from './agents/trials.mjs';
import { judgeWrongSetting } from './agents/wrong-setting.mjs';
import { MAIN, npmServer, ROOT, Stage } from './bench/stage.mjs';
import { putIntoRegion, REGIONS } from './measured-region.mjs';
import { takeOptions } from './options.mjs';

const CACHE = join(ROOT, '.cache/agents');
const SHOWN_CHARS = 400;

const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};

const options = () =>
  takeOptions({
    command: 'npm run test:agents --',
    about:
      'Has real host programs from npm call the built bridge, and says what their models would have seen.',
    options: {
      only: { value: 'NAME,NAME', says: 'only these hosts', among: Object.keys(HOSTS) },
      json: { value: 'FILE', says: 'where the whole report is written', default: join(CACHE, 'report.json') },
      http: { says: 'only over HTTP, with a token and with OAuth' },
      shared: { says: 'only side by side, with one bridge for all of them' },
      long: { says: 'only runs that take longer than a host waits; a quarter of an hour' },
      approvals: { says: 'only calls that wait for a person, in hosts that can and cannot ask' },
      prompts: {
        says: 'only a prompt of a moved server, in the menu of a host and without a screen; starts no container',
      },
      sessions: { says: 'only calls of run_python that share a session; a minute for all hosts' },
      'first-hour': {
        says: `only a first hour, from setup to uninstall --all, and the home after it; of ${Object.keys(NEWCOMERS).join(' and ')}`,
      },
      show: { says: 'print the beginning of every result' },
      publish: { says: `put the table into ${REGIONS.agents}` },
      from: { value: 'FILE', says: 'take an earlier report instead of trying' },
    },
  });

/** What is kept of a session: everything that the model got, and what the host wrote to its own output. */
const transcriptOf = ({ standIn, said, listed }) => ({
  listed,
  firstPrompt: JSON.parse(standIn.turns[0].body),
  results: Object.fromEntries(
    [...Object.keys(CALLS), ...Object.keys(KEPT).map((name) => `${name}, read`)].map((name, index) => [
      name,
      standIn.turns.at(-1).results[index],
    ]),
  ),
  said,
  refused: standIn.refused,
});

async function tryHost(id, stage, ref, { engine, http, isOnlyHttp }) {
  const host = HOSTS[id];
  const { title, version } = host;
  try {
    const argv = await install(id, host, CACHE);
    const overHttp = async () => [
      ...(await judgeHttp(new Session(id, host, argv, stage, engine, {}), ref, http)),
      ...(await judgeOAuth(new Session(id, host, argv, stage, engine, {}), ref, http)),
      ...(await judgeRefresh(new Session(id, host, argv, stage, engine, {}), ref, http)),
    ];
    if (isOnlyHttp) return { id, title, version, findings: await overHttp() };
    const play = (calls, how) => new Session(id, host, argv, stage, engine).play(calls, how);
    const readings = Object.keys(KEPT).map((name) => reading(host, name));
    const session = await play([...Object.values(CALLS), ...readings]);
    const interrupted = await play([ENDLESS], { interruptWith: 'SIGINT' });
    const killed = await play([ENDLESS], { interruptWith: 'SIGKILL' });
    const findings = [
      ...judgeSession(host, session, ref),
      judgeEnd('end of session', session.end),
      judgeEnd('Ctrl-C', interrupted.end),
      judgeEnd('host killed', killed.end),
      ...(await judgeWrongSetting(new Session(id, host, argv, stage, engine))),
      ...(await judgeMoves(new Session(id, host, argv, stage, engine, {}), ref)),
      ...(await overHttp()),
    ];
    return { id, title, version, findings, transcript: transcriptOf(session) };
  } catch (thrown) {
    return { id, title, version, failed: thrown.message };
  }
}

function print(/** @type {any} */ { title, version, findings, failed, transcript }, show) {
  console.log(pc.bold(`\n${title} ${version}`));
  if (failed !== undefined) return console.log(pc.red(`  not tried: ${failed}`));
  for (const { what, saw, held } of findings) {
    const mark = held === undefined ? pc.dim('·') : held ? pc.green('✓') : pc.red('✗');
    console.log(`  ${mark} ${what.padEnd(20)} ${saw}`);
  }
  if (transcript === undefined) return;
  if (transcript.refused.length > 0)
    console.log(pc.dim(`  refused it the network: ${transcript.refused.join(', ')}`));
  if (!show) return;
  for (const [name, result] of Object.entries(transcript.results))
    console.log(pc.cyan(`  ${name}:\n`) + JSON.stringify(result).slice(0, SHOWN_CHARS));
}

/** All at the same time; what is found about all of them is a row of its own. */
async function triedTogether(only, stage, ref, engine) {
  const hosts = [];
  for (const id of only) hosts.push({ id, host: HOSTS[id], argv: await install(id, HOSTS[id], CACHE) });
  const { all, ...found } = await judgeSideBySide(hosts, { stage, engine, ref });
  return [
    ...hosts.map(({ id, host: { title, version } }) => ({ id, title, version, findings: found[id] })),
    { id: 'all', title: 'All of them', version: 'at once', findings: all },
  ];
}

/** `judge` gives findings by the id of the host. */
function judgeOf() {
  if (isOnlyLong) return judgeLongRuns;
  if (isOnlySessions) return judgeSessions;
  if (isOnlyPrompts) return judgePrompts;
  if (isOnlyFirstHour) return judgeFirstHours;
  return isOnlyApprovals ? judgeApprovalsOfAll : undefined;
}

async function judgeApprovalsOfAll(hosts, at) {
  const found = {};
  for (const each of hosts) found[each.id] = await judgeApprovals(each, at);
  return found;
}

async function triedBy(judge, only, stage, engine) {
  const hosts = [];
  const tried = isOnlyFirstHour ? only.filter((id) => id in NEWCOMERS) : only;
  for (const id of tried) hosts.push({ id, host: HOSTS[id], argv: await install(id, HOSTS[id], CACHE) });
  const found = await judge(hosts, { stage, engine });
  return hosts.map(({ id, host: { title, version } }) => ({ id, title, version, findings: found[id] }));
}

async function tryAll(only, show, { isOnlyHttp, isOnlyShared, judge }) {
  if (!existsSync(MAIN)) leave(3, 'The bridge is not built. Run `npm run build`.');
  const stage = new Stage({ quick: true });
  process.once('exit', () => stage.close());
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const engine = process.env.MCP_BRIDGE_RUNTIME ?? 'podman';
  const reportOf = (hosts) => {
    for (const each of hosts) print(each, show);
    return { date: new Date().toISOString(), hosts };
  };
  if (judge !== undefined) return reportOf(await triedBy(judge, only, stage, engine));
  const home = stage.home({ everything: npmServer('server-everything') });
  const program = { command: process.execPath, args: [MAIN], env: stage.environment(home), cwd: home };
  const ref = await reference(stage, program);
  if (isOnlyShared) return reportOf(await triedTogether(only, stage, ref, engine));
  const http = await serveHttp(program.env, home);
  const hosts = [];
  try {
    for (const id of only) {
      hosts.push(await tryHost(id, stage, ref, { engine, http, isOnlyHttp }));
      print(hosts.at(-1), show);
    }
  } finally {
    await http.close();
  }
  return { date: new Date().toISOString(), hosts };
}

const {
  only,
  json,
  show,
  http: isOnlyHttp,
  shared: isOnlyShared,
  long: isOnlyLong,
  sessions: isOnlySessions,
  prompts: isOnlyPrompts,
  approvals: isOnlyApprovals,
  'first-hour': isOnlyFirstHour,
  publish,
  from,
} = options();
const judge = judgeOf();
if (publish && (isOnlyHttp || isOnlyShared || judge !== undefined))
  leave(
    2,
    '--publish is for all that is tried: leave out --http, --shared, --long, --sessions, --prompts, --approvals and --first-hour. See --help.',
  );
const report =
  from === undefined
    ? await tryAll(only, show, { isOnlyHttp, isOnlyShared, judge })
    : JSON.parse(readFileSync(from, 'utf8'));
const isTable = !isOnlyShared && judge === undefined;
const table = `${hostTable(report.hosts)}\n\nTried without a screen on ${report.date.slice(0, 10)}.`;
if (isTable) console.log(`\n${table}`);
if (from === undefined) {
  mkdirSync(dirname(json), { recursive: true });
  writeFileSync(json, `${JSON.stringify(report, null, 1)}\n`);
  console.log(pc.dim(`\nwrote ${json}`));
}
if (publish) putIntoRegion('agents', table);
const findings = report.hosts.flatMap(({ findings = [] }) => findings);
if (findings.length === 0) process.exitCode = 3;
else if (findings.some(({ held }) => held === false)) process.exitCode = 1;

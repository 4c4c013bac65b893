// `npm run windows:kills`: windows of one user that share a bridge call in a loop while the bridge, windows and servers are
// killed at random; --help says how. Exits with 1 where an answer is lost without a sentence, is wrong, or something is left.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { commandLine, pidsMentioning } from './bench/processes.mjs';
import { MAIN, pause, ROOT } from './bench/stage.mjs';
import { leaveWrong, takeOptions } from './options.mjs';

/** What an answer may say that is none: the call was under way when somebody it needed ended. */
const SENTENCES = [
  /E_SHUTDOWN: The shared bridge has ended while this call was under way/,
  /E_SHUTDOWN/,
  /\bserver 'desk'/i,
  /E_SERVER_UNAVAILABLE/,
];
const CALL_MS = 60_000;
const LEFT_WITHIN_MS = 20_000;

const count = (says, usual) => ({ value: 'N', kind: 'count', says, default: usual });
const values = takeOptions({
  command: 'npm run windows:kills --',
  about:
    'Kills the shared bridge, windows and servers at random while windows call, and says what became of each call.',
  options: {
    seconds: count('how long', 300),
    windows: count('windows at once', 6),
    'every-ms': count('a kill so often, on average', 1_500),
    'without-containers': { says: 'only calls that go to a server' },
    json: { value: 'FILE', says: 'write the report there' },
  },
});
if (values.windows < 2) leaveWrong('--windows: at least 2, so that one can be killed beside another.');

const home = mkdtempSync(join(tmpdir(), 'windows-kills-'));
const runtime = join(home, 'runtime');
const folders = ['one', 'two'].map((name) => join(home, name));
for (const folder of [runtime, ...folders]) mkdirSync(folder, { mode: 0o700 });
const config = join(home, 'servers.json');
const desk = { command: process.execPath, args: [join(ROOT, 'test/fixtures/keeping-server.mjs'), home] };
writeFileSync(config, JSON.stringify({ mcpServers: { desk } }), { mode: 0o600 });
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:MCP_|CLAUDE)/.test(name))),
  HOME: home,
  XDG_DATA_HOME: process.env.XDG_DATA_HOME ?? join(homedir(), '.local/share'),
  XDG_RUNTIME_DIR: runtime,
  MCP_SERVERS_CONFIG: config,
  MCP_BRIDGE_STATE_DIR: join(home, 'state'),
  MCP_BRIDGE_SHARED: 'on',
  MCP_BRIDGE_PATIENCE: '0',
  MCP_BRIDGE_LOG_LEVEL: 'error',
  MCP_BRIDGE_EXECUTE_SERVER: 'desk',
  MCP_BRIDGE_TOOLS: values['without-containers'] ? 'execute' : 'run_python,execute',
};

const report = {
  calls: 0,
  answered: 0,
  told: 0,
  ofKilledWindows: 0,
  lost: [],
  wrong: [],
  kills: { bridge: 0, window: 0, server: 0 },
  left: [],
};
const endsAt = performance.now() + values.seconds * 1000;
const isOver = () => performance.now() > endsAt;
const live = new Set();
let marks = 0;

/** Opens windows one after the other, until the time is over; each calls until it is killed. */
async function place(number) {
  while (!isOver()) {
    const window = { isKilled: false, client: undefined, pid: undefined };
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN],
      env,
      cwd: folders[number % folders.length],
      stderr: 'ignore',
    });
    window.client = new Client({ name: `place-${number}`, version: '1.0.0' });
    try {
      await window.client.connect(transport, { timeout: CALL_MS });
      window.pid = transport.pid;
      live.add(window);
      while (!isOver() && !window.isKilled) await call(window);
    } catch (thrown) {
      // A window may be killed before it is greeted.
      if (!window.isKilled) report.lost.push(`a window was not greeted: ${thrown.message}`);
    } finally {
      live.delete(window);
      await window.client.close().catch(() => {});
    }
  }
}

async function call(window) {
  const mark = `mark-${++marks}`;
  const isRun = !values['without-containers'] && marks % 10 === 0;
  const ms = Math.floor(Math.random() * 200);
  const params = isRun
    ? { name: 'run_python', arguments: { code: `print('${mark}')` } }
    : {
        name: 'execute',
        arguments: {
          command: marks % 2 === 0 ? 'say' : 'wait',
          args: marks % 2 === 0 ? [mark] : [String(ms)],
        },
      };
  const expected = params.arguments.command === 'wait' ? `waited ${ms} ms` : mark;
  report.calls++;
  try {
    const answer = await window.client.callTool(params, undefined, { timeout: CALL_MS });
    const text = JSON.stringify(answer.content);
    if (text.includes(expected) && answer.isError !== true) report.answered++;
    else if (SENTENCES.some((sentence) => sentence.test(text))) report.told++;
    else report.wrong.push(`${JSON.stringify(params.arguments)}: ${text.slice(0, 300)}`);
  } catch (thrown) {
    if (SENTENCES.some((sentence) => sentence.test(thrown.message))) report.told++;
    // Its client hears that the process has gone.
    else if (window.isKilled) report.ofKilledWindows++;
    else report.lost.push(`${JSON.stringify(params.arguments)}: ${thrown.message}`);
    if (window.isKilled) throw thrown;
  }
}

const KILLS = {
  bridge: () => pidsMentioning(`shared-bridge ${runtime}`)[0],
  server: () => anyOf(pidsMentioning(`keeping-server.mjs ${home}`)),
  window: () => {
    const window = anyOf([...live]);
    if (window !== undefined) window.isKilled = true;
    return window?.pid;
  },
};
const anyOf = (list) => list[Math.floor(Math.random() * list.length)];

async function killRepeatedly() {
  while (!isOver()) {
    await pause(values['every-ms'] * (0.5 + Math.random()));
    const kind = anyOf(['bridge', 'bridge', 'window', 'server']);
    const pid = KILLS[kind]();
    if (pid === undefined) continue;
    try {
      process.kill(pid, 'SIGKILL');
      report.kills[kind]++;
    } catch {
      // It had just ended.
    }
  }
}

/** What is there after all windows have gone and the bridge was stopped. */
async function leftovers() {
  await promisify(execFile)(process.execPath, [MAIN, 'stop'], { env });
  const until = performance.now() + LEFT_WITHIN_MS;
  const found = () => [
    ...pidsMentioning(home).map((pid) => `process ${pid}: ${commandLine(pid)}`),
    ...readdirSync(runtime).map((name) => `runtime folder: ${name}`),
  ];
  while (found().length > 0 && performance.now() < until) await pause(200);
  return found();
}

try {
  await Promise.all([killRepeatedly(), ...Array.from({ length: values.windows }, (_, at) => place(at))]);
  report.left = await leftovers();
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
const { calls, answered, told, ofKilledWindows, lost, wrong, kills, left } = report;
console.log(
  `${calls} calls of ${values.windows} windows in ${values.seconds} s; killed: ${kills.bridge} times the bridge, ${kills.window} windows, ${kills.server} servers`,
);
console.log(
  `${answered} answered, ${told} told that what they needed has ended, ${ofKilledWindows} of windows that were killed; ${lost.length} lost, ${wrong.length} wrong, ${left.length} left behind`,
);
for (const line of [...lost, ...wrong, ...left].slice(0, 20)) console.log(`  ${line}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
process.exitCode = lost.length + wrong.length + left.length === 0 ? 0 : 1;

// The two ways to reach a bridge: it is started on stdio by its client, or it serves over HTTP and wants a token. Behind it is
// a server that asks, reports progress and has a prompt, to which the tool `execute` hands each call: no container is needed.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MAIN, ROOT } from '../bench/stage.mjs';

const READY_MS = 60_000;
const SAID_CHARS = 1_000;
const LISTENS = /listens at (http:[^\s"\\]+)/;

/** A way is { command, args, env } or { url, headers }, with `said` for what the bridge wrote last and `close`. */
const OPEN = { stdio: overStdio, http: overHttp };
export const WAYS = Object.keys(OPEN);

/** Names of the tools that are listed. */
export const OFFERED = ['run_python', 'execute'];
/** The prompt of the server as hosts are told of it, what a person types for it, and what of it is completed. */
export const PROMPT = {
  name: 'asking.review',
  title: 'asking: Review it',
  argument: { name: 'fruit', value: 'ap' },
  completed: 'apple,apricot',
  args: { fruit: 'apple' },
};
const WRITTEN = 'review with {"fruit":"apple"}';
export const isWholeMenu = (/** @type {readonly { name: string, title?: string }[]} */ prompts) =>
  prompts.length === 1 && prompts[0]?.name === PROMPT.name && prompts[0].title === PROMPT.title;
export const isWritten = (/** @type {readonly { content: { text?: string } }[]} */ messages) =>
  messages.length === 1 && messages[0]?.content.text === WRITTEN;

export function openWay(way, stage) {
  const folder = mkdtempSync(join(stage.stateDir, 'asking-'));
  const asking = join(ROOT, 'test/fixtures/asking-server.mjs');
  const home = stage.home({ asking: { command: process.execPath, args: [asking, folder, 'prompts'] } });
  const stateDir = join(home, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  const env = stage.environment(home, {
    // Where there is no engine: nothing that is called here runs code.
    PATH: home,
    MCP_BRIDGE_STATE_DIR: stateDir,
    // A bridge of `execute` alone has no prompts of servers.
    MCP_BRIDGE_TOOLS: OFFERED.join(),
    MCP_BRIDGE_WARM: '0',
    MCP_BRIDGE_EXECUTE_SERVER: 'asking',
    MCP_BRIDGE_LOG_LEVEL: 'info',
  });
  return OPEN[way]({ env, home });
}

function overStdio({ env, home }) {
  // A bridge that ends with its client may do so before it has kept the prompts of a server that was just started.
  outputOf(spawnSync(process.execPath, [MAIN, 'servers', 'refresh'], { env, cwd: home, encoding: 'utf8' }));
  // Its log would stand between what its client prints.
  const quiet = { ...env, MCP_BRIDGE_LOG_LEVEL: 'error' };
  return { command: process.execPath, args: [MAIN], env: quiet, said: () => '', close: async () => {} };
}

async function overHttp({ env, home }) {
  const words = ['token', 'create', 'trial', '--servers', '*'];
  const made = outputOf(spawnSync(process.execPath, [MAIN, ...words], { env, cwd: home, encoding: 'utf8' }));
  const options = {
    env,
    cwd: home,
    stdio: /** @type {import('node:child_process').StdioOptions} */ (['ignore', 'ignore', 'pipe']),
  };
  const child = spawn(process.execPath, [MAIN, 'serve', '--http', '127.0.0.1:0'], options);
  const ended = once(child, 'exit');
  let said = '';
  const close = async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await ended;
  };
  let clock;
  const listens = new Promise((resolve, reject) => {
    clock = setTimeout(() => reject(new Error(`It does not listen: ${said}`)), READY_MS);
    void ended.then(() => reject(new Error(`It has ended: ${said}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      said = `${said}\n${line}`.slice(-SAID_CHARS);
      const found = LISTENS.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  try {
    const url = new URL(await listens);
    return { url, headers: { authorization: `Bearer ${made.trim()}` }, said: () => said, close };
  } catch (thrown) {
    await close();
    throw thrown;
  } finally {
    clearTimeout(clock);
  }
}

/** What a command has printed, which must have worked. */
function outputOf(
  /** @type {import('node:child_process').SpawnSyncReturns<string>} */ { status, stdout, stderr },
) {
  if (status !== 0) throw new Error(`It ended with ${status}: ${stderr}`);
  return stdout;
}

// A bridge as its users have it: its command line, and the tool through a real MCP client. Used in machines and outside
// of them, so nothing here knows where the bridge's program lies.

import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** For one answer; the product's own deadlines are shorter. */
const PATIENCE_MS = 600_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const LOG_CHARS = 4_000;
/** What a call is answered with whose set-up takes longer than hosts wait; the agent is told to make it again. */
const SETTING_UP = 'E_SETTING_UP';

/** Never throws: exit code and what was said. */
export function run(program, args, env = {}, timeout = PATIENCE_MS) {
  const options = { env: { ...process.env, ...env }, timeout, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : (error.code ?? 1), stdout, stderr }),
    );
  });
}

/** A command of the bridge that prints JSON, whatever it then exits with. `bridge`: its argv. */
export async function ask(bridge, args, env) {
  const [program, ...first] = bridge;
  const { exitCode, stdout, stderr } = await run(program, [...first, ...args], env);
  try {
    return { exitCode, ...JSON.parse(stdout) };
  } catch {
    throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stdout}${stderr}`);
  }
}

/**
 * Has a bridge for as long as `work` takes. `work` gets `call`, which answers run_python's structured result to its
 * arguments and the options of a request; the bridge's home folder; `log`, the end of what it logged; the client, and a call
 * whose answer is whole.
 */
export async function withBridge(bridge, env, work) {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  const [program, ...args] = bridge;
  const transport = new StdioClientTransport({
    command: program,
    args,
    env: { ...process.env, MCP_BRIDGE_STATE_DIR: join(home, 'state'), MCP_BRIDGE_LOG_LEVEL: 'warn', ...env },
    cwd: home,
    stderr: 'pipe',
  });
  let log = '';
  /** @type {import('node:stream').Readable | null} */ (transport.stderr)
    ?.setEncoding('utf8')
    .on('data', (text) => {
      log = (log + text).slice(-LOG_CHARS);
    });
  const client = new Client({ name: 'host', version: '1.0.0' });
  await client.connect(transport);
  const callWhole = (args, options) => untilSetUp(client, args, options);
  const call = async (args, options) => (await callWhole(args, options)).structuredContent;
  try {
    return await work(call, home, () => log, { client, callWhole });
  } finally {
    await client.close();
  }
}

/** Makes the call again as long as it is told that set-up is still going on, as an agent does. */
async function untilSetUp(client, args, options) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await client.callTool({ name: 'run_python', arguments: args }, undefined, {
      timeout: PATIENCE_MS,
      resetTimeoutOnProgress: true,
      ...options,
    });
    if (answer.structuredContent?.errorType !== SETTING_UP || performance.now() > end) return answer;
  }
}

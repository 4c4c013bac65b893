// Last step: a first answer, the way a host gets it: the bridge as a process of its own, MCP through its pipes, one call.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ownCommand } from '../../base/process/own-command.js';
import { heardOut } from '../../base/process/streams.js';
import { VERSION } from '../../base/version.js';
import { seconds } from '../terminal/output.js';
import { failed, ok, type SetupContext, type Step, skipped } from './step.js';

/** A first start may have to copy the image for a new mapping of ids. */
const WITHIN_MS = 120_000;
const CODE = 'import platform\nprint(6 * 7, "from Python", platform.python_version())';
const ANSWER = /42 from Python (\S+?)(?=[\s"\\]|$)/;
const CALL_ID = 2;

export const answerStep: Step = {
  name: 'answer',
  needs: ['engine', 'ids', 'storage', 'image'],
  doing: 'running a first program, as a host would',
  perform: async (setup) => {
    const { tools } = setup.prepared.settings;
    if (!tools.includes('run_python')) return skipped('MCP_BRIDGE_TOOLS does not offer run_python');
    if (setup.options.dryRun) return skipped('`print(6 * 7)` would be run, as a host would');
    const startedAt = performance.now();
    const { answer, log } = await firstAnswer(setup);
    const took = seconds(performance.now() - startedAt);
    const version = answer.match(ANSWER)?.[1];
    if (version !== undefined) return ok(`6 * 7 is 42, says Python ${version}; ${took} from start to answer`);
    const said = answer === '' ? log : answer;
    return failed(
      `no answer came after ${took}: ${said.trim().slice(-500) || 'nothing was said'}`,
      `Run \`${ownCommand('doctor')}\`.`,
    );
  },
};

const MESSAGES = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'setup', version: VERSION },
    },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  {
    jsonrpc: '2.0',
    id: CALL_ID,
    method: 'tools/call',
    params: { name: 'run_python', arguments: { code: CODE } },
  },
];

/** The line with the answer as it came, and what the bridge logged meanwhile. */
async function firstAnswer({ prepared, signal }: SetupContext): Promise<{ answer: string; log: string }> {
  const [, script = ''] = process.argv;
  const child = spawn(process.execPath, [script, 'serve'], {
    // A second sandbox, kept for a call that does not come, would only take time here.
    env: { ...prepared.discovery.env, MCP_BRIDGE_WARM: '0' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const end = () => child.kill('SIGTERM');
  const timer = setTimeout(end, WITHIN_MS);
  signal.addEventListener('abort', end, { once: true });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let answer = '';
  try {
    child.stdin.on('error', () => {});
    for (const message of MESSAGES) child.stdin.write(`${JSON.stringify(message)}\n`);
    for await (const line of createInterface({ input: child.stdout })) {
      if (idOf(line) !== CALL_ID) continue;
      answer = line;
      break;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    child.stdin.end();
    await exited;
  }
  // Why there is no answer is mostly the last that it logs.
  if (answer === '') await heardOut([child.stderr]);
  return { answer, log };
}

function idOf(line: string): unknown {
  try {
    return Object(JSON.parse(line)).id;
  } catch {
    return undefined;
  }
}

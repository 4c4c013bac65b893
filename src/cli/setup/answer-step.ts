// A first answer, the way a host gets it: the bridge as a process of its own, MCP through its pipes, one call.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ownCommand } from '../../base/process/own-command.js';
import { heardOut } from '../../base/process/streams.js';
import { clip, withoutFullStop } from '../../base/text/text.js';
import { VERSION } from '../../base/version.js';
import { lastProbe, probeKey } from '../../sandbox/launch/last-probe.js';
import { Bridge } from '../../tenant/bridge.js';
import type { ProbedControl } from '../probe/control.js';
import { probeWalls } from '../probe/probe.js';
import { exitCodeOf } from '../probe/report.js';
import { withProgress } from '../serving/prepare.js';
import { seconds } from '../terminal/output.js';
import {
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  type StepWarning,
  skippedResult,
} from './step.js';

/** A first start may have to copy the image for a new mapping of ids. */
const WITHIN_MS = 120_000;
const CODE = 'import platform\nprint(6 * 7, "from Python", platform.python_version())';
const ANSWER = /42 from Python (\S+?)(?=[\s"\\]|$)/;
const CALL_ID = 2;
/** A person reads so much of a failure. */
const MAX_SAID_CHARS = 500;

export const answerStep: Step = {
  name: 'answer',
  needs: ['engine', 'ids', 'storage', 'image'],
  doing: 'running a first program, as a host would',
  perform: async (setup) => {
    const { tools } = setup.prepared.settings;
    if (!tools.includes('run_python')) return skippedResult('MCP_BRIDGE_TOOLS does not offer run_python');
    if (setup.options.dryRun) return skippedResult('`print(6 * 7)` would be run, as a host would');
    const startedAt = performance.now();
    const { answer, log } = await firstAnswer(setup);
    const took = seconds(performance.now() - startedAt);
    const version = answer.match(ANSWER)?.[1];
    if (version !== undefined) return ok(`6 * 7 is 42, says Python ${version}; ${took} from start to answer`);
    const look = `Run \`${ownCommand('doctor')}\`.`;
    if (answer !== '') {
      const { error, remedy } = failureIn(answer);
      return failedResult(`the program failed after ${took}: ${error}`, remedy ?? look);
    }
    return failedResult(
      `no answer came after ${took}: ${log.trim().slice(-MAX_SAID_CHARS) || 'nothing was said'}`,
      look,
    );
  },
};

/** The failure that a line with an answer tells of, in the tool's words where they are there. */
export function failureIn(answer: string): { readonly error: string; readonly remedy?: string | undefined } {
  const { result, error } = Object(JSON.parse(answer));
  const { error: said, remedy } = Object(result?.structuredContent);
  const words = [said, error?.message, result?.content?.[0]?.text].find((one) => typeof one === 'string');
  return {
    error: clip(withoutFullStop(words ?? answer), MAX_SAID_CHARS),
    remedy: typeof remedy === 'string' ? remedy : undefined,
  };
}

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

// The probe, which attacks a sandbox here. What it found is remembered for this boot, engine and image, and is
// not asked for again while it was all good.

/** Beyond these many the table of `doctor --probe` says more than lines here. */
const MOST_WARNINGS = 5;

export const wallsStep: Step = {
  name: 'walls',
  needs: ['engine', 'ids', 'storage', 'image'],
  doing: 'attacking a sandbox, to see whether its walls hold',
  perform: async (setup) => {
    if (setup.options.dryRun)
      return skippedResult('a sandbox would be attacked, to see whether its walls hold');
    const remembered = await earlierProbe(setup);
    if (remembered !== undefined) return remembered;
    const report = await probeWalls(setup.prepared, (step) => setup.show({ step }), setup.signal);
    const { enforced, watchdog, maxOvershootMb } = report.summary;
    const late = maxOvershootMb === null ? '' : `, at most ${maxOvershootMb} MB late`;
    const held = `${enforced + watchdog} of ${report.controls.length} hold`;
    const detail = `${held}${watchdog === 0 ? '' : `, ${watchdog} of them by a watchdog${late}`}; tried in ${seconds(report.durationMs)}`;
    const bad = report.controls.filter(({ verdict }) => verdict === 'NOT ENFORCED' || verdict === 'UNKNOWN');
    const fatal = bad.filter(({ verdict, required }) => required && verdict === 'NOT ENFORCED');
    const warnings = warningsFor(bad.filter((one) => !fatal.includes(one)));
    if (exitCodeOf(report) !== 1) return ok(detail, { warnings });
    const names = fatal.map(({ control }) => control).join(', ');
    const remedy =
      fatal.find((one) => one.remedy !== undefined)?.remedy ??
      `Run \`${ownCommand('doctor', '--probe')}\`, which shows what was seen of each.`;
    return failedResult(`${detail}. These do not, and have to: ${names}`, remedy, { warnings });
  },
};

function warningsFor(controls: readonly ProbedControl[]): StepWarning[] {
  const shown = controls.slice(0, MOST_WARNINGS).map(({ control, verdict, observed, remedy }) => ({
    detail: `${control} ${verdict === 'UNKNOWN' ? 'could not be checked' : 'does not hold'}: ${observed}`,
    remedy,
  }));
  const more = controls.length - shown.length;
  if (more <= 0) return shown;
  return [...shown, { detail: `${more} more`, remedy: `Run \`${ownCommand('doctor', '--probe')}\`.` }];
}

/** Undefined where none was made under these circumstances, or where something did not hold. */
async function earlierProbe({ prepared, signal, show }: SetupContext): Promise<StepResult | undefined> {
  const { settings, discovery } = prepared;
  const observer = withProgress(prepared.observer, (step) => show({ step }));
  await using bridge = new Bridge({ settings, discovery, observer });
  const { choice, image } = await bridge.launcher.pad();
  signal.throwIfAborted();
  const known = lastProbe(settings.stateDir, probeKey(choice, image.id, settings));
  if (known === undefined || known.notEnforced.length > 0) return undefined;
  const held = known.enforced + known.watchdog;
  const unknown = known.unknown === 0 ? '' : `; ${known.unknown} could not be checked`;
  const when = known.at.slice(0, 16).replace('T', ' ');
  return ok(`${held} of ${held + known.unknown} held when they were tried on ${when} UTC${unknown}`);
}

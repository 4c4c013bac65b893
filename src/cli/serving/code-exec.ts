// `code-exec`: the MCP server that runs commands where it is itself, which is meant to be an isolated machine. On stdio for
// one client, or over Streamable HTTP; ends with all that it has started at the first signal, or with the process that watches
// over it (watched-service.ts), and at nothing else.

import { accessSync, appendFileSync, constants } from 'node:fs';
import { BridgeError, messageOf } from '../../base/errors.js';
import { type LossyWriter, neverBlock, stderrWriter } from '../../base/log/lossy-writer.js';
import { serveExecute } from '../../code-exec/exec-server.js';
import { type ExecSettings, parseExecSettings } from '../../code-exec/exec-settings.js';
import { type CommandTold, Execute } from '../../code-exec/execute.js';
import { HttpEndpoint } from '../../code-exec/http-endpoint.js';
import { AgentTransport } from '../../mcp/requests/stdio-transport.js';
import { interruptSignal } from '../terminal/interrupt.js';

/** Time for commands that mind SIGTERM to tidy up; what still runs then is killed as we exit. */
const END_GRACE_MS = 600;
/** Where somebody is slow to read our stderr. */
const LAST_LINES_WITHIN_MS = 200;

export async function codeExec(): Promise<void> {
  refuseWindows(process.platform);
  const settings = parseExecSettings(process.env);
  checkPlaces(settings);
  // Commands go on whether or not somebody reads what is said of them.
  neverBlock(process.stderr);
  const stderr = stderrWriter();
  const say = (message: string): void => stderr.write(`code-exec ${message}\n`);
  for (const warning of settings.warnings) say(`warns: ${warning}`);
  stderr.onRecovered = (dropped) => say(`dropped ${dropped} lines here: stderr was full for a while`);
  const execute = new Execute(settings, process.env, (told) => audit(settings.audit, told, stderr, say));
  const interrupted = interruptSignal({ isService: true });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (thrown) => say(`continued after an internal error: ${messageOf(thrown)}`));
  const isInterrupted = new Promise<void>((resolve) => {
    interrupted.addEventListener('abort', () => resolve(), { once: true });
    process.once('disconnect', resolve);
  });
  if (settings.listen.at === 'stdio') {
    const transport = new AgentTransport(process.stdin, process.stdout);
    const served = serveExecute(execute, transport);
    await Promise.race([isInterrupted, transport.closed]);
    await served.close();
  } else {
    await using endpoint = await HttpEndpoint.open(execute, settings);
    say(`listens at ${endpoint.address}`);
    process.send?.(endpoint.address);
    await isInterrupted;
  }
  await Promise.race([execute.waitUntilIdle(), new Promise((resolve) => setTimeout(resolve, END_GRACE_MS))]);
  await stderr.flush(LAST_LINES_WITHIN_MS);
  process.exit(0);
}

/** Throws E_SETTINGS on Windows, where one program has many names, and a rule for one of them would not hold. */
export function refuseWindows(platform: NodeJS.Platform): void {
  if (platform !== 'win32') return;
  throw new BridgeError(
    'E_SETTINGS',
    'code-exec does not run on Windows: its rules about commands would not hold there.',
    {
      fault: 'operator',
      remedy: 'Start it in WSL or in a container.',
    },
  );
}

/** Throws E_SETTINGS: a wrong path is noticed now, not by every call, or by nobody. */
function checkPlaces({ workdir, audit: to }: ExecSettings): void {
  const places = [
    ['MCP_EXEC_WORKDIR', () => accessSync(`${workdir}/.`, constants.X_OK)],
    ['MCP_EXEC_AUDIT', () => to !== undefined && to !== 'stderr' && appendAudit(to, '')],
  ] as const;
  for (const [name, tried] of places) {
    try {
      tried();
    } catch (thrown) {
      const remedy = 'Correct it, then start again.';
      throw new BridgeError('E_SETTINGS', `${name}: ${messageOf(thrown)}`, { fault: 'operator', remedy });
    }
  }
}

const appendAudit = (to: string, line: string): void => appendFileSync(to, line, { mode: 0o600 });

/** A full disk stops no command: that it could not be told is told instead. */
function audit(
  to: string | undefined,
  told: CommandTold,
  stderr: LossyWriter,
  say: (message: string) => void,
): void {
  const line = `${JSON.stringify(told)}\n`;
  try {
    if (to === 'stderr') stderr.write(line);
    else if (to !== undefined) appendAudit(to, line);
  } catch (thrown) {
    say(`could not write to the audit: ${messageOf(thrown)}`);
  }
}

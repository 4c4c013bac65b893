// Asks an engine for its status: ready with its facts, or missing, stopped or broken with what to do.

import { asBridgeError, messageOf } from '../../base/errors.js';
import { type ProcessResult, run } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import { ENGINE_VARIABLES } from '../../settings/environment/variables.js';
import type { EngineName, EngineStatus } from '../engine.js';
import { saysNotAnswering } from '../machine/client-words.js';
import { hangingRemedy, inSeconds } from '../machine/hanging.js';
import { connectionEnv, type EngineConnection, engineNameOf } from '../machine/place.js';
import { noUserNamespace } from '../machine/user-namespaces.js';
import { dialects, type EngineDialect } from './dialects.js';

/** For what an engine says of itself, which takes a tenth of a second. */
export const INFO_TIMEOUT_MS = 15_000;

/** Asks the engine of `binary` for its status, at its own address or at that of `connection`; never throws. */
export async function probeEngine(
  binary: string,
  connection: EngineConnection,
  signal: AbortSignal,
): Promise<EngineStatus> {
  const name = engineNameOf(binary);
  const dialect = dialects[name];
  const env = connectionEnv(name, connection.url);
  const ask = (args: readonly string[]) =>
    run([binary, ...args], { timeoutMs: INFO_TIMEOUT_MS, env }, signal);
  let result: ProcessResult;
  let endpoint: string | undefined;
  try {
    result = await ask(dialect.infoArgs);
    endpoint = connection.url ?? (await endpointOf(dialect, ask));
  } catch (thrown) {
    const error = asBridgeError(thrown);
    const absent = (error.cause as { code?: unknown } | undefined)?.code === 'ENOENT';
    if (error.waitedMs !== undefined) return hanging(binary, error.waitedMs, connection);
    return absent
      ? {
          state: 'missing',
          reason: error.message,
          remedy: `Install ${name} (Debian: apt-get install podman runc uidmap), or set MCP_BRIDGE_RUNTIME to its path.`,
        }
      : { state: 'broken', reason: error.message, remedy: `Run \`${binary} info\` and fix what it reports.` };
  }
  if (result.exitCode !== 0) {
    const reason = clip(
      result.stderr.trim() || `${name} info ended with ${result.exitCode ?? 'a timeout'}`,
      500,
    );
    if (saysNotAnswering(reason)) return { state: 'stopped', reason, remedy: startRemedy(name, connection) };
    const isHere = connection.url === undefined && connection.platform === 'linux';
    const refused = isHere ? noUserNamespace(binary, result.stderr) : undefined;
    return { state: 'broken', reason, remedy: `Run \`${binary} info\` and fix what it reports.`, ...refused };
  }
  try {
    return { state: 'ready', ...dialect.parseInfo(result.stdout, connection, endpoint) };
  } catch (thrown) {
    return {
      state: 'broken',
      reason: `\`${binary} info\` printed something unexpected: ${clip(messageOf(thrown), 200)}`,
      remedy: `Check that ${binary} is ${name}.`,
    };
  }
}

/** The address that the client itself would use; undefined where it says none. */
async function endpointOf(
  { endpointArgs }: EngineDialect,
  ask: (args: readonly string[]) => Promise<ProcessResult>,
): Promise<string | undefined> {
  if (endpointArgs === undefined) return undefined;
  const { exitCode, stdout } = await ask(endpointArgs);
  const said = stdout.trim();
  return exitCode === 0 && /^[a-z]+:\/\//.test(said) ? said : undefined;
}

function startRemedy(name: EngineName, { url, platform }: EngineConnection): string {
  if (url !== undefined) {
    const byHand = `\`${ENGINE_VARIABLES[name].address}=${url} ${name} info\` has to answer`;
    const key =
      url.startsWith('ssh:') && name === 'podman' ? `, with a key in CONTAINER_SSHKEY or an ssh agent` : '';
    return `Start the engine at ${url}, or correct MCP_BRIDGE_ENGINE_URL: ${byHand}${key}.`;
  }
  if (name === 'docker') return 'Start the docker daemon.';
  return platform === 'linux'
    ? 'Start the service that `podman system connection list` names, or unset CONTAINER_HOST.'
    : 'Run `podman machine start`.';
}

const hanging = (binary: string, waitedMs: number, { url, platform }: EngineConnection): EngineStatus => ({
  state: 'broken',
  reason: `\`${binary} info\` hangs: no answer within ${inSeconds(waitedMs)}.`,
  remedy: hangingRemedy(`${binary} info`, url !== undefined || platform !== 'linux'),
  waitedMs,
});

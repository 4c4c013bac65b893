// The driver of an engine that has a command line. Asks it for its status: ready with its facts, or missing, stopped or broken
// with what to do. Says which OCI runtimes to try under it, and opens it.

import { asBridgeError, BridgeError, messageOf } from '../../base/errors.js';
import { type ProcessResult, run } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import { ENGINE_VARIABLES } from '../../settings/environment/variables.js';
import type { EngineConnection, EngineDriver, EngineFacts, EngineStatus } from '../engine.js';
import { hangingRemedy, inSeconds, saysNotAnswering } from '../machine/client-words.js';
import { variantsOf } from '../machine/oci-runtime.js';
import { type CliName, connectionEnv, isElsewhere } from '../machine/place.js';
import { noUserNamespace } from '../machine/user-namespaces.js';
import { CliEngine, type OtherLaunch, type OtherLaunchParts } from './cli-engine.js';
import { CliImages } from './cli-images.js';
import { dialectOf, type EngineDialect, INFO_TIMEOUT_MS } from './dialects.js';

/** Tried in this order after the engine's own default; Debian 12's crun refuses hybrid cgroups where runc works. */
const OCI_RUNTIMES = ['crun', 'runc'] as const;

/** `programs` and `machine` as in an EngineDriver, `openOther` as in a CliEngine. */
export const cliDriver = (
  name: CliName,
  {
    programs,
    machine,
    openOther,
  }: Pick<EngineDriver, 'programs' | 'machine'> & {
    readonly openOther?: (parts: OtherLaunchParts) => OtherLaunch;
  },
): EngineDriver => ({
  name,
  programs,
  probe: (binary, connection, signal) => probe(name, binary, connection, signal),
  images: ({ binary, url, facts }) => new CliImages({ binary, env: connectionEnv(name, url) }, facts),
  runtimes: (facts, wish) => {
    const { handsOnFlags } = dialectOf(name, facts.mode);
    return candidates(name, facts, wish).flatMap((runtime) => variantsOf(runtime, handsOnFlags));
  },
  hangRemedy: ({ mode }) =>
    hangingRemedy(`${name} --log-level=debug run --rm --network=none IMAGE true`, isElsewhere(mode)),
  open: (options) => new CliEngine(options, openOther),
  ...(machine === undefined ? {} : { machine }),
});

function candidates(name: CliName, facts: EngineFacts, wish: string | undefined): readonly string[] {
  const { defaultOciRuntime, mode } = facts;
  if (!dialectOf(name, mode).namesRuntime) {
    if (wish === undefined || wish === defaultOciRuntime) return [defaultOciRuntime];
    throw new BridgeError(
      'E_OCI_RUNTIME',
      `MCP_BRIDGE_OCI_RUNTIME is ${wish}, but ${name} runs on another machine, and its service there uses ${defaultOciRuntime}.`,
      {
        fault: 'operator',
        remedy: `Unset MCP_BRIDGE_OCI_RUNTIME, or set runtime = "${wish}" below [engine] in containers.conf on that machine, and restart the service.`,
      },
    );
  }
  return wish === undefined ? [...new Set([defaultOciRuntime, ...OCI_RUNTIMES])] : [wish];
}

async function probe(
  name: CliName,
  binary: string,
  connection: EngineConnection,
  signal: AbortSignal,
): Promise<EngineStatus> {
  // The questions are the same wherever it runs.
  const dialect = dialectOf(name, 'rootless');
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
    if (error.waitedMs !== undefined) return hangingStatus(binary, error.waitedMs, connection);
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

function startRemedy(name: CliName, { url, platform }: EngineConnection): string {
  if (url !== undefined) {
    const byHand = `\`${ENGINE_VARIABLES[name].address}=${url} ${name} info\``;
    const key =
      url.startsWith('ssh:') && name === 'podman'
        ? ', with a key in CONTAINER_SSHKEY or in an ssh agent'
        : '';
    return `Start the engine at ${url}, or correct MCP_BRIDGE_ENGINE_URL. To try it: ${byHand}${key}.`;
  }
  if (name === 'docker') return 'Start the docker daemon.';
  return platform === 'linux'
    ? 'Start the service that `podman system connection list` names, or unset CONTAINER_HOST.'
    : 'Run `podman machine start`.';
}

const hangingStatus = (
  binary: string,
  waitedMs: number,
  { url, platform }: EngineConnection,
): EngineStatus => ({
  state: 'broken',
  reason: `\`${binary} info\` hangs: no answer within ${inSeconds(waitedMs)}.`,
  remedy: hangingRemedy(`${binary} info`, url !== undefined || platform !== 'linux'),
  waitedMs,
});

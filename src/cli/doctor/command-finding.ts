// Findings of `doctor` about commands (`execute`): who runs them, seen by running one that does nothing as a call would.

import { ownCommand } from '../../base/process/own-command.js';
import { shownName } from '../../base/text/shown-name.js';
import { seconds } from '../terminal/output.js';
import type { Examination, Finding } from './examination.js';

type CommandChecks = Pick<Examination, 'settings' | 'discovery' | 'pad' | 'commandTrial'>;

/** Undefined where agents do not see the tool. */
export async function examineCommands({
  settings: { tools, executeServer, executeOciRuntime, executeNetwork, executeWork },
  discovery,
  pad,
  commandTrial,
}: CommandChecks): Promise<Omit<Finding, 'name'> | undefined> {
  if (!tools.includes('execute')) return undefined;
  if (executeServer !== undefined) return examineServer(executeServer, discovery);
  // Without any sandbox at all an earlier line has said why; a trial would only wait for it again.
  if (executeOciRuntime === undefined && 'error' in (await pad())) return undefined;
  const outcome = await commandTrial();
  if (outcome.status !== 'success') {
    const { message = outcome.status, remedy } = outcome.error ?? {};
    return { status: 'fail', detail: message, ...(remedy === undefined ? {} : { remedy }) };
  }
  const work = executeWork === undefined ? '/work goes with the bridge' : `/work stays in ${executeWork}`;
  const network = executeNetwork ? 'with a network' : 'no network';
  const detail = `${seconds(outcome.durationMs)} for one under ${executeOciRuntime ?? "the other containers' OCI runtime"}; ${network}; ${work}`;
  return { status: 'ok', detail };
}

function examineServer(name: string, { ready }: CommandChecks['discovery']): Omit<Finding, 'name'> {
  if (ready.some((server) => server.name === name))
    return { status: 'ok', detail: `handed to the server '${shownName(name)}'` };
  return {
    status: 'fail',
    detail: `MCP_BRIDGE_EXECUTE_SERVER is '${name}', and no server of that name can be started`,
    remedy: `See \`${ownCommand('servers')}\` for those that can, and why others cannot.`,
  };
}

// Findings of `doctor` about the network: which languages have one, by what means, and what that leaves within reach. Seen in a
// sandbox that was started with a network, and only where some language has one.

import { REACH } from '../../engine/machine/network-modes.js';
import { networked } from '../../sandbox/spec/profile.js';
import { networkedLanguages } from '../../settings/environment/plan.js';
import type { Examination, Finding } from './examination.js';

const TAKE_AWAY = 'Take the network away again where it was given (MCP_BRIDGE_NETWORK).';

export async function examineNetwork({
  pad,
  settings,
  networkTrial,
}: Pick<Examination, 'pad' | 'settings' | 'networkTrial'>): Promise<Omit<Finding, 'name'> | undefined> {
  const open = networkedLanguages(settings);
  if (open.length === 0)
    return {
      status: 'ok',
      detail: networked(settings).length === 0 ? 'none in any sandbox' : 'for commands only',
    };
  const found = await pad();
  if ('error' in found) return undefined;
  const { networkAdvice, reachesLocalhost } = found.value.engine.traits;
  const tried = await networkTrial();
  if ('error' in tried) {
    const { message, remedy = TAKE_AWAY } = tried.error;
    return {
      status: 'fail',
      detail: `none for ${open.join(', ')}, which are to have one: ${message}`,
      remedy: networkAdvice === undefined ? remedy : `${networkAdvice} ${TAKE_AWAY}`,
    };
  }
  const networkMode = tried.value === 'none' ? 'default' : tried.value;
  const detail = `open for ${open.join(', ')} by ${networkMode}: ${REACH[networkMode]}`;
  if (!reachesLocalhost) return { status: 'ok', detail };
  return {
    status: 'warn',
    detail: `${detail}; and so are services on this computer's own localhost, by the machine's address for it`,
    remedy: `Stop what must not be reached while such a language runs. ${TAKE_AWAY}`,
  };
}

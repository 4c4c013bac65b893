// The hosts that the bridge is registered in, as a list over the records.

import { claudeDesktop } from '../records/claude-desktop.js';
import type { Host } from '../terms/host.js';
import type { HostInstall } from '../terms/install.js';
import { ALL_HOSTS } from './all-hosts.js';

export type HostRecord = HostInstall & Pick<Host, 'title'>;

/** In the order in which they are shown: those of the command line, then those of a desktop, of which Claude Desktop comes first. */
export const HOSTS: readonly HostRecord[] = ALL_HOSTS.flatMap(({ title, install }) =>
  install === undefined ? [] : [{ title, ...install }],
).sort((one, other) => rank(one) - rank(other));

function rank({ title, isDesktop }: HostRecord): number {
  if (!isDesktop) return 0;
  return title === claudeDesktop.title ? 1 : 2;
}

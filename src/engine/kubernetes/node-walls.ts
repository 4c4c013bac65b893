// Walls that only some nodes have, and of which no cluster tells: whoever has put them there says so in the cluster's address.

import { BridgeError } from '../../base/errors.js';

export type NodeWalls = {
  /** Path of a seccomp profile below the folder that a kubelet keeps them in; undefined for the one of the runtime. */
  readonly seccomp?: string | undefined;
  /** Whether each pod gets user ids of its own (`hostUsers: false`). */
  readonly hasOwnUsers?: boolean;
};

const SECCOMP = 'seccomp';
const USERS = 'users';
/** As the API server demands it: no way up, and none from the root. */
const PROFILE = /^(?![./])(?!.*\.\.)[\w./-]+$/;

/** The walls that `url` names after a question mark. Throws E_ENGINE_BROKEN for what it cannot name, since a wall would be missing. */
export function nodeWallsIn(url: string | undefined): NodeWalls {
  const query = new URLSearchParams(url?.split('?')[1] ?? '');
  for (const [name, value] of query)
    if (!(name === SECCOMP ? PROFILE.test(value) : name === USERS && value === 'own'))
      throw new BridgeError(
        'E_ENGINE_BROKEN',
        `MCP_BRIDGE_ENGINE_URL has ${name}=${value} behind its question mark.`,
        {
          fault: 'operator',
          remedy: `Allowed are ${SECCOMP}=FILE, a path below the nodes' folder of profiles, and ${USERS}=own.`,
        },
      );
  return { seccomp: query.get(SECCOMP) ?? undefined, hasOwnUsers: query.has(USERS) };
}

/** Name of the filter that pods have. */
export const filterOf = ({ seccomp }: NodeWalls): string =>
  seccomp === undefined ? 'RuntimeDefault' : `Localhost ${seccomp}`;

// Why a principal has few servers or none, and who can change that, for the error of a call that names another one. Read by
// whoever is served over HTTP, so it names nothing of this machine and no server that the principal does not have.

import type { Principal } from '../../base/principal.js';
import { shellWord } from '../../base/process/own-command.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { PrincipalRules } from './principal-rules.js';
import { sourceOf } from './principal-source.js';

const MAX_NAME_CHARS = 128;

/** One or two sentences; undefined where neither credential nor principals file narrows what it reaches. */
export function reachAdvice(
  principal: Principal,
  { servers: ruled }: Pick<PrincipalRules, 'servers'>,
): string | undefined {
  const { kind } = sourceOf(principal);
  const { servers: named } = principal;
  const name = clipHarmlessLine(principal.name, MAX_NAME_CHARS);
  if (kind === 'local' || (named === undefined && ruled === undefined)) return undefined;
  if (kind === 'token' && named !== undefined) {
    const reach =
      named.length === 0 ? 'reaches no server' : 'reaches only the servers that were named for it';
    return `The token '${name}' ${reach}. Whoever runs the bridge can change that: \`${PACKAGE_NAME} token change ${shellWord(name)} --servers NAMES\`.`;
  }
  const reach =
    ruled?.length === 0 ? 'reaches no server' : 'reaches only the servers that the operator has named';
  return `'${name}' ${reach}. Whoever runs the bridge can change that in the principals file (MCP_BRIDGE_PRINCIPALS).`;
}

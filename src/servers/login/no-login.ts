// Which servers take no login of ours, and why: asked by the command, and by runs before they look for one.

import { shownName } from '../../base/text/shown-name.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { unsafeAddress } from './oauth-fetch.js';

/** A whole sentence, or undefined where the server may have a login. */
export function noLoginReason(spec: DownstreamSpec): string | undefined {
  const server = `Server '${shownName(spec.name)}'`;
  if (spec.transport === 'stdio') {
    return `${server} is a program of this machine, which needs no login here: it logs in by itself, or by its \`env\`.`;
  }
  if (spec.oauth === false)
    return `${server} has no login: its entry says \`oauth: false\` (${spec.source.file}).`;
  if (spec.oauth.machine !== undefined) {
    return `${server} needs no login: its entry names a client that logs in by itself (\`oauth.grant\`, ${spec.source.file}).`;
  }
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === 'authorization')) {
    return `${server} needs no login: its entry gives an Authorization header (${spec.source.file}).`;
  }
  if (!URL.canParse(spec.url))
    return `${server} has no login: its \`url\` is no address (${spec.source.file}).`;
  const unsafe = unsafeAddress(spec.url, spec.url);
  return unsafe === undefined ? undefined : `${server} has no login: ${new URL(spec.url).origin} ${unsafe}.`;
}

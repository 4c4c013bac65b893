// Words of pip's, where an error is made of them: pip has no other way to tell why it found no package. Seen with pip 23.0 and
// 25.1. Decides nothing but the wording.

import { clip } from '../../base/text/text.js';

const NOT_FOUND = 'ERROR: Could not find a version that satisfies the requirement ';
/** Stands before the versions that the index has, or `none`; what has no wheel for this Python and platform counts as not there. */
const VERSIONS = '(from versions: ';
const UNREACHED =
  /(?:NewConnectionError|ConnectTimeoutError|NameResolutionError|SSLError|SSLCertVerificationError|ProxyError|ReadTimeoutError|Max retries exceeded)[^\n]*/;
const CONFLICT = /ERROR: (Cannot install [^\n]*)/;
const CHANGED = /DO NOT MATCH THE HASHES/;
const HASH_OF = /^ +(\S+) from /;
const SHOWN_VERSIONS = 5;
const MAX_REASON_CHARS = 300;

/** A sentence that names the package and pip's reason; `platform` is `Python 3.13 on linux amd64`. */
export function whyNoWheels(said: string, platform: string): string {
  const [unreached] = UNREACHED.exec(said) ?? [];
  if (unreached !== undefined)
    return `The Python index cannot be reached: ${clip(unreached, MAX_REASON_CHARS)}`;
  const lines = said.split('\n');
  const notFound = lines.find((line) => line.startsWith(NOT_FOUND) && line.includes(VERSIONS));
  const [wanted] = notFound?.slice(NOT_FOUND.length).split(' ') ?? [];
  const [versions = ''] = notFound?.split(VERSIONS)[1]?.split(')') ?? [];
  if (wanted !== undefined) {
    const known = versions.split(', ').filter((version) => version !== '' && version !== 'none');
    return known.length === 0
      ? `'${wanted}' has no wheel for ${platform}, or the index has no such package.`
      : `'${wanted}' has no such version as a wheel for ${platform}. The newest are ${known.slice(-SHOWN_VERSIONS).join(', ')}.`;
  }
  const [, conflict] = CONFLICT.exec(said) ?? [];
  if (conflict !== undefined) return `pip: ${clip(conflict, MAX_REASON_CHARS)}`;
  if (CHANGED.test(said)) {
    const [, file = 'a package'] = HASH_OF.exec(lines.find((line) => HASH_OF.test(line)) ?? '') ?? [];
    return `The index has other bytes of ${clip(file, MAX_REASON_CHARS)} than the lock file says.`;
  }
  const errors = lines.filter((line) => line.startsWith('ERROR: '));
  return `pip: ${clip((errors.length > 0 ? errors : said.trim().split('\n').slice(-3)).join(' '), MAX_REASON_CHARS)}`;
}

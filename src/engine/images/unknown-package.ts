// What apt says where a package does not exist, as an error that names the package and the nearest that do, from this
// machine's own lists of packages. Those may be of another release of Debian, so they suggest and decide nothing.

import { BridgeError } from '../../base/errors.js';
import { type ProcessResult, run } from '../../base/process/process.js';
import { closest } from '../../base/text/closest.js';

const QUERY_TIMEOUT_MS = 10_000;
const UNKNOWN = /^E: (?:Unable to locate package|Package|No packages found for) '?([a-z0-9][a-z0-9+.-]*)/gm;

/** The packages that apt did not find, in the words of mmdebstrap's output. */
export const unknownPackages = (output: string): readonly string[] => [
  ...new Set([...output.matchAll(UNKNOWN)].flatMap(([, name]) => (name === undefined ? [] : [name]))),
];

/** Undefined where apt complains of something else. */
export async function unknownPackageError(
  { stderr }: Pick<ProcessResult, 'stderr'>,
  suite: string,
  signal: AbortSignal,
): Promise<BridgeError | undefined> {
  const unknown = unknownPackages(stderr);
  if (unknown.length === 0) return undefined;
  const known = await knownPackages(signal);
  const sentences = unknown.map((name) => {
    const near = nearestPackage(name, known);
    return `Debian ${suite} has no package '${name}'.${near === undefined ? '' : ` Did you mean '${near}'?`}`;
  });
  return new BridgeError('E_ARGUMENTS', sentences.join(' '), {
    fault: 'operator',
    remedy:
      'Correct the name in --with. Most Python libraries are called python3-<name> in Debian; `apt-cache search <word>` finds others.',
  });
}

/** A library's own name comes first, as pip knows it: Debian's has `python3-` in front of it. */
export function nearestPackage(name: string, known: ReadonlySet<string>): string | undefined {
  const prefixed = `python3-${name}`;
  if (known.has(prefixed)) return prefixed;
  return closest(name, known);
}

async function knownPackages(signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const listed = await run(['apt-cache', 'pkgnames'], { timeoutMs: QUERY_TIMEOUT_MS }, signal);
    return new Set(listed.stdout.split('\n').filter((name) => name !== ''));
  } catch {
    // No apt here: the sentence goes without a suggestion.
    return new Set();
  }
}

// Which known holes of OCI runtimes the one in use has closed, by its version. A version below the fix is not called
// open: distributions fix old versions without changing the number. Pure.

import type { Judgement } from './control.js';

/** Writes through masked paths, /dev/console and procfs (with CVE-2025-52565 and CVE-2025-52881), per release line. */
const CVE = 'CVE-2025-31133';
const RUNC_FIXES: readonly (readonly [line: string, version: string])[] = [
  ['1.2', '1.2.8'],
  ['1.3', '1.3.3'],
  ['1.4', '1.4.0-rc.3'],
];

export const RUNTIME_REQUEST = `the fix of ${CVE}`;

export function judgeRuntime(said: string | undefined): Judgement {
  const how = 'its own --version';
  const [, name, version] = /^(runc|crun|runsc) version (?:release-)?v?(\S+)/m.exec(said ?? '') ?? [];
  if (name === undefined || version === undefined)
    return { observed: `fix of ${CVE} not confirmed: unknown version`, how, verdict: 'UNKNOWN' };
  const distribution = /^commit: (\S*[+~]\S*)/m.exec(said ?? '')?.[1];
  const shown = `${name} ${distribution ?? version}`;
  if (name !== 'runc') return { observed: `${shown}, to which it does not apply`, how, verdict: 'ENFORCED' };
  const line = version.split('.').slice(0, 2).join('.');
  const fix = RUNC_FIXES.find(([fixed]) => fixed === line)?.[1];
  const hasIt = fix === undefined ? isBefore('1.4', line) : !isBefore(version, fix);
  return hasIt
    ? { observed: shown, how, verdict: 'ENFORCED' }
    : { observed: `${shown}: fix of ${CVE} not confirmed`, how, verdict: 'UNKNOWN' };
}

/** Compares by numbers; a release candidate comes before its release. */
function isBefore(a: string, b: string): boolean {
  const [left, right] = [parts(a), parts(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function parts(version: string): number[] {
  const [numbers = '', candidate] = version.split(/-rc\.?/);
  const [major = 0, minor = 0, patch = 0] = numbers
    .split(/[.+~-]/)
    .map((part) => Number.parseInt(part, 10) || 0);
  return [
    major,
    minor,
    patch,
    candidate === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(candidate, 10),
  ];
}

// Which Python of the host a sandbox is compared with: the system's own, or else the one behind the name `python3`.
// Never a version manager's shim, whose shell script takes longer than the interpreter and would flatter us.

import { execFileSync } from 'node:child_process';

const CANDIDATES = ['/usr/bin/python3', 'python3'];

/** Its path and version; undefined where the host has none. */
export const HOST_PYTHON = CANDIDATES.map(examine).find((found) => found !== undefined);

function examine(candidate) {
  try {
    const code = 'import sys; print(sys.executable, sys.version.split()[0])';
    const said = execFileSync(candidate, ['-I', '-c', code], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [path, version] = said.trim().split(' ');
    return { path, version };
  } catch {
    return undefined;
  }
}

// Engines that are absent, broken, slow or liars: a program named podman, alone on the PATH. It says good things of
// itself until it is told otherwise, so that each fault breaks one thing.

import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const INFO = JSON.stringify({
  host: { cgroupVersion: 'v2', ociRuntime: { name: 'crun' }, security: { rootless: true } },
  store: { graphDriverName: 'overlay', graphRoot: '/nonexistent' },
  version: { Version: '5.0.0' },
});

export type FakeEngine = {
  /** Shell, by command; what is not named works. */
  readonly info?: string;
  readonly image?: string;
  readonly run?: string;
  readonly pull?: string;
  /** Instead of all that: the whole file. */
  readonly file?: string;
  readonly mode?: number;
};

/** The folder to put on PATH; with no fake it is empty. */
export function fakeEngine(fake: FakeEngine | undefined): string {
  const dir = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'engine-'));
  if (fake === undefined) return dir;
  const script = `#!/bin/sh
PATH=/usr/bin:/bin
for word in "$@"; do
  case "$word" in info|image|run|ps|rm|pull) command=$word; break;; esac
done
case "$command" in
  info) ${fake.info ?? `echo '${INFO}'`};;
  image) ${fake.image ?? 'echo 0123456789abcdef'};;
  run) ${fake.run ?? 'exit 0'};;
  pull) ${fake.pull ?? 'exit 1'};;
esac
`;
  const path = join(dir, 'podman');
  if (fake.file === 'folder') mkdirSync(path);
  else writeFileSync(path, fake.file ?? script);
  chmodSync(path, fake.mode ?? 0o755);
  return dir;
}

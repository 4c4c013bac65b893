// Throw-away containers of an engine that knows only some of the OCI runtimes that it is asked for. A script stands for the engine,
// since a machine has the runtimes that it has.

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ThrowAways } from '../../src/engine/images/throw-aways.js';
import { NEVER } from '../support/time.js';

/** An engine that knows runc alone, and refuses as podman does when it is to make a container for another. */
const ENGINE = `#!/bin/sh
echo "$*" >>"$0.log"
case "$1" in
--runtime=runc) echo 0123456789ab ;;
--runtime=*) echo 'Error: default OCI runtime "crun" not found: invalid argument' >&2; exit 125 ;;
esac
`;

function engineWithRunc() {
  const folder = mkdtempSync(join(tmpdir(), 'throw-aways-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, 'engine');
  writeFileSync(binary, ENGINE);
  chmodSync(binary, 0o755);
  const engine = {
    client: { binary, env: process.env },
    removeArgs: (ids: readonly string[]) => ['rm', ...ids],
    globalFlags: (runtime: { readonly name: string } | undefined) => [`--runtime=${runtime?.name}`],
  };
  const runtimes = (...names: readonly string[]) => names.map((name) => ({ name, flags: [] }));
  const idWith = (...names: readonly string[]) =>
    new ThrowAways(engine, runtimes(...names)).with([], ['image'], NEVER, async (id) => id);
  return { idWith, log: () => readFileSync(`${binary}.log`, 'utf8') };
}

it('a throw-away container is made with the next OCI runtime when the engine does not know the first', async () => {
  const { idWith, log } = engineWithRunc();
  expect(await idWith('crun', 'runc')).toBe('0123456789ab');
  expect(log()).toMatch(/--runtime=crun create .*\n--runtime=runc create .*\nrm 0123456789ab\n$/);
});

it('a throw-away container that no OCI runtime makes ends with what the engine said of the last', async () => {
  const { idWith } = engineWithRunc();
  await expect(idWith('crun', 'youki')).rejects.toThrow(
    'could not make a container: Error: default OCI runtime',
  );
});

// What doctor says of the folder where podman keeps the state of containers.

import { expect, it } from 'vitest';
import { CHECKS } from '../../src/cli/doctor/doctor-checks.js';
import type { Examination } from '../../src/cli/doctor/examination.js';

function examine(runRoot: string | undefined, mode = 'rootless') {
  const subject = { engine: async () => ({ value: { status: { mode, runRoot } } }) };
  return CHECKS.find(({ name }) => name === 'run root')?.examine(subject as unknown as Examination);
}

const LONG = `/tmp/${'x'.repeat(46)}`;

it('a path that its own clean-up refuses is a warning, with the next step', async () => {
  expect(await examine(LONG)).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining(LONG),
    remedy: expect.stringMatching(/^Set XDG_RUNTIME_DIR or a shorter TMPDIR, .*podman system reset/),
  });
});

it.each([
  [LONG.slice(1), 'rootless'],
  [LONG, 'remote'],
  [undefined, 'rootless'],
])('nothing is said of %s, %s', async (runRoot, mode) => {
  expect(await examine(runRoot, mode)).toBeUndefined();
});

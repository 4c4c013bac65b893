// Which container tests run against engines that run elsewhere, and what came of them: one run of vitest for each engine,
// since the engine is started with it. They are the same tests as here; test/remote/left-out.ts says which cannot hold.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REMOTE_KINDS } from './engines.mjs';

export const MAIN_JOB = 'test/front-door/main-job.test.ts';
export const WALLS = 'test/walls/walls.test.ts';
const EVERYWHERE = [
  MAIN_JOB,
  ...['files', 'warm', 'lifecycle', 'code', 'resources'].map((name) => `test/front-door/${name}.test.ts`),
  'test/faults/cancellation.test.ts',
  'test/containers/limits.test.ts',
];

/** Tests of the engines that stand for other machines, and of what breaks between: they start them themselves, and take long. */
export const OWN = [
  'test/remote/engines.test.ts',
  'test/remote/podman-machine.test.ts',
  'test/faults/remote-engine.test.ts',
];

/** All that is meant to hold. The attack table is made once for each engine: over ssh its containers are the same. */
export const WHOLE = {
  local: [...EVERYWHERE, WALLS, ...OWN],
  'podman-unix': [...EVERYWHERE, WALLS],
  'podman-ssh': EVERYWHERE,
  'docker-tls': [...EVERYWHERE, WALLS],
};

/** The short form of the attack table: less those attacks that need a run each. */
export const QUICK_WALLS = '^(?:kernel|privileges|files|data|network|processes|between-runs)[.]';
/** What `scripts/test --all` has time for: the walls once, and the main job else. */
export const SHORT = {
  'podman-unix': [WALLS],
  'podman-ssh': [MAIN_JOB],
  'docker-tls': [MAIN_JOB],
};

/** What is added to vitest's environment for tests against `kind`, which may be 'local'; `isShort` as in SHORT. */
export function environmentOn(kind, { isShort }) {
  if (kind !== 'local' && !REMOTE_KINDS.includes(kind)) throw new Error(`there is no engine ${kind}`);
  return {
    ...(kind === 'local' ? {} : { TEST_REMOTE_ENGINE: kind }),
    ...(isShort ? { WALLS_ONLY: QUICK_WALLS } : {}),
  };
}

/** By file: how many passed, failed and were passed over, and the reasons of those that are left out. */
export function countsByFile(report, root) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  return new Map(
    testResults.map(({ name, status, assertionResults }) => {
      const number = (...wanted) => assertionResults.filter((one) => wanted.includes(one.status)).length;
      const failed = number('failed');
      const counts = {
        passed: number('passed'),
        failed: failed === 0 && status === 'failed' && number('passed') === 0 ? 1 : failed,
        skipped: number('skipped', 'pending', 'todo', 'disabled'),
      };
      return [name.replace(`${join(root, '/')}`, ''), counts];
    }),
  );
}

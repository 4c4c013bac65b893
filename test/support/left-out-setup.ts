// Before each container test: passes over those that cannot hold against the engine under test, and says why.

import { beforeEach, type RunnerTestCase } from 'vitest';
import { whyLeftOut } from '../remote/left-out.js';
import { engineUnderTest } from './engine-under-test.js';

function nameOf({ name, suite }: Pick<RunnerTestCase, 'name' | 'suite'>): string {
  return suite === undefined ? name : `${nameOf(suite)} ${name}`;
}

if (engineUnderTest.kind !== 'local')
  beforeEach(({ task, skip }) => {
    const why = whyLeftOut(engineUnderTest.kind, task.file.filepath, nameOf(task));
    if (why !== undefined) skip(`left out: ${why}`);
  });

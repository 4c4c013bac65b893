// Two projects: `unit` needs nothing but Node and runs several files at once; `containers` starts the built bridge and
// real containers, one file at a time, since each file measures, counts or times what a machine with two cores is doing.

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const containers = [
  'test/front-door/**/*.test.ts',
  'test/containers/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/remote/**/*.test.ts',
  'test/**/containers.test.ts',
  'test/walls/walls.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: containers,
          globalSetup: 'test/support/temporary-root.ts',
          setupFiles: 'test/support/shared-process.ts',
          // One process runs many files, one after the other: a process for each, with all of src/ loaded anew, would take
          // longer than most of them. shared-process.ts fails a file that leaves something behind for the next one.
          isolate: false,
          // Half of what the files take is waiting, so that two at once are quicker even where there is one processor.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'containers',
          include: containers,
          globalSetup: 'test/support/global-setup.ts',
          setupFiles: 'test/support/left-out-setup.ts',
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 90_000,
          // The first sandbox of a process looks for an engine, an OCI runtime and an image.
          hookTimeout: 180_000,
        },
      },
    ],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});

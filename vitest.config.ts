// Three projects. `unit` needs nothing but Node and runs wide. The others start the built bridge and real containers:
// `conversations` look at what an agent is answered and at nothing else, and mostly wait, a few files at a time;
// `containers` measure or count what a machine with two cores is doing, one file at a time.

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Of files at once: they wait more than they reckon, and vitest would leave a core out. */
const WORKERS = 3;

const conversations = [
  'test/front-door/{answers,asking,audit,changed-config,docs,downstream,errors,execute-code,files}.test.ts',
  'test/front-door/{isolator-config,javascript,listing,login,main-job,on-demand,other-client}.test.ts',
  'test/front-door/{policy,real-servers,resources,snippets,unloaded}.test.ts',
  'test/cli/exec/containers.test.ts',
];
const containers = [
  'test/front-door/**/*.test.ts',
  'test/containers/**/*.test.ts',
  'test/faults/**/*.test.ts',
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
          exclude: [...conversations, ...containers],
          maxWorkers: Math.max(WORKERS, availableParallelism()),
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'conversations',
          include: conversations,
          globalSetup: 'test/support/global-setup.ts',
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
          testTimeout: 90_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'containers',
          include: containers,
          exclude: conversations,
          globalSetup: 'test/support/global-setup.ts',
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 90_000,
          // The first sandbox of a process looks for an engine, an OCI runtime and an image.
          hookTimeout: 180_000,
        },
      },
    ],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});

// Three projects. `unit` needs nothing but Node, and is quick enough to be run after every change. `programs` starts the
// built program, the scripts, and other people's servers, which take much of a second each. Both run several files at once.
// `containers` starts the built bridge and real containers, one file at a time, since most of them measure, count or
// time what a machine with two cores is doing.

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const containers = [
  'test/front-door/**/*.test.ts',
  'test/containers/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/remote/**/*.test.ts',
  'test/cluster/**/*.test.ts',
  'test/**/containers.test.ts',
  'test/walls/walls.test.ts',
  'test/scripts/suite.test.ts',
];

const programs = [
  'test/cli/{approvals,cli,code-exec,eras,exec,login,notices,policy,prompts,reload,serve-http,servers-refresh,start-up,ui,ui-login,ui-service,upgrade,wrong-settings}.test.ts',
  'test/servers/{learned,real-servers,search-quality}.test.ts',
  'test/mcp/asking/*.test.ts',
  'test/policy/inbox/two-processes.test.ts',
  'test/service/windows/{kills,windows}.test.ts',
  'test/walls/{approvals,principals,windows}/walls.test.ts',
  'test/scripts/{bench-measures,commands,installed,mcpb,package,plugin}.test.ts',
];

const sideBySide = {
  globalSetup: 'test/support/temporary-root.ts',
  setupFiles: 'test/support/shared-process.ts',
  // One process runs many files, one after the other: a process for each, with all of src/ loaded anew, would take
  // longer than most of them. shared-process.ts fails a file that leaves something behind for the next one.
  isolate: false,
  // Half of what the files take is waiting, so that four at once are quicker even where there are two processors.
  maxWorkers: Math.max(4, availableParallelism() - 1),
};

export default defineConfig({
  test: {
    // They only say that something hangs, and leave a wait its HANGS_MS (test/support/time.ts) to say what for.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          ...sideBySide,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...containers, ...programs],
        },
      },
      {
        extends: true,
        test: {
          ...sideBySide,
          name: 'programs',
          include: programs,
          globalSetup: [sideBySide.globalSetup, 'test/support/first-bridge.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'containers',
          include: containers,
          globalSetup: 'test/support/global-setup.ts',
          setupFiles: ['test/support/own-shared-state.ts', 'test/support/left-out-setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});

// What the tests of `execute` have in common: how it is called, and the ways in which its containers run.

import { existsSync } from 'node:fs';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ourContainers, ourVolumes } from '../support/nothing-left.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, HANGS_MS } from '../support/time.js';

type Args = Readonly<Record<string, unknown>>;
export const call = (bridge: TestBridge, args: Args, signal?: AbortSignal): Promise<CallToolResult> =>
  bridge.client.callTool({ name: 'execute', arguments: { ...args } }, undefined, {
    timeout: HANGS_MS,
    ...(signal === undefined ? {} : { signal }),
  }) as Promise<CallToolResult>;
export const text = (result: CallToolResult | undefined): string => {
  const [first] = result?.content ?? [];
  return first?.type === 'text' ? first.text : '';
};
export const sh = (script: string, more: Args = {}): Args => ({
  command: 'sh',
  args: ['-c', script],
  ...more,
});

export const RUNSC = ['/usr/bin/runsc', '/usr/local/bin/runsc', '/usr/sbin/runsc'].find((path) =>
  existsSync(path),
);
/** Rootless it runs without cgroups, and what goes on inside cannot be weighed from outside. */
export const ACCEPT: Readonly<Record<string, string>> =
  process.getuid?.() === 0 ? {} : { MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,pids,cpu' };
/** The image that every test has; that of the profile code-exec need not be built. */
export const LAUNCHED = { MCP_BRIDGE_TOOLS: 'execute', MCP_BRIDGE_EXECUTE_IMAGE: 'base' };

const KINDS = [
  { name: "under the engine's own runtime, since the operator says so", oci: 'auto', runs: true, env: {} },
  {
    name: RUNSC === undefined ? 'under gVisor (passed over: runsc is not installed)' : 'under gVisor',
    oci: 'runsc',
    runs: RUNSC !== undefined,
    env: ACCEPT,
  },
];

export type Executing = {
  readonly oci: string;
  /** The bridge of these tests, which is there as long as they run. */
  readonly bridge: () => TestBridge;
  /** A further one like it. */
  readonly start: () => Promise<TestBridge>;
};

/** Defines `tests` for each way in which containers of `execute` run; afterwards none of them and no volume is left. */
export function inEachKind(title: string, tests: (executing: Executing) => void): void {
  for (const { name, oci, runs, env } of KINDS)
    describe.skipIf(!runs)(`${title}, ${name}`, () => {
      let bridge: TestBridge;
      const start = () =>
        startBridge({}, { env: { ...LAUNCHED, ...env, MCP_BRIDGE_EXECUTE_OCI_RUNTIME: oci } });
      beforeAll(async () => {
        bridge = await start();
      });
      afterAll(async () => {
        await bridge[Symbol.asyncDispose]();
        expect(await eventually(() => ourContainers().length === 0)).toBe(true);
        expect(await eventually(() => ourVolumes().length === 0)).toBe(true);
      });
      tests({ oci, start, bridge: () => bridge });
    });
}

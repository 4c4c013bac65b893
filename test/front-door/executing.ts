// What the tests of `execute` have in common: how it is called, and the ways in which its containers run.

import { existsSync } from 'node:fs';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { TestBridge } from '../support/start-bridge.js';

export type Args = Readonly<Record<string, unknown>>;
export const call = (bridge: TestBridge, args: Args, signal?: AbortSignal): Promise<CallToolResult> =>
  bridge.client.callTool({ name: 'execute', arguments: { ...args } }, undefined, {
    timeout: 60_000,
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

export const KINDS = [
  { name: "under the engine's own runtime, since the operator says so", oci: 'auto', runs: true, env: {} },
  {
    name: RUNSC === undefined ? 'under gVisor (passed over: runsc is not installed)' : 'under gVisor',
    oci: 'runsc',
    runs: RUNSC !== undefined,
    env: ACCEPT,
  },
];

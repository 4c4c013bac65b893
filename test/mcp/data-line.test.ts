// The line about data folders in the list of tools, by what the principal's policy lets code see of them.

import { expect, it } from 'vitest';
import type { Policy } from '../../src/policy/rules/policy.js';
import { byHand, ENVELOPE, fakeBridge } from './fake-bridge.js';

const FOLDER = { path: '/srv/out', target: '/data', isWritable: true };

/** The lines that tell of folders, a line for each tool that has one; listed in the era of 2026-07-28. */
async function linesUnder(data: Policy['data']): Promise<readonly string[]> {
  const { bridge } = fakeBridge({ MCP_BRIDGE_TOOLS: 'run_python,execute_code' });
  const settings = { ...bridge.settings, data: [FOLDER] };
  Object.assign(bridge, { settings, servers: { names: [], policy: () => ({ data }) } });
  const { ask } = await byHand(bridge);
  const listed = await ask({ id: 1, method: 'tools/list', params: { _meta: ENVELOPE } });
  const { tools } = Object(listed?.['result']) as { readonly tools: ReadonlyArray<{ description: string }> };
  return tools.flatMap(({ description }) => /^The user's files: .*$/m.exec(description) ?? []);
}

it('says that code may write a folder only if the policy lets it', async () => {
  const lines = (folders: string) => [
    `The user's files: ${folders}. runtime.data() lists them.`,
    `The user's files: ${folders}.`,
  ];
  expect(await linesUnder('write')).toEqual(lines('/data (writable)'));
  expect(await linesUnder('read')).toEqual(lines('/data, read-only'));
});

it('says nothing of folders that the policy hides', async () => {
  expect(await linesUnder('none')).toEqual([]);
});

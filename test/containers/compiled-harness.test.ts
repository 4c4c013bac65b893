// The harness that sandboxes read was compiled by the Python that runs it, and is used.

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBridge, tempHome } from '../support/start-bridge.js';

const CODE = `
import marshal, mcp, sys
with open(mcp.__cached__, "rb") as file:
    head = file.read(16)
[mcp.__cached__, int.from_bytes(head[4:8], "little"), marshal.loads(open(mcp.__cached__, "rb").read()[16:]).co_filename]
`;

it('is compiled in the trial, never checked by Python, and mended when it was changed', async () => {
  const stateDir = join(tempHome(), 'state');
  const env = { MCP_BRIDGE_STATE_DIR: stateDir };
  const unchecked = 0b01;
  const expected = [
    expect.stringMatching(/^\/ipc\/mcp\/__pycache__\/__init__\.cpython-\d+\.pyc$/),
    unchecked,
    '/ipc/mcp/__init__.py',
  ];
  {
    await using bridge = await startBridge({}, { env });
    expect(await bridge.run(CODE)).toMatchObject({ status: 'success', result: expected });
  }
  for (const folder of readdirSync(join(stateDir, 'ipc'))) {
    const cache = join(stateDir, 'ipc', folder, 'mcp/__pycache__');
    rmSync(cache, { recursive: true, force: true });
    writeFileSync(join(stateDir, 'ipc', folder, 'mcp/__init__.py'), 'raise SystemExit("changed")');
  }
  await using again = await startBridge({}, { env });
  expect(await again.run(CODE)).toMatchObject({ status: 'success', result: expected });
});

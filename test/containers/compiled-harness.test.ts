// The harness that sandboxes read was compiled by the Python that runs it, and is used.

import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBridge, tempHome } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

const CODE = `
import marshal, mcp, sys
with open(mcp.__cached__, "rb") as file:
    head = file.read(16)
[mcp.__cached__, int.from_bytes(head[4:8], "little"), marshal.loads(open(mcp.__cached__, "rb").read()[16:]).co_filename]
`;

const UNCHECKED = 0b01;
const EXPECTED = [
  expect.stringMatching(/^\/ipc\/mcp\/__pycache__\/__init__\.cpython-\d+\.pyc$/),
  UNCHECKED,
  '/ipc/mcp/__init__.py',
];

it('is compiled in the trial, never checked by Python, and mended when it was changed', async () => {
  const stateDir = join(tempHome(), 'state');
  const env = { MCP_BRIDGE_STATE_DIR: stateDir };
  {
    await using bridge = await startBridge({}, { env });
    expect(await bridge.run(CODE)).toMatchObject({ status: 'success', result: EXPECTED });
  }
  for (const folder of readdirSync(join(stateDir, 'ipc'))) {
    const cache = join(stateDir, 'ipc', folder, 'mcp/__pycache__');
    rmSync(cache, { recursive: true, force: true });
    writeFileSync(join(stateDir, 'ipc', folder, 'mcp/__init__.py'), 'raise SystemExit("changed")');
  }
  await using again = await startBridge({}, { env });
  expect(await again.run(CODE)).toMatchObject({ status: 'success', result: EXPECTED });
});

it('is compiled after a first run where the trial was one of another image or another version', async () => {
  const stateDir = join(tempHome(), 'state');
  const env = { MCP_BRIDGE_STATE_DIR: stateDir };
  const kept = join(stateDir, 'cache/harness.json');
  {
    await using first = await startBridge({}, { env });
    await first.run('1');
  }
  rmSync(kept);
  {
    await using upgraded = await startBridge({}, { env });
    await upgraded.run('1');
    expect(await eventually(() => existsSync(kept))).toBe(true);
  }
  await using next = await startBridge({}, { env });
  expect(await next.run(CODE)).toMatchObject({ status: 'success', result: EXPECTED });
});

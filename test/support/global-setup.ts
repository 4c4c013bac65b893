// One folder for everything that a suite writes, and the proof, after the last test, that nothing of it is left:
// no container with our label, no process that a test started, no folder of ours among the temporary files.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { carriers, eventually, ourContainers, processesWith } from './nothing-left.js';

const PREFIX = 'mcp-sandbox-bridge-test-';

const before = new Set(readdirSync(tmpdir()));
let root = '';

export function setup(): void {
  root = mkdtempSync(join(tmpdir(), PREFIX));
  process.env['TEST_ROOT'] = root;
  process.env['TEST_STATE_DIR'] = join(root, 'state');
}

export async function teardown(): Promise<void> {
  const noContainer = await eventually(() => containers().length === 0, 10_000);
  const noProcess = await eventually(() => processesWith(root).length === 0, 5_000);
  const noCarrier = await eventually(() => carriers().length === 0, 5_000);
  const left = [
    ...(noContainer ? [] : containers()),
    ...(noProcess ? [] : processesWith(root)),
    ...(noCarrier ? [] : carriers()),
  ];
  rmSync(root, { recursive: true, force: true });
  const folders = readdirSync(tmpdir()).filter(
    (name) => name.startsWith('mcp-sandbox-bridge') && !before.has(name),
  );
  const found = [...left, ...folders];
  if (found.length > 0) throw new Error(`the suite left behind:\n${found.join('\n')}`);
}

function containers(): string[] {
  try {
    return ourContainers();
  } catch {
    // Without podman no test can have left a container.
    return [];
  }
}

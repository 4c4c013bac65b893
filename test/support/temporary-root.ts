// One folder for the homes that unit tests make, gone after the last of them. Not called after us: tests with containers,
// of which one runs beside these, look for folders that are.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureUnits } from '../../scripts/suite/machine-units.mjs';

let root = '';

export function setup(): void {
  root = mkdtempSync(join(tmpdir(), 'unit-homes-'));
  process.env['TEST_ROOT'] = root;
  measureUnits();
}

export function teardown(): void {
  rmSync(root, { recursive: true, force: true });
}

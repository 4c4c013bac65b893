import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderBytes, inspectImage } from '../../src/engine/images/image.js';
import { NEVER } from '../support/time.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'image-size-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A program that answers as an engine does which counts the copy of a layer with the image. */
function engine(name: string, history: string): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    `#!/bin/sh\ncase $1 in\n  image) echo 'sha256:1 141845704' ;;\n  history) echo '${history}' ;;\nesac\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

const sizeSaidBy = async (binary: string) =>
  (await inspectImage({ binary, env: {} }, 'image', NEVER))?.sizeBytes;

describe('the size of an image', () => {
  it('is that of its layers, without the copies that a rootless podman keeps of them', async () => {
    expect(await sizeSaidBy(engine('podman', '[{"size":70922240},{"size":0}]'))).toBe(70_922_240);
  });

  it.each(['', '{}', '[]', 'not JSON'])('is what podman says of it where its history is %j', async (said) => {
    expect(await sizeSaidBy(engine('podman', said))).toBe(141_845_704);
  });

  it('is what docker says of it', async () => {
    expect(await sizeSaidBy(engine('docker', '[{"size":1}]'))).toBe(141_845_704);
  });
});

it('a folder is as large as all files below it', async () => {
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  writeFileSync(join(folder, 'a/b/c'), 'x'.repeat(1000));
  writeFileSync(join(folder, 'd'), 'x'.repeat(234));
  expect(await folderBytes(folder)).toBe(1234);
});

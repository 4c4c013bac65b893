// Which images `image prune` takes for old, and what a removal says of one that stays.

import { afterEach, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { VERSION } from '../../../src/base/version.js';
import { oldImages, removedLine, removeEach } from '../../../src/cli/remove/remove-images.js';
import type { EngineImages } from '../../../src/engine/engine.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';

afterEach(() => {
  process.exitCode = undefined;
});

const OURS = 'localhost/mcp-sandbox-bridge/python';
const NAMES = [
  `${OURS}:${VERSION}`,
  `${OURS}:0.0.1`,
  `${OURS}:0.0.2`,
  `${OURS}:${VERSION}-with_python3-x`,
  'localhost/mcp-sandbox-bridge/derived:abc',
  'docker.io/library/python:0.0.1',
  'localhost/other/python:0.0.1',
];

/** An engine with these images, none of which has labels; one of them is in use. */
const engine = (inUse = ''): { readonly images: EngineImages; readonly removed: string[] } => {
  const removed: string[] = [];
  const images = {
    name: 'podman',
    names: async () => NAMES,
    labels: async () => 'null',
    inspect: async () => ({ id: 'a', sizeBytes: 1 }),
    remove: async (image: string) => {
      if (image === inUse) throw new BridgeError('E_ENGINE_BROKEN', 'in use', { fault: 'engine' });
      removed.push(image);
    },
  } as unknown as EngineImages;
  return { images, removed };
};

const { signal } = new AbortController();

it('images of other versions and of older recipes are old, but for those that a setting names', async () => {
  const { settings } = parseSettings({ HOME: '/nowhere', MCP_BRIDGE_IMAGE: `${OURS}:0.0.2` }, hostFacts());
  expect(await oldImages(settings, engine().images, signal)).toEqual([
    { image: `${OURS}:0.0.1`, sizeBytes: 1, why: 'made by another version' },
    { image: `${OURS}:${VERSION}-with_python3-x`, sizeBytes: 1, why: 'made by an older recipe' },
  ]);
});

it('an image in use stays, the others go, and the exit code is 1', async () => {
  const { images, removed } = engine(`${OURS}:0.0.1`);
  const done = await removeEach([`${OURS}:0.0.1`, `${OURS}:0.0.2`], images, signal);
  expect(removed).toEqual([`${OURS}:0.0.2`]);
  expect(done.map(removedLine)).toEqual([`${OURS}:0.0.1: stays: in use\n`, `${OURS}:0.0.2: removed\n`]);
  expect(process.exitCode).toBe(1);
});

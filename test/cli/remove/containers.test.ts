// `image prune` and `image rm` with a real engine: a further name for the image that is there stands for an old one, so that nothing
// of this machine goes.

import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { imageOf } from '../../support/built-image.js';
import { engineCommand } from '../../support/engine-under-test.js';
import { tempHome } from '../../support/start-bridge.js';
import { command } from '../command.js';

const BASE = imageOf('base');
const OLD = BASE.replace(/:.*$/, ':0.0.1');

let home: string;
beforeAll(() => {
  home = tempHome();
  engineCommand('tag', BASE, OLD);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const json = async (...words: string[]) => JSON.parse((await command([...words, '--json'], { home })).stdout);

it('an image of another version is old, and the one in use is not', async () => {
  const { old, images } = await json('image', 'prune', '--dry-run');
  expect(old).toContainEqual({ image: OLD, sizeBytes: expect.any(Number), why: 'made by another version' });
  expect(old.map(({ image }: { image: string }) => image)).not.toContain(BASE);
  expect(images).toEqual([]);
});

it('uninstall --all lists the images that would go, and removes none in a dry run', async () => {
  const { images } = await json('uninstall', '--all', '--dry-run');
  expect(images).toEqual(expect.arrayContaining([BASE, OLD]));
  expect(engineCommand('images', '--format', '{{.Repository}}:{{.Tag}}')).toContain(OLD);
});

it('an image is removed by its whole name, and one that is not there is told', async () => {
  expect(await json('image', 'rm', OLD)).toEqual({ images: [{ image: OLD, removed: true, problem: null }] });
  expect(engineCommand('images', '--format', '{{.Repository}}:{{.Tag}}')).not.toContain(OLD);
  const { stderr, exitCode } = await command(['image', 'rm', 'docker.io/library/busybox'], { home });
  expect(stderr).toContain("'docker.io/library/busybox' is no image that was built here.");
  expect(stderr).toContain('rmi docker.io/library/busybox');
  expect(exitCode).toBe(2);
});

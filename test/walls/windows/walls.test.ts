// The walls between windows that share a bridge: each attack of one on another is tried at real windows, and its control where
// the wall does not stand in the way.

import { afterAll, afterEach, expect, it } from 'vitest';
import { attacks } from './attacks.js';
import { type Who, World } from './world.js';

const held: string[] = [];
const worlds: World[] = [];

/** In a world of its own: what one leaves must not be what the next one sees. */
async function tried(attempt: (world: World, by: Who) => Promise<string | undefined>, by: Who) {
  const world = new World();
  worlds.push(world);
  return await attempt(world, by);
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]();
});

afterAll(() => {
  console.log(`${attacks.length} attacks of one window on another: ${held.length} held, with their controls`);
});

it('has no two attacks of one name', () => {
  expect(new Set(attacks.map(({ id }) => id)).size).toBe(attacks.length);
});

for (const { id, tries, attempt, control = attempt, without } of attacks)
  it(`${id}: ${tries}`, async ({ skip }) => {
    if (without !== undefined) skip(without);
    expect(await tried(attempt, 'eve'), 'the attack').toBeUndefined();
    expect(await tried(control, 'ann'), 'the control').toBeDefined();
    held.push(id);
  });

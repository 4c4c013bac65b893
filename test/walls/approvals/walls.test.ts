// The walls of approvals: each attack is tried, and its control where the wall does not stand in the way.

import { expect, it } from 'vitest';
import type { Attack } from './attack.js';
import { answerAttacks } from './attacks/answers.js';
import { argumentAttacks } from './attacks/arguments.js';
import { frameAttacks } from './attacks/frames.js';
import { serverAttacks } from './attacks/servers.js';
import { wireAttacks } from './attacks/wire.js';
import { wordAttacks } from './attacks/words.js';

const attacks: readonly Attack[] = [
  ...frameAttacks,
  ...argumentAttacks,
  ...serverAttacks,
  ...wordAttacks,
  ...answerAttacks,
  ...wireAttacks,
];

it('has no two attacks of one name', () => {
  expect(attacks.map(({ id }) => id).filter((id, at, ids) => ids.indexOf(id) !== at)).toEqual([]);
});

it.each(attacks)('$group: $id', async ({ tries, wall, attempt, control }) => {
  expect(await attempt(), `${tries}; held by: ${wall}`).toBeUndefined();
  expect(await control(), `control of: ${tries}`).toBeDefined();
});

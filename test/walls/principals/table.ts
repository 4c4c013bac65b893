// Tries the attacks of a table, each with its control, and collects what became of them.

import { appendFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type Attack, type Judged, judge, summaryLine, tried } from './attack.js';
import { Worlds } from './world.js';

const { WALLS_ONLY, WALLS_JSON } = process.env;

/** Makes a test of each row. With WALLS_JSON what became of them is added to that file, a line for each. */
export function tryAll(table: readonly Attack[]): void {
  const worlds = new Worlds();
  const judged: Judged[] = [];
  const wanted = table.filter(({ id }) => WALLS_ONLY === undefined || new RegExp(WALLS_ONLY).test(id));

  afterAll(async () => {
    await worlds[Symbol.asyncDispose]();
    if (WALLS_JSON === undefined) console.log(summaryLine(judged));
  });

  it('has no two attacks of one name', () => {
    expect(table.map(({ id }) => id).filter((id, at, ids) => ids.indexOf(id) !== at)).toEqual([]);
  });

  describe.each([...new Set(wanted.map(({ group }) => group))])('%s', (group) => {
    for (const attack of wanted.filter((one) => one.group === group))
      it(attack.id, async () => {
        const world = await worlds.with(attack.settings);
        const { attempt, control = attempt } = attack;
        const seen = await tried(attempt, world, world.eve);
        const one = judge(attack, seen, await tried(control, world, world.ann));
        judged.push(one);
        if (WALLS_JSON !== undefined) appendFileSync(WALLS_JSON, `${JSON.stringify(one)}\n`);
        expect(one.state, JSON.stringify(one, null, 2)).toBe('held');
      });
  });
}

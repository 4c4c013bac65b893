// Each host's own files, as its command line wrote them or its documentation shows them, on each system.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import {
  type Expected,
  FIXTURES,
  inWords,
  isFor,
  PLATFORMS,
  PlayedMachine,
  wholeOf,
} from './played-machine.js';

describe.each(PLATFORMS)('on %s', (platform) => {
  let machine: PlayedMachine;
  beforeEach(() => {
    machine = new PlayedMachine(platform);
  });
  afterEach(() => machine[Symbol.dispose]());

  it.each(FIXTURES.filter((fixture) => isFor(fixture, platform)))('$id', (fixture) => {
    machine.add(fixture);
    const { ready, skipped, problems } = machine.discover();
    const expected = machine.expectedOf(fixture);
    expect(problems).toEqual([]);
    const isSkipped = (one: Expected): one is Expected & { skipped: string } => 'skipped' in one;

    const wanted = expected.filter((one) => !isSkipped(one));
    expect(ready.map(({ name }) => name).sort()).toEqual(wanted.map(({ name }) => name).sort());
    for (const one of wanted) {
      const spec = ready.find(({ name }) => name === one.name);
      if (spec === undefined) throw new Error(one.name);
      const { transport } = one as { transport?: string };
      const whole = wholeOf(one);
      const known = transport?.split('|').includes(spec.transport) ? { transport: spec.transport } : {};
      expect(inWords(spec)).toEqual({ ...whole, ...known });
      if (one.scope !== undefined)
        expect(`${one.name} ${spec.source.scope}`).toBe(`${one.name} ${one.scope}`);
      const { oauth } = one as { oauth?: object | false };
      if (oauth !== undefined && spec.transport !== 'stdio') {
        if (oauth === false) expect(spec.oauth).toBe(false);
        else expect(spec.oauth).toMatchObject(oauth);
      }
    }

    const unwanted = expected.filter(isSkipped);
    expect(skipped.map(({ name }) => name).sort()).toEqual(unwanted.map(({ name }) => name).sort());
    for (const one of unwanted) {
      const passedOver = skipped.find(({ name }) => name === one.name);
      const reason = passedOver === undefined ? 'missing' : explainSkip(passedOver).text;
      expect(`${one.name}: ${reason}`).toMatch(new RegExp(one.skipped.replace(/^\^/, `^${one.name}: `)));
    }
  });
});

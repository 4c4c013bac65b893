// Whether an engine counts as well: by starts, and by asking it now and then; on a clock of the test's own.

import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { EngineHealth } from '../../src/tenant/engine-health.js';

const STARTED: BridgeEvent = { type: 'sandbox.started', container: 'c', durationMs: 1 };
const gone = () => new BridgeError('E_ENGINE_BROKEN', 'the daemon is gone', { fault: 'engine' });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** `says.check` and `says.trial` are what the engine does when it is asked: undefined where all is well. */
function watched() {
  const clock = { ms: 0 };
  const says: { check?: Error; trial?: Error } = {};
  const asked: string[] = [];
  const told: string[] = [];
  const answer = (what: 'check' | 'trial') => async () => {
    asked.push(what);
    if (says[what] !== undefined) throw says[what];
  };
  const health = new EngineHealth({
    check: answer('check'),
    trial: answer('trial'),
    observer: (event) => event.type === 'engine.health' && told.push(`${event.isWell} ${event.message}`),
    now: () => clock.ms,
  });
  return { health, clock, says, asked, told };
}

/** Asked for, until the answer to what that has caused is known. */
async function isWell(health: EngineHealth): Promise<boolean> {
  void health.isWell;
  await settled();
  return health.isWell;
}

describe('an engine', () => {
  it('that nobody has asked is not well, and is by its first answer', async () => {
    const { health, asked, told } = watched();
    expect(health.isWell).toBe(false);
    await settled();
    expect(health.isWell).toBe(true);
    expect(asked).toEqual(['check']);
    expect(told).toEqual([]);
  });

  it('is not asked again by each who wants to know, only after a while', async () => {
    const { health, clock, asked } = watched();
    await isWell(health);
    for (let second = 1; second < 30; second++) {
      clock.ms = second * 1000;
      expect(await isWell(health)).toBe(true);
    }
    expect(asked).toEqual(['check']);
    clock.ms = 30_000;
    await isWell(health);
    expect(asked).toEqual(['check', 'check']);
  });

  it('that starts sandboxes is not asked at all', async () => {
    const { health, clock, asked } = watched();
    await isWell(health);
    for (let at = 0; at < 10; at++) {
      clock.ms += 29_000;
      health.observe(STARTED);
      expect(await isWell(health)).toBe(true);
    }
    expect(asked).toEqual(['check']);
  });

  it('that has died is noticed though nothing is started, and is back with a start that goes well', async () => {
    const { health, clock, says, asked, told } = watched();
    await isWell(health);
    Object.assign(says, { check: gone(), trial: gone() });
    clock.ms = 30_000;
    expect(await isWell(health)).toBe(false);
    expect(told).toEqual(['false the daemon is gone']);
    for (let at = 0; at < 4; at++) expect(await isWell(health)).toBe(false);
    expect(asked).toEqual(['check', 'check']);
    clock.ms += 5_000;
    expect(await isWell(health)).toBe(false);
    delete says.trial;
    clock.ms += 5_000;
    expect(await isWell(health)).toBe(true);
    expect(asked).toEqual(['check', 'check', 'trial', 'trial']);
    expect(told).toEqual(['false the daemon is gone', 'true ']);
  });

  it('whose absence a start shows is not well from that moment on', async () => {
    const { health } = watched();
    await isWell(health);
    health.startFailed(gone());
    expect(health.isWell).toBe(false);
    health.observe(STARTED);
    expect(health.isWell).toBe(true);
  });

  it.each([
    ['of an image stays well where another start succeeds', undefined, true],
    ['of everything is well no more, whatever the engine says', new Error('no runtime'), false],
  ])('a failed start %s', async (_, trial, is) => {
    const { health, says, asked } = watched();
    await isWell(health);
    if (trial !== undefined) says.trial = trial;
    health.startFailed(new BridgeError('E_SANDBOX_START', 'exit 125', { fault: 'engine' }));
    expect(await isWell(health)).toBe(is);
    expect(asked).toEqual(['check', 'trial']);
  });

  it('is none the worse for a start that somebody has cancelled', async () => {
    const { health, asked } = watched();
    await isWell(health);
    health.startFailed(new BridgeError('E_CANCELLED', 'gone', { fault: 'agent' }));
    expect(health.isWell).toBe(true);
    expect(asked).toEqual(['check']);
  });

  it('of which nobody wants to know is not asked, and nothing is told of it', async () => {
    const { health, asked, told } = watched();
    health.observe(STARTED);
    health.startFailed(gone());
    health.startFailed(new BridgeError('E_SANDBOX_START', 'exit 125', { fault: 'engine' }));
    await settled();
    expect([asked, told]).toEqual([[], []]);
  });

  it('that fails is asked by nobody after the end', async () => {
    const { health, asked } = watched();
    health[Symbol.dispose]();
    expect(await isWell(health)).toBe(false);
    expect(asked).toEqual([]);
  });
});

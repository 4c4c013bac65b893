// Servers that several pools use, seen from a pool whose agent takes its time to say its roots.

import { afterEach, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import { type AgentCapabilities, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import { SharedSlots } from '../../src/servers/pool/shared-slots.js';
import { NEVER, until } from '../support/time.js';
import { hostile } from './hostile.js';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** The pool of a window whose agent says its roots when `sayRoots` is called. */
function poolOfWindow() {
  const events: BridgeEvent[] = [];
  let sayRoots = () => {};
  let isAsked = false;
  const agent: AgentCapabilities = {
    ...NO_AGENT,
    hasRoots: () => true,
    listRoots: () => {
      isAsked = true;
      return new Promise((resolve) => {
        sayRoots = () => resolve({ roots: [] });
      });
    },
  };
  const slots = new SharedSlots();
  const pool = new DownstreamPool({
    specs: [hostile()],
    hostEnv: process.env,
    extraEnvNames: [],
    depth: 0,
    observer: (event) => void events.push(event),
    redactor: new Redactor(),
    slotFor: (parts) => slots.slotFor(parts, 1),
  });
  open.push(slots, pool);
  return { slots, pool, agent, events, isAsked: () => isAsked, sayRoots: () => sayRoots() };
}

it('a pool that closes while an agent has not said its roots ends, and starts nothing', async () => {
  const { slots, pool, agent, events, isAsked, sayRoots } = poolOfWindow();
  const got = pool.get('hostile', NEVER, agent).catch((thrown: unknown) => thrown);
  await until(isAsked);
  const closed = pool[Symbol.asyncDispose]();
  sayRoots();
  await closed;
  expect(await got).toMatchObject({ code: 'E_SHUTDOWN' });
  expect(slots.states()).toEqual([]);
  expect(events).toEqual([]);
});

it('a server that was taken out of the configuration before its agent has said its roots is not started for nobody', async () => {
  const { slots, pool, agent, events, isAsked, sayRoots } = poolOfWindow();
  const lease = pool.lease(['hostile'], agent);
  const got = lease.get('hostile', NEVER).catch((thrown: unknown) => thrown);
  await until(isAsked);
  pool.adopt([]);
  lease[Symbol.dispose]();
  sayRoots();
  expect(await got).toMatchObject({ code: 'E_SHUTDOWN' });
  expect(slots.states()).toEqual([]);
  expect(events).toEqual([]);
});

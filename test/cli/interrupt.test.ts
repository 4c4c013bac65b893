import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { interruptSignal } from '../../src/cli/terminal/interrupt.js';

function watched(platform: NodeJS.Platform) {
  const events = new EventEmitter();
  const exits: number[] = [];
  const signal = interruptSignal({ platform, events, exit: (code) => exits.push(code) });
  return { events, exits, signal };
}

it.each([
  ['linux', ['SIGHUP', 'SIGINT', 'SIGTERM']],
  ['darwin', ['SIGHUP', 'SIGINT', 'SIGTERM']],
  ['win32', ['SIGBREAK', 'SIGHUP', 'SIGINT']],
] as const)('%s: %s ask us to end', (platform, expected) => {
  const { events } = watched(platform);
  expect(events.eventNames().sort()).toEqual(expected);
});

it('the first one aborts with its name, the second one does not wait', () => {
  const { events, exits, signal } = watched('linux');
  events.emit('SIGTERM');
  expect([signal.aborted, signal.reason, exits]).toEqual([true, 'SIGTERM', []]);
  events.emit('SIGINT');
  expect([signal.reason, exits]).toEqual(['SIGTERM', [130]]);
});

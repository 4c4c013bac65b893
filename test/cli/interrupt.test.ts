import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { interruptSignal } from '../../src/cli/terminal/interrupt.js';

function watched(platform: NodeJS.Platform, isService = false) {
  const events = new EventEmitter();
  const exits: number[] = [];
  const codes: number[] = [];
  const signal = interruptSignal({
    ...{ platform, events, isService },
    exit: (code) => exits.push(code),
    setExitCode: (code) => codes.push(code),
  });
  return { events, exits, codes, signal };
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

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('after %s the exit code of a command is %i, and a service has its own', (name, exitCode) => {
  const command = watched('linux');
  const service = watched('linux', true);
  for (const { events } of [command, service]) for (const event of [name, 'exit']) events.emit(event);
  expect([command.codes, service.codes]).toEqual([[exitCode], []]);
});

it('a command that nobody has interrupted keeps its exit code', () => {
  const { events, codes } = watched('linux');
  events.emit('exit');
  expect(codes).toEqual([]);
});

// Events of sandboxes: what holds them, what they start from, how they begin and end.

import { type EventTable, type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import { ownCommand } from '../base/process/own-command.js';
import { countOf } from '../base/text/text.js';

declare module '../base/log/events.js' {
  interface EventTable {
    readonly 'engine.swept': { readonly removed: number };
    /** A step before the first sandbox can start, such as `looking for podman or docker`. */
    readonly 'setup.step': { readonly step: string };
    /** The content of the image of run_python has become known. */
    readonly 'image.known': {
      readonly image: string;
      /** Major and minor number. */
      readonly python: string;
      /** Modules that the image's Python imports beyond the standard library; null where they are not known yet. */
      readonly modules: readonly string[] | null;
    };
    readonly 'walls.known': {
      /** Engine, OCI runtime with its flags, mode, cgroups, seccomp profile, and which languages have a network. */
      readonly setup: string;
      /** Which OCI runtimes were tried, and what came of it. */
      readonly reason: string;
      /** The mechanism that enforces each limit, as seen. */
      readonly limits: string;
      /** The result of the last probe since this machine was started; undefined when there was none. */
      readonly probe:
        | {
            readonly at: string;
            readonly enforced: number;
            readonly watchdog: number;
            /** Most megabytes by which a watchdog was late; null where none had to act. */
            readonly overshootMb: number | null;
            readonly unknown: number;
            readonly notEnforced: readonly string[];
          }
        | undefined;
    };
    readonly 'sandbox.started': { readonly container: string; readonly durationMs: number };
    readonly 'sandbox.ended': { readonly container: string; readonly reason: string };
    readonly 'sandbox.limit': {
      readonly container: string;
      readonly limit: string;
      readonly allowed: number;
      readonly seen: number;
    };
    readonly 'sandbox.noise': { readonly container: string; readonly line: string };
    readonly 'sandbox.unloaded': {
      readonly container: string;
      /** A module that MCP_BRIDGE_PREIMPORT names. */
      readonly module: string;
      readonly error: string;
    };
    readonly 'pool.resting': { readonly reason: string; readonly restMs: number };
  }
}

/** The names come from sandboxes, and a log keeps nothing without an end. */
const MAX_MODULES_TOLD = 100;

export function sandboxEventWords() {
  const unloaded = new Set<string>();
  /** Every sandbox says it again; one warning for each module is enough. */
  const levelOfUnloaded = (module: string): 'warn' | 'debug' => {
    if (unloaded.has(module) || unloaded.size >= MAX_MODULES_TOLD) return 'debug';
    unloaded.add(module);
    return 'warn';
  };
  return {
    'engine.swept': ({ removed }) => [
      'info',
      `removed ${countOf(removed, 'container')} left by a bridge that has ended`,
    ],
    'setup.step': ({ step }) => ['debug', `set-up: ${oneLine(step)}`],
    'image.known': ({ image, python, modules }) => [
      'debug',
      `image ${oneLine(image)} has Python ${oneLine(python)}${modules === null ? '' : `, ${oneLine(modules.join(', ')) || 'standard library'}`}`,
    ],
    'walls.known': ({ setup, reason, limits, probe }) => [
      'info',
      `walls: ${oneLine(setup)} (${oneLine(reason)}); limits by ${limits}; ${probeWords(probe)}`,
    ],
    'sandbox.started': ({ container, durationMs }) => [
      'debug',
      `sandbox ${container} ready after ${milliseconds(durationMs)}`,
    ],
    'sandbox.ended': ({ container, reason }) => ['debug', `sandbox ${container} ended: ${oneLine(reason)}`],
    'sandbox.limit': ({ container, limit, allowed, seen }) => [
      'info',
      `sandbox ${container} killed: ${limit} limit ${allowed}, seen ${seen}`,
    ],
    'sandbox.noise': ({ container, line }) => ['debug', `sandbox ${container} said: ${oneLine(line)}`],
    'sandbox.unloaded': ({ module, error }) => [
      levelOfUnloaded(module),
      `module ${oneLine(module)} of MCP_BRIDGE_PREIMPORT is not loaded ahead: ${oneLine(error)}`,
    ],
    'pool.resting': ({ restMs, reason }) => [
      'warn',
      `no sandbox is started ahead for ${milliseconds(restMs)}: ${oneLine(reason)}`,
    ],
  } satisfies Partial<EventWords>;
}

function probeWords(probe: EventTable['walls.known']['probe']): string {
  if (probe === undefined) return `not probed since the last boot (${ownCommand('doctor', '--probe')} does)`;
  const { at, enforced, watchdog, overshootMb, unknown, notEnforced } = probe;
  const late = overshootMb === null ? '' : ` (${overshootMb} MB late)`;
  const gaps = notEnforced.length === 0 ? '' : ` (${oneLine(notEnforced.join(', '))})`;
  return `probed ${at}: ${enforced} enforced, ${watchdog} by watchdog${late}, ${notEnforced.length} not enforced${gaps}, ${unknown} unknown`;
}

// What an attack is: data. It is tried in a sandbox of the real bridge, where it must be held, and once more as its
// control with the named defence off, where it must get through; an attack whose control does not is unproven.

import type { EngineMode, IdMapping } from '../../src/engine/engine.js';
import type { Payload } from '../support/start-bridge.js';
import type { RawOutput } from './raw-container.js';
import type { Relaxation } from './relaxations.js';
import type { World } from './world.js';

export type Group =
  | 'kernel'
  | 'privileges'
  | 'files'
  | 'data'
  | 'network'
  | 'processes'
  | 'between runs'
  | 'frames'
  | 'output'
  | 'resources';

type Described = {
  readonly id: string;
  readonly group: Group;
  /** One sentence: what it tries. */
  readonly tries: string;
  /** Why it comes out differently under gVisor; then its verdict and its control there are shown and not judged. */
  readonly gvisor?: string;
};

/** Runs with many others in one sandbox, each in a process of its own. */
export type Probe = Described & {
  readonly kind: 'probe';
  /** Body of a Python function that returns what got through, or raises what held it; see probes.py. */
  readonly code: string;
  /** The defences that its control does without. */
  readonly off: readonly Relaxation[];
  /** The control's own body where it is not the same. */
  readonly control?: string;
  /** Why the control can only be had from a root engine, where that is so. */
  readonly rootControl?: string;
};

/** Two runs at the same time: one leaves something, the other looks for it. The control does both in one container. */
export type Pair = Described & {
  readonly kind: 'pair';
  readonly leave: string;
  readonly look: string;
  readonly off: readonly Relaxation[];
};

/** What the bridge made of a run: its payload and the answer's text. */
export type Answer = {
  readonly payload: Payload;
  readonly text: string;
};

/** Has a run of the bridge to itself, and its verdict is the host's. */
export type Deed = Described & {
  readonly kind: 'deed';
  readonly program: string;
  readonly servers?: readonly string[];
  /** Seconds; the bridge's default where not said. */
  readonly timeout?: number;
  /** What got through; undefined when it was held. */
  readonly verdict: (answer: Answer, world: World) => string | undefined;
  readonly control: DeedControl;
};

/** The control of a deed: in a container of its own without a bridge, or through the bridge where that is permitted. */
export type DeedControl =
  | {
      readonly in: 'container';
      readonly off: readonly Relaxation[];
      readonly program: string;
      /** It is killed after so long; what it had printed counts. */
      readonly seconds: number;
      readonly through: (output: RawOutput) => boolean;
    }
  | {
      readonly in: 'probe';
      readonly off: readonly Relaxation[];
      readonly code: string;
      /** Going on and on counts as getting through. */
      readonly endless?: boolean;
    }
  | {
      readonly in: 'bridge';
      readonly program: string;
      readonly servers?: readonly string[];
      readonly through: (answer: Answer, world: World) => boolean;
    };

export type Attack = Probe | Pair | Deed;

export type Verdict = 'held' | 'through' | 'absent' | 'broken';
export type Seen = { readonly verdict: Verdict; readonly detail: string };

export type AttackResult = {
  readonly attack: Attack;
  readonly seen: Seen;
  /** Of the control, where `through` is what proves the attack. Undefined: impossible in this mode. */
  readonly control: Seen | undefined;
};

/** How the table is run: what decides which controls are possible. */
export type Setting = { readonly mode: EngineMode; readonly ids: IdMapping; readonly ociRuntime: string };

/** A text without the indentation that its first line has. */
export function py(parts: TemplateStringsArray, ...values: readonly unknown[]): string {
  const text = String.raw(parts, ...values).replace(/^\n/, '');
  const indent = /^ */.exec(text)?.[0] ?? '';
  return text
    .split('\n')
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
    .join('\n')
    .trimEnd();
}

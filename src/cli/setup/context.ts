// Facts that the steps of `setup` share: what the user asked for, the machine, and what earlier steps have found out.

import type { EngineName } from '../../engine/engine.js';
import type { ApproveMode } from '../../settings/environment/variables.js';
import type { Prepared } from '../serving/prepare.js';
import type { BarProgress } from '../terminal/progress-bar.js';
import type { SetupMachine } from './machine.js';

export type SetupOptions = {
  /** Install, change and register without asking. */
  readonly yes?: true;
  /** Say each step and do none. */
  readonly dryRun?: true;
  readonly json?: true;
  /** False with --no-register. */
  readonly register: boolean;
  /** Hosts to register in, as `install` names them. */
  readonly host: readonly string[];
  /** Which calls a person is asked about, for registrations that are made now. */
  readonly approve?: ApproveMode;
};

export type SetupContext = {
  readonly options: SetupOptions;
  readonly prepared: Prepared;
  readonly machine: SetupMachine;
  /** Whether a person can be asked: both ends are a terminal, and nobody waits for JSON. */
  readonly isInteractive: boolean;
  /** Aborts at the first Ctrl-C. */
  readonly signal: AbortSignal;
  readonly show: (progress: BarProgress) => void;
  /** Takes the bar away, so that another program or a question has the terminal for itself. */
  readonly clear: () => void;
  /** Facts that are not known before the step that finds them was made. */
  readonly found: {
    /** `planned`: in a dry run, an engine would have been installed by now. */
    engine: EngineName | 'elsewhere' | 'planned';
    /** In a dry run: the store of a rootless podman is not there, and asking podman anything would make it. */
    hasNoStore: boolean;
    /** Titles of hosts that have us, for the last line. */
    hosts: readonly string[];
  };
};

/** Whether podman runs on this machine as an ordinary user: only then are ids and a store the user's own affair. */
export const isOwnPodman = ({ found, machine, prepared }: SetupContext): boolean =>
  (found.engine === 'podman' || found.engine === 'planned') &&
  prepared.discovery.host.platform === 'linux' &&
  !machine.isRoot;

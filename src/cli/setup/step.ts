// A step of `setup`, and its result. The words of the result are shown to people and printed as JSON.

import { asBridgeError } from '../../base/errors.js';
import { withoutFullStop } from '../../base/text/text.js';
import type { EngineName } from '../../engine/engine.js';
import type { HostHere } from '../../hosts/install/registration.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { Bridge } from '../../tenant/bridge.js';
import type { Refreshed } from '../../tenant/refresh.js';
import type { Prepared } from '../serving/prepare.js';
import type { BarProgress } from '../terminal/progress-bar.js';
import type { terminalPrompts } from './dialogue.js';
import type { SetupMachine } from './systems.js';

/** Something that works, but not as it should. */
export type StepWarning = { readonly detail: string; readonly remedy?: string | undefined };

export type StepResult = {
  /** `ok`: was so already. `done`: changed now. `skipped`: left as it is. `failed`: with the next step for the user. */
  readonly status: 'ok' | 'done' | 'skipped' | 'failed';
  /** One sentence without its full stop, or a part of one. */
  readonly detail: string;
  /** Action that the user has to take, in one sentence; only with `failedResult`. */
  readonly remedy?: string | undefined;
  /** Shell commands that the user may run instead of us. */
  readonly commands?: readonly string[];
  readonly warnings?: readonly StepWarning[];
  /** Shell commands that take back what was done now. */
  readonly undo?: readonly string[];
};

export type Step = {
  readonly name:
    | 'engine'
    | 'ids'
    | 'storage'
    | 'choices'
    | 'image'
    | 'answer'
    | 'walls'
    | 'hosts'
    | 'servers';
  /** Steps without which this one is pointless: where one of them has failed, it is skipped. */
  readonly needs: readonly Step['name'][];
  /** Words about what is going on, for somebody who waits. */
  readonly doing: string;
  readonly perform: (setup: SetupContext) => Promise<StepResult>;
};

export const ok = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'ok',
  detail,
  ...more,
});
export const doneResult = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'done',
  detail,
  ...more,
});
export const skippedResult = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'skipped',
  detail,
  ...more,
});
export const failedResult = (
  detail: string,
  remedy: string | undefined,
  more: Partial<StepResult> = {},
): StepResult => ({
  status: 'failed',
  detail,
  remedy,
  ...more,
});

// Facts that the steps of `setup` share: what the user asked for, the machine, and what earlier steps have found out.

export type SetupOptions = {
  /** Ask nothing, and take the answer that each question has by default. */
  readonly yes?: true;
  /** Say each step and do none. */
  readonly dryRun?: true;
  readonly json?: true;
  /** False with --no-register. */
  readonly register: boolean;
  /** Hosts to register in, as `install` names them. */
  readonly host: readonly string[];
  /** False with --no-adopt. */
  readonly adopt: boolean;
  /** Profile of the image that sandboxes start from, which new registrations then name; undefined asks. */
  readonly image?: string;
  /** Which calls a person is asked about, for registrations that are made now. */
  readonly approve?: SettingValues['approve'];
};

/** Answers of the user, or the answers by default, all given before the first slow step. */
export type Choices = {
  /** Hosts on this machine, with those that cannot be used. */
  readonly here: readonly HostHere[];
  /** Names of the hosts to register in; `not asked`: there was nobody to ask. */
  readonly hosts: readonly string[] | 'not asked';
  /** Variables of new registrations. */
  readonly env: Readonly<Record<string, string>>;
  /** Servers that are started once, beside the other steps, to learn how large their lists of tools are. */
  readonly count: ServerCount | undefined;
};

export type SetupContext = {
  readonly options: SetupOptions;
  /** Settings and environment; `choices` puts others here when another image is wanted. */
  prepared: Prepared;
  readonly machine: SetupMachine;
  /** Whether a person can be asked: both ends are a terminal, and nobody waits for JSON. */
  readonly isInteractive: boolean;
  /** Aborts at the first Ctrl-C. */
  readonly signal: AbortSignal;
  readonly prompts: typeof terminalPrompts;
  readonly show: (progress: BarProgress) => void;
  /** Takes the bar away, so that another program or a question has the terminal for itself. */
  readonly clear: () => void;
  /** Facts that are not known before the step that finds them was made. */
  readonly found: {
    /** `planned`: in a dry run, an engine would have been installed by now. */
    engine: EngineName | 'elsewhere' | 'planned';
    /** In a dry run: the store of a rootless podman is not there, and asking podman anything would make it. */
    hasNoStore: boolean;
    /** Undefined before the step `choices`. */
    choices: Choices | undefined;
    /** Hosts that have us, in the order of the table. */
    hosts: readonly Pick<HostHere, 'id' | 'title'>[];
  };
};

/**
 * Why ids and storage need no look, as the end of a sentence; undefined where podman runs on this machine as an ordinary user,
 * since only then are they the user's own affair.
 */
export function whyNotOwnPodman({ found, machine, prepared }: SetupContext): string | undefined {
  if (found.engine === 'elsewhere') return 'the engine runs elsewhere';
  if (found.engine !== 'podman' && found.engine !== 'planned') return `${found.engine} takes care of it`;
  if (prepared.discovery.host.platform !== 'linux') return 'podman has a virtual machine of its own';
  return machine.isRoot ? 'podman runs as root' : undefined;
}

/** Trouble with one host, which a step tells beside its result. */
export function troubleIn(title: string, thrown: unknown): StepWarning {
  const { message, remedy } = asBridgeError(thrown);
  return { detail: `${title}: ${withoutFullStop(message)}`, remedy };
}

// Servers that are started once beside the other steps of `setup`, so that it is known how many tools they have and how much
// of the model's context these take. What they list is kept, as `servers refresh` keeps it.

/** Runs from its making on; disposing of it ends the servers that are still being asked. */
export class ServerCount implements AsyncDisposable {
  readonly names: readonly string[];
  readonly #stop = new AbortController();
  readonly #outcomes: Promise<readonly Refreshed[]>;

  /** `names` are those of servers that discovery finds ready. */
  constructor(names: readonly string[], prepared: Prepared, signal: AbortSignal) {
    this.names = names;
    this.#outcomes = ask(names, prepared, AbortSignal.any([signal, this.#stop.signal]));
    // A failure is told to whoever waits for the outcomes.
    this.#outcomes.catch(() => {});
  }

  /** One for each server, when all have answered or failed. Throws E_CANCELLED. */
  outcomes(): Promise<readonly Refreshed[]> {
    return this.#outcomes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#outcomes.catch(() => {});
  }
}

async function ask(
  names: readonly string[],
  { settings, discovery, observer, redactor }: Prepared,
  signal: AbortSignal,
): Promise<readonly Refreshed[]> {
  await using bridge = new Bridge({ settings, discovery, observer, redactor });
  const { ready } = bridge.servers.discovery;
  return await bridge.servers.refresh(
    ready.filter(({ name }) => names.includes(name)),
    false,
    signal,
  );
}

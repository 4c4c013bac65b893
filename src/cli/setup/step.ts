// A step of `setup`, and its result. The words of the result are shown to people and printed as JSON.

import type { SetupContext } from './context.js';

/** `ok`: it was so already. `done`: changed now. `skipped`: left as it is. `failed`: with the next step for the user. */
export type StepStatus = 'ok' | 'done' | 'skipped' | 'failed';

/** Something that works, but not as it should. */
export type StepWarning = { readonly detail: string; readonly remedy?: string | undefined };

export type StepResult = {
  readonly status: StepStatus;
  /** One sentence without its full stop, or a part of one. */
  readonly detail: string;
  /** Action that the user has to take, in one sentence; only with `failed`. */
  readonly remedy?: string | undefined;
  /** Shell commands that the user may run instead of us. */
  readonly commands?: readonly string[];
  readonly warnings?: readonly StepWarning[];
  /** Shell commands that take back what was done now. */
  readonly undo?: readonly string[];
};

export type StepName = 'engine' | 'ids' | 'storage' | 'image' | 'walls' | 'hosts' | 'answer';

export type Step = {
  readonly name: StepName;
  /** Steps without which this one is pointless: where one of them has failed, it is skipped. */
  readonly needs: readonly StepName[];
  /** Words about what is going on, for somebody who waits. */
  readonly doing: string;
  readonly perform: (setup: SetupContext) => Promise<StepResult>;
};

export const ok = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'ok',
  detail,
  ...more,
});
export const done = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'done',
  detail,
  ...more,
});
export const skipped = (detail: string, more: Partial<StepResult> = {}): StepResult => ({
  status: 'skipped',
  detail,
  ...more,
});
export const failed = (
  detail: string,
  remedy: string | undefined,
  more: Partial<StepResult> = {},
): StepResult => ({
  status: 'failed',
  detail,
  remedy,
  ...more,
});

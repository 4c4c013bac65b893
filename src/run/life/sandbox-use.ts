// How code and commands use a sandbox alike: they take it, it ends by itself or is cut off, and what it has left is
// kept. A sandbox is used once.

import { BridgeError } from '../../base/errors.js';
import type { Deadline } from '../../base/waiting/deadline.js';
import { waitAtMost, waitForAbort } from '../../base/waiting/unless-aborted.js';
import type { Sandbox, SandboxEnd } from '../../sandbox/conversation/sandbox.js';
import type { Artifacts, Settled } from '../artifacts/artifacts.js';
import type { CodeEnd } from '../outcome/conclude.js';
import { NOTHING_AWAITED, type SandboxFacts } from '../outcome/ending-errors.js';

/** Where a run gets its sandbox, and where it leaves it. */
export type Sandboxes = {
  /** Gives away a greeted sandbox. */
  readonly take: (signal: AbortSignal) => Promise<Sandbox>;
  /** Takes back one that was given no run. */
  readonly giveBack: (sandbox: Sandbox) => void;
  /** Gets rid of one, behind the caller's back. */
  readonly retire: (sandbox: Sandbox) => void;
};

/** How long the guest may take, at its deadline, to say where it was. */
const WHERE_WITHIN_MS = 350;
/** How much longer a run may take that its deadline has ended and whose files are arriving. */
const FILES_WITHIN_MS = 1_000;
const NOTHING_LEFT: Settled = { left: undefined, stdout: undefined, stderr: undefined };

/** Throws E_CANCELLED for a run that was cancelled while it waited in the queue: nothing is started for it. */
export function refuseCancelled({ signal }: Deadline): void {
  if (signal.aborted) throw new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' });
}

/** Disposed, its sandbox waits for another run where it was given none, and is got rid of otherwise. */
export async function takeSandbox(
  { take, giveBack, retire }: Sandboxes,
  { signal }: Deadline,
): Promise<Disposable & { readonly sandbox: Sandbox }> {
  const sandbox = await take(signal);
  return {
    sandbox,
    [Symbol.dispose]: () => (sandbox.hasRun ? retire(sandbox) : giveBack(sandbox)),
  };
}

/** How a sandbox that was given its run has ended; undefined where it was cut off before it said anything. */
export async function endOf(
  sandbox: Sandbox,
  deadline: Deadline,
  codeEnd: CodeEnd,
  artifacts: Artifacts,
): Promise<SandboxEnd | undefined> {
  const end = await Promise.race([sandbox.ended, cutOff(sandbox, deadline, artifacts), codeEnd.filesLate]);
  // However it ended: to keep what it left may take longer.
  deadline.finish();
  if (codeEnd.note !== undefined) sandbox.kill();
  return end;
}

/** Puts what was left where it can be read; of a run that nobody waits for, nothing stays. */
export async function keep(artifacts: Artifacts, deadline: Deadline): Promise<Settled> {
  const isCancelled = () => deadline.cause !== undefined && deadline.cause !== 'timeout';
  const settled = isCancelled() ? NOTHING_LEFT : await artifacts.settle();
  if (!isCancelled()) return settled;
  await artifacts.discard();
  return NOTHING_LEFT;
}

/** Resolves when the run was cut short. At its deadline the guest is asked where it is; else there is no time for that. */
async function cutOff(sandbox: Sandbox, deadline: Deadline, artifacts: Artifacts): Promise<undefined> {
  await waitForAbort(deadline.signal);
  if (deadline.cause === 'timeout') {
    sandbox.send({ type: 'stop', reason: 'timeout' });
    await waitAtMost(WHERE_WITHIN_MS, sandbox.ended);
    if (artifacts.isArriving) await waitAtMost(FILES_WITHIN_MS, sandbox.ended);
  }
  sandbox.kill();
  return undefined;
}

/** Facts about a sandbox, for when its end is put into words. */
export const sandboxFactsOf = (
  { spec, memoryKills, isElsewhere, hasRun }: Sandbox,
  calls: number,
  awaited = NOTHING_AWAITED,
): SandboxFacts => ({
  calls,
  spec,
  memoryKills,
  isElsewhere,
  hasRun,
  ...awaited,
});

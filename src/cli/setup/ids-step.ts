// Second step: ranges of ids that an ordinary user may give to containers. Rootless podman maps the ids of a container to
// them; without any it starts no image that has more than one owner.

import { readText } from '../../base/files/read-text.js';
import { rootAccess, rootCommand, runAsRoot, runToTheEnd } from './as-root.js';
import { isOwnPodman, type SetupContext } from './context.js';
import { agrees } from './dialogue.js';
import { done, ok, type Step, type StepResult, skipped } from './step.js';
import { storePaths } from './store.js';

const FILES = ['/etc/subuid', '/etc/subgid'] as const;
/** One user namespace of a sandbox. */
const COUNT = 65_536;
const FIRST = 100_000;
const MIGRATE = ['podman', 'system', 'migrate'] as const;

export const idsStep: Step = {
  name: 'ids',
  needs: ['engine'],
  doing: 'looking for ids that containers may have',
  perform: async (setup) => {
    if (!isOwnPodman(setup)) return skipped('only a podman of an ordinary user needs them');
    const short = FILES.filter((file) => setup.machine.idsIn(file) < COUNT);
    if (short.length === 0) return ok(`at least ${COUNT} in ${FILES.join(' and ')}`);
    return grant(setup, `fewer than ${COUNT} in ${short.join(' and ')}`);
  },
};

async function grant(setup: SetupContext, what: string): Promise<StepResult> {
  const { username, isRoot } = setup.machine;
  const range = freeRange(FILES.map((file) => readText(file) ?? ''));
  const usermod = (verb: 'add' | 'del') => [
    'usermod',
    `--${verb}-subuids`,
    range,
    `--${verb}-subgids`,
    range,
    username,
  ];
  // Podman would believe what it remembers of a user without ids for as long as that user is logged in.
  const isKnown = storePaths(setup).hasStore;
  const commands = [rootCommand(usermod('add'), isRoot), ...(isKnown ? [MIGRATE.join(' ')] : [])];
  if (setup.options.dryRun) return skipped(`${what}; they would be given with`, { commands });
  const byHand = (detail: string, remedy: string): StepResult => ({
    status: 'failed',
    detail,
    remedy,
    commands,
  });
  if (!(await agrees(setup, `${what}. Run \`${commands[0]}\`?`)))
    return byHand(what, 'Run this, or have it run by the option --yes:');
  const access = await rootAccess(isRoot, setup.isInteractive);
  if (access === 'none') return byHand(`${what}, and root is not to be had by sudo here`, 'Run this:');
  setup.clear();
  await runAsRoot(usermod('add'), access);
  if (isKnown) await runToTheEnd(MIGRATE);
  return done(`${range} in ${FILES.join(' and ')}`, { undo: [rootCommand(usermod('del'), isRoot)] });
}

/** The first ids above all that are given away, as FIRST-LAST. */
export function freeRange(files: readonly string[]): string {
  const ends = files
    .flatMap((text) => text.split('\n'))
    .map((line) => line.split(':'))
    .map(([, first, count]) => Number(first) + Number(count))
    .filter(Number.isFinite);
  const first = Math.max(FIRST, ...ends);
  return `${first}-${first + COUNT - 1}`;
}

// The shell that starts one sandbox from a template and then is its clock: it waits for the end of a pipe that the bridge holds,
// and at most for the seconds that the sandbox may live, and then has it killed and removed. So a sandbox is gone soon after its
// bridge, however that has ended. The root is mounted in a mount namespace that nobody but the sandbox keeps, over that of the
// template, whose folders the ids inside may pass: nothing has to be unmounted.

import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import type { OciRuntime } from '../engine.js';
import { runDirsIn } from '../machine/first-process.js';

/** Programs that the clock and the trial of a template run, besides the OCI runtime; `chown` only where its files have another owner than the bridge. */
export const CLOCK_PROGRAMS = [
  'unshare',
  'mount',
  'timeout',
  'cat',
  'rm',
  'rmdir',
  'sleep',
  'chown',
  'chmod',
  'stat',
  'realpath',
] as const;

/** In a bundle: the pid of the sandbox's clock. */
const CLOCK_FILE = 'clock';

/**
 * The lower folder that is last (the working directory, which is empty) is there because the kernel wants two. What the runtime
 * starts must not have the pipe, on which a line says that it has been started, to a bridge that may be gone by then. Signals that
 * end a terminal's or a service's programs are for the bridge, which then lets go. A sandbox that has ended is the bridge's to
 * remove where that needs no program (bundles.ts), and then the runtime knows of it no more. A runtime forgets a sandbox whose
 * control group was busy for longer than a third of a second, and leaves the group: one of 24 that were ended while they were being made.
 */
const CLOCK = `
root=$1 bundle=$2 seconds=\${3#--timeout=} name=$4 notes=$5 owner=$6 group=$7
shift 7
set -- "$@" --root "$notes"
remove() {
  [ ! -e "$notes/$name" ] || "$@" delete --force "$name" 3<&-
  for again in 1 2 3 4 5 6 7 8 9; do
    set --
    for folder in /sys/fs/cgroup"$group" /sys/fs/cgroup/*"$group"; do
      [ -z "$group" ] || [ ! -d "$folder" ] || set -- "$@" "$folder"
    done
    [ $# -gt 0 ] || break
    rmdir "$@" || sleep 0.$again
  done
}
cd "$bundle/empty" && echo $$ > "$bundle/${CLOCK_FILE}" || exit
[ -z "$owner" ] || chown "$owner" "$bundle"/own-* || exit
{ mount -t overlay -o "ro,lowerdir=$root:." overlay "$root" && "$@" run --detach --bundle "$bundle" "$name"; } 3<&- || {
  code=$?
  remove "$@" >/dev/null 2>&1
  exit "$code"
}
cd / && trap '' HUP INT TERM PIPE
echo >&3
exec <&3 3<&- >/dev/null 2>&1
timeout -s KILL "$seconds" cat
remove "$@"
[ ! -e "$bundle" ] || rm -rf "$bundle"
`;

export type ClockPlan = {
  /** Words that lead to where the engine's mounts are seen; none as root. */
  readonly enter: readonly string[];
  readonly runtime: OciRuntime;
  readonly isBySystemd: boolean;
  /** The runtime's folder for its notes. */
  readonly notes: string;
  /** The template's root. */
  readonly root: string;
  readonly bundle: string;
  /** Owner of the bundle's own files as `uid:gid` where `enter` leads to; '' where they have it. */
  readonly owner: string;
  /** Its control group's path in each hierarchy; '' where it has none that is a folder, or systemd has made it. */
  readonly group: string;
  readonly seconds: number;
  readonly name: string;
};

/** The first word is a program. */
export const clockArgv = (plan: ClockPlan): readonly [string, ...string[]] => {
  const { enter, runtime, isBySystemd, notes, root, bundle, owner, group, seconds, name } = plan;
  const argv = [
    // One namespace for the clock and what it starts, which saves a process.
    ...[...enter, 'unshare', '--mount', '--', 'sh', '-c', CLOCK, 'clock'],
    ...[root, bundle, `--timeout=${seconds}`, name, notes, owner, group],
    ...runtimeWords(runtime, isBySystemd),
  ];
  return argv as [string, ...string[]];
};

/** The clock of the sandbox `name`, which may be any bridge's with this state directory: its words, and the sandbox's bundle. */
export function clockOf(
  stateDir: string,
  name: string,
): { readonly argv: readonly string[]; readonly bundle: string } | undefined {
  for (const runDir of runDirsIn(stateDir)) {
    const bundle = bundleIn(runDir, name);
    const pid = Number(readText(join(bundle, CLOCK_FILE)));
    // A look at every process takes a second and more on a busy machine: each may hold the lock on its own words.
    const argv = pid > 1 ? (readText(`/proc/${pid}/cmdline`) ?? '').split('\0') : [];
    if (argv.includes(CLOCK) && argv.includes(bundle)) return { argv, bundle };
  }
  return undefined;
}

/** The bundle of the sandbox `name`, in the run directory of its bridge. */
export const bundleIn = (runDir: string, name: string): string => join(runDir, `${name}.bundle`);

export const runtimeWords = ({ name, flags }: OciRuntime, isBySystemd: boolean): readonly string[] => [
  name,
  ...flags.map((flag) => `--${flag}`),
  ...(isBySystemd ? ['--systemd-cgroup'] : []),
];

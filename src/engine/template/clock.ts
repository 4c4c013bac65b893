// The shell that starts one sandbox from a template and then is its clock: it waits for the end of a pipe that the bridge holds,
// and at most for the seconds that the sandbox may live, and then has it killed and removed. So a sandbox is gone soon after its
// bridge, however that has ended. The root is mounted in a mount namespace that nobody but the sandbox keeps, over that of the
// template, whose folders the ids inside may pass: nothing has to be unmounted.

import { readText } from '../../base/files/read-text.js';
import { processIds } from '../../base/process/process-stat.js';
import type { OciRuntime } from '../engine.js';

/** Programs that the clock runs, besides the OCI runtime. */
export const CLOCK_PROGRAMS = ['unshare', 'mount', 'timeout', 'cat', 'rm'] as const;

/**
 * The lower folder that is last (the working directory, which is empty) is there because the kernel wants two. What the runtime
 * starts must not have the pipe, on which a line says that it has been started, to a bridge that may be gone by then. Signals that
 * end a terminal's or a service's programs are for the bridge, which then lets go.
 */
const CLOCK = `
root=$1 bundle=$2 seconds=\${3#--timeout=} name=$4
shift 4
cd "$bundle/empty" || exit
unshare --mount -- sh -c 'mount -t overlay -o "ro,lowerdir=$0:." overlay "$0" && exec "$@"' \\
  "$root" "$@" run --detach --bundle "$bundle" "$name" 3<&- || {
  code=$?
  "$@" delete --force "$name" 3<&- >/dev/null 2>&1
  exit "$code"
}
cd / && trap '' HUP INT TERM PIPE
echo >&3
exec <&3 3<&- >/dev/null 2>&1
timeout -s KILL "$seconds" cat
"$@" delete --force "$name"
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
  readonly seconds: number;
  readonly name: string;
};

/** The first word is a program. */
export const clockArgv = (plan: ClockPlan): readonly [string, ...string[]] => {
  const { enter, runtime, isBySystemd, notes, root, bundle, seconds, name } = plan;
  const argv = [
    ...[...enter, 'sh', '-c', CLOCK, 'clock', root, bundle, `--timeout=${seconds}`, name],
    ...runtimeWords(runtime, isBySystemd),
    ...['--root', notes],
  ];
  return argv as [string, ...string[]];
};

/** The clock of the sandbox `name`, which may be any bridge's: its words, and the sandbox's bundle. */
export function clockOf(
  name: string,
): { readonly argv: readonly string[]; readonly bundle: string | undefined } | undefined {
  for (const pid of processIds()) {
    const argv = (readText(`/proc/${pid}/cmdline`) ?? '').split('\0');
    const at = argv.indexOf(CLOCK) + 1;
    if (at > 0 && argv[at + 4] === name) return { argv, bundle: argv[at + 2] };
  }
  return undefined;
}

export const runtimeWords = ({ name, flags }: OciRuntime, isBySystemd: boolean): readonly string[] => [
  name,
  ...flags.map((flag) => `--${flag}`),
  ...(isBySystemd ? ['--systemd-cgroup'] : []),
];

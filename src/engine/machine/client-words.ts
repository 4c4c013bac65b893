// Words of podman's and docker's own clients, where something is decided by them: the clients have no other way to tell. Seen
// with podman 4.3 and 5.4 and docker 20.10 and 28. Nothing else in the bridge goes by a foreign program's words.

/** Nobody answers at the engine's address, or the way there is closed. */
const NOT_ANSWERING =
  /cannot connect|is the docker daemon running|unable to connect|connection refused|connection reset|no such host|no route to host|i\/o timeout|failed to connect|missing address|ssh: handshake failed|unexpected EOF|server misbehaving/i;
const NO_SUCH_IMAGE = /no such (?:image|object)|not known|not found|unable to find/i;
/** A container is gone already, or on its way. */
const GONE_ALREADY = /no such container|already in progress/i;
const NO_SUCH_VOLUME = /no such volume/i;
const VOLUME_IS_THERE = /already exists/i;
/** podman has begun a pull, and no registry has answered yet: 4.3 resolves the name of the image, then tries each registry. */
const BEFORE_CONTACT = /^(?:Resolv|Trying to pull)/;
/** Somebody else has started podman's machine. */
const MACHINE_RUNS = /already running/i;
/**
 * podman cannot make or enter its user namespace: the call itself, its ids, or its own program in there. `failed to reexec` is
 * of podman 5 where AppArmor lets a namespace be made, and nothing be done in it; that one is by reading.
 */
const NO_NAMESPACE =
  /^(?:cannot clone|failed to reexec|new[ug]idmap: write to [ug]id_map failed|cannot setres[ug]id): .+$/m;
/** Said at each start where the engine has no control groups; what that means is said elsewhere. */
const EXPECTED_WARNING =
  /resource limits are not supported and ignored|your kernel does not support|discarded\.?$/i;

export const saysNotAnswering = (words: string): boolean => NOT_ANSWERING.test(words);
export const saysNoSuchImage = (words: string): boolean => NO_SUCH_IMAGE.test(words);
export const saysGoneAlready = (words: string): boolean => GONE_ALREADY.test(words);
export const saysNoSuchVolume = (words: string): boolean => NO_SUCH_VOLUME.test(words);
export const saysVolumeIsThere = (words: string): boolean => VOLUME_IS_THERE.test(words);
/**
 * Whether a line of a pull's progress was printed before any registry answered; every other line means that one has.
 */
export const isBeforeContact = (line: string): boolean => BEFORE_CONTACT.test(line);
export const saysMachineRuns = (words: string): boolean => MACHINE_RUNS.test(words);
export const isExpectedWarning = (line: string): boolean => EXPECTED_WARNING.test(line.trim());
/** The line that says why there is no user namespace; undefined where podman speaks of something else. */
export const whyNoNamespace = (stderr: string): string | undefined => NO_NAMESPACE.exec(stderr)?.[0];

/**
 * The reason that an engine gives for a failed pull, without its words on the way there: tries, and warnings about them. The
 * reason begins with the last line that starts with `Error`, and is all of it where there is none. podman 4.3 says `Error: …`,
 * and docker 28.2 `Error response from daemon: …`.
 */
export function whyNotPulled(stderr: string): string {
  const lines = stderr.trim().split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('Error'));
  return lines.slice(Math.max(0, last)).join('\n').trim();
}

/**
 * The remedy for an engine or an OCI runtime that neither works nor fails. Installing another one seldom helps: mostly a
 * process waits in the kernel, or for a lock that such a process holds. One sentence for the person who has to find out;
 * `command` is what to try by hand.
 */
export const hangingRemedy = (command: string, isElsewhere: boolean): string =>
  isElsewhere
    ? `Run \`${command}\` by hand. If it hangs too, look at the engine's machine: it may sleep, be out of reach or overloaded. MCP_BRIDGE_ENGINE_URL or the engine's client says which machine it is.`
    : hangingHere(command);

const hangingHere = (command: string): string =>
  `Run \`${command}\` by hand. If it hangs too, look for processes of the engine that do not end: \`ps -eo pid,stat,wchan:30,args | grep -E 'podman|docker|conmon|crun|runc|runsc'\`. One in state D waits in the kernel: read \`dmesg\`, or restart the machine.`;

export const inSeconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

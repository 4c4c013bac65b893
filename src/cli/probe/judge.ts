// From what was seen of the attacks on the limits to verdicts. Pure: unit tests drive it with every machine there is.

import { MB_BYTES } from '../../base/text/sizes.js';
import type { ToldWall } from '../../engine/engine.js';
import { ALL_TAKEN, FLOOD_MB, MEMORY_LIMIT_MB, type Seen } from './attack.js';
import type { Judgement, ProbedControl, ProbedSandbox } from './control.js';
import type { HostLook } from './host-look.js';
import { CANARY_CONTROLS, type Canaries, type Wall } from './walls.js';

/** A deadline may be overrun by the time in which the code says where it is, and by the engine's. */
const LATE_MS = 1_500;
/** The most that an engine may keep of a flood of 8 MB. What it writes about a container is some kilobytes. */
const MAX_KEPT_BYTES = MB_BYTES;

/** The last number that the code said it had. */
const mostTaken = ({ outcome }: Seen): number =>
  Math.max(0, ...[...outcome.stdout.text.matchAll(/^taken (\d+)$/gm)].map(([, number]) => Number(number)));

const refusal = ({ outcome }: Seen): string | undefined => /^refused: (.*)$/m.exec(outcome.stdout.text)?.[1];
const gotAll = ({ outcome }: Seen): boolean => outcome.stdout.text.includes(ALL_TAKEN);

function unknownJudgement(seen: Seen, how: string): Judgement {
  const { error, status } = seen.outcome;
  return { observed: error?.message ?? status, how, verdict: 'UNKNOWN' };
}

/** Who ended it is what tells a cgroup from a watchdog, and the cgroup's own file says whether it limits. */
export function judgeMemory(seen: Seen): Judgement {
  const { outcome, host, started } = seen;
  const binds = host?.enforcement.memory === 'cgroup';
  const took = mostTaken(seen);
  if (!started) return unknownJudgement(seen, 'the attack did not start');
  if (gotAll(seen)) {
    const why =
      host === undefined ? '' : binds ? ', though its cgroup has the limit' : ', and no cgroup limits it';
    return { observed: `took ${took} MB and lived`, how: `attack${why}`, verdict: 'NOT ENFORCED' };
  }
  const refused = refusal(seen);
  if (outcome.status === 'timeout') return unknownJudgement(seen, 'the attack did not end');
  if (binds) {
    const words = refused ?? outcome.error?.message ?? 'ended';
    return { observed: `at ${took} MB: ${words}`, how: 'attack; cgroup', verdict: 'ENFORCED' };
  }
  // Refused to the code itself, which lived on: neither a cgroup nor a watchdog does that.
  if (refused !== undefined && !/process was ended/.test(refused))
    return { observed: `at ${took} MB: ${refused}`, how: 'attack; rlimit', verdict: 'ENFORCED' };
  const ended = refused ?? outcome.error?.message ?? outcome.status;
  if (host === undefined) {
    const how = 'attack; the cgroup cannot be seen from here';
    return { observed: `at ${took} MB: ${ended}`, how, verdict: 'ENFORCED' };
  }
  if (host.enforcement.memory === 'none')
    return { observed: `at ${took} MB: ${ended}`, how: 'attack; nothing limits it', verdict: 'UNKNOWN' };
  const peakMb = Math.max(took, Math.round((seen.peakBytes ?? 0) / MB_BYTES));
  const overshootMb = Math.max(0, peakMb - MEMORY_LIMIT_MB);
  return {
    observed: `ended at ${peakMb} MB`,
    how: 'attack; weighed from outside',
    verdict: 'WATCHDOG',
    overshootMb,
  };
}

const PIDS_MEANS = {
  cgroup: 'cgroup',
  rlimit: 'rlimit, per user id',
  claimed: 'as the engine claims',
  none: 'by nothing of the host',
} as const;

/** `hasKernel`: the guest has one of its own, which refuses first. */
export function judgePids(seen: Seen, hasKernel = false): Judgement {
  const { host, started } = seen;
  if (!started) return unknownJudgement(seen, 'the attack did not start');
  const refused = refusal(seen);
  const got = mostTaken(seen);
  if (gotAll(seen))
    return { observed: `${got} processes`, how: 'fork until refused', verdict: 'NOT ENFORCED' };
  if (refused === undefined) {
    const { error, status } = seen.outcome;
    // gVisor's kernel does not survive that it gets no thread: the limit has held all the same.
    const held = status === 'error' && host?.enforcement.pids === 'cgroup';
    if (!held) return unknownJudgement(seen, 'fork until refused');
    const observed = `at ${got}: ${error?.message ?? status}`;
    return { observed, how: 'fork until ended; cgroup', verdict: 'ENFORCED' };
  }
  const outside =
    host === undefined ? 'the cgroup cannot be seen from here' : PIDS_MEANS[host.enforcement.pids];
  const by = hasKernel ? `gVisor's own kernel, and its threads: ${outside}` : outside;
  return { observed: `fork ${got + 1}: ${refused}`, how: `fork until refused; ${by}`, verdict: 'ENFORCED' };
}

/** Only where the operator asked for a number of CPUs. */
export function judgeCpus(seen: Seen): Judgement {
  const how = "the cgroup's quota";
  if (seen.host === undefined) return { observed: 'cannot be seen from here', how, verdict: 'UNKNOWN' };
  const { cpus: quota, enforcement } = seen.host;
  const observed = quota === undefined ? 'no quota' : `${Number(quota.toFixed(2))} CPUs`;
  return { observed, how, verdict: enforcement.cpu === 'cgroup' ? 'ENFORCED' : 'NOT ENFORCED' };
}

export function judgeDeadline({ outcome, started, ranMs, gone }: Seen, seconds: number): Judgement {
  const how = 'two processes loop and ignore SIGTERM';
  const late = ranMs - seconds * 1000;
  const after = `${(ranMs / 1000).toFixed(2)} s`;
  if (!started) return { observed: outcome.error?.message ?? outcome.status, how, verdict: 'UNKNOWN' };
  if (outcome.status !== 'timeout')
    return { observed: `${outcome.status} after ${after}`, how, verdict: 'UNKNOWN' };
  if (gone === false) return { observed: 'the container outlived the answer', how, verdict: 'NOT ENFORCED' };
  const observed = `ended after ${after}${gone === undefined ? '' : ', nothing left'}`;
  return { observed, how, verdict: late <= LATE_MS ? 'ENFORCED' : 'NOT ENFORCED' };
}

export function judgeLog({ started, keptBytes, told }: Seen): Judgement {
  if (told !== undefined) {
    const verdict = told.logDriver === 'none' ? 'ENFORCED' : 'NOT ENFORCED';
    return { observed: `log driver ${told.logDriver}`, how: BY_ENGINE, verdict };
  }
  const how = `${FLOOD_MB} MB printed; the container's folder watched`;
  if (!started || keptBytes === undefined)
    return { observed: 'its folder cannot be seen from here', how, verdict: 'UNKNOWN' };
  const observed = `${keptBytes} bytes more on disk`;
  return { observed, how, verdict: keptBytes < MAX_KEPT_BYTES ? 'ENFORCED' : 'NOT ENFORCED' };
}

/** How a limit was seen for a container on another machine. */
const BY_ENGINE = 'what the engine says of the container';

/** No id inside may be root, or the user who runs the bridge. */
export function judgeIds(ids: HostLook['ids'] | undefined, ownId: number): Judgement {
  const how = "the first process's uid_map, read from the host";
  if (ids === undefined || ids.length === 0)
    return { observed: 'cannot be seen from here', how, verdict: 'UNKNOWN' };
  const maps = (id: number) => ids.some(({ first, count }) => id >= first && id < first + count);
  const observed = ids.map(({ first, count }) => `${first}-${first + count - 1}`).join(', ');
  return { observed, how, verdict: maps(0) || maps(ownId) ? 'NOT ENFORCED' : 'ENFORCED' };
}

/** Where containers run elsewhere: id 0 of the engine's own is root there, or the user that it runs as. */
export function judgeToldIds(ids: HostLook['ids'] | undefined): Judgement {
  if (ids === undefined) return { observed: 'cannot be seen from here', how: BY_ENGINE, verdict: 'UNKNOWN' };
  const observed = ids.map(({ first, count }) => `${first}-${first + count - 1}`).join(', ');
  const hasZero = ids.length === 0 || ids.some(({ first }) => first === 0);
  return { observed: observed || 'no map', how: BY_ENGINE, verdict: hasZero ? 'NOT ENFORCED' : 'ENFORCED' };
}

/** A wall as the engine has it in its books. */
export const judgeTold = ({ control, requested, observed, holds, isRequired }: ToldWall): ProbedControl => ({
  control,
  requested,
  observed,
  how: BY_ENGINE,
  verdict: holds ? 'ENFORCED' : 'NOT ENFORCED',
  required: isRequired,
});

export function judgeToldDeadMan(seconds: number, probed: ProbedSandbox): Judgement {
  const verdict = seconds <= probed.spec.deadManSeconds ? 'ENFORCED' : 'NOT ENFORCED';
  return { observed: `${seconds} s`, how: BY_ENGINE, verdict };
}

/** conmon's argument: the probe does not wait for the clock itself. */
export function judgeDeadMan(seconds: number | undefined, host: boolean, probed: ProbedSandbox): Judgement {
  const how = "the monitor's own argument";
  if (!host) return { observed: 'the monitor cannot be seen from here', how, verdict: 'UNKNOWN' };
  if (seconds === undefined) return { observed: 'no clock', how, verdict: 'NOT ENFORCED' };
  const verdict = seconds <= probed.spec.deadManSeconds ? 'ENFORCED' : 'NOT ENFORCED';
  return { observed: `${seconds} s`, how, verdict };
}

/** `goneMs` after the SIGKILL; undefined when it lived on, and null when the probe saw no container. */
export function judgeOwner(goneMs: number | undefined | null): Judgement {
  const how = 'SIGKILL to a bridge whose code ignores every signal';
  if (goneMs === null) return { observed: 'no container could be seen', how, verdict: 'UNKNOWN' };
  if (goneMs === undefined) return { observed: 'the container lived on', how, verdict: 'NOT ENFORCED' };
  return { observed: `gone after ${Math.round(goneMs)} ms`, how, verdict: 'ENFORCED' };
}

// From the answers of the attempts to verdicts. Pure. A refusal is taken at its word only where nothing contradicts it:
// what arrived at a canary has arrived, whatever the attempt said.

/** A guest's answer is a claim of any length. */
const MAX_SEEN_CHARS = 200;

export function judgeWall(
  wall: Wall,
  answers: Readonly<Record<string, unknown>>,
  visitors: ReturnType<Canaries['visitors']>,
  probed: ProbedSandbox,
): ProbedControl {
  const { control, how, remedy } = wall;
  const requested = wall.requested(probed);
  const unseen = wall.unseen?.(probed);
  if (unseen !== undefined)
    return { control, requested, observed: unseen, how: 'not asked', verdict: 'UNKNOWN', required: false };
  const judgement = judge(wall, answers[control], visitors, probed);
  const remedied = judgement.verdict === 'NOT ENFORCED' && remedy !== undefined ? { remedy } : {};
  return { control, requested, ...judgement, how, required: wall.required, ...remedied };
}

function judge(
  { control, held, shown }: Wall,
  answer: unknown,
  visitors: ReturnType<Canaries['visitors']>,
  probed: ProbedSandbox,
): Pick<Judgement, 'observed' | 'verdict'> {
  const arrived =
    control === CANARY_CONTROLS.tcp
      ? visitors.tcp
      : control === CANARY_CONTROLS.abstract
        ? visitors.abstract
        : 0;
  if (arrived > 0) return { observed: `${arrived} arrived`, verdict: 'NOT ENFORCED' };
  if (typeof answer !== 'string') return { observed: 'no answer', verdict: 'UNKNOWN' };
  if (answer.startsWith('?')) return { observed: answer.slice(1, MAX_SEEN_CHARS), verdict: 'UNKNOWN' };
  const observed = (shown?.(answer, probed) ?? answer).slice(0, MAX_SEEN_CHARS);
  return { observed, verdict: held(answer, probed) ? 'ENFORCED' : 'NOT ENFORCED' };
}

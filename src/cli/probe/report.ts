// The probe's report: its typed form, which is also what `--json` prints, and the table for people.

import { VERSION } from '../../base/version.js';
import { runtimeOf } from '../../engine/detect.js';
import { describeRuntime } from '../../engine/machine/oci-runtime.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, seconds, visibleText } from '../terminal/output.js';
import { hangText, remedyText, widthOf } from '../terminal/wrap.js';
import type { ProbedControl, ProbedSandbox, WallVerdict } from './control.js';

/** The JSON of `doctor --probe --json`. Fields are added, never renamed, within a major version. */
export type ProbeReport = {
  /** Version of this program. */
  readonly version: string;
  /** ISO 8601, UTC. */
  readonly probedAt: string;
  readonly durationMs: number;
  readonly engine: {
    readonly binary: string;
    readonly version: string;
    readonly ociRuntime: string;
    /** Flags that the runtime itself is given. */
    readonly ociFlags: readonly string[];
    readonly mode: string;
    readonly cgroups: string;
  };
  /** Name of the profile. */
  readonly seccomp: string;
  readonly image: string;
  readonly summary: {
    readonly enforced: number;
    readonly watchdog: number;
    readonly notEnforced: number;
    readonly unknown: number;
    /** The largest overshoot that any watchdog allowed, in megabytes (2^20 bytes); null when none had to act. */
    readonly maxOvershootMb: number | null;
  };
  readonly controls: readonly ProbedControl[];
};

export function makeReport(
  controls: readonly ProbedControl[],
  { choice, spec, settings, engine: { traits } }: ProbedSandbox,
  probedAt: Date,
  durationMs: number,
): ProbeReport {
  const count = (verdict: WallVerdict) => controls.filter((one) => one.verdict === verdict).length;
  const overshoots = controls.flatMap(({ overshootMb }) => overshootMb ?? []);
  const { binary, version, ociRuntime, ociFlags, mode, cgroups } = choice;
  return {
    version: VERSION,
    probedAt: probedAt.toISOString(),
    durationMs: Math.round(durationMs),
    engine: { binary, version, ociRuntime, ociFlags, mode, cgroups },
    seccomp: traits.ownFilter ?? settings.seccomp,
    image: spec.image,
    summary: {
      enforced: count('ENFORCED'),
      watchdog: count('WATCHDOG'),
      notEnforced: count('NOT ENFORCED'),
      unknown: count('UNKNOWN'),
      maxOvershootMb: overshoots.length === 0 ? null : Math.max(...overshoots),
    },
    controls,
  };
}

/** 0: all that is required is enforced. 1: something of it is not. 2: of something it could not be told. */
export function exitCodeOf({ controls }: Pick<ProbeReport, 'controls'>): 0 | 1 | 2 {
  const required = controls.filter((control) => control.required);
  if (required.some(({ verdict }) => verdict === 'NOT ENFORCED')) return 1;
  return required.some(({ verdict }) => verdict === 'UNKNOWN') ? 2 : 0;
}

/** Summary of this report, as the next start tells of it. */
export const summaryOf = ({ probedAt, summary, controls }: ProbeReport) => ({
  at: probedAt,
  enforced: summary.enforced,
  watchdog: summary.watchdog,
  overshootMb: summary.maxOvershootMb,
  unknown: summary.unknown,
  notEnforced: controls.filter(({ verdict }) => verdict === 'NOT ENFORCED').map(({ control }) => control),
});

export function reportText({ controls, engine, seccomp, summary, durationMs }: ProbeReport): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const colour: Readonly<Record<WallVerdict, (text: string) => string>> = {
    ENFORCED: paint.green,
    WATCHDOG: paint.yellow,
    'NOT ENFORCED': paint.red,
    UNKNOWN: paint.dim,
  };
  const words = ({ verdict, overshootMb }: ProbedControl) =>
    colour[verdict](overshootMb === undefined ? verdict : `${verdict}, overshoot ${overshootMb} MB`);
  const head = ['control', 'requested', 'observed', 'how', 'verdict'].map((title) => paint.dim(title));
  const rows = controls.map((one) => [
    paint.bold(one.control),
    one.requested,
    visibleText(one.observed),
    paint.dim(one.how),
    words(one),
  ]);
  const remedies = controls.flatMap(({ control, remedy }) =>
    remedy === undefined ? [] : [remedyText(control, remedy)],
  );
  const { enforced, watchdog, notEnforced, unknown, maxOvershootMb } = summary;
  const late = maxOvershootMb === null ? '' : ` (at most ${maxOvershootMb} MB late)`;
  const counts = `${enforced} enforced, ${watchdog} by watchdog${late}, ${notEnforced} not enforced, ${unknown} unknown`;
  const where = `${engine.binary} ${engine.version}, ${describeRuntime(runtimeOf(engine))}, ${engine.mode}, cgroup ${engine.cgroups}, seccomp ${seccomp}`;
  return [
    columns([head, ...rows], { width, wraps: [0, 1, 2, 4], drops: [3, 1] }),
    `\n${hangText(`${counts}. ${where}; ${seconds(durationMs)}.`, 0, width)}\n`,
    ...(remedies.length === 0 ? [] : [`\nTo fix:\n`, ...remedies]),
  ].join('');
}

// Fifth step: the probe, which attacks a sandbox here. What it found is remembered for this boot, engine and image, and is
// not asked for again while it was all good.

import { ownCommand } from '../../base/process/own-command.js';
import { lastProbe, probeKey } from '../../sandbox/launch/last-probe.js';
import { Bridge } from '../../tenant/bridge.js';
import type { ProbedControl } from '../probe/control.js';
import { probeWalls } from '../probe/probe.js';
import { exitCodeOf } from '../probe/report.js';
import { withProgress } from '../serving/prepare.js';
import { seconds } from '../terminal/output.js';
import {
  failed,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  type StepWarning,
  skipped,
} from './step.js';

/** Beyond these many the table of `doctor --probe` says more than lines here. */
const MOST_WARNINGS = 5;

export const wallsStep: Step = {
  name: 'walls',
  needs: ['engine', 'ids', 'storage', 'image'],
  doing: 'attacking a sandbox, to see whether its walls hold',
  perform: async (setup) => {
    if (setup.options.dryRun) return skipped('a sandbox would be attacked, to see whether its walls hold');
    const remembered = await earlierProbe(setup);
    if (remembered !== undefined) return remembered;
    const report = await probeWalls(setup.prepared, (step) => setup.show({ step }), setup.signal);
    const { enforced, watchdog, maxOvershootMb } = report.summary;
    const late = maxOvershootMb === null ? '' : `, at most ${maxOvershootMb} MB late`;
    const held = `${enforced + watchdog} of ${report.controls.length} hold`;
    const detail = `${held}${watchdog === 0 ? '' : `, ${watchdog} of them by a watchdog${late}`}; tried in ${seconds(report.durationMs)}`;
    const bad = report.controls.filter(({ verdict }) => verdict === 'NOT ENFORCED' || verdict === 'UNKNOWN');
    const fatal = bad.filter(({ verdict, required }) => required && verdict === 'NOT ENFORCED');
    const warnings = warningsFor(bad.filter((one) => !fatal.includes(one)));
    if (exitCodeOf(report) !== 1) return ok(detail, { warnings });
    const names = fatal.map(({ control }) => control).join(', ');
    const remedy =
      fatal.find((one) => one.remedy !== undefined)?.remedy ??
      `Run \`${ownCommand('doctor', '--probe')}\`, which shows what was seen of each.`;
    return failed(`${detail}. These do not, and have to: ${names}`, remedy, { warnings });
  },
};

function warningsFor(controls: readonly ProbedControl[]): StepWarning[] {
  const shown = controls.slice(0, MOST_WARNINGS).map(({ control, verdict, observed, remedy }) => ({
    detail: `${control} ${verdict === 'UNKNOWN' ? 'could not be told' : 'does not hold'}: ${observed}`,
    remedy,
  }));
  const more = controls.length - shown.length;
  if (more <= 0) return shown;
  return [...shown, { detail: `${more} more`, remedy: `Run \`${ownCommand('doctor', '--probe')}\`.` }];
}

/** Undefined where none was made under these circumstances, or where something did not hold. */
async function earlierProbe({ prepared, signal, show }: SetupContext): Promise<StepResult | undefined> {
  const { settings, discovery } = prepared;
  const observer = withProgress(prepared.observer, (step) => show({ step }));
  await using bridge = new Bridge({ settings, discovery, observer });
  const { choice, image } = await bridge.launcher.pad();
  signal.throwIfAborted();
  const known = lastProbe(settings.stateDir, probeKey(choice, image.id, settings));
  if (known === undefined || known.notEnforced.length > 0) return undefined;
  const held = known.enforced + known.watchdog;
  const unknown = known.unknown === 0 ? '' : `; ${known.unknown} could not be told`;
  const when = known.at.slice(0, 16).replace('T', ' ');
  return ok(`${held} of ${held + known.unknown} held when they were tried on ${when} UTC${unknown}`);
}

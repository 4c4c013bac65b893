// From the checks of a scenario to whether it passed, and whether that was to be expected. Pure.

/** A warning is what the protocol says one SHOULD do: it counts as not passed, so that each has its reason. */
const MISSED = new Set(['FAILURE', 'WARNING']);

/** What the suite says of every message, whatever the scenario. */
const OF_EVERY_MESSAGE = 'wire-schema-valid';

/** Whether the suite found nothing to try: the scenario is not for this revision, or for what the bridge does not declare. */
function isSkipped(checks, said) {
  if (checks.length === 0) return /SKIPPED/.test(said);
  const statuses = checks.filter(({ id }) => id !== OF_EVERY_MESSAGE).map(({ status }) => status);
  return (
    statuses.includes('SKIPPED') && statuses.every((status) => status === 'SKIPPED' || status === 'INFO')
  );
}

/** Ids of the checks that did not pass, each once. */
export const missedOf = (checks) => [
  ...new Set(checks.filter(({ status }) => MISSED.has(status)).map(({ id }) => id)),
];

/** How many checks passed. */
export const passedOf = (checks) => checks.filter(({ status }) => status === 'SUCCESS').length;

/**
 * What became of a scenario: { outcome, missed, reasons, wrong }. `leftOut` are the reasons for it: of checks by their ids, or of
 * all of it under '*'. `outcome` is passed, partly (all that is missed is listed), left out, skipped by the suite, or failed;
 * `wrong` says why the whole trial fails because of it: a miss that is not listed, or a reason that holds no more.
 */
export function judge({ checks, said = '', exitCode = 0 }, leftOut = {}) {
  const missed = missedOf(checks);
  const passed = passedOf(checks);
  const isListed = (id) => leftOut['*'] !== undefined || leftOut[id] !== undefined;
  const reasons = [...new Set(Object.values(leftOut))];
  if (isSkipped(checks, said)) return { outcome: 'skipped', passed, missed, reasons };
  const unlisted = missed.filter((id) => !isListed(id));
  const isBroken = checks.length === 0 || (exitCode !== 0 && missed.length === 0);
  if (isBroken && leftOut['*'] === undefined)
    return {
      outcome: 'failed',
      passed,
      missed,
      reasons,
      wrong: `the suite ended with ${exitCode}: ${lastLine(said)}`,
    };
  if (unlisted.length > 0)
    return { outcome: 'failed', passed, missed, reasons, wrong: messagesOf(checks, unlisted) };
  const idle = Object.keys(leftOut).filter((id) =>
    id === '*' ? missed.length === 0 && !isBroken : !missed.includes(id),
  );
  if (idle.length > 0)
    return {
      outcome: 'passed',
      passed,
      missed,
      reasons,
      wrong: `passes now, but is listed with a reason: ${idle.join(', ')}`,
    };
  if (reasons.length === 0) return { outcome: 'passed', passed, missed, reasons };
  return { outcome: leftOut['*'] === undefined ? 'partly' : 'left out', passed, missed, reasons };
}

const messagesOf = (checks, ids) =>
  ids
    .map(
      (id) =>
        `${id}: ${checks.find((check) => check.id === id && MISSED.has(check.status)).errorMessage ?? ''}`,
    )
    .join('; ');

const lastLine = (said) => said.trim().split('\n').at(-1) ?? '';

// `doctor`: runs every check and prints what it found, for people or as JSON. Pulls and builds nothing. Exits with 1 when
// something fails.

import { BridgeError } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import { makeHarmless } from '../../base/text/text.js';
import { VERSION } from '../../base/version.js';
import { chooseEngine, type EngineSelection, forgetChoice } from '../../engine/detect.js';
import { absentImage } from '../../engine/images/image-choice.js';
import { type Discovery, discover } from '../../hosts/discovery/discover.js';
import { explainSkip } from '../../hosts/discovery/explain-skip.js';
import type { DownstreamSpec, RemoteSpec, SkippedSpec, SpecSource } from '../../hosts/downstream-spec.js';
import { withoutDenied } from '../../policy/rules/policy-book.js';
import { engineSelectionOf, type LaunchSetUp } from '../../sandbox/launch/launch-set-up.js';
import { commandProfile, pythonProfile } from '../../sandbox/spec/profile.js';
import { Bridge } from '../../tenant/bridge.js';
import { publicUrl } from '../servers/server-list.js';
import { type ServerTrouble, serverTroubles } from '../servers/server-trouble.js';
import { type ServerChange, serverChanges } from '../servers/servers-refresh.js';
import { type Examined, examine, prepare, withProgress } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, printJson, sayNote, visibleText } from '../terminal/output.js';

import { remedyText, widthOf } from '../terminal/wrap.js';
import { CHECKS, type Check, checksWithout } from './doctor-checks.js';
import {
  attempt,
  commandTrial,
  type Examination,
  type Finding,
  firstTrial,
  memoize,
  memoryTrial,
  networkTrial,
} from './examination.js';
import { languageFindings } from './findings.js';
import { hostFindings } from './host-findings.js';

/** `tell` is given what was found; without it, that is printed. */
export async function doctor(
  {
    json,
    http,
  }: {
    readonly json?: true;
    /** An address of `serve --http`. */
    readonly http?: string | undefined;
  },
  tell: typeof report = report,
): Promise<void> {
  const prepared = examine('error', 'ends');
  if (prepared.problems.length > 0) return await examineWithout(prepared, json, tell);
  const { settings, warnings, discovery: context, policyBook } = prepared;
  const observer = withProgress(prepared.observer, sayNote);
  const signal = interruptSignal();
  const wishes = engineSelectionOf(settings);
  const discovery = discover(context, () => {});
  await using bridge = new Bridge({ settings, discovery: context, observer });
  const engine = memoize(() => attempt(chooseEngine(wishes, signal)));
  const subject: Examination = {
    settings,
    warnings,
    env: context.env,
    discovery,
    policyBook,
    engine,
    // The trial would wait again for an engine that hangs, and would pull or build an image that is not here.
    pad: memoize(async () => {
      const found = await engine();
      if ('error' in found) return found;
      const error = await absentImage(pythonProfile(settings), found.value.images, signal);
      return error === undefined ? await attempt(freshPad(bridge, wishes)) : { error };
    }),
    whyNoTemplate: () => bridge.launcher.prepare(signal),
    trial: memoize(() => firstTrial(bridge, signal)),
    memoryTrial: memoize(() => memoryTrial(settings, context, observer, signal)),
    networkTrial: memoize(() => attempt(networkTrial(bridge, signal))),
    commandTrial: memoize(async () => {
      const found = await engine();
      const error =
        'error' in found
          ? found.error
          : await absentImage(commandProfile(settings, ''), found.value.images, signal);
      return error === undefined
        ? await commandTrial(bridge, signal)
        : { status: 'error', durationMs: 0, error };
    }),
    signal,
  };
  const findings = await findingsOf(CHECKS, subject);
  findings.push(...(await languageFindings(subject)), ...hostFindings(discovery, context.env, context.host));
  if (http !== undefined)
    findings.push(...(await (await import('./http-findings.js')).httpFindings(http, settings)));
  tell(findings, json, serversIn(subject));
}

/** Only what concerns `serve --http` at this address: what a stranger gets there. */
export async function doctorHttp(address: string, json: true | undefined): Promise<void> {
  const { settings } = prepare('error', 'ends');
  report(await (await import('./http-findings.js')).httpFindings(address, settings), json);
}

/** Every wrong setting, and what can be said of the machine without them. Starts no container. */
async function examineWithout(
  prepared: Examined,
  json: true | undefined,
  tell: typeof report,
): Promise<void> {
  const { settings, warnings, problems, discovery: context, policyBook } = prepared;
  const wrong: readonly Finding[] = problems.map(({ setting, message: detail, remedy }) => ({
    // Mostly not the variable is wrong then, but the folder.
    name: setting === 'MCP_BRIDGE_STATE_DIR' ? 'state directory' : 'settings',
    status: 'fail',
    detail,
    remedy,
  }));
  // Where that is wrong, every path that is looked at would be another one.
  if (problems.some(({ setting }) => setting === 'HOME')) return tell(wrong, json);
  const signal = interruptSignal();
  const notTried = () =>
    Promise.reject<never>(new BridgeError('E_SETTINGS', 'Settings are wrong.', { fault: 'operator' }));
  const subject: Examination = {
    settings,
    warnings,
    env: context.env,
    discovery: discover(context, () => {}),
    policyBook,
    engine: memoize(() => attempt(chooseEngine(engineSelectionOf(settings), signal))),
    pad: notTried,
    whyNoTemplate: notTried,
    trial: notTried,
    memoryTrial: notTried,
    networkTrial: notTried,
    commandTrial: notTried,
    signal,
  };
  const checks = checksWithout(new Set(problems.map(({ setting }) => setting)));
  const warned = warnings.length === 0 ? [] : CHECKS.filter(({ name }) => name === 'settings');
  const findings = [...wrong, ...(await findingsOf([...warned, ...checks], subject))];
  const said = new Set(['settings', ...[...wrong, ...checks].map(({ name }) => name)]);
  const left = CHECKS.filter(({ name }) => !said.has(name));
  findings.push(...hostFindings(subject.discovery, context.env, context.host));
  findings.push({
    name: 'not checked',
    status: 'warn',
    detail: `${left.map(({ name }) => name).join(', ')}: they need correct settings`,
    remedy: 'Correct the settings, then run this again.',
  });
  tell(findings, json, serversIn(subject));
}

async function findingsOf(checks: readonly Check[], subject: Examination): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, examine: check } of checks) {
    const verdict = await check(subject);
    if (verdict !== undefined) findings.push({ name, ...verdict });
  }
  return findings;
}

function serversIn({ discovery, policyBook, env, settings }: Examination): readonly ServerFinding[] {
  const allowed = withoutDenied(discovery, policyBook.policy(discovery.ready));
  const troubles = serverTroubles(allowed.ready, env, settings);
  return serverFindings(allowed, troubles, serverChanges(allowed.ready, settings));
}

/** Decided now: what an earlier start remembered need not be true any more. */
function freshPad(bridge: Bridge, wishes: EngineSelection): Promise<LaunchSetUp> {
  try {
    forgetChoice(wishes);
  } catch {
    // The check of the state directory says what is wrong with it.
  }
  return bridge.launcher.pad();
}

function report(
  findings: readonly Finding[],
  json: true | undefined,
  servers: readonly ServerFinding[] = [],
): void {
  if (json) printJson({ version: VERSION, findings, servers });
  else {
    const named = servers.map((server) => ({ ...server, name: `server ${shownName(server.name)}` }));
    process.stdout.write(findingsText([...findings, ...named]));
  }
  if (findings.some(({ status }) => status === 'fail')) process.exitCode = 1;
}

/** Text for people; ends with a newline. */
export function findingsText(findings: readonly Finding[]): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const marks = { ok: paint.green('ok'), warn: paint.yellow('warn'), fail: paint.red('fail') };
  const rows = findings.map(({ name, status, detail }) => [
    marks[status],
    paint.bold(name),
    visibleText(detail),
  ]);
  const remedies = findings.flatMap(({ name, remedy }) =>
    remedy === undefined ? [] : [remedyText(name, remedy)],
  );
  return (
    columns(rows, { width, wraps: [2] }) + (remedies.length === 0 ? '' : `\nTo fix:\n${remedies.join('')}`)
  );
}

type ServerFinding = Finding & { readonly source: SpecSource };

/**
 * Says of each discovered server, without starting it: can its command be found, did its last start succeed, are its tools
 * what they were, and if it is passed over, is that as it should be or for somebody to fix.
 */
export function serverFindings(
  { ready, skipped }: Discovery,
  troubles: ReadonlyMap<string, ServerTrouble>,
  changes: ReadonlyMap<string, ServerChange>,
): ServerFinding[] {
  const findings = ready.map((spec) =>
    withChange(ofReady(spec, troubles.get(spec.name)), changes.get(spec.name)),
  );
  return [...findings, ...skipped.map(ofSkipped)];
}

/** A server that cannot be started has the more pressing trouble. */
function withChange(finding: ServerFinding, change: ServerChange | undefined): ServerFinding {
  if (change === undefined || finding.status !== 'ok') return finding;
  const { changed, remedy } = change;
  return {
    ...finding,
    status: 'warn',
    detail: `${finding.detail}; ${makeHarmless(changed)}`,
    remedy: makeHarmless(remedy),
  };
}

function ofReady(spec: DownstreamSpec, found: ServerTrouble | undefined): ServerFinding {
  const { name, source } = spec;
  const base = { name, source };
  if (found !== undefined)
    return {
      ...base,
      status: 'warn',
      detail: makeHarmless(found.trouble),
      remedy: makeHarmless(found.remedy),
    };
  if (spec.transport !== 'stdio') return { ...base, status: 'ok', detail: `ready: ${addressOf(spec)}` };
  const { command, cwd } = spec;
  return { ...base, status: 'ok', detail: `ready: ${command}${cwd === undefined ? '' : ` in ${cwd}`}` };
}

const addressOf = ({ url, transport }: RemoteSpec): string => `${publicUrl(url)} by ${WAYS[transport]}`;
const WAYS: Readonly<Record<RemoteSpec['transport'], string>> = {
  http: 'HTTP',
  sse: 'SSE',
  auto: 'HTTP or SSE',
};

function ofSkipped(skipped: SkippedSpec): ServerFinding {
  const { name, source } = skipped;
  const {
    text,
    severity,
    remedy = 'This is optional: nothing else needs this server.',
  } = explainSkip(skipped);
  const base = { name, source, detail: `skipped: ${text}`, status: severity };
  return severity === 'ok' ? base : { ...base, remedy };
}

// `again RUN`: a run that a running bridge remembers, run once more with the answers that its servers gave then, for looking into
// it. Nothing reaches a server, nobody is asked, and the audit has nothing of it: what is not in the record is refused and said.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { shownName } from '../../base/text/shown-name.js';
import { countOf } from '../../base/text/text.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { Progress } from '../../mcp/requests/progress.js';
import { runPython } from '../../mcp/tools/run-python.js';
import type { Inbox } from '../../policy/approvals/question.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import { ReplayedSlot, Tape } from '../../servers/catalog/replayed-slot.js';
import { Bridge } from '../../tenant/bridge.js';
import { SeenBridges } from '../../watch/gather/bridges.js';
import type { Repeatable } from '../../watch/told/told.js';
import { prepare, withProgress } from '../serving/prepare.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { sayNote, visibleText } from '../terminal/output.js';
import { PassedOn } from '../terminal/pass-on.js';
import { endRun, shownBy } from './command-bridge.js';
import { showEnd } from './run.js';

/** Bridges of this user tell of themselves as soon as somebody connects. */
const HEARD_WITHIN_MS = 3_000;
const LOOK_MS = 50;

const WHY_NOT: Readonly<Record<Exclude<Repeatable['form'], 'cell'>, string>> = {
  program: 'it was a program of execute_code, whose arguments and files are not recorded',
  session: 'it was a call of a session, whose state is not recorded',
  files: 'it was given files, which are not recorded',
  plan: 'it only planned',
  'too long': 'its servers answered more than MCP_BRIDGE_RECORD keeps',
};

/** Exits as the code does, and with 1 where the run asked for something that is not in its record. */
export async function again(named: string, { out }: { readonly out?: string }): Promise<void> {
  const prepared = prepare('warn', 'ends');
  const { discovery, redactor, observer } = prepared;
  const { id, code, servers, timeoutSeconds, requests } = await recordOf(named, prepared.settings.stateDir);
  const tape = new Tape(requests);
  const catalog = new KeptCatalog(prepared.settings.stateDir, () => {});
  const settings = { ...prepared.settings, autoload: 'always', record: undefined } as const;
  const readerGone = signalOfLostReader();
  using linked = new LinkedSignal(interruptSignal(), readerGone);
  const outputs = new PassedOn();
  const say = (outcome: Outcome) => showEnd(outcome, outputs);
  {
    await using bridge = new Bridge({
      settings,
      discovery: { ...discovery, settings },
      observer: withProgress(observer, sayNote),
      redactor,
      inbox: ALLOWING,
      slotFor: ({ spec }) => new ReplayedSlot(spec, tape, catalog.of(spec)?.tools() ?? []),
    });
    using signs = new Progress(({ message }) => sayNote(message));
    const context = byCommandLine(linked.signal, shownBy(signs, outputs));
    const outcome = await runPython(bridge.settings).call(
      { code, servers, timeout: timeoutSeconds },
      context,
      bridge,
    );
    if ('isRelayed' in outcome) throw new Error('an answer of a server in the place of a run');
    await endRun(outcome, { prepared, out, readerGone, say });
  }
  for (const difference of tape.differences) sayNote(`differs: ${visibleText(difference)}`);
  sayNote(
    `run ${shownName(id)} again: ${countOf(tape.given, 'answer')} from its record, ${tape.left} not asked for, ${tape.differences.length} not in it`,
  );
  if (tape.differences.length > 0) process.exitCode ||= 1;
}

/** Nothing is sent that somebody would have to allow. */
const ALLOWING: Inbox = {
  post: () => ({
    answered: Promise.resolve({ decision: 'once', by: 'command line', who: 'the record' }),
    withdraw: () => {},
  }),
  pageOf: () => Promise.resolve(undefined),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** Throws E_ARGUMENTS where no running bridge remembers the run, or it cannot be run again. */
async function recordOf(named: string, stateDir: string) {
  using bridges = new SeenBridges(stateDir);
  const latest = performance.now() + HEARD_WITHIN_MS;
  const find = () => [...bridges.runs()].filter(({ seen }) => seen.run.startsWith(named));
  while (find().length === 0 && performance.now() < latest) await sleep(LOOK_MS);
  const [found, ...others] = find();
  if (found !== undefined && others.length > 0 && !others.every(({ seen }) => seen.run === found.seen.run))
    throw refused(`more than one run begins with '${shownName(named)}'`, 'Name more of it.');
  const id = found?.seen.run ?? named;
  const [recorded, repeatable] = await Promise.all([bridges.recorded(id), bridges.repeatable(id)]);
  if (recorded === null || repeatable === null)
    throw refused(
      `no running bridge remembers run '${shownName(named)}'`,
      `A bridge remembers runs while it runs, for as long as MCP_BRIDGE_RECORD says; \`${ownCommand('ui')}\` shows which.`,
    );
  const { form, timeoutSeconds, requests } = repeatable;
  if (form !== 'cell')
    throw refused(WHY_NOT[form], 'Only runs of run_python without files can be run again.');
  return { id, code: recorded.code, servers: found?.seen.servers ?? [], timeoutSeconds, requests };
}

const refused = (why: string, remedy: string): BridgeError =>
  new BridgeError('E_ARGUMENTS', `It cannot be run again: ${why}.`, { fault: 'operator', remedy });

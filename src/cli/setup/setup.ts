// `setup`: from nothing to a host that has us. One step after the other, each said when it is made; a step whose ground is
// missing is left out. Exits with 0 when all is well, 1 when a step failed, 2 for a wrong option.

import { asBridgeError } from '../../base/errors.js';
import { textsOf } from '../../base/json/records.js';
import { ownCommand } from '../../base/process/own-command.js';
import { withoutFullStop } from '../../base/text/text.js';
import { VERSION } from '../../base/version.js';
import { discover } from '../../hosts/discovery/discover.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { hostNamed } from '../../hosts/install/registration.js';
import { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import type { ServerTool } from '../../servers/server/tool-list.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import { columnsOf, layOut, wrappedCommand } from '../terminal/wrap.js';
import { answerStep, wallsStep } from './answer-step.js';
import { choicesStep } from './choices-step.js';
import { terminalPrompts } from './dialogue.js';
import { engineStep, idsStep } from './engine-step.js';
import { hostsStep } from './hosts-step.js';
import { imageStep } from './image-step.js';
import { serversStep } from './servers-step.js';
import {
  failedResult,
  type SetupContext,
  type SetupOptions,
  type Step,
  type StepResult,
  skippedResult,
} from './step.js';
import { storageStep } from './storage-step.js';
import { thisMachine } from './systems.js';

const STEPS: readonly Step[] = [
  engineStep,
  idsStep,
  storageStep,
  choicesStep,
  imageStep,
  answerStep,
  wallsStep,
  hostsStep,
  serversStep,
];

export async function setUp(options: SetupOptions): Promise<void> {
  if (!options.register && options.host.length > 0)
    throw usageError('--host and --no-register contradict each other.', 'Give one of them.');
  // A wrong name ends it before anything is changed.
  for (const name of options.host) hostNamed(name);
  const prepared = prepare('error', 'ends');
  using bar = new Bars(options.json === true);
  const setup: SetupContext = {
    options,
    prepared,
    machine: thisMachine(prepared.discovery),
    isInteractive:
      !options.json && [process.stdin, process.stdout, process.stderr].every(({ isTTY }) => isTTY),
    signal: interruptSignal(),
    prompts: terminalPrompts,
    show: (progress) => bar.show(progress.step),
    clear: () => bar.clear(),
    found: { engine: 'planned', hasNoStore: false, choices: undefined, hosts: [] },
  };
  const steps = await performSteps(setup, (report) => {
    if (!options.json) process.stdout.write(stepText(report, prepared.discovery.host.home));
  });
  const report = reportOf(steps, setup);
  if (options.json) printJson(report);
  else process.stdout.write(endText(report));
  if (!report.works) process.exitCode = 1;
}

/** All steps in their order, each told when it is made. Ends early at an interrupt. */
export async function performSteps(
  setup: SetupContext,
  tell: (report: StepReport) => void,
): Promise<readonly StepReport[]> {
  const reports: StepReport[] = [];
  try {
    for (const step of STEPS) {
      setup.show({ step: step.doing });
      const report = await oneStep(step, reports, setup);
      setup.clear();
      reports.push(report);
      tell(report);
      if (setup.signal.aborted) break;
    }
  } finally {
    await setup.found.choices?.count?.[Symbol.asyncDispose]();
  }
  return reports;
}

async function oneStep(step: Step, before: readonly StepReport[], setup: SetupContext): Promise<StepReport> {
  const startedAt = performance.now();
  const missing = before.find(({ name, status }) => step.needs.includes(name) && status === 'failed');
  const result =
    missing === undefined
      ? await outcomeOf(step, setup)
      : skippedResult(`waits until '${missing.name}' is fixed`);
  const seconds = Math.round((performance.now() - startedAt) / 10) / 100;
  return { name: step.name, ...result, seconds };
}

async function outcomeOf(step: Step, setup: SetupContext): Promise<StepResult> {
  try {
    return await step.perform(setup);
  } catch (thrown) {
    if (setup.signal.aborted)
      return failedResult('interrupted; nothing half-made is left', 'Run the same command again.');
    const { message, remedy } = asBridgeError(thrown);
    return failedResult(withoutFullStop(message), remedy);
  }
}

/** Says what goes on, on stderr: a bar on a terminal, lines in a pipe, and nothing beside JSON. */
class Bars implements Disposable {
  readonly #isQuiet: boolean;
  #bar: ProgressBar | undefined;

  constructor(isQuiet: boolean) {
    this.#isQuiet = isQuiet;
  }

  show(step: string): void {
    if (this.#isQuiet || !process.stderr.isTTY) return;
    this.#bar ??= new ProgressBar(process.stderr);
    this.#bar.show({ step });
  }

  clear(): void {
    this.#bar?.[Symbol.dispose]();
    this.#bar = undefined;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}

type StepReport = StepResult & {
  readonly name: Step['name'];
  readonly seconds: number;
};

/** The JSON of `setup --json`. Fields are added, never renamed, within a major version. */
export function reportOf(
  steps: readonly StepReport[],
  setup: SetupContext,
): {
  readonly version: string;
  readonly dryRun: boolean;
  /** Whether every step that was made succeeded. */
  readonly works: boolean;
  /** Whether anything was changed on this machine. */
  readonly changed: boolean;
  readonly steps: readonly StepReport[];
  /** Shell commands that take everything back, in their order. */
  readonly undo: readonly string[];
  readonly next: string;
} {
  const { options } = setup;
  const works = !steps.some(({ status }) => status === 'failed');
  const dryRun = options.dryRun === true;
  return {
    version: VERSION,
    dryRun,
    works,
    changed: steps.some(({ status }) => status === 'done'),
    steps,
    undo: steps.toReversed().flatMap(({ undo = [] }) => undo),
    next: nextStep(works, dryRun, setup),
  };
}

function nextStep(works: boolean, dryRun: boolean, { prepared, found }: SetupContext): string {
  if (dryRun) {
    const next = works ? '' : 'Do what is said above first. ';
    return `Nothing was changed. ${next}Run \`${ownCommand('setup')}\` to do it.`;
  }
  if (!works) return `Do what is said above, then run \`${ownCommand('setup')}\` again.`;
  const [host] = found.hosts;
  if (host === undefined) return `Add it to a host: \`${ownCommand('install')}\` shows which are here.`;
  // Discovered anew, since servers may have moved just now.
  const { ready } = discover(prepared.discovery, () => {});
  const prompt = firstPrompt(ready, new KeptCatalog(prepared.settings.stateDir, () => {}));
  return `Restart ${host.title} and paste: "${prompt}"`;
}

const NAME_COLUMNS = 9;
const STATUS_COLUMNS = 9;
const INDENT = ' '.repeat(NAME_COLUMNS + STATUS_COLUMNS);

/** The lines of one step, at most as wide as the terminal; what lies below `home` begins with `~`. */
export function stepText(step: StepReport, home: string): string {
  const paint = coloursFor(process.stdout);
  const colours: Readonly<Record<StepResult['status'], (text: string) => string>> = {
    ok: paint.green,
    done: paint.cyan,
    skipped: paint.dim,
    failed: paint.red,
  };
  const { name, status, detail, remedy, commands = [], warnings = [] } = step;
  const width = columnsOf(process.stdout);
  const plain = name.padEnd(NAME_COLUMNS) + status.padEnd(STATUS_COLUMNS);
  const paragraph = (text: string, first = INDENT) =>
    layOut(visibleText(text.replaceAll(`${home}/`, '~/')), { width, first, further: INDENT });
  const [head = '', ...rest] = paragraph(detail, plain);
  const painted =
    paint.bold(name) +
    head.slice(name.length, NAME_COLUMNS) +
    colours[status](status) +
    head.slice(NAME_COLUMNS + status.length);
  const lines = [
    painted,
    ...rest,
    ...warnings.flatMap(({ detail, remedy }) =>
      paragraph(`note: ${detail}.${remedy === undefined ? '' : ` ${remedy}`}`),
    ),
    ...(remedy === undefined ? [] : paragraph(`next: ${remedy}`)),
    ...commands.flatMap((command) => wrappedCommand(command, width, `${INDENT}  `)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Text below the steps. */
export function endText({ works, changed, dryRun, undo, next }: ReturnType<typeof reportOf>): string {
  const width = columnsOf(process.stdout);
  const lines = [
    '',
    ...(works && !changed && !dryRun ? ['Everything was there; nothing was changed.'] : []),
    ...layOut(next, { width }),
    ...(undo.length === 0
      ? []
      : ['', 'To take back what was done now:', ...undo.flatMap((one) => wrappedCommand(one, width, '  '))]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

// The text that the user pastes into a host after `setup`: one program that calls two of the user's own servers. Names only
// tools that read, by their names, and need no arguments. Names of servers and tools are other people's text, so only plain ones
// are taken.

const PLAIN_SERVER = /^[A-Za-z0-9][\w.-]{0,39}$/;
const PLAIN_TOOL = /^[A-Za-z_][\w.-]{0,59}$/;
const WITHOUT_SERVERS = 'Use run_python to compute 2 ** 100.';
const MOST_SERVERS = 2;

/** Servers whose tools are known come first, and of these the ones with a tool that can be called just so. */
function firstPrompt(ready: readonly DownstreamSpec[], catalog: Pick<KeptCatalog, 'of'>): string {
  const known = ready.flatMap((spec) => {
    const kept = catalog.of(spec);
    if (kept === undefined || !PLAIN_SERVER.test(spec.name)) return [];
    return [{ name: spec.name, tool: kept.tools().find((tool) => isEasy(tool, spec)) }];
  });
  const chosen = [
    ...known.filter(({ tool }) => tool !== undefined),
    ...known.filter(({ tool }) => tool === undefined),
  ].slice(0, MOST_SERVERS);
  const [first] = chosen;
  if (first === undefined) return WITHOUT_SERVERS;
  const names = chosen.map(({ name }) => name).join(' and ');
  const calls = chosen.map(({ name, tool }) =>
    tool === undefined ? `a tool of ${name} that only reads` : `${name}.${tool.name}`,
  );
  const servers = chosen.length === 1 ? `the server ${names}` : `the servers ${names}`;
  return `Use run_python with ${servers}: call ${calls.join(' and ')} in one program, and tell me in three lines what comes back.`;
}

// A list that is kept has no annotations, so that only the names tell.
const READS = /(^|[_.-])(list|get|read|search|find|show|describe|status|count)([_.-]|[A-Z]|$)/;
const WRITES = /add|clear|create|delete|edit|move|remove|reset|send|set|update|write/i;

function isEasy({ name, inputSchema, needsTask }: ServerTool, { toolFilter }: DownstreamSpec): boolean {
  const { only, except } = toolFilter;
  const isAllowed = only?.includes(name) !== false && !except.includes(name);
  const needsNothing = textsOf(inputSchema['required']).length === 0;
  const reads = READS.test(name) && !WRITES.test(name);
  return isAllowed && needsNothing && reads && !needsTask && PLAIN_TOOL.test(name);
}

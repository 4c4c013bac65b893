// What `setup` says of its steps, as lines for people or as one JSON document.

import { ownCommand } from '../../base/process/own-command.js';
import { VERSION } from '../../base/version.js';
import { columnsOf, wrapped, wrappedCommand } from '../terminal/layout.js';
import { coloursFor, visible } from '../terminal/output.js';
import type { SetupContext } from './context.js';
import type { StepName, StepResult, StepStatus } from './step.js';

export type StepReport = StepResult & {
  readonly name: StepName;
  readonly seconds: number;
};

/** What `setup --json` prints. Fields are added, never renamed, within a major version. */
export type SetupReport = {
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
};

export function reportOf(steps: readonly StepReport[], { options, found }: SetupContext): SetupReport {
  const works = !steps.some(({ status }) => status === 'failed');
  const dryRun = options.dryRun === true;
  return {
    version: VERSION,
    dryRun,
    works,
    changed: steps.some(({ status }) => status === 'done'),
    steps,
    undo: steps.toReversed().flatMap(({ undo = [] }) => undo),
    next: nextStep(works, dryRun, found.hosts),
  };
}

function nextStep(works: boolean, dryRun: boolean, hosts: readonly string[]): string {
  if (dryRun) return `Nothing was changed. Run \`${ownCommand('setup')}\` to do it.`;
  if (!works) return `Do what is said above, then run \`${ownCommand('setup')}\` again.`;
  if (hosts.length === 0) return `Register it in a host with \`${ownCommand('install')}\`, which lists them.`;
  return `Start ${hosts[0]} anew and type: "Use run_python to compute 2 ** 100."`;
}

const NAME_COLUMNS = 9;
const STATUS_COLUMNS = 9;
const INDENT = ' '.repeat(NAME_COLUMNS + STATUS_COLUMNS);

/** The lines of one step, at most as wide as the terminal; what lies below `home` begins with `~`. */
export function stepText(step: StepReport, home: string): string {
  const paint = coloursFor(process.stdout);
  const colours: Readonly<Record<StepStatus, (text: string) => string>> = {
    ok: paint.green,
    done: paint.cyan,
    skipped: paint.dim,
    failed: paint.red,
  };
  const { name, status, detail, remedy, commands = [], warnings = [] } = step;
  const width = columnsOf(process.stdout);
  const plain = name.padEnd(NAME_COLUMNS) + status.padEnd(STATUS_COLUMNS);
  const paragraph = (text: string, first = INDENT) =>
    wrapped(visible(text.replaceAll(`${home}/`, '~/')), { width, first, further: INDENT });
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

/** What stands below the steps. */
export function endText({ works, changed, dryRun, undo, next }: SetupReport): string {
  const width = columnsOf(process.stdout);
  const lines = [
    '',
    ...(works && !changed && !dryRun ? ['Everything was there; nothing was changed.'] : []),
    ...wrapped(next, { width }),
    ...(undo.length === 0
      ? []
      : ['', 'To take back what was done now:', ...undo.flatMap((one) => wrappedCommand(one, width, '  '))]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

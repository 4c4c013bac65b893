// `servers`: what was discovered, from which file, and what was passed over with the reason. Starts nothing. Shows
// neither arguments nor variables, where people keep their tokens.

import { harmless } from '../base/text.js';
import type { Discovery } from '../config/discover.js';
import { discover } from '../config/discover.js';
import type { SpecSource } from '../config/downstream-spec.js';
import { withoutDenied } from '../run/policy-book.js';
import { coloursFor, columns, printJson, visible } from './output.js';
import { prepare } from './prepare.js';
import { type ServerChange, serverChanges } from './server-changes.js';

/** One server as `--json` shows it. */
export type ServerLine = {
  readonly name: string;
  readonly state: 'ready' | 'skipped';
  readonly reason?: string;
  /** What of its tools is not as it was first seen, in words. */
  readonly changed?: string;
  readonly source: SpecSource;
};

export function servers({ json }: { readonly json?: true }): void {
  // A problem is printed below; the log need not say it as well.
  const { discovery: context, settings, policyBook } = prepare('error', 'ends');
  const found = discover(context, () => {});
  const discovery = withoutDenied(found, policyBook.policy(found.ready));
  const { problems, files } = discovery;
  const changes = serverChanges(discovery.ready, settings);
  if (json) printJson({ servers: serverLines(discovery, changes), problems, files });
  else process.stdout.write(serversText(discovery, changes));
}

type Changes = ReadonlyMap<string, ServerChange>;

export function serverLines({ ready, skipped }: Discovery, changes: Changes): ServerLine[] {
  return [
    ...ready.map(({ name, source }) => {
      const change = changes.get(name);
      return { name, state: 'ready' as const, ...(change && { changed: change.changed }), source };
    }),
    ...skipped.map(({ name, reason, source }) => ({ name, state: 'skipped' as const, reason, source })),
  ];
}

/** The table for people; ends with a newline. */
export function serversText(discovery: Discovery, changes: Changes): string {
  const paint = coloursFor(process.stdout);
  const rows = serverLines(discovery, changes).map(({ name, state, reason, source }) => [
    state === 'ready' ? paint.green('ready') : paint.yellow('skipped'),
    paint.bold(visible(name)),
    `${source.host} ${paint.dim(source.scope)}`,
    paint.dim(source.file) + (reason === undefined ? '' : `  ${visible(reason)}`),
  ]);
  const problems = discovery.problems.map(({ file, message }) => [
    paint.red('problem'),
    visible(message),
    paint.dim(file),
  ]);
  const changed = [...changes].map(([name, change]) => [
    paint.yellow('changed'),
    paint.bold(visible(name)),
    visible(harmless(`${change.changed}. ${change.remedy}`)),
  ]);
  if (rows.length + problems.length === 0) {
    return `No MCP servers were found. Name a file in MCP_SERVERS_CONFIG, or put one into ~/.config/mcp/servers/.\n`;
  }
  return [rows, problems, changed].map((part) => (part.length === 0 ? '' : columns(part))).join('');
}

// The list of servers in JSON and as text: grouped by the file that they stand in, one line each, with what is started
// or reached. Never shows arguments, variables, headers, or the parts of an address where people keep their tokens.

import { shownName } from '../../base/text/shown-name.js';
import { makeHarmless } from '../../base/text/text.js';
import { type Discovery, discover } from '../../hosts/discovery/discover.js';
import { explainSkip } from '../../hosts/discovery/explain-skip.js';
import type { DownstreamSpec, SpecSource } from '../../hosts/downstream-spec.js';
import { withoutDenied } from '../../policy/rules/policy-book.js';
import { type FileProblem, problemInWords } from '../../settings/files/config-file.js';
import { prepare } from '../serving/prepare.js';
import { coloursFor, printJson } from '../terminal/output.js';
import { hangText, shownWidth, widthOf } from '../terminal/wrap.js';
import { programOf, type ServerTrouble, serverTroubles } from './server-trouble.js';
import { type ServerChange, serverChanges } from './servers-refresh.js';

/** One server as `--json` shows it. */
type ServerLine = {
  readonly name: string;
  /** `missing`: its command was not found. `failed`: its last start did. */
  readonly state: 'ready' | 'skipped' | ServerTrouble['state'];
  readonly transport?: DownstreamSpec['transport'];
  readonly command?: string;
  readonly url?: string;
  readonly reason?: string;
  /** Remedy for `reason`, where the reason does not say one itself. */
  readonly remedy?: string;
  /** Changes of the server's tools, or of the entry that has its name, since they were first seen, in words. */
  readonly changed?: string;
  readonly source: SpecSource;
};

type ListStyle = {
  readonly paint: ReturnType<typeof coloursFor>;
  /** Characters of a line; undefined lets each server have one line, however long. */
  readonly width: number | undefined;
  /** Is shown as `~`. */
  readonly home: string;
};

const NOTHING_FOUND =
  'No MCP servers were found. Name a file in MCP_SERVERS_CONFIG, or put one into ~/.config/mcp/servers/.';
/** Indent of a file's path that does not fit behind its host. */
const HEADING_INDENT = 4;
const STATE_CHARS = 'skipped'.length;
/** A longer name moves the rest of its own line only. */
const MAX_NAME_COLUMN = 28;
/** An address says by itself that it is one; only what cannot be seen from it is added. */
const WAYS = { stdio: '', http: '', auto: '', sse: 'sse ' } as const;

const NO_CHANGES: ReadonlyMap<string, ServerChange> = new Map();
const NO_TROUBLES: ReadonlyMap<string, ServerTrouble> = new Map();

/** All servers, those that are not skipped first; `beside` says what a reader sees beside each line. */
export function serverLines(
  { ready, skipped }: Discovery,
  changes = NO_CHANGES,
  troubles = NO_TROUBLES,
  beside: 'nothing' | 'the file' = 'nothing',
): ServerLine[] {
  return [
    ...ready.map((spec) => {
      const change = changes.get(spec.name);
      const found = troubles.get(spec.name);
      return {
        name: spec.name,
        state: found?.state ?? ('ready' as const),
        ...(found && { reason: found.trouble, remedy: found.remedy }),
        ...wayTo(spec),
        ...(change && { changed: change.changed }),
        source: spec.source,
      };
    }),
    ...skipped.map((one) => {
      const { name, source, spec } = one;
      const { text: reason, remedy } = explainSkip(one, beside);
      const way = spec === undefined ? {} : wayTo(spec);
      return { name, state: 'skipped' as const, reason, ...(remedy && { remedy }), ...way, source };
    }),
  ];
}

function wayTo(spec: DownstreamSpec): Pick<ServerLine, 'transport' | 'command' | 'url'> {
  const { transport } = spec;
  return transport === 'stdio'
    ? { transport, command: programOf(spec.command) }
    : { transport, url: publicUrl(spec.url) };
}

// Services give each user an address of his own, whose long segment is the key.
const KEY_SEGMENT = /^(?=[^/]*\d)[^/]{20,}$/;

/** An address without user, password, query and fragment, and without segments of its path that look like keys. */
export function publicUrl(written: string): string {
  if (!URL.canParse(written)) return 'an address that cannot be read';
  const { protocol, host, pathname } = new URL(written);
  const path = pathname.split('/').map((segment) => (KEY_SEGMENT.test(segment) ? '…' : segment));
  return `${protocol}//${host}${path.join('/')}`;
}

/** Text for people; ends with a newline. */
export function serversText(
  discovery: Discovery,
  style: ListStyle,
  changes = NO_CHANGES,
  troubles = NO_TROUBLES,
): string {
  const { paint } = style;
  // The heading says which file.
  const lines = serverLines(discovery, NO_CHANGES, troubles, 'the file');
  const { problems } = discovery;
  if (lines.length + problems.length === 0) return `${hangText(NOTHING_FOUND, 0, style.width)}\n`;
  const nameChars = Math.min(
    MAX_NAME_COLUMN,
    Math.max(0, ...lines.map(({ name }) => shownName(name).length)),
  );
  const groups = [...bySource(lines).values()].map((group) => {
    const [{ source } = { source: undefined }] = group;
    const host = source?.host ?? '';
    const scope = ` ${source?.scope}  `;
    const file = paint.dim(shortenHome(oneLine(source?.file ?? ''), style));
    const place = hangText(file, HEADING_INDENT, style.width, shownWidth(host + scope) - HEADING_INDENT);
    const heading = `${paint.bold(host)}${place.startsWith('\n') ? scope.trimEnd() : scope}${place}`;
    return [heading, ...group.map((line) => row(line, nameChars, style))].join('\n');
  });
  const changed = [...changes].map(([name, change]) => changedText(name, change, style));
  if (changed.length > 0) groups.push(changed.join('\n'));
  if (problems.length > 0) groups.push(problems.map((problem) => problemText(problem, style)).join('\n'));
  return `${[...groups, summary(lines, problems)].join('\n\n')}\n`;
}

function bySource(lines: readonly ServerLine[]): Map<string, ServerLine[]> {
  const groups = new Map<string, ServerLine[]>();
  for (const line of lines) {
    const { host, scope, file } = line.source;
    const key = JSON.stringify([host, scope, file]);
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  return groups;
}

function row(line: ServerLine, nameChars: number, style: ListStyle): string {
  const { paint } = style;
  const { name, state, transport, command, url, reason, remedy } = line;
  const start = `  ${state.padEnd(STATE_CHARS)}  `;
  const shown = shownName(name).padEnd(nameChars);
  const how = command ?? (url === undefined ? undefined : `${WAYS[transport ?? 'auto']}${url}`);
  const text = [how, remedy === undefined ? reason : `${reason}. ${remedy}`]
    .flatMap((part) => (part === undefined ? [] : [shortenHome(oneLine(part), style)]))
    .join('  ');
  const indent = start.length + nameChars + 2;
  const colour = { ready: paint.green, skipped: paint.yellow, missing: paint.red, failed: paint.red }[state];
  const head = colour(start) + paint.bold(shown);
  const more = shownWidth(shown) - nameChars;
  return `${head}  ${hangText(text, indent, style.width, more)}`;
}

function problemText(problem: FileProblem, style: ListStyle): string {
  const start = 'problem  ';
  const text = oneLine(problemInWords(problem));
  return style.paint.red(start) + hangText(text, start.length, style.width);
}

function changedText(name: string, { changed, remedy }: ServerChange, style: ListStyle): string {
  const start = 'changed  ';
  const text = `${shownName(name)}: ${oneLine(changed)}. ${oneLine(remedy)}`;
  return style.paint.yellow(start) + hangText(text, start.length, style.width);
}

function summary(lines: readonly ServerLine[], problems: readonly FileProblem[]): string {
  const files = problems.length === 1 ? '1 file has a problem' : `${problems.length} files have a problem`;
  const counts = (['ready', 'missing', 'failed', 'skipped'] as const).flatMap((state) => {
    const count = lines.filter((line) => line.state === state).length;
    return count === 0 && (state === 'missing' || state === 'failed') ? [] : [`${count} ${state}`];
  });
  return [...counts, ...(problems.length > 0 ? [files] : [])].join(', ');
}

/** Text on one line, without doubling the backslashes of Windows, as `visible` would. */
const oneLine = (text: string): string => makeHarmless(text).replace(/[\t\n]+/g, ' ');

const shortenHome = (text: string, { home }: ListStyle): string =>
  home.length > 1 ? text.replaceAll(`${home}/`, '~/').replaceAll(`${home}\\`, '~\\') : text;

// `servers`: what was discovered, from which file, what cannot be started, and what was passed over, with the reason. Starts
// nothing.

export function servers({ json }: { readonly json?: true }): void {
  // A problem is printed below; the log need not say it as well.
  const { discovery: context, settings, policyBook } = prepare('error', 'ends');
  const found = discover(context, () => {});
  const discovery = withoutDenied(found, policyBook.policy(found.ready));
  const { problems, files } = discovery;
  const changes = serverChanges(discovery.ready, settings);
  const troubles = serverTroubles(discovery.ready, context.env, settings);
  if (json) {
    printJson({ servers: serverLines(discovery, changes, troubles), problems, files });
    return;
  }
  const { stdout } = process;
  const style = { paint: coloursFor(stdout), width: widthOf(stdout), home: context.host.home };
  process.stdout.write(serversText(discovery, style, changes, troubles));
}

// `token`: who may use a bridge that serves over HTTP. What could be parsed goes to stdout: a new token, or a list without
// any token. Everything else is for the person and goes to stderr. A token itself is shown on stdout only: stderr is often
// kept.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless, nameList } from '../../base/text/text.js';

import { discover } from '../../hosts/discovery/discover.js';
import {
  clientEntries,
  clientEntriesText,
  endpointFrom,
  TOKEN_PLACEHOLDER,
} from '../../service/access/client-entries.js';
import {
  isExpired,
  LastUses,
  membersOf,
  newTokenText,
  rotatedRecord,
  TokenFile,
  type TokenRecord,
  type TokenTerms,
} from '../../service/access/token-file.js';
import {
  checkedTokenName,
  expiryFrom,
  graceFrom,
  refuseTaken,
  scopesFrom,
  serversFrom,
  USUAL_LIFE,
} from '../../service/access/token-terms.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';

import { widthOf } from '../terminal/wrap.js';

type TokenOptions = {
  readonly servers?: string;
  readonly expires?: string;
  readonly scopes?: string;
  readonly json?: true;
};

/** Facts that a list shows of one token. */
export type ListedToken = TokenRecord & { readonly lastUsedMs: number | undefined };

const say = (line: string): boolean => process.stderr.write(`${line}\n`);

/** `url` is the address of the bridge, for what the holder pastes. */
export async function tokenCreate(
  name: string,
  options: TokenOptions & { readonly expires: string; readonly url?: string },
): Promise<void> {
  const terms: TokenTerms = {
    servers: serversFrom(options.servers ?? ''),
    scopes: scopesFrom(options.scopes ?? ''),
    expiresAtMs: expiryFrom(options.expires),
  };
  checkedTokenName(name);
  const prepared = prepare('error', 'ends');
  const at = addressOf(options, prepared);
  const file = new TokenFile(prepared.settings.stateDir);
  const conflict = (tokens: readonly TokenRecord[]) => refuseTaken(name, tokens);
  const { text, record } = await file.add(name, terms, conflict, interruptSignal());
  if (options.json) return printNewText(text, record, at);
  showNewText(text, at);
  say(`Token '${shownName(name)}' is made. It is shown only now: ${file.path} has its hash.`);
  sayTerms(record, prepared);
  sayHowToPaste(at);
}

/** `url` is the address of the bridge, for what the holder pastes. */
export async function tokenRotate(
  name: string,
  options: { readonly grace: string; readonly expires?: string; readonly url?: string; readonly json?: true },
): Promise<void> {
  const graceMs = graceFrom(options.grace);
  const endsNow = options.expires === undefined ? undefined : { expiresAtMs: expiryFrom(options.expires) };
  const prepared = prepare('error', 'ends');
  const at = addressOf(options, prepared);
  const text = newTokenText();
  let rotated: TokenRecord | undefined;
  await new TokenFile(prepared.settings.stateDir).change((tokens) => {
    const before = findToken(name, tokens);
    const usualMs = before.expiresAtMs === undefined ? undefined : expiryFrom(USUAL_LIFE);
    const { expiresAtMs } = endsNow ?? { expiresAtMs: usualMs };
    const after = rotatedRecord(before, text, { graceMs, expiresAtMs });
    rotated = after;
    return tokens.map((token) => (token.id === before.id ? after : token));
  }, interruptSignal());
  if (rotated === undefined) return;
  if (options.json) return printNewText(text, rotated, at);
  showNewText(text, at);
  const { previous } = rotated;
  say(
    `Token '${shownName(name)}' has a new secret, which is shown only now. Its holder keeps files and logins.`,
  );
  say(
    previous === undefined
      ? 'The old one is refused from the next request on.'
      : `The old one counts until ${new Date(previous.untilMs).toISOString()}.`,
  );
  sayTerms(rotated, prepared);
  sayHowToPaste(at);
}

type Address = ReturnType<typeof endpointFrom>;

const addressOf = ({ url }: { readonly url?: string }, { settings }: Prepared): Address =>
  endpointFrom(url, { resource: settings.oauth?.resource, hosts: settings.http.hosts });

function printNewText(text: string, record: TokenRecord, { endpoint }: Address): void {
  const paste = Object.fromEntries(clientEntries(endpoint, text).map((entry) => [entry.host, entry.text]));
  printJson({ token: text, ...asJson({ ...record, lastUsedMs: undefined }), endpoint, paste });
}

/** In a pipe the token alone, for `TOKEN=$(…)`; on a terminal also what its holder pastes. */
function showNewText(text: string, { endpoint }: Address): void {
  const paste = process.stdout.isTTY ? `\n${clientEntriesText(endpoint, text)}\n` : '';
  process.stdout.write(`${text}\n${paste}`);
}

function sayHowToPaste({ endpoint, from }: Address): void {
  if (!process.stdout.isTTY)
    say(
      `\nIts holder pastes one of these, with the token for ${TOKEN_PLACEHOLDER}:\n\n${clientEntriesText(endpoint, TOKEN_PLACEHOLDER)}`,
    );
  const what = from === 'default' ? 'is of this machine only' : 'is taken from the settings';
  if (from !== 'option')
    say(`This address ${what}. --url writes another, such as https://mcp.example.com:8808/mcp.`);
  say('Other programs send it as `Authorization: Bearer TOKEN`.');
}

export async function tokenChange(name: string, options: TokenOptions): Promise<void> {
  const { servers, expires, scopes } = options;
  if (servers === undefined && expires === undefined && scopes === undefined)
    throw usageError(
      'token change needs --servers, --expires or --scopes.',
      `Such as: ${ownCommand('token', 'change', name, '--servers', 'SERVER')}`,
    );
  const servesNow = servers === undefined ? undefined : serversFrom(servers);
  const scopesNow = scopes === undefined ? undefined : scopesFrom(scopes);
  const endsNow = expires === undefined ? undefined : { expiresAtMs: expiryFrom(expires) };
  const prepared = prepare('error', 'ends');
  let changed: TokenRecord | undefined;
  await new TokenFile(prepared.settings.stateDir).change((tokens) => {
    const before = findToken(name, tokens);
    const { expiresAtMs, ...rest } = before;
    const terms = {
      servers: servesNow ?? before.servers,
      scopes: scopesNow ?? before.scopes,
      expiresAtMs: endsNow === undefined ? expiresAtMs : endsNow.expiresAtMs,
    };
    const after = { ...rest, ...membersOf(terms) };
    changed = after;
    return tokens.map((token) => (token.id === before.id ? after : token));
  }, interruptSignal());
  if (changed === undefined) return;
  if (options.json) return printJson(asJson({ ...changed, lastUsedMs: undefined }));
  say(`Token '${shownName(name)}' is changed, for bridges that run as well.`);
  sayTerms(changed, prepared);
}

export async function tokenRevoke(name: string, { json }: { readonly json?: true }): Promise<void> {
  const { settings } = prepare('error', 'ends');
  await new TokenFile(settings.stateDir).change((tokens) => {
    const { id } = findToken(name, tokens);
    return tokens.filter((token) => token.id !== id);
  }, interruptSignal());
  if (json) return printJson({ name, revoked: true });
  say(`Token '${shownName(name)}' is revoked: bridges that run refuse it from the next request on.`);
}

export function tokenList({ json }: { readonly json?: true }): void {
  const { settings } = prepare('error', 'ends');
  const uses = new LastUses(settings.stateDir).read();
  const tokens = new TokenFile(settings.stateDir)
    .read()
    .map((record) => ({ ...record, lastUsedMs: uses.get(record.id) }));
  if (json) return printJson({ tokens: tokens.map(asJson) });
  if (tokens.length === 0) {
    process.stdout.write(`There is no token. \`${ownCommand('token', 'create', 'NAME')}\` makes one.\n`);
    return;
  }
  process.stdout.write(tokensText(tokens));
}

/** A line for each; ends with a newline. */
export function tokensText(tokens: readonly ListedToken[], nowMs = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const head = ['name', 'servers', 'created', 'expires', 'last used', 'scopes'].map((word) =>
    paint.dim(word),
  );
  const rows = tokens.map((token) => [
    paint.bold(visibleText(token.name)),
    serversText(token.servers),
    day(token.createdAtMs),
    expiryText(token, nowMs, paint.red),
    token.lastUsedMs === undefined ? 'never' : `about ${minute(token.lastUsedMs)}`,
    visibleText(token.scopes.join(' ')),
  ]);
  return columns([head, ...rows], { width: widthOf(process.stdout), wraps: [0, 1, 5], drops: [5, 2] });
}

/** The one token of this name. Throws E_ARGUMENTS. */
function findToken(name: string, tokens: readonly TokenRecord[]): TokenRecord {
  const found = tokens.find((token) => token.name === name);
  if (found !== undefined) return found;
  const names = tokens.map((token) => token.name);
  throw new BridgeError(
    'E_ARGUMENTS',
    `There is no token '${clipHarmless(name, 200)}'.${didYouMean(name, names)}`,
    {
      fault: 'operator',
      remedy:
        names.length === 0 ? 'No token has been made.' : `Tokens are: ${nameList(names.map(visibleText))}.`,
    },
  );
}

function sayTerms({ name, servers, expiresAtMs, scopes }: TokenRecord, { discovery }: Prepared): void {
  if (servers.length === 0) {
    say('It reaches no server: its code runs without tools. To let it reach some:');
    say(`  ${ownCommand('token', 'change', name, '--servers', 'SERVER')}`);
  } else say(`It reaches ${serversText(servers)}.`);
  for (const sentence of unknownServers(servers, discovery)) say(sentence);
  if (scopes.length > 0) say(`Its scopes: ${visibleText(scopes.join(' '))}.`);
  say(expiresAtMs === undefined ? 'It has no end.' : `It ends at ${new Date(expiresAtMs).toISOString()}.`);
}

/** A server may be configured after the token, so these are no errors. */
function unknownServers(
  servers: TokenRecord['servers'],
  discovery: Prepared['discovery'],
): readonly string[] {
  if (servers === '*' || servers.length === 0) return [];
  const known = discover(discovery, () => {}).ready.map(({ name }) => name);
  return servers
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `Note: no server '${shownName(name)}' is configured here at present.${didYouMean(name, known)}`,
    );
}

const serversText = (servers: TokenRecord['servers']): string => {
  if (servers === '*') return 'all that the policy allows';
  return servers.length === 0 ? 'none' : visibleText(nameList(servers));
};

function expiryText(token: TokenRecord, nowMs: number, red: (text: string) => string): string {
  const { expiresAtMs } = token;
  if (expiresAtMs === undefined) return 'never';
  return isExpired(token, nowMs) ? red(`expired ${day(expiresAtMs)}`) : minute(expiresAtMs);
}

function asJson({
  hash: _hash,
  previous,
  createdAtMs,
  expiresAtMs,
  lastUsedMs,
  ...shown
}: ListedToken): object {
  const instant = (atMs: number) => new Date(atMs).toISOString();
  return {
    ...shown,
    createdAt: instant(createdAtMs),
    ...(expiresAtMs === undefined
      ? {}
      : { expiresAt: instant(expiresAtMs), expired: expiresAtMs <= Date.now() }),
    ...(previous === undefined ? {} : { previousUntil: instant(previous.untilMs) }),
    ...(lastUsedMs === undefined ? {} : { lastUsedAt: instant(lastUsedMs) }),
  };
}

const day = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
const minute = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');

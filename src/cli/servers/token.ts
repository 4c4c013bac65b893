// `token`: who may use a bridge that serves over HTTP. What could be parsed goes to stdout: a new token alone, or a list
// without any token. Everything else is for the person and goes to stderr.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless, nameList } from '../../base/text/text.js';

import { discover } from '../../hosts/discovery/discover.js';
import {
  isExpired,
  LastUses,
  membersOf,
  TokenFile,
  type TokenRecord,
  type TokenServers,
  type TokenTerms,
} from '../../service/access/token-file.js';
import {
  checkedTokenName,
  expiryFrom,
  refuseTaken,
  scopesFrom,
  serversFrom,
} from '../../service/access/token-terms.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';

import { widthOf } from '../terminal/wrap.js';

export type TokenOptions = {
  readonly servers?: string;
  readonly expires?: string;
  readonly scopes?: string;
};

/** Facts that a list shows of one token. */
export type ListedToken = TokenRecord & { readonly lastUsedMs: number | undefined };

const say = (line: string): boolean => process.stderr.write(`${line}\n`);

export async function tokenCreate(name: string, options: TokenOptions): Promise<void> {
  const terms: TokenTerms = {
    servers: serversFrom(options.servers ?? ''),
    scopes: scopesFrom(options.scopes ?? ''),
    expiresAtMs: options.expires === undefined ? undefined : expiryFrom(options.expires),
  };
  checkedTokenName(name);
  const prepared = prepare('error', 'ends');
  const file = new TokenFile(prepared.settings.stateDir);
  const conflict = (tokens: readonly TokenRecord[]) => refuseTaken(name, tokens);
  const { text, record } = await file.add(name, terms, conflict, interruptSignal());
  process.stdout.write(`${text}\n`);
  say(`Token '${shownName(name)}' is made. It is shown only now: ${file.path} has its hash.`);
  sayTerms(record, prepared);
  say('Programs send it as `Authorization: Bearer TOKEN`.');
}

export async function tokenChange(name: string, options: TokenOptions): Promise<void> {
  const { servers, expires, scopes } = options;
  if (servers === undefined && expires === undefined && scopes === undefined)
    throw usageError(
      'token change needs what is to change: --servers, --expires or --scopes.',
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
  say(`Token '${shownName(name)}' is changed, for bridges that run as well.`);
  if (changed !== undefined) sayTerms(changed, prepared);
}

export async function tokenRevoke(name: string): Promise<void> {
  const { settings } = prepare('error', 'ends');
  await new TokenFile(settings.stateDir).change((tokens) => {
    const { id } = findToken(name, tokens);
    return tokens.filter((token) => token.id !== id);
  }, interruptSignal());
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
    say('It reaches no server; code runs with it, and has no tools. This lets it reach some:');
    say(`  ${ownCommand('token', 'change', name, '--servers', 'SERVER')}`);
  } else say(`It reaches ${serversText(servers)}.`);
  for (const sentence of unknownServers(servers, discovery)) say(sentence);
  if (scopes.length > 0) say(`Its scopes: ${visibleText(scopes.join(' '))}.`);
  say(expiresAtMs === undefined ? 'It has no end.' : `It ends at ${new Date(expiresAtMs).toISOString()}.`);
}

/** A server may be configured after the token, so these are no errors. */
function unknownServers(servers: TokenServers, discovery: Prepared['discovery']): readonly string[] {
  if (servers === '*' || servers.length === 0) return [];
  const known = discover(discovery, () => {}).ready.map(({ name }) => name);
  return servers
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `Note: no server '${shownName(name)}' is configured here at present.${didYouMean(name, known)}`,
    );
}

const serversText = (servers: TokenServers): string => {
  if (servers === '*') return 'all that the policy allows';
  return servers.length === 0 ? 'none' : visibleText(nameList(servers));
};

function expiryText(token: TokenRecord, nowMs: number, red: (text: string) => string): string {
  const { expiresAtMs } = token;
  if (expiresAtMs === undefined) return 'never';
  return isExpired(token, nowMs) ? red(`expired ${day(expiresAtMs)}`) : minute(expiresAtMs);
}

function asJson({ hash: _hash, createdAtMs, expiresAtMs, lastUsedMs, ...shown }: ListedToken): object {
  const instant = (atMs: number) => new Date(atMs).toISOString();
  return {
    ...shown,
    createdAt: instant(createdAtMs),
    ...(expiresAtMs === undefined
      ? {}
      : { expiresAt: instant(expiresAtMs), expired: expiresAtMs <= Date.now() }),
    ...(lastUsedMs === undefined ? {} : { lastUsedAt: instant(lastUsedMs) }),
  };
}

const day = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
const minute = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');

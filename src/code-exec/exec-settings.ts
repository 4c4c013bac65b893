// The environment of `code-exec`: one table, from which settings, errors and the table in its document are made, and its
// values, read once. Wrong variables stop the start and are all named; what would open it to strangers does too.

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.js';
import { didYouMean } from '../base/text/closest.js';
import { isLoopback } from '../base/text/loopback.js';
import { clipHarmless } from '../base/text/text.js';
import {
  list,
  makeOptional,
  orNone,
  outputBytes,
  readTable,
  type SettingRow,
  setting,
  settingsIn,
  type ValuesOf,
  whole,
} from '../settings/environment/setting-rules.js';
import { hostFacts } from '../settings/files/host-facts.js';

export type ExecSettings = Omit<ValuesOf<typeof execVariables>, 'listen' | 'tokenFile'> & {
  readonly listen:
    | { readonly at: 'stdio' }
    | { readonly at: 'tcp'; readonly host: string; readonly port: number }
    | { readonly at: 'socket'; readonly path: string };
  /** Sentences about what does not count as it stands. */
  readonly warnings: readonly string[];
};

const DAY_MS = 86_400_000;
const path = z.string().regex(/^\//);
/** A token is what a header can hold, so that a request can bring it. */
const tokenRule = z.string().regex(/^[!-~]{16,}$/);
/** A name or an IPv6 address, without a port, as requests are compared. */
const host = z
  .string()
  .toLowerCase()
  .regex(/^(?:[^:/[\]\s]+|[0-9a-f]*:[0-9a-f.]*:[0-9a-f:.]*)$/);
const origin = z.string().regex(/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/);
const program = z.string().regex(/^(?:\/.+|[^/]+)$/);

/** The variables; a table of the documents is made from them. */
export const execVariables = {
  listen: makeOptional({
    name: 'MCP_EXEC_LISTEN',
    meaning: 'Address for Streamable HTTP. Without it, the server speaks on stdio.',
    default: 'stdio',
    schema: z.string().regex(/^(?:unix:\/.+|.+:\d{1,5})$/),
    allowed: 'host:port, [IPv6]:port or unix:/path',
  }),
  /** Undefined asks requests for nothing. */
  token: makeOptional({
    name: 'MCP_EXEC_TOKEN',
    meaning: 'Bearer token that every request over HTTP must have.',
    default: 'none; allowed on loopback and unix sockets only',
    schema: tokenRule,
    allowed: 'at least 16 characters of ASCII, without spaces',
  }),
  tokenFile: makeOptional({
    name: 'MCP_EXEC_TOKEN_FILE',
    meaning: 'A file that holds the token, such as a secret of compose.',
    default: 'none',
    schema: path,
    allowed: 'an absolute path',
  }),
  hosts: makeOptional({
    name: 'MCP_EXEC_HOSTS',
    meaning: 'Names that the Host of a request may have, besides localhost and the address it listens on.',
    default: 'none',
    schema: list(host),
    allowed: 'host names without ports, separated by commas',
    value: orNone,
  }),
  origins: makeOptional({
    name: 'MCP_EXEC_ORIGINS',
    meaning: 'Origins of web pages that may send requests.',
    default: 'none',
    schema: list(origin),
    allowed: 'origins separated by commas, such as https://example.com',
    value: orNone,
  }),
  /** Limit for stdout and stderr together, in bytes. */
  maxOutputBytes: outputBytes(
    'Most bytes of stdout and stderr together in an answer, about 10,000 tokens; one answer carries about 3 MB.',
  ),
  timeoutMs: setting({
    name: 'MCP_EXEC_TIMEOUT_MS',
    meaning: 'Milliseconds that a command may take if its call sets no time.',
    default: '60000',
    ...whole(1, DAY_MS, 'whole milliseconds'),
  }),
  maxTimeoutMs: setting({
    name: 'MCP_EXEC_MAX_TIMEOUT_MS',
    meaning: 'Most milliseconds that a call may set.',
    default: '600000',
    ...whole(1, DAY_MS, 'whole milliseconds'),
  }),
  workdir: setting({
    name: 'MCP_EXEC_WORKDIR',
    meaning: 'Folder in which commands run if their call names none.',
    default: '/work',
    schema: path,
    allowed: 'an absolute path',
  }),
  tmp: setting({
    name: 'MCP_EXEC_TMP',
    meaning: 'Whether each call has a folder of its own as TMPDIR, removed when it ends.',
    default: 'shared',
    schema: z.enum(['shared', 'per-request']),
    allowed: 'shared or per-request',
  }),
  concurrency: setting({
    name: 'MCP_EXEC_CONCURRENCY',
    meaning: 'Commands at once; further ones wait.',
    default: '32',
    ...whole(1, 1_000),
  }),
  processes: makeOptional({
    name: 'MCP_EXEC_PROCESSES',
    meaning:
      "Most processes and threads of the server's user that commands may start; the server itself can start more. Root is not limited.",
    default: 'none; 128 in our image',
    ...whole(16, 32_768),
  }),
  allow: makeOptional({
    name: 'MCP_EXEC_ALLOW',
    meaning: 'Commands that may run, by name or path; all others may not.',
    default: 'all',
    schema: list(program),
    allowed: 'names or absolute paths separated by commas',
  }),
  deny: makeOptional({
    name: 'MCP_EXEC_DENY',
    meaning: 'Commands that may not run, even if they are allowed.',
    default: 'none',
    schema: list(program),
    allowed: 'names or absolute paths separated by commas',
    value: orNone,
  }),
  /** A path, or 'stderr'. */
  audit: makeOptional({
    name: 'MCP_EXEC_AUDIT',
    meaning:
      'Where a line of JSON is written for each command: its arguments, and size and digest of its standard input.',
    default: 'none',
    schema: z.string().regex(/^(?:\/.+|stderr)$/),
    allowed: 'stderr, or an absolute path',
  }),
};

const PREFIX = 'MCP_EXEC_';
const VALUE_CHARS_SHOWN = 120;
const LISTEN = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:]+)):(?<port>\d+)$/;

/** Throws E_SETTINGS. */
export function parseExecSettings(env: Readonly<Record<string, string | undefined>>): ExecSettings {
  const said = Object.entries(env).flatMap(([name, value = '']) =>
    name.startsWith(PREFIX) && value.trim() !== '' ? [[name, value.trim()] as const] : [],
  );
  const { values, broken } = readTable(execVariables, new Map(said), hostFacts());
  const known = settingsIn(execVariables).map(({ name }) => name);
  const complaints = [
    ...broken.map(({ setting, got }) => complaint(setting, got)),
    ...said
      .filter(([name]) => !known.includes(name))
      .map(
        ([name]) => `${clipHarmless(name, VALUE_CHARS_SHOWN)} is not a setting.${didYouMean(name, known)}`,
      ),
  ];
  if (complaints.length > 0) throw settingsError(complaints.join('\n'));
  const { listen: address, tokenFile, timeoutMs, ...settings } = values;
  const listen = listenOf(address);
  const token = tokenOf(values.token, tokenFile);
  if (token === undefined && listen.at === 'tcp' && !isLoopback(listen.host)) {
    throw settingsError(
      `MCP_EXEC_LISTEN is ${address}, which others can reach, and there is no token: set MCP_EXEC_TOKEN or MCP_EXEC_TOKEN_FILE.`,
    );
  }
  const { maxTimeoutMs } = settings;
  return {
    ...settings,
    listen,
    token,
    timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
    warnings: shortenedTimeout(
      said.some(([name]) => name === 'MCP_EXEC_TIMEOUT_MS'),
      timeoutMs,
      maxTimeoutMs,
    ),
  };
}

/** The default gives way to a lower maximum silently; what somebody has written does not. */
const shortenedTimeout = (isSaid: boolean, timeoutMs: number, maxTimeoutMs: number): string[] =>
  isSaid && timeoutMs > maxTimeoutMs
    ? [`MCP_EXEC_TIMEOUT_MS is ${timeoutMs}; commands get ${maxTimeoutMs}, which is MCP_EXEC_MAX_TIMEOUT_MS.`]
    : [];

function listenOf(text: string | undefined): ExecSettings['listen'] {
  if (text === undefined) return { at: 'stdio' };
  if (text.startsWith('unix:')) return { at: 'socket', path: text.slice('unix:'.length) };
  const { six, host = six ?? '', port = '' } = LISTEN.exec(text)?.groups ?? {};
  if (host === '' || Number(port) > 65_535) throw settingsError(complaint(execVariables.listen, text));
  return { at: 'tcp', host, port: Number(port) };
}

function tokenOf(token: string | undefined, file: string | undefined): string | undefined {
  if (file === undefined) return token;
  if (token !== undefined)
    throw settingsError('MCP_EXEC_TOKEN and MCP_EXEC_TOKEN_FILE are both set: keep one.');
  let read: string;
  try {
    read = readFileSync(file, 'utf8').trim();
  } catch (thrown) {
    throw settingsError(`MCP_EXEC_TOKEN_FILE cannot be read: ${messageOf(thrown)}`);
  }
  if (tokenRule.safeParse(read).success) return read;
  throw settingsError(
    `MCP_EXEC_TOKEN_FILE holds ${read.length} characters; a token has at least 16, of ASCII, without spaces.`,
  );
}

function complaint({ name, allowed }: SettingRow, got: string): string {
  const shown = name === 'MCP_EXEC_TOKEN' ? 'not fit' : `'${clipHarmless(got, VALUE_CHARS_SHOWN)}'`;
  return `${name} is ${shown}; allowed: ${allowed}.`;
}

const settingsError = (message: string): BridgeError =>
  new BridgeError('E_SETTINGS', message, { fault: 'operator', remedy: 'Correct it, then start again.' });

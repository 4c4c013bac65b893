// The environment of `code-exec`: one zod schema, from which settings, errors and the table in its document are made, and its
// values, read once. Wrong variables stop the start and are all named; what would open it to strangers does too.

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.js';
import { didYouMean } from '../base/text/closest.js';
import { clipHarmless } from '../base/text/text.js';
import {
  integer,
  list,
  optional,
  outputBytes,
  setting,
  tableOf,
} from '../settings/environment/setting-rules.js';

export type ExecSettings = {
  readonly listen:
    | { readonly at: 'stdio' }
    | { readonly at: 'tcp'; readonly host: string; readonly port: number }
    | { readonly at: 'socket'; readonly path: string };
  /** Undefined asks requests for nothing. */
  readonly token: string | undefined;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Limit for stdout and stderr together, in bytes. */
  readonly maxOutputBytes: number;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly workdir: string;
  readonly tmp: 'shared' | 'per-request';
  readonly concurrency: number;
  readonly processes: number | undefined;
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  /** A path, or 'stderr'. */
  readonly audit: string | undefined;
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
export const execVariables = z.object({
  MCP_EXEC_LISTEN: optional(z.string().regex(/^(?:unix:\/.+|.+:\d{1,5})$/), {
    meaning: 'Where it listens for Streamable HTTP; without it, it speaks on stdio.',
    default: 'stdio',
    allowed: 'host:port, [IPv6]:port or unix:/path',
  }),
  MCP_EXEC_TOKEN: optional(tokenRule, {
    meaning: 'What every request over HTTP must bring as its bearer token.',
    default: 'none, which only loopback and unix sockets may do without',
    allowed: 'at least 16 characters of ASCII, without spaces',
  }),
  MCP_EXEC_TOKEN_FILE: optional(path, {
    meaning: 'A file that holds the token, such as a secret of compose.',
    default: 'none',
    allowed: 'an absolute path',
  }),
  MCP_EXEC_HOSTS: optional(list(host), {
    meaning:
      'Names by which it may be addressed (the Host of a request), besides localhost and the address it listens on.',
    default: 'none',
    allowed: 'host names without ports, separated by commas',
  }),
  MCP_EXEC_ORIGINS: optional(list(origin), {
    meaning: 'Origins of web pages that may send requests.',
    default: 'none',
    allowed: 'origins separated by commas, such as https://example.com',
  }),
  MCP_EXEC_MAX_OUTPUT_BYTES: outputBytes(
    'Most that is given back of stdout and stderr together, about 10,000 tokens; one answer carries about 3 MB.',
  ),
  MCP_EXEC_TIMEOUT_MS: setting(integer(1, DAY_MS), {
    meaning: 'Milliseconds that a command may take when its call does not say.',
    default: '60000',
    allowed: `whole milliseconds from 1 to ${DAY_MS}`,
  }),
  MCP_EXEC_MAX_TIMEOUT_MS: setting(integer(1, DAY_MS), {
    meaning: 'Most milliseconds that a call may ask for.',
    default: '600000',
    allowed: `whole milliseconds from 1 to ${DAY_MS}`,
  }),
  MCP_EXEC_WORKDIR: setting(path, {
    meaning: 'Where commands run whose call does not say.',
    default: '/work',
    allowed: 'an absolute path',
  }),
  MCP_EXEC_TMP: setting(z.enum(['shared', 'per-request']), {
    meaning: 'Whether each call has a folder of its own as TMPDIR, removed when it ends.',
    default: 'shared',
    allowed: 'shared or per-request',
  }),
  MCP_EXEC_CONCURRENCY: setting(integer(1, 1_000), {
    meaning: 'Commands at once; further ones wait.',
    default: '32',
    allowed: 'a whole number from 1 to 1000',
  }),
  MCP_EXEC_PROCESSES: optional(integer(16, 32_768), {
    meaning:
      "Processes and threads of the server's user that commands may fill up; the server itself can start more. Root is not limited.",
    default: 'none; 128 in our image',
    allowed: 'a whole number from 16 to 32768',
  }),
  MCP_EXEC_ALLOW: optional(list(program), {
    meaning: 'Commands that may run, by name or path; all others may not.',
    default: 'all',
    allowed: 'names or absolute paths separated by commas',
  }),
  MCP_EXEC_DENY: optional(list(program), {
    meaning: 'Commands that may not run, whatever allows them.',
    default: 'none',
    allowed: 'names or absolute paths separated by commas',
  }),
  MCP_EXEC_AUDIT: optional(z.string().regex(/^(?:\/.+|stderr)$/), {
    meaning:
      'Where a line of JSON is written for each command: arguments as they were, of standard input the size and a digest.',
    default: 'none',
    allowed: 'stderr, or an absolute path',
  }),
});

const PREFIX = 'MCP_EXEC_';
const VALUE_CHARS_SHOWN = 120;
const LISTEN = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:]+)):(?<port>\d+)$/;

/** Throws E_SETTINGS. */
export function parseExecSettings(env: Readonly<Record<string, string | undefined>>): ExecSettings {
  const said = Object.entries(env).flatMap(([name, value = '']) =>
    name.startsWith(PREFIX) && value.trim() !== '' ? [[name, value.trim()] as const] : [],
  );
  const parsed = execVariables.safeParse(Object.fromEntries(said));
  const known = Object.keys(execVariables.shape);
  const wrong = new Set(parsed.error?.issues.map(({ path }) => String(path[0])) ?? []);
  const complaints = [
    ...said.filter(([name]) => wrong.has(name)).map(([name, value]) => complaint(name, value)),
    ...said
      .filter(([name]) => !known.includes(name))
      .map(([name]) => `${clipHarmless(name, VALUE_CHARS_SHOWN)} is no setting.${didYouMean(name, known)}`),
  ];
  if (!parsed.success || complaints.length > 0) throw settingsError(complaints.join('\n'));
  const values = parsed.data;
  const listen = listenOf(values.MCP_EXEC_LISTEN);
  const token = tokenOf(values.MCP_EXEC_TOKEN, values.MCP_EXEC_TOKEN_FILE);
  if (token === undefined && listen.at === 'tcp' && !isLoopback(listen.host)) {
    throw settingsError(
      `MCP_EXEC_LISTEN is ${values.MCP_EXEC_LISTEN}, which others can reach, and there is no token: set MCP_EXEC_TOKEN or MCP_EXEC_TOKEN_FILE.`,
    );
  }
  const maxTimeoutMs = values.MCP_EXEC_MAX_TIMEOUT_MS;
  return {
    listen,
    token,
    hosts: values.MCP_EXEC_HOSTS ?? [],
    origins: values.MCP_EXEC_ORIGINS ?? [],
    maxOutputBytes: values.MCP_EXEC_MAX_OUTPUT_BYTES,
    timeoutMs: Math.min(values.MCP_EXEC_TIMEOUT_MS, maxTimeoutMs),
    maxTimeoutMs,
    workdir: values.MCP_EXEC_WORKDIR,
    tmp: values.MCP_EXEC_TMP,
    concurrency: values.MCP_EXEC_CONCURRENCY,
    processes: values.MCP_EXEC_PROCESSES,
    allow: values.MCP_EXEC_ALLOW,
    deny: values.MCP_EXEC_DENY ?? [],
    audit: values.MCP_EXEC_AUDIT,
    warnings: shortenedTimeout(
      said.some(([name]) => name === 'MCP_EXEC_TIMEOUT_MS'),
      values.MCP_EXEC_TIMEOUT_MS,
      maxTimeoutMs,
    ),
  };
}

/** The default gives way to a lower maximum silently; what somebody has written does not. */
const shortenedTimeout = (isSaid: boolean, timeoutMs: number, maxTimeoutMs: number): string[] =>
  isSaid && timeoutMs > maxTimeoutMs
    ? [`MCP_EXEC_TIMEOUT_MS is ${timeoutMs}; commands get ${maxTimeoutMs}, which is MCP_EXEC_MAX_TIMEOUT_MS.`]
    : [];

/** 127.0.0.0/8 and ::1; a name may lead anywhere, but for localhost. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);

function listenOf(text: string | undefined): ExecSettings['listen'] {
  if (text === undefined) return { at: 'stdio' };
  if (text.startsWith('unix:')) return { at: 'socket', path: text.slice('unix:'.length) };
  const { six, host = six ?? '', port = '' } = LISTEN.exec(text)?.groups ?? {};
  if (host === '' || Number(port) > 65_535) throw settingsError(complaint('MCP_EXEC_LISTEN', text));
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

function complaint(name: string, got: string): string {
  const allowed = tableOf(execVariables.shape).find((row) => row.name === name)?.allowed ?? '';
  const shown = name === 'MCP_EXEC_TOKEN' ? 'not fit' : `'${clipHarmless(got, VALUE_CHARS_SHOWN)}'`;
  return `${name} is ${shown}; allowed: ${allowed}.`;
}

const settingsError = (message: string): BridgeError =>
  new BridgeError('E_SETTINGS', message, { fault: 'operator', remedy: 'Correct it, then start again.' });

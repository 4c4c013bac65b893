// The environment of `code-exec` as values, read once. Wrong variables stop the start and are all named; what would open
// it to strangers does too.

import { readFileSync } from 'node:fs';
import { BridgeError, messageOf } from '../base/errors.js';
import { didYouMean } from '../base/text/closest.js';
import { clipHarmless } from '../base/text/text.js';
import { tableOf } from '../settings/environment/setting-rules.js';
import { execVariables, token as tokenRule } from './exec-variables.js';

export type Listen =
  | { readonly at: 'stdio' }
  | { readonly at: 'tcp'; readonly host: string; readonly port: number }
  | { readonly at: 'socket'; readonly path: string };

export type ExecSettings = {
  readonly listen: Listen;
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

function listenOf(text: string | undefined): Listen {
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

// The environment of `code-exec`, as one zod schema: settings, errors and the table in its document are made from it.

import { z } from 'zod';
import { integer, list, optional, outputBytes, setting } from '../settings/environment/setting-rules.js';

const DAY_MS = 86_400_000;
const path = z.string().regex(/^\//);
/** What a header can hold, so that a request can bring it. */
export const token = z.string().regex(/^[!-~]{16,}$/);
/** A name or an IPv6 address, without a port, as requests are compared. */
const host = z
  .string()
  .toLowerCase()
  .regex(/^(?:[^:/[\]\s]+|[0-9a-f]*:[0-9a-f.]*:[0-9a-f:.]*)$/);
const origin = z.string().regex(/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/);
const program = z.string().regex(/^(?:\/.+|[^/]+)$/);

export const execVariables = z.object({
  MCP_EXEC_LISTEN: optional(z.string().regex(/^(?:unix:\/.+|.+:\d{1,5})$/), {
    meaning: 'Where it listens for Streamable HTTP; without it, it speaks on stdio.',
    default: 'stdio',
    allowed: 'host:port, [IPv6]:port or unix:/path',
  }),
  MCP_EXEC_TOKEN: optional(token, {
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

import { describe, expect, it } from 'vitest';
import { parseExecSettings } from '../../src/code-exec/exec-settings.js';

const TOKEN = 'a-token-of-some-length';

describe('parseExecSettings', () => {
  it('speaks on stdio by default', () => {
    expect(parseExecSettings({ PATH: '/bin' })).toEqual({
      listen: { at: 'stdio' },
      token: undefined,
      hosts: [],
      origins: [],
      maxOutputBytes: 40_000,
      timeoutMs: 60_000,
      maxTimeoutMs: 600_000,
      workdir: '/work',
      tmp: 'shared',
      concurrency: 32,
      processes: undefined,
      allow: undefined,
      deny: [],
      audit: undefined,
      warnings: [],
    });
  });

  it.each([
    ['127.0.0.1:80', { at: 'tcp', host: '127.0.0.1', port: 80 }],
    ['localhost:0', { at: 'tcp', host: 'localhost', port: 0 }],
    ['[::1]:8000', { at: 'tcp', host: '::1', port: 8000 }],
    ['unix:/run/exec.sock', { at: 'socket', path: '/run/exec.sock' }],
  ])('listens on %s without a token', (MCP_EXEC_LISTEN, listen) => {
    expect(parseExecSettings({ MCP_EXEC_LISTEN }).listen).toEqual(listen);
  });

  it.each(['0.0.0.0:80', '[::]:80', '192.168.1.2:80', 'code-sandbox:80', 'localhost.example:80'])(
    'wants a token where others can reach it: %s',
    (MCP_EXEC_LISTEN) => {
      expect(() => parseExecSettings({ MCP_EXEC_LISTEN })).toThrow(/there is no token: set MCP_EXEC_TOKEN/);
      expect(parseExecSettings({ MCP_EXEC_LISTEN, MCP_EXEC_TOKEN: TOKEN }).token).toBe(TOKEN);
    },
  );

  it('takes names as requests bring them', () => {
    expect(parseExecSettings({ MCP_EXEC_HOSTS: 'Code-Sandbox, ::1,10.0.0.7' }).hosts).toEqual([
      'code-sandbox',
      '::1',
      '10.0.0.7',
    ]);
  });

  it.each([
    [{ MCP_EXEC_LISTEN: 'localhost' }, "MCP_EXEC_LISTEN is 'localhost'; allowed: host:port"],
    [{ MCP_EXEC_LISTEN: 'localhost:70000' }, "MCP_EXEC_LISTEN is 'localhost:70000'"],
    [{ MCP_EXEC_TOKEN: 'short-secret' }, 'MCP_EXEC_TOKEN is not fit; allowed: at least 16 characters'],
    [{ MCP_EXEC_TOKEN: TOKEN, MCP_EXEC_TOKEN_FILE: '/t' }, 'both set'],
    [{ MCP_EXEC_TOKEN_FILE: '/no/such/file' }, 'MCP_EXEC_TOKEN_FILE cannot be read'],
    [{ MCP_EXEC_MAX_OUTPUT_BYTES: '1' }, 'from 100 to 64m'],
    [{ MCP_EXEC_AUDIT: 'stdout' }, "MCP_EXEC_AUDIT is 'stdout'; allowed: stderr, or an absolute path"],
    [{ MCP_EXEC_PROCESSES: '3' }, 'a whole number from 16 to 32768'],
    [{ MCP_EXEC_TMP: 'own' }, "MCP_EXEC_TMP is 'own'; allowed: shared or per-request"],
    [
      { MCP_EXEC_TOKEN: 'short-secret and wörds' },
      'MCP_EXEC_TOKEN is not fit; allowed: at least 16 characters',
    ],
    [{ MCP_EXEC_DENY: 'rm,./tool' }, 'names or absolute paths separated by commas'],
    [{ MCP_EXEC_HOSTS: 'sandbox:8000' }, "MCP_EXEC_HOSTS is 'sandbox:8000'; allowed: host names"],
    [{ MCP_EXEC_ORIGINS: 'https://example.com/' }, 'origins separated by commas'],
    [{ MCP_EXEC_TIMEOUTS_MS: '5' }, 'MCP_EXEC_TIMEOUTS_MS is not a setting. Did you mean '],
  ])('refuses %j', (env, message) => {
    expect(() => parseExecSettings(env)).toThrow(message);
    expect(() => parseExecSettings(env)).not.toThrow(/short-secret/);
  });
});

// `login` and `logout` as a shell starts them, at a real authorization server; the browser reads the address on stderr.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Browser } from '../support/oauth.js';
import { auth, server, useOAuthServers } from '../support/oauth-servers.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { command, commandHere } from './command.js';

let home: string;
let env: Record<string, string>;

useOAuthServers();
beforeEach(() => {
  home = tempHome();
  env = { MCP_BRIDGE_STATE_DIR: join(home, 'state') };
  mkdirSync(join(home, '.config/mcp/servers'), { recursive: true });
  const servers = {
    linear: { type: 'http', url: server.url },
    files: { command: 'npx', args: ['files'] },
    keyed: { type: 'http', url: `${server.url}?x`, headers: { Authorization: 'Bearer k3y-of-the-entry' } },
    closed: { type: 'http', url: `${server.url}?y`, oauth: false },
  };
  const file = join(home, '.config/mcp/servers/all.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const ADDRESS = /^ {2}(http:\S+)$/m;
const tokensFolder = () => join(home, 'state/tokens');
const kept = () => {
  const [name = ''] = readdirSync(tokensFolder());
  return JSON.parse(readFileSync(join(tokensFolder(), name), 'utf8')) as Record<string, string>;
};

async function untilRead(file: string, wanted: string): Promise<string> {
  await until(() => existsSync(file) && readFileSync(file, 'utf8') === wanted, `${wanted} to be opened`);
  return wanted;
}

/** Logs in with the browser on this machine; `stop` where it ends instead, and what is then typed. */
function logIn(stop?: RegExp, args: readonly string[] = []) {
  const child = spawn(process.execPath, [MAIN, 'login', 'linear', '--no-browser', ...args], {
    cwd: home,
    env: bridgeEnv(home, env),
  });
  let said = '';
  let visited: Promise<unknown> | undefined;
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const [, address] = ADDRESS.exec(said) ?? [];
    if (address === undefined || visited !== undefined) return;
    visited = new Browser().visit(address, stop).then(({ url }) => {
      if (stop !== undefined) child.stdin.write(`no address\n\n${url}\n`);
    });
  });
  return new Promise<{ stderr: string; exitCode: number | null }>((resolve) =>
    child.once('close', (exitCode) => resolve({ stderr: said, exitCode })),
  );
}

describe('login', () => {
  it('prints the address, waits for the browser, and keeps what only the user can read', async () => {
    const { stderr, exitCode } = await logIn();
    expect(stderr).toContain(`Logged in to 'linear' by ${auth.issuer}.\nGranted: mcp:tools\n`);
    expect(exitCode).toBe(0);
    const [name = ''] = readdirSync(tokensFolder());
    expect(statSync(join(tokensFolder(), name)).mode & 0o777).toBe(0o600);
    const { accessToken = '', refreshToken = '' } = kept();
    expect(accessToken.length).toBeGreaterThan(20);
    for (const secret of [accessToken, refreshToken]) expect(stderr).not.toContain(secret);
  });

  it.runIf(process.platform === 'linux')(
    'opens the browser by itself, and prints the address too',
    async () => {
      const opened = join(home, 'opened');
      writeFileSync(join(home, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`, { mode: 0o755 });
      const { PATH = '' } = process.env;
      let visited: Promise<unknown> | undefined;
      const { stderr, exitCode } = await command(['login', 'linear'], {
        home,
        env: { ...env, PATH: `${home}:${PATH}`, SSH_CONNECTION: '', SSH_TTY: '' },
        onStderr: (written) => {
          const [, address] = ADDRESS.exec(written) ?? [];
          if (address !== undefined)
            visited ??= untilRead(opened, address).then((url) => new Browser().visit(url));
        },
      });
      expect(await visited).toMatchObject({ status: 200 });
      expect(stderr).toContain('Logged in');
      expect(stderr).not.toContain('Paste');
      expect(exitCode).toBe(0);
    },
  );

  it('takes the address that a browser elsewhere ended at', async () => {
    const { stderr, exitCode } = await logIn(/\/callback\?/);
    expect(stderr).toContain('Paste the address that it ends at here.\nThat is not an address.\nLogged in');
    expect(exitCode).toBe(0);
  });

  it('--scope asks for more', async () => {
    const { stderr } = await logIn(undefined, ['--scope', 'mcp:tools  mcp:admin']);
    expect(stderr).toMatch(/Granted: (mcp:tools mcp:admin|mcp:admin mcp:tools)\n/);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends it with exit code %i', async (signal, expected) => {
    let isTold = false;
    const { stderr, exitCode } = await command(['login', 'linear', '--no-browser'], {
      home,
      env,
      onStderr: (written, pid) => {
        // A second one would not wait for the error to be said.
        if (isTold || !ADDRESS.test(written)) return;
        isTold = process.kill(pid, signal);
      },
    });
    expect(stderr).toContain('error: The login was cancelled.');
    expect(exitCode).toBe(expected);
  });

  it.each([
    ['liner', "There is no server 'liner'. Did you mean 'linear'?"],
    ['files', "Server 'files' is a program of this machine, which needs no login here"],
    ['keyed', "Server 'keyed' needs no login: its entry gives an Authorization header"],
    ['closed', "Server 'closed' has no login: its entry says `oauth: false`"],
  ])('refuses a login to %s, and says why', async (name, complaint) => {
    const { stderr, exitCode } = await commandHere(['login', name, '--no-browser'], { home, env });
    expect(stderr).toContain(`error: ${complaint}`);
    expect(stderr).not.toContain('k3y-of-the-entry');
    expect(exitCode).toBe(2);
  });

  it('without a name it says what it needs', async () => {
    const { stderr, exitCode } = await commandHere(['login'], { home, env });
    expect(stderr).toContain('error: login needs the name of a server.');
    expect(exitCode).toBe(2);
  });
});

describe('login --list', () => {
  it('says that nobody has logged in', async () => {
    const { stdout } = await commandHere(['login', '--list'], { home, env });
    expect(stdout).toBe('There are no logins. To log in: `mcp-sandbox-bridge login SERVER`\n');
  });

  it('shows who is, and neither tokens nor more of an address than its origin', async () => {
    await logIn();
    const { origin } = new URL(server.url);
    const { stdout } = await commandHere(['login', '--list'], { home, env });
    expect(stdout).toBe(`linear  refreshed by itself  ${origin}  by ${auth.issuer}\n`);
    const { stdout: json } = await commandHere(['login', '--list', '--json'], { home, env });
    const { logins } = JSON.parse(json) as { logins: object[] };
    expect(logins).toEqual([
      {
        state: 'kept',
        name: 'linear',
        origin,
        issuer: auth.issuer,
        scopes: ['mcp:tools'],
        refreshed: true,
        expiresAt: expect.stringMatching(/^20\d\d-/),
      },
    ]);
    for (const [name] of [readdirSync(tokensFolder())]) chmodSync(join(tokensFolder(), name ?? ''), 0o644);
    const { stdout: loose } = await commandHere(['login', '--list'], { home, env });
    expect(loose).toContain('unusable  can be read or written by other users');
  });
});

describe('logout', () => {
  it('revokes and forgets, also when the entry is gone', async () => {
    await logIn();
    const { accessToken } = kept();
    rmSync(join(home, '.config/mcp/servers/all.json'));
    const { stderr, exitCode } = await commandHere(['logout', 'linear'], { home, env });
    expect(stderr).toBe("Logged out of 'linear'.\n");
    expect(exitCode).toBe(0);
    expect(readdirSync(tokensFolder())).toEqual([]);
    const { status } = await fetch(server.url, { headers: { authorization: `Bearer ${accessToken}` } });
    expect(status).toBe(401);
  });

  it('without a login says so', async () => {
    const { stderr, exitCode } = await commandHere(['logout', 'linear'], { home, env });
    expect(stderr).toBe("There was no login for 'linear'.\n");
    expect(exitCode).toBe(0);
  });
});

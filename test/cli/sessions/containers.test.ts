// Sessions from a shell, through the real program: what one command leaves is there for the next, until somebody ends it; and
// `repl`, which has one of its own.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { ourContainers } from '../../support/nothing-left.js';
import { hostileServer } from '../../support/start-bridge.js';
import { eventually } from '../../support/time.js';
import { Desk } from '../../support/windows.js';
import { type CommandOptions, command, type Ended } from '../command.js';

const { TEST_STATE_DIR } = process.env;
/** What the suite knows of the engine already. */
const STATE: Readonly<Record<string, string>> =
  TEST_STATE_DIR === undefined ? {} : { MCP_BRIDGE_STATE_DIR: TEST_STATE_DIR };

let desk: Desk;
/** Of sessions that were seen. */
const seen = new Set<string>();
beforeAll(() => {
  desk = new Desk({ hostile: hostileServer() }, STATE);
});
afterAll(async () => {
  await desk[Symbol.asyncDispose]();
  const left = () => ourContainers().filter((name) => seen.has(name));
  expect(seen.size).toBeGreaterThan(0);
  expect(await eventually(() => left().length === 0)).toBe(true);
});

const say = (
  args: readonly string[],
  input: string,
  options: Pick<CommandOptions, 'onStderr'> = {},
): Promise<Ended> => command(args, { home: desk.home, env: desk.env(), input, ...options });

const inSession = (code: string, ...more: readonly string[]) =>
  say(['run', '-', '--session', 'shell', ...more], code);

type Listed = {
  readonly sessions: readonly {
    readonly name: string;
    readonly calls: number;
    readonly container: string;
  }[];
};
async function listed(): Promise<Listed['sessions']> {
  const { sessions } = JSON.parse((await say(['sessions', '--json'], '')).stdout) as Listed;
  const own = sessions.filter(({ name }) => name === 'shell');
  for (const { container } of own) seen.add(container);
  return own;
}

it('a session outlives its commands, is interrupted without an end, and ends at the user’s word', async () => {
  const first = await inSession(
    'import os\nkept = 40\nos.makedirs("out/d"); open("out/d/a", "w").write("x")\nNone',
  );
  expect(first).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining('): new') });
  const bridge = await desk.pid();
  const out = ['--out', 'results', '--servers', 'hostile'];
  const second = await inSession('print(await mcp_hostile.echo(text="hi"))\nkept + 2', ...out);
  expect(second).toMatchObject({ exitCode: 0, stdout: 'hi\n42\n' });
  expect(second.stderr).toContain('): call 2');
  expect(await desk.pid()).toBe(bridge);
  expect((await desk.status()).flatMap(({ windows }) => windows)).toEqual([]);
  let isSent = false;
  const code = 'import sys, time\nprint("go", file=sys.stderr, flush=True)\ntime.sleep(100)';
  const third = await say(['run', '-', '--session', 'shell'], code, {
    onStderr: (written, pid) => {
      if (isSent || !/^go$/m.test(written)) return;
      isSent = true;
      process.kill(pid, 'SIGINT');
    },
  });
  expect(third).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('its state is kept') });
  expect(await inSession('kept', '--require-session', '--json')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('"result":40'),
  });
  expect(await listed()).toMatchObject([{ calls: 4 }]);
  expect((await say(['sessions', 'end', 'shell'], '')).stdout).toMatch(/^Session 'shell' .* has ended\./);
  expect(await listed()).toEqual([]);
  const refused = await inSession('kept', '--require-session');
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('the user has ended it') });
  const anew = await inSession('kept');
  expect(anew).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the user has ended it') });
  expect(anew.stderr).toContain("NameError: name 'kept' is not defined");
  // It ends with its bridge, which the next one says.
  await desk.say('stop', '--now');
  expect((await inSession('1')).stderr).toContain('new and empty; the one before has ended: the bridge');
});

it('repl reads programs line by line, with a server', async () => {
  const lines = [
    'kept = 20',
    'kept + 1',
    '_ * 2',
    'for word in ("a", "b"):',
    '    print(await mcp_hostile.echo(text=word))',
    '',
    '1 / 0',
    'open("out/note.txt", "w").write(str(kept))',
    'exit()',
    'print("not this")',
  ];
  const { stdout, stderr, exitCode } = await say(['repl', '--servers', 'hostile'], `${lines.join('\n')}\n`);
  expect(stdout).toBe('21\n42\na\nb\n2\n');
  expect(stderr).toMatch(/^Session repl .*Loaded: mcp_hostile \(\d+ tools\)/m);
  expect(stderr).toContain('ZeroDivisionError: division by zero');
  expect(stderr).toMatch(/out\/note\.txt \(2 bytes\): \/.+$/m);
  expect(exitCode).toBe(1);
});

it('after a repl that has ended as it should, the next one says nothing of it', async () => {
  expect((await say(['repl'], 'import sys\nexit()\n')).exitCode).toBe(0);
  const { stderr } = await say(['repl'], '1\n');
  expect(stderr).toMatch(/^Session repl \(s-[a-z0-9]{16}\): new\. /m);
  expect(stderr).not.toMatch(/ended|gone|crash/);
});

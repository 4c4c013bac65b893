// Windows of one user that share a bridge: what is one for all, what stays each one's own, and what each hears when the
// bridge, another window or a server ends. Calls go to a server that has a state, so that no container is needed.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from 'vitest';
import { sharedFolder, sharedSockets } from '../../../src/service/windows/place.js';
import { processesWith } from '../../support/nothing-left.js';
import { RawAgent } from '../../support/raw-agent.js';
import { MAIN } from '../../support/start-bridge.js';
import { eventually, pause } from '../../support/time.js';
import { Desk, textOf } from '../../support/windows.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const KEEPING = fileURLToPath(new URL('../../fixtures/keeping-server.mjs', import.meta.url));
const ON_A_DESK = {
  MCP_BRIDGE_TOOLS: 'execute',
  MCP_BRIDGE_EXECUTE_SERVER: 'desk',
  MCP_BRIDGE_LOG_LEVEL: 'debug',
};
/** The suite has time for so many; as many as wanted by hand. */
const AT_ONCE = Number(process.env['WINDOWS_AT_ONCE'] ?? 30);
const LOST = /has ended while this call was under way/;

const desks: Desk[] = [];
function newDesk(env: Readonly<Record<string, string>> = {}): Desk {
  const desk = new Desk({ desk: { command: process.execPath, args: [KEEPING] } }, { ...ON_A_DESK, ...env });
  desks.push(desk);
  return desk;
}
afterEach(async () => {
  for (const desk of desks.splice(0)) await desk[Symbol.asyncDispose]();
});

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('windows of one user', () => {
  it('serves three windows of a folder by one process, with one process of each server', async () => {
    const desk = newDesk();
    const windows = [
      await desk.open({ name: 'one' }),
      await desk.open({ name: 'two' }),
      await desk.open({ name: 'three' }),
    ];
    const pids = await Promise.all(windows.map((window) => window.execute('pid')));
    expect(new Set(pids).size).toBe(1);
    await windows[0]?.execute('keep', 'a word');
    expect(await windows[2]?.execute('recall')).toBe('a word');
    const [bridge, ...others] = await desk.status();
    expect(others).toEqual([]);
    expect(bridge?.windows.map(({ client, isBusy }) => [client, isBusy])).toEqual([
      ['one', false],
      ['two', false],
      ['three', false],
    ]);
    expect(bridge?.servers).toEqual([{ server: 'desk', state: 'ready', windows: [1, 2, 3] }]);
    expect(bridge?.memory.bridgeBytes).toBeGreaterThan(1e6);
    expect(bridge?.memory.processesBytes).toBeGreaterThan(1e6);
    const shown = await desk.say('status');
    expect(shown).toContain(`Shared bridge ${bridge?.pid}`);
    expect(shown).toMatch(/desk +ready +1, 2, 3/);
    for (const window of windows) await window[Symbol.asyncDispose]();
    // The last window takes the servers with it; the bridge waits for the next one.
    expect(await eventually(() => !isThere(Number(pids[0])))).toBe(true);
    expect(isThere(bridge?.pid ?? 0)).toBe(true);
  });

  it('is a socket for its user alone, in a folder for its user alone', async () => {
    const desk = newDesk();
    await desk.open();
    const [bridge] = await desk.status();
    const socket = bridge?.socket ?? '';
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(join(socket, '..')).mode & 0o777).toBe(0o700);
  });

  it('gives a window in another folder servers of its own, which start there', async () => {
    const desk = newDesk();
    const elsewhere = join(desk.home, 'elsewhere');
    mkdirSync(elsewhere);
    const one = await desk.open();
    const other = await desk.open({ folder: elsewhere });
    expect(await one.execute('pid')).not.toBe(await other.execute('pid'));
    expect(await one.execute('env', 'PWD')).not.toBe(elsewhere);
    const [bridge, ...more] = await desk.status();
    expect(more).toEqual([]);
    expect(bridge?.windows.map(({ folder }) => folder)).toEqual([desk.folder, elsewhere]);
    expect(bridge?.servers.map(({ windows }) => windows)).toEqual([[1], [2]]);
  });

  it('gives a window with other settings a bridge of its own', async () => {
    const desk = newDesk();
    const one = await desk.open();
    const other = await desk.open({ env: { MCP_BRIDGE_TIMEOUT: '7' } });
    expect(await one.execute('pid')).not.toBe(await other.execute('pid'));
    const bridges = await desk.status();
    expect(bridges.map(({ windows }) => windows.length)).toEqual([1, 1]);
  });

  const stranger = strangerOrWhyNot();
  it.skipIf('why' in stranger)(
    `gives another user one of its own${'why' in stranger ? `: ${stranger.why}` : ''}`,
    async () => {
      const [ours, theirs] = [newDesk(), newDesk()];
      theirs.giveTo('uid' in stranger ? stranger.uid : -1);
      const [one, other] = [await ours.open(), await theirs.open()];
      await one.execute('keep', 'a word');
      expect(await other.execute('recall')).toBe('');
      const [ourBridge, theirBridge] = [await ours.pid(), await theirs.pid()];
      expect(theirBridge).not.toBe(ourBridge);
      expect(statSync(`/proc/${theirBridge}`).uid).toBe('uid' in stranger ? stranger.uid : -1);
    },
  );

  it('has a log level for each window', async () => {
    const desk = newDesk();
    await desk.open();
    const quiet = await desk.open({ env: { MCP_BRIDGE_LOG_LEVEL: 'silent' } });
    await quiet.execute('pid');
    expect((await desk.status()).length).toBe(1);
    expect(quiet.stderr()).toBe('');
  });

  it('puts what a server asks to the window whose call it is, and progress likewise', async () => {
    const desk = newDesk();
    const asked: string[] = [];
    const steps: string[] = [];
    const open = (name: string) =>
      desk.open({
        name,
        capabilities: { elicitation: {} },
        prepare: (client) =>
          client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
            asked.push(`${name}: ${params.message}`);
            return { action: 'accept', content: { name } };
          }),
      });
    const [one, two] = [await open('one'), await open('two')];
    expect(await one.execute('ask', 'Who?')).toContain('one');
    expect(await two.execute('ask', 'Who?')).toContain('two');
    expect(asked.map((line) => line.split(':')[0])).toEqual(['one', 'two']);
    await Promise.all(
      [one, two].map((window, at) =>
        window.call('steps', ['3', `of ${at}`], {
          onprogress: ({ message }) => steps.push(`${at} ${message}`),
        }),
      ),
    );
    expect(steps.some((step) => step.startsWith('0') && step.includes('of 0'))).toBe(true);
    expect(steps.filter((step) => /^0.*of 1|^1.*of 0/.test(step))).toEqual([]);
  });

  it('tells calls that were under way when it was killed, and goes on with another one', async () => {
    const desk = newDesk();
    const windows = [await desk.open(), await desk.open()];
    const before = await desk.pid();
    const lost = windows.map((window) => window.call('wait', ['600000']));
    await windows[0]?.execute('say', 'it has begun');
    process.kill(before, 'SIGKILL');
    for (const answer of await Promise.all(lost)) {
      expect(answer.isError).toBe(true);
      expect(textOf(answer)).toMatch(LOST);
    }
    expect(await Promise.all(windows.map((window) => window.execute('say', 'again')))).toEqual([
      'again',
      'again',
    ]);
    expect(await desk.pid()).not.toBe(before);
    expect((await windows[0]?.client.listTools())?.tools.map(({ name }) => name)).toEqual(['execute']);
  });

  it('takes the question of a dead bridge off the screen, and its answer for no other question', async () => {
    const desk = newDesk();
    const answers: Array<(name: string) => void> = [];
    const window = await desk.open({
      capabilities: { elicitation: {} },
      prepare: (client) =>
        client.setRequestHandler(
          ElicitRequestSchema,
          ({ params: { message } }) =>
            new Promise((resolve) => {
              answers.push((name) =>
                resolve({ action: 'accept', content: { name: `${name} to ${message}` } }),
              );
            }),
        ),
    });
    const first = window.call('ask', ['the first?']);
    await eventually(() => answers.length === 1);
    process.kill(await desk.pid(), 'SIGKILL');
    expect(textOf(await first)).toMatch(LOST);
    const second = window.call('ask', ['the second?']);
    await eventually(() => answers.length === 2);
    answers[0]?.('late');
    await pause(100);
    answers[1]?.('in time');
    expect(textOf(await second)).toContain('in time to');
  });

  it('ends the calls of a window that is killed, and no others', async () => {
    const desk = newDesk();
    const [one, other] = [await desk.open(), await desk.open()];
    const going = other.call('wait', ['1500']);
    const lost = one.call('wait', ['600000']).catch(() => 'gone');
    await other.execute('say', 'both have begun');
    process.kill(one.pid, 'SIGKILL');
    expect(await lost).toBe('gone');
    expect(textOf(await going)).toBe('waited 1500 ms');
    const [bridge] = await desk.status();
    expect(bridge?.windows.map(({ window }) => window)).toEqual([2]);
  });

  it('is one, however many start at once', async () => {
    const desk = newDesk();
    const windows = await Promise.all(Array.from({ length: AT_ONCE }, () => desk.open()));
    const [bridge, ...others] = await desk.status();
    expect(others).toEqual([]);
    expect(bridge?.windows.length).toBe(AT_ONCE);
    expect(processesWith('shared-bridge', desk.runtime).length).toBe(1);
    expect(new Set(await Promise.all(windows.map((window) => window.execute('pid')))).size).toBe(1);
  });

  it('serves an agent of 2026-07-28, through the end of a bridge', async () => {
    const desk = newDesk();
    await using agent = new RawAgent(desk.env(), desk.folder);
    const call = (command: string, ...args: readonly string[]) =>
      agent.request('tools/call', { name: 'execute', arguments: { command, args } }).answer;
    const first = (await call('pid')).result;
    const lost = call('wait', '600000');
    await call('say', 'it has begun');
    process.kill(await desk.pid(), 'SIGKILL');
    expect((await lost).result).toMatchObject({ isError: true, resultType: 'complete' });
    const second = (await call('pid')).result;
    expect(second?.['content']).not.toEqual(first?.['content']);
    expect(second?.['isError']).not.toBe(true);
  });

  it('ends at the word of its user when its calls have ended, and is there again when a window needs it', async () => {
    const desk = newDesk();
    const window = await desk.open();
    const before = await desk.pid();
    const going = window.call('wait', ['1000']);
    await window.execute('say', 'it has begun');
    const stopped = desk.say('stop');
    expect(textOf(await going)).toBe('waited 1000 ms');
    expect(await stopped).toBe(`The shared bridge ${before} has ended.\n`);
    // Its socket is closed before its parent has heard of its end.
    expect(await eventually(() => !isThere(before))).toBe(true);
    expect(await desk.status()).toEqual([]);
    expect(await window.execute('say', 'there')).toBe('there');
    expect(await desk.pid()).not.toBe(before);
    expect(await desk.say('restart')).toMatch(
      /has ended\.\nThe shared bridge of these settings runs as process \d+\.\n/,
    );
    expect(await window.execute('say', 'still')).toBe('still');
    await desk.say('stop', '--now');
    expect(await desk.say('stop')).toBe('No shared bridge runs, and none over HTTP.\n');
  });

  it('stays until runs that go on after an answer have ended and been asked for', async () => {
    const desk = newDesk({ MCP_BRIDGE_PATIENCE: '1' });
    const window = await desk.open();
    const before = await desk.pid();
    const first = await window.execute('wait', '5000');
    const wait = /\br-[a-z2-9]{16}\b/.exec(first)?.[0];
    expect((await desk.status())[0]?.windows.map(({ isBusy }) => isBusy)).toEqual([true]);
    const stopped = desk.say('stop');
    const parts: string[] = [];
    do parts.push(textOf(await window.goOn({ wait })));
    while (parts.at(-1)?.includes('[running'));
    expect(parts.at(-1)).toBe('waited 5000 ms');
    expect(await stopped).toBe(`The shared bridge ${before} has ended.\n`);
    // The next one knows nothing of it, and says so.
    expect(textOf(await window.goOn({ wait }))).toContain(`there is no run '${wait}' of yours`);
  });

  it('was killed: what it and a window have left goes with the next stop', async () => {
    const desk = newDesk();
    await desk.open();
    process.kill(await desk.pid(), 'SIGKILL');
    const folder = sharedFolder(desk.env());
    const [socket = ''] = sharedSockets(desk.env());
    writeFileSync(`${socket}.starts.999999999`, '');
    expect(await desk.say('stop')).toBe('No shared bridge runs, and none over HTTP.\n');
    expect(existsSync(folder)).toBe(false);
  });

  it('hands over to a newer version: what is under way ends in the old one, what is new begins in the new one', async () => {
    const desk = newDesk();
    const newer = packageOf(desk, '9.9.9');
    const old = await desk.open();
    const before = await desk.pid();
    const going = old.call('wait', ['1500']);
    await old.execute('say', 'it has begun');
    const young = await desk.open({ main: newer });
    expect(await young.execute('say', 'new')).toBe('new');
    expect(textOf(await going)).toBe('waited 1500 ms');
    // The window of the older version goes on in the newer bridge.
    expect(await old.execute('say', 'moved')).toBe('moved');
    const [bridge, ...others] = await desk.status();
    expect(others).toEqual([]);
    expect(bridge?.build.version).toBe('9.9.9');
    expect(bridge?.windows.length).toBe(2);
    expect(await eventually(() => !isThere(before))).toBe(true);
    // Whoever is new and older stays by itself.
    const alone = await desk.open();
    expect(await alone.execute('say', 'alone')).toBe('alone');
    expect(alone.stderr()).toContain('bridge of its own: it has a newer version');
    expect((await desk.status())[0]?.windows.length).toBe(2);
  });

  it('leaves a window alone where its settings cannot be used, and it says what is wrong', async () => {
    const desk = newDesk();
    const window = await desk.open({ env: { MCP_BRIDGE_TIMEOUT: 'soon' } });
    expect(textOf(await window.call('say', ['x']))).toContain('MCP_BRIDGE_TIMEOUT');
    expect(await desk.status()).toEqual([]);
  });

  it('is none where the folder of its socket could be entered by others', async () => {
    const desk = newDesk();
    mkdirSync(join(desk.runtime, 'mcp-sandbox-bridge'), { mode: 0o755 });
    const window = await desk.open();
    expect(await window.execute('say', 'alone')).toBe('alone');
    expect(window.stderr()).toContain('no folder for its socket');
  });

  it('is told by doctor, which starts none', async () => {
    const desk = newDesk();
    const found = async () => {
      const told = await desk.say('doctor', '--json').catch((thrown: { stdout: string }) => thrown.stdout);
      const { findings } = JSON.parse(told) as { findings: { name: string; detail: string }[] };
      return findings.find(({ name }) => name === 'shared bridge')?.detail;
    };
    expect(await found()).toBe('none runs; the first window starts one');
    await desk.open();
    expect(await found()).toMatch(
      /^process \d+, version .*, answers windows with these settings, 1 window now$/,
    );
  });
});

/** Another user of this machine, as whom the built program can be started. */
function strangerOrWhyNot(): { readonly uid: number } | { readonly why: string } {
  if (process.getuid?.() !== 0) return { why: 'only root can be another user' };
  const uid = 65_534;
  const { status } = spawnSync(process.execPath, [MAIN, '--version'], { uid, gid: uid, cwd: '/', env: {} });
  return status === 0 ? { uid } : { why: 'the checkout is in a folder that others cannot enter' };
}

/** The built package as another version; the path of its command line. */
function packageOf(desk: Desk, version: string): string {
  const folder = join(desk.home, 'other-version');
  mkdirSync(folder);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  cpSync(join(MAIN, '../..'), join(folder, 'dist'), { recursive: true });
  for (const name of ['sandbox-runtime', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, name));
  return join(folder, 'dist/cli/main.js');
}

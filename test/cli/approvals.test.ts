// `approvals`: the built program beside a bridge's inbox, in processes of their own. Whoever answers is told whether it
// counted, also where two answer at once, and on a terminal one key answers.

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Question } from '../../src/policy/approvals/question.js';
import { answerTo, inboxAt, question, soon, withArguments } from '../policy/inbox/questions.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { PATIENTLY } from '../support/time.js';
import { command, commandHere } from './command.js';

let home: string;
let opened: ReturnType<typeof inboxAt>;
beforeEach(() => {
  home = tempHome();
  opened = inboxAt(join(home, 'state'));
});
afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const env = () => ({ MCP_BRIDGE_STATE_DIR: join(home, 'state') });
/** As a process, where it answers; else in this one. */
const ask = (...args: string[]) => {
  const isProcess = args[0] === 'allow' || args[0] === 'deny';
  return (isProcess ? command : commandHere)(['approvals', ...args], { home, env: env() });
};
const post = (changed: Partial<Question> = {}) => {
  const asked = question(changed);
  return { ...asked, ...opened.inbox.post(asked) };
};

describe('the list', () => {
  it('has the questions that wait, the newest first, and nothing of their files', async () => {
    const old = post({ askedAt: '2026-01-01T00:00:00.000Z' });
    const fresh = post({ object: withArguments('{"n":1.0}', '{"n":2}'), principal: 'ann' });
    post().withdraw('expired');
    const { stdout, exitCode } = await ask();
    expect(exitCode).toBe(0);
    expect(stdout.indexOf(fresh.id)).toBeGreaterThan(0);
    expect(stdout.indexOf(fresh.id)).toBeLessThan(stdout.indexOf(old.id));
    const { approvals, unreadable } = JSON.parse((await ask('--json')).stdout);
    expect(unreadable).toEqual([]);
    expect(approvals).toMatchObject([
      {
        id: fresh.id,
        object: { calls: [{ arguments: '{"n":1.0}' }, {}] },
        principal: 'ann',
        pid: process.pid,
      },
      { id: old.id },
    ]);
    expect(approvals).toHaveLength(2);
  });

  it('has those of principals that have a folder of their own', async () => {
    const own = join(home, 'state/principals', 'a'.repeat(64));
    mkdirSync(own, { recursive: true });
    await using theirs = inboxAt(own);
    const asked = question({ principal: 'ann' });
    const { answered } = theirs.inbox.post(asked);
    expect((await ask()).stdout).toContain(asked.id);
    expect((await ask('deny', asked.id)).exitCode).toBe(0);
    expect(await answered).toMatchObject({ decision: 'no' });
  });

  it('passes over what is no question, and says so', async () => {
    const asked = post();
    writeFileSync(join(opened.folder.path, 'q-aaaaaaaaaaaaaaaa.json'), '{', { mode: 0o600 });
    symlinkSync(
      join(opened.folder.path, `${asked.id}.json`),
      join(opened.folder.path, 'q-bbbbbbbbbbbbbbbb.json'),
    );
    const { stdout } = await ask();
    expect(stdout).toContain(asked.id);
    expect(stdout).toMatch(/q-a{16}\.json is not the file of a question; it is skipped\./);
    expect(stdout).toMatch(/q-b{16}\.json is a symbolic link; it is skipped\./);
  });

  it('makes no folder where there is none', async () => {
    expect(await ask()).toMatchObject({ stdout: 'Nothing to approve.\n', exitCode: 0 });
    expect(readdirSync(home)).not.toContain('state');
  });
});

it('shows one whole, and nothing in it that a terminal obeys', async () => {
  const { id } = post({ object: withArguments(`{"a":"\u202e\u009b2J","b":[${'1,'.repeat(300)}2]}`) });
  const { stdout } = await ask('show', id.slice(2, 8));
  expect(stdout).toContain('"a": "\\u202e\\u009b2J"');
  expect(stdout.match(/^│ {5}1,$/gm)).toHaveLength(300);
  expect(JSON.parse((await ask('show', id, '--json')).stdout)).toMatchObject({ id, pid: process.pid });
});

describe('answers', () => {
  it.each([
    [['allow'], { decision: 'once' }, 'allowed once'],
    [['allow', '--for', 'run'], { decision: 'run' }, 'allowed for this run'],
    [
      ['allow', '--for', 'always', '--reason', 'my own repository'],
      { decision: 'always', word: 'my own repository' },
      'allowed always',
    ],
    [['deny', '--word', 'not today'], { decision: 'no', word: 'not today' }, 'denied'],
    [['deny'], { decision: 'no' }, 'denied'],
  ])('%j', async ([verb = '', ...options], given, words) => {
    const asked = post();
    const { stdout, stderr, exitCode } = await ask(verb, asked.id, ...options);
    expect([stderr, exitCode]).toEqual(['', 0]);
    expect(stdout).toMatch(new RegExp(`^${asked.id}: ${words} by \\S+ on the command line`));
    expect(await asked.answered).toEqual({ ...given, by: 'command line', who: expect.any(String) });
  });

  it.each([
    [['allow', 'ID', '--for', 'ever'], "--for is 'ever'; allowed: once, run, session, always."],
    [['allow', 'ID', '--reason', 'x'], "--reason needs --for always, but --for is 'once'."],
    [
      ['allow', 'ID', '--for', 'session'],
      "does not offer 'session'.\nnext:  It offers: once, run, always, no.",
    ],
    [['deny', 'ID', '--word', 'x'.repeat(501)], '--word has 501 characters; at most 500 are allowed.'],
    [['deny', 'q-zzzz'], "There is no open question 'q-zzzz'.\nnext:  Give the id of an open question"],
    [['show', 'q-'], "There is no open question 'q-'."],
  ])('%j is refused, with what would do', async (args, says) => {
    const { id, answered } = post();
    const words = ['approvals', ...args.map((word) => (word === 'ID' ? id : word))];
    const { stderr, exitCode } = await commandHere(words, { home, env: env() });
    expect(stderr).toContain(says);
    expect(exitCode).toBe(2);
    expect(await soon(answered, 20)).toBeUndefined();
  });

  it('says how a question has ended', async () => {
    const asked = post();
    asked.withdraw('answered in the agent');
    const { stderr, exitCode } = await ask('allow', asked.id);
    expect(stderr).toContain(
      `Question '${asked.id}' has ended: answered in the agent.\nnext:  There is nothing to approve now.`,
    );
    expect(exitCode).toBe(2);
  });

  it('of two at once, one counts, and each knows which', async () => {
    const asked = post();
    const [allowed, denied] = await Promise.all([
      ask('allow', asked.id, '--json'),
      ask('deny', asked.id, '--json'),
    ]);
    const { decision } = await asked.answered;
    const [first, second] = decision === 'no' ? [denied, allowed] : [allowed, denied];
    expect([first.exitCode, JSON.parse(first.stdout)]).toMatchObject([0, { taken: true }]);
    // It may have come when the question was no more: then it was told so at once.
    if (second.exitCode === 1) expect(JSON.parse(second.stdout)).toMatchObject({ taken: false });
    else {
      expect(second.exitCode).toBe(2);
      expect(JSON.parse(second.stdout).error.message).toContain('has ended: ');
    }
  });
});

describe('--watch', () => {
  /** What it prints, in a pipe or, by Python's pty, on a terminal; ended at the end. */
  function watching(onTerminal: boolean, ...options: string[]) {
    const argv = [process.execPath, MAIN, 'approvals', '--watch', ...options];
    const play = 'import pty, sys; pty.spawn(sys.argv[1:])';
    const [program = '', ...args] = onTerminal ? ['python3', '-c', play, ...argv] : argv;
    const child = spawn(program, args, {
      cwd: home,
      env: bridgeEnv(home, { ...env(), TERM: 'dumb', COLUMNS: '100' }),
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.stderr.resume();
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    return {
      said: () => said,
      heard: (words: string | RegExp) => vi.waitFor(() => expect(said).toMatch(words), PATIENTLY),
      press: (keys: string) => child.stdin.write(keys),
      ended,
      end: () => child.kill('SIGINT'),
      [Symbol.asyncDispose]: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }

  it('in a pipe prints a line when one comes and one when it has ended', async () => {
    const first = post();
    await using watch = watching(false);
    await watch.heard(`${first.id} asks: github.create_issue, 1 call, ask 'github.create_*'\n`);
    const second = post();
    await watch.heard(`${second.id} asks: `);
    first.withdraw('expired');
    await watch.heard(`${first.id} ended: expired\n`);
    opened.folder.putAnswer(answerTo(opened.folder, second.id, { decision: 'no' }));
    await watch.heard(`${second.id} ended: denied by ann on the command line\n`);
    watch.end();
    expect(await watch.ended).toBe(130);
    expect(watch.said().trim().split('\n')).toHaveLength(4);
  });

  it('with --json each line is an object', async () => {
    const asked = post();
    await using watch = watching(false, '--json');
    await watch.heard(/\n/);
    expect(JSON.parse(watch.said())).toMatchObject({ event: 'asked', id: asked.id, object: { calls: [{}] } });
  });

  const hasPty = process.platform === 'linux';
  it.runIf(hasPty).each([
    ['y', { decision: 'once' }],
    ['r', { decision: 'run' }],
    ['a', { decision: 'always' }],
    ['n', { decision: 'no' }],
  ])('on a terminal %s answers', async (key, given) => {
    const asked = post();
    await using watch = watching(true);
    await watch.heard('y yes, once · r for this run · a always · n no · l leave it · q quit');
    expect(watch.said()).toContain('"title": "Broken"');
    // Pressed again until it counts: one that was on its way when the question appeared is not taken.
    await vi.waitFor(async () => {
      watch.press(key);
      expect(await soon(asked.answered, 300)).toMatchObject(given);
    }, PATIENTLY);
    await watch.heard('Taken: ');
    watch.press('q');
    expect(await watch.ended).toBe(0);
  });

  it.runIf(hasPty)(
    'on a terminal a key that is not offered answers nothing, and the end elsewhere is told',
    async () => {
      const asked = post();
      await using watch = watching(true);
      await watch.heard('q quit');
      await vi.waitFor(
        () => {
          watch.press('s');
          expect(watch.said()).toContain("'s' is not one of the keys");
        },
        { ...PATIENTLY, interval: 200 },
      );
      asked.withdraw('answered in the agent');
      await watch.heard('Ended: answered in the agent.');
      const next = post();
      await watch.heard(next.id);
      watch.press('\u0003');
      expect(await watch.ended).toBe(0);
      expect(await soon(next.answered, 20)).toBeUndefined();
    },
  );

  it.runIf(hasPty)('on a terminal one that is left waits on', async () => {
    const asked = post();
    await using watch = watching(true);
    await watch.heard('q quit');
    const next = post();
    await vi.waitFor(
      () => {
        watch.press('l');
        expect(watch.said()).toContain(next.id);
      },
      { ...PATIENTLY, interval: 200 },
    );
    expect(await soon(asked.answered, 20)).toBeUndefined();
    expect(opened.folder.question(asked.id)).toMatchObject({ is: 'open' });
  });
});

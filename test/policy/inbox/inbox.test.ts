// Questions as files: who may answer, what an answer is bound to, and what is left behind.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { thisOwner } from '../../../src/base/process/owner.js';
import type { InboxFolder } from '../../../src/policy/inbox/inbox-folder.js';
import { answerText } from '../../../src/policy/inbox/question-file.js';
import { PATIENTLY } from '../../support/time.js';
import { answerTo, inboxAt, newId, newStateDir, question, soon, withArguments } from './questions.js';

const mode = (path: string) => statSync(path).mode & 0o777;
const file = (folder: InboxFolder, id: string, ending: 'json' | 'answer') =>
  join(folder.path, `${id}.${ending}`);
/** A file that nobody can still be writing. */
function put(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  lutimesSync(path, 1, 1);
}

it('makes nothing before the first question, and leaves nothing', async () => {
  const stateDir = newStateDir();
  const opened = inboxAt(stateDir);
  expect(readdirSync(stateDir)).toEqual([]);
  expect(await opened.inbox.pageOf(newId())).toBeUndefined();
  expect(readdirSync(stateDir)).toEqual([]);
  const one = question();
  opened.inbox.post(one);
  opened.inbox.post(question()).withdraw('expired');
  expect(mode(opened.folder.path)).toBe(0o700);
  expect(mode(file(opened.folder, one.id, 'json'))).toBe(0o600);
  await opened.inbox[Symbol.asyncDispose]();
  expect(readdirSync(opened.folder.path)).toEqual([]);
  rmSync(stateDir, { recursive: true });
});

it('an answer file answers, once', async () => {
  await using opened = inboxAt();
  const { inbox, folder } = opened;
  const asked = question();
  const { answered } = inbox.post(asked);
  const first = answerTo(folder, asked.id, { decision: 'no', word: 'not\ntoday\u202e' });
  expect(folder.putAnswer(first)).toBe(true);
  expect(folder.putAnswer(answerTo(folder, asked.id))).toBe(false);
  expect(await answered).toEqual({
    decision: 'no',
    word: 'not today\\u202e',
    by: 'command line',
    who: 'ann',
  });
  expect(folder.question(asked.id)).toMatchObject({
    is: 'closed',
    closed: { why: 'denied by ann on the command line: not today\\u202e', answer: first.mark },
  });
  expect(existsSync(file(folder, asked.id, 'answer'))).toBe(false);
  expect(readFileSync(file(folder, asked.id, 'json'), 'utf8')).not.toContain('Broken');
});

it('a word goes with a no and an always only', async () => {
  await using opened = inboxAt();
  const asked = question();
  const { answered } = opened.inbox.post(asked);
  opened.folder.putAnswer(answerTo(opened.folder, asked.id, { decision: 'run', word: 'ignored' }));
  expect(await answered).toEqual({ decision: 'run', by: 'command line', who: 'ann' });
});

it('what is withdrawn is never answered, and says why', async () => {
  await using opened = inboxAt();
  const { inbox, folder } = opened;
  const asked = question();
  const { answered, withdraw } = inbox.post(asked);
  const answer = answerTo(folder, asked.id);
  withdraw('expired');
  withdraw('cancelled');
  folder.putAnswer(answer);
  expect(await soon(answered, 300)).toBeUndefined();
  expect(folder.question(asked.id)).toMatchObject({ is: 'closed', closed: { why: 'expired' } });
});

it('two questions at once are answered each by its own', async () => {
  await using opened = inboxAt();
  const { inbox, folder } = opened;
  const [one, other] = [question(), question()];
  const [first, second] = [inbox.post(one), inbox.post(other)];
  folder.putAnswer(answerTo(folder, other.id, { decision: 'no' }));
  expect(await second.answered).toMatchObject({ decision: 'no' });
  expect(await soon(first.answered, 200)).toBeUndefined();
  folder.putAnswer(answerTo(folder, one.id, { decision: 'run' }));
  expect(await first.answered).toMatchObject({ decision: 'run' });
});

it('a link in the folder that leads to itself keeps no question off the command line', async () => {
  await using opened = inboxAt();
  const { inbox, folder, events } = opened;
  folder.make();
  const stray = file(folder, newId(), 'answer');
  symlinkSync(stray, stray);
  const asked = question();
  inbox.post(asked);
  expect(events).toEqual([]);
  expect(folder.question(asked.id)).toMatchObject({ is: 'open' });
});

it('an id that is no id is refused', async () => {
  await using opened = inboxAt();
  for (const id of ['', '../x', 'q-short', `q-${'a'.repeat(15)}/`])
    expect(() => opened.inbox.post(question({ id }))).toThrow(/no id of a new question/);
  const asked = question();
  opened.inbox.post(asked);
  expect(() => opened.inbox.post(asked)).toThrow(/no id of a new question/);
});

it('what is too large for a file is still on the page', async () => {
  await using opened = inboxAt(newStateDir(), { maxFileBytes: 5_000 });
  const asked = question({ object: withArguments(JSON.stringify('x'.repeat(5_000))) });
  opened.inbox.post(asked);
  expect(opened.events).toMatchObject([{ type: 'inbox.trouble' }]);
  expect(opened.folder.question(asked.id)).toBeUndefined();
  expect(await opened.inbox.pageOf(asked.id)).toMatch(/^http:\/\/127\.0\.0\.1:/);
});

describe('changes nothing', () => {
  type Attack = (path: string, folder: InboxFolder, id: string) => void;
  const good = (folder: InboxFolder, id: string, changed: object = {}) =>
    answerText(answerTo(folder, id, changed));
  const attacks: Readonly<Record<string, Attack>> = {
    'no JSON': (path) => put(path, '{"format":1,'),
    nothing: (path) => put(path, ''),
    'a field too many': (path, folder, id) => put(path, good(folder, id, { extra: 1 })),
    'an unknown decision': (path, folder, id) => put(path, good(folder, id, { decision: 'yes' })),
    'a decision that is not offered': (path, folder, id) =>
      put(path, good(folder, id, { decision: 'session' })),
    'the id of another question': (path, folder, id) => put(path, good(folder, id, { id: newId() })),
    'the digest of another text': (path, folder, id) =>
      put(path, good(folder, id, { digest: 'a'.repeat(64) })),
    'no digest': (path, folder, id) => put(path, good(folder, id, { digest: '' })),
    'a word too long': (path, folder, id) =>
      put(path, good(folder, id, { decision: 'no', word: 'x'.repeat(501) })),
    'too many bytes': (path, folder, id) => put(path, good(folder, id) + ' '.repeat(20_000)),
    'one that others may write': (path, folder, id) => {
      put(path, good(folder, id));
      chmodSync(path, 0o666);
    },
    'a symbolic link to an answer': (path, folder, id) => {
      put(`${folder.path}/elsewhere`, good(folder, id));
      symlinkSync(`${folder.path}/elsewhere`, path);
    },
    'a dangling symbolic link': (path) => symlinkSync('/nonexistent', path),
    'a folder': (path) => mkdirSync(path),
    'a fifo': (path) => void spawnSync('mkfifo', [path]),
  };

  it.each(Object.entries(attacks))('%s', async (_what, attack) => {
    await using opened = inboxAt();
    const { inbox, folder, events } = opened;
    const asked = question();
    const { answered } = inbox.post(asked);
    const path = file(folder, asked.id, 'answer');
    attack(path, folder, asked.id);
    lutimesSync(path, 1, 1);
    await vi.waitFor(
      () => expect(events).toMatchObject([{ type: 'inbox.refused', question: asked.id }]),
      PATIENTLY,
    );
    expect(await soon(answered, 50)).toBeUndefined();
    expect(folder.question(asked.id)).toMatchObject({ is: 'open' });
    // It does not keep a right one out, but for a folder, which only the user can have made.
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmSync(path, { recursive: true });
    await vi.waitFor(() => expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined(), PATIENTLY);
    expect(folder.putAnswer(answerTo(folder, asked.id))).toBe(true);
    expect(await answered).toMatchObject({ decision: 'once' });
  });

  it.runIf(process.getuid?.() === 0)('an answer that belongs to somebody else', async () => {
    const { chownSync } = await import('node:fs');
    await using opened = inboxAt();
    const { inbox, folder, events } = opened;
    const asked = question();
    const { answered } = inbox.post(asked);
    const path = file(folder, asked.id, 'answer');
    put(`${path}.aside`, good(folder, asked.id));
    chownSync(`${path}.aside`, 65_534, 65_534);
    const { renameSync } = await import('node:fs');
    renameSync(`${path}.aside`, path);
    await vi.waitFor(() => expect(events).toMatchObject([{ type: 'inbox.refused' }]), PATIENTLY);
    expect(await soon(answered, 50)).toBeUndefined();
  });

  it('a question file that was changed: what was shown is not what is asked', async () => {
    await using opened = inboxAt();
    const { inbox, folder, events } = opened;
    const asked = question();
    const { answered } = inbox.post(asked);
    const path = file(folder, asked.id, 'json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('Broken', 'Harmless'));
    folder.putAnswer(answerTo(folder, asked.id));
    await vi.waitFor(() => expect(events).toMatchObject([{ type: 'inbox.refused' }]), PATIENTLY);
    expect(await soon(answered, 50)).toBeUndefined();
  });

  it('an answer that lies there before the question', async () => {
    await using opened = inboxAt();
    const { inbox, folder } = opened;
    const asked = question();
    folder.make();
    put(file(folder, asked.id, 'answer'), 'anything');
    const { answered } = inbox.post(asked);
    expect(await soon(answered, 200)).toBeUndefined();
    expect(existsSync(file(folder, asked.id, 'answer'))).toBe(false);
  });
});

describe('a folder that cannot be used', () => {
  it('is told, and the question is on the page all the same', async () => {
    const stateDir = newStateDir();
    symlinkSync('/tmp', join(stateDir, 'approvals'));
    await using opened = inboxAt(stateDir);
    const asked = question();
    opened.inbox.post(asked);
    expect(opened.events).toMatchObject([
      { type: 'inbox.trouble', message: expect.stringContaining('a link, or not a folder') },
    ]);
    expect(await opened.inbox.pageOf(asked.id)).toBeDefined();
    expect(existsSync(`/tmp/${asked.id}.json`)).toBe(false);
  });

  it('that was open to others is closed', async () => {
    const stateDir = newStateDir();
    mkdirSync(join(stateDir, 'approvals'));
    chmodSync(join(stateDir, 'approvals'), 0o777);
    await using opened = inboxAt(stateDir);
    opened.inbox.post(question());
    expect(mode(opened.folder.path)).toBe(0o700);
  });
});

describe('what dead bridges have left', () => {
  /** The file of a bridge that has ended: the same text with the number and start of a process that is no more. */
  function leftBy(folder: InboxFolder, id: string, changed: object): void {
    const path = file(folder, id, 'json');
    const text = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...text, owner: { ...thisOwner(), ...changed } }), { mode: 0o600 });
  }
  const { pid: deadPid } = spawnSync(process.execPath, ['-e', '']);

  it.runIf(process.platform === 'linux').each([
    ['its process is gone', { pid: deadPid }],
    ['its number is another process now', { startTime: '1' }],
    ['the machine was started anew', { bootId: 'another' }],
  ])('is not listed, and goes with the next question: %s', async (_why, changed) => {
    await using opened = inboxAt();
    const { inbox, folder } = opened;
    const asked = question();
    inbox.post(asked);
    leftBy(folder, asked.id, changed);
    put(file(folder, asked.id, 'answer'), 'x');
    expect(folder.look().questions).toEqual([]);
    const next = question();
    inbox.post(next);
    expect(readdirSync(folder.path)).toEqual([`${next.id}.json`]);
  });

  it('the question of a living bridge stays, also of another machine', async () => {
    await using opened = inboxAt();
    const { inbox, folder } = opened;
    const asked = question();
    inbox.post(asked);
    leftBy(folder, asked.id, { pid: deadPid, machine: 'another' });
    inbox.post(question());
    expect(folder.look().questions).toHaveLength(2);
    folder.sweep(Date.now() + 10 * 3_600_000);
    expect(folder.look().questions).toEqual([]);
  });

  it('foreign names stay, leftovers of ours go', async () => {
    await using opened = inboxAt();
    const { inbox, folder } = opened;
    folder.make();
    put(join(folder.path, 'notes.txt'), 'mine');
    put(join(folder.path, `${newId()}.answer`), 'x');
    put(join(folder.path, `${newId()}.json.01234567-89ab-cdef-0123-456789abcdef`), '{');
    inbox.post(question());
    expect(readdirSync(folder.path).filter((name) => !name.endsWith('.json'))).toEqual(['notes.txt']);
  });
});

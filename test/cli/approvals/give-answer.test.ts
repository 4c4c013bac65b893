// An answer of the command line where its bridge does not take it: it is taken back, and whoever gave it knows.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { chosenQuestion, giveAnswer, surveyApprovals } from '../../../src/cli/approvals/give-answer.js';

import { inboxAt, newStateDir, question } from '../../policy/inbox/questions.js';
import { HANGS_MS } from '../../support/time.js';

let stateDir: string;
beforeEach(() => {
  stateDir = newStateDir();
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(stateDir, { recursive: true, force: true });
});

const waiting = (id: string) => chosenQuestion(id, surveyApprovals(stateDir));

/** The question of a bridge that lives and looks at nothing: our own process, whose inbox has ended. */
async function unheard(): Promise<string> {
  const { inbox, folder } = inboxAt(stateDir);
  const asked = question();
  inbox.post(asked);
  const path = join(folder.path, `${asked.id}.json`);
  const text = readFileSync(path, 'utf8');
  await inbox[Symbol.asyncDispose]();
  writeFileSync(path, text, { mode: 0o600 });
  return asked.id;
}

it('an answer that is not taken does not count later', async () => {
  const id = await unheard();
  await expect(giveAnswer(waiting(id), 'once', undefined, { withinMs: 200 })).rejects.toMatchObject({
    code: 'E_STATE',
    message: expect.stringContaining('did not accept the answer within 0.2 s, so the answer was withdrawn.'),
  });
  expect(readdirSync(join(stateDir, 'approvals'))).toEqual([`${id}.json`]);
});

it('one that comes second, and whose first is not taken, says so', async () => {
  const id = await unheard();
  const asked = waiting(id);
  // The first waits on for as long as the second does: its time is not up before.
  const now = vi.spyOn(Date, 'now').mockReturnValue(0);
  const first = expect(giveAnswer(asked, 'no', undefined, { withinMs: 600 })).rejects.toThrow(/withdrawn/);
  const second = expect(giveAnswer(asked, 'once', undefined, { withinMs: 200 })).rejects.toThrow(
    /Somebody else has answered/,
  );
  now.mockReturnValue(400);
  await second;
  now.mockReturnValue(800);
  await first;
});

it('one whose question goes away is late', async () => {
  const id = await unheard();
  const asked = waiting(id);
  const given = giveAnswer(asked, 'once', undefined, { withinMs: HANGS_MS });
  asked.folder.remove(id);
  expect(await given).toEqual({ is: 'late', why: 'its bridge has ended' });
});

it('one to a text that the bridge did not write is refused', async () => {
  await using opened = inboxAt(stateDir);
  const asked = question();
  opened.inbox.post(asked);
  const path = join(opened.folder.path, `${asked.id}.json`);
  writeFileSync(path, readFileSync(path, 'utf8').replace('Broken', 'Harmless'));
  await expect(giveAnswer(waiting(asked.id), 'once', undefined)).rejects.toThrow(
    /no longer the one that was shown/,
  );
});

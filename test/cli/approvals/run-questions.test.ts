// Questions of a command that runs code, where no key of a terminal can answer them.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RunQuestions } from '../../../src/cli/approvals/run-questions.js';
import type { Question } from '../../../src/policy/approvals/question.js';
import { inboxAt, question } from '../../policy/inbox/questions.js';
import { tempHome } from '../../support/start-bridge.js';
import { PATIENTLY } from '../../support/time.js';

let home: string;
let opened: ReturnType<typeof inboxAt>;
let said = '';
beforeEach(() => {
  home = tempHome();
  opened = inboxAt(join(home, 'state'));
  said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await opened[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const post = (changed: Partial<Question> = {}) => {
  const asked = question(changed);
  return { ...asked, ...opened.inbox.post(asked) };
};
const watched = (isOwn = () => true) => new RunQuestions(join(home, 'state'), { isOwn, hasKeys: false });
const told = (id: string) => vi.waitFor(() => expect(said).toContain(id), PATIENTLY);

it('each is told once, with its id and the commands that answer it', async () => {
  await using questions = watched();
  const first = post();
  await told(first.id);
  const second = post();
  await told(second.id);
  expect(said.match(/needs your approval/g)).toHaveLength(2);
  expect(said).toContain(`${first.id}: github.create_issue needs your approval (1 call, `);
  expect(said).toContain(`approvals allow ${first.id}\` allows it.`);
  expect(questions.isAsking).toBe(false);
});

it('those that nobody answered in time are known at the end, and no others', async () => {
  await using questions = watched();
  const late = post({ expiresAt: new Date(Date.now() - 1).toISOString() });
  const denied = post();
  const open = post();
  for (const { id } of [late, denied, open]) await told(id);
  late.withdraw('expired');
  denied.withdraw('answered by command line');
  expect(await questions.end()).toEqual([late.id]);
});

it('those of others are passed over', async () => {
  const looked = vi.fn(() => false);
  await using questions = watched(looked);
  post({ expiresAt: new Date(Date.now() - 1).toISOString() }).withdraw('expired');
  post();
  await vi.waitFor(() => expect(looked).toHaveBeenCalled(), PATIENTLY);
  expect(await questions.end()).toEqual([]);
  expect(said).toBe('');
});

it('without any question nothing is said, and the end does not wait', async () => {
  await using questions = watched();
  expect(await questions.end()).toEqual([]);
  expect(said).toBe('');
});

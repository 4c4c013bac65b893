// Questions for tests of the inbox, and an inbox in a state directory of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { drawnLetters } from '../../../src/base/crypto.js';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import type { Question } from '../../../src/policy/approvals/question.js';
import { type InboxOptions, openInbox } from '../../../src/policy/inbox/inbox.js';
import { InboxFolder } from '../../../src/policy/inbox/inbox-folder.js';
import { QuestionPage } from '../../../src/watch/front/question-page.js';

export const newId = (): string => `q-${drawnLetters(16)}`;

export const question = (changed: Partial<Question> = {}): Question => ({
  id: newId(),
  object: {
    kind: 'tool',
    server: 'github',
    tool: 'create_issue',
    calls: [{ arguments: '{"title":"Broken","n":12345678901234567890}' }],
  },
  rule: "ask 'github.create_*'",
  run: '4f1c2a9b-12',
  client: 'claude-code 2.1.330',
  principal: undefined,
  session: undefined,
  offers: ['once', 'run', 'always', 'no'],
  askedAt: new Date().toISOString(),
  expiresAt: new Date(Date.now() + 600_000).toISOString(),
  ...changed,
});

export const withArguments = (...texts: readonly string[]): Question['object'] => ({
  ...question().object,
  calls: texts.map((text) => ({ arguments: text })),
});

export const newStateDir = (): string => mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'inbox-'));

/** With what it tells, and its folder; removes its state directory at the end. */
export function inboxAt(stateDir = newStateDir(), options: Partial<InboxOptions> = {}) {
  const events: BridgeEvent[] = [];
  const observer = (event: BridgeEvent) => void events.push(event);
  const inbox = openInbox({ stateDir, observer, openPage: QuestionPage.open, lookEveryMs: 50, ...options });
  return {
    inbox,
    events,
    stateDir,
    folder: new InboxFolder(stateDir),
    [Symbol.asyncDispose]: async () => {
      await inbox[Symbol.asyncDispose]();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** The digest that an answer to a filed question has to name. */
export function digestOfFiled(folder: InboxFolder, id: string): string {
  const found = folder.question(id);
  if (found === undefined || 'why' in found || found.is !== 'open') throw new Error(`${id} is not open`);
  return found.digest;
}

export const answerTo = (folder: InboxFolder, id: string, changed: object = {}) => ({
  ...{ id, digest: digestOfFiled(folder, id), decision: 'once' as const, word: undefined },
  ...{ who: 'ann', by: 'command line' as const, mark: drawnLetters(16), ...changed },
});

/** What `promise` is resolved with, or `undefined` where it is not within `ms`. */
export const soon = <T>(promise: Promise<T>, ms: number): Promise<T | undefined> =>
  Promise.race([promise, sleep(ms, undefined)]);

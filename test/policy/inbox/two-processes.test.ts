// Processes that meet in a folder: several that answer the same question at the same time, and a bridge that is killed while
// its question waits.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { chosenQuestion, giveAnswer, surveyApprovals } from '../../../src/cli/approvals/give-answer.js';

import { InboxFolder } from '../../../src/policy/inbox/inbox-folder.js';
import { questionText } from '../../../src/policy/inbox/question-file.js';
import { until } from '../../support/time.js';
import { answerTo, newStateDir, question } from './questions.js';

/** Says that it is there and waits for the word, so that all try at once, and prints whether it was first. */
const RACER = `
const [folderUrl, stateDir, answer, word] = process.argv.slice(1);
const { InboxFolder } = await import(folderUrl);
const { existsSync, writeFileSync } = await import('node:fs');
writeFileSync(word + '.' + process.pid, '');
while (!existsSync(word));
process.stdout.write(String(new InboxFolder(stateDir).putAnswer(JSON.parse(answer))));
`;
const built = (name: string) => pathToFileURL(`dist/policy/inbox/${name}.js`).href;
const BUILT = built('inbox-folder');

/** A bridge that asks, and waits. */
const ASKER = `
const [inboxUrl, stateDir, question] = process.argv.slice(1);
const { openInbox } = await import(inboxUrl);
openInbox({ stateDir, observer: () => {} }).post(JSON.parse(question));
process.stdout.write('asked');
setInterval(() => {}, 1000);
`;

it('of four that answer at once, one is first, and its answer is whole', async () => {
  const stateDir = newStateDir();
  const folder = new InboxFolder(stateDir);
  const asked = question();
  folder.make();
  // No bridge takes an answer away here, so that each of them meets what the first one has put.
  folder.write(asked.id, questionText(asked));
  const places = newStateDir();
  const word = join(places, 'word');
  const racers = ['ann', 'ben', 'cem', 'dee'].map(async (who) => {
    const answer = JSON.stringify(answerTo(folder, asked.id, { who }));
    const args = ['--input-type=module', '-e', RACER, BUILT, stateDir, answer, word];
    const child = spawn(process.execPath, args);
    return { who, said: await text(child.stdout) };
  });
  await until(() => readdirSync(places).length === racers.length);
  writeFileSync(word, '');
  const ended = await Promise.all(racers);
  const first = ended.filter(({ said }) => said === 'true');
  expect(first).toHaveLength(1);
  expect(ended.filter(({ said }) => said === 'false')).toHaveLength(3);
  expect(folder.answer(asked.id)).toMatchObject({ is: 'answer', answer: { who: first[0]?.who } });
  for (const each of [stateDir, places]) rmSync(each, { recursive: true });
});

it.runIf(process.platform !== 'win32')(
  'the question of a bridge that is killed is nobody’s any more',
  async () => {
    const stateDir = newStateDir();
    const asked = question();
    const args = ['--input-type=module', '-e', ASKER, built('inbox'), stateDir, JSON.stringify(asked)];
    const bridge = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(bridge.stdout, 'data');
      const survey = surveyApprovals(stateDir);
      expect(survey.open.map(({ question: { id }, pid }) => [id, pid])).toEqual([[asked.id, bridge.pid]]);
      const waiting = chosenQuestion(asked.id, survey);
      bridge.kill('SIGKILL');
      await once(bridge, 'close');
      expect(surveyApprovals(stateDir)).toEqual({ open: [], ended: [], unreadable: [] });
      expect(readdirSync(join(stateDir, 'approvals'))).toEqual([]);
      expect(await giveAnswer(waiting, 'once', undefined)).toEqual({
        is: 'late',
        why: 'its bridge has ended',
      });
      expect(readdirSync(join(stateDir, 'approvals'))).toEqual([]);
    } finally {
      bridge.kill('SIGKILL');
      rmSync(stateDir, { recursive: true, force: true });
    }
  },
);

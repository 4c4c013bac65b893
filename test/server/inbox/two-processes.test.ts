// Several processes that answer the same question at the same time: one of them has answered, and each knows which.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { answerTo, inboxAt, question } from './questions.js';

/** Waits for the given moment, so that all try at once, and prints whether it was first. */
const RACER = `
const [folderUrl, stateDir, answer, at] = process.argv.slice(1);
const { InboxFolder } = await import(folderUrl);
while (Date.now() < Number(at));
process.stdout.write(String(new InboxFolder(stateDir).putAnswer(JSON.parse(answer))));
`;
const BUILT = pathToFileURL('dist/server/inbox/inbox-folder.js').href;

it('one is first', async () => {
  await using opened = inboxAt();
  const asked = question();
  const { answered } = opened.inbox.post(asked);
  const at = Date.now() + 3_000;
  const racers = ['ann', 'ben', 'cem', 'dee'].map(async (who) => {
    const answer = JSON.stringify(
      answerTo(opened.folder, asked.id, { who, decision: who === 'ann' ? 'no' : 'once' }),
    );
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      RACER,
      BUILT,
      opened.stateDir,
      answer,
      `${at}`,
    ]);
    return { who, said: await text(child.stdout) };
  });
  const ended = await Promise.all(racers);
  const { who } = await answered;
  // Whoever comes after the answer was taken puts one that answers nothing.
  expect(ended.filter(({ said }) => said === 'true').map((one) => one.who)).toContain(who);
  expect(ended.filter(({ said }) => said === 'false').length).toBeLessThan(4);
});

// Servers out of a record: what was asked is answered once, whatever the order, and what was not asked is refused and told.

import { expect, it } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { ReplayedSlot, Tape } from '../../src/servers/catalog/replayed-slot.js';
import { listResources, readResource } from '../../src/servers/server/resources.js';
import { NEVER } from '../support/time.js';
import { spec } from './hostile.js';

const say = (text: string, answer?: string) => ({
  server: 'desk',
  method: 'tools/call',
  sent: `{"name":"say","arguments":{"text":"${text}","n":1}}`,
  ...(answer === undefined ? { error: { code: 'E_LIMIT', message: 'Too much.' } } : { answer }),
});

async function replayed(tape: Tape) {
  const entry = spec('desk', 'nothing', []);
  return await new ReplayedSlot(entry, tape, []).get();
}

it('gives each recorded answer once, in whatever order it is asked for', async () => {
  const tape = new Tape([say('a', '{"content":[1]}'), say('b', '{"content":[2.50]}'), say('c')]);
  const desk = await replayed(tape);
  const call = (text: string) =>
    desk.callTool('say', new RawJson(`{"n":1, "text":"${text}"}`), () => {}, NEVER);
  expect((await call('b')).text).toBe('{"content":[2.50]}');
  await expect(call('c')).rejects.toMatchObject({ code: 'E_LIMIT', message: 'Too much.' });
  expect((await call('a')).text).toBe('{"content":[1]}');
  expect(tape).toMatchObject({ given: 3, left: 0, differences: [] });
});

it('refuses what the run did not ask, and says what it asked instead', async () => {
  const tape = new Tape([say('a', '{}')]);
  const desk = await replayed(tape);
  await expect(
    desk.callTool('say', new RawJson('{"text":"z","n":1}'), () => {}, NEVER),
  ).rejects.toMatchObject({
    code: 'E_TOOL_FAILED',
    message: expect.stringMatching(/did not ask tools\/call of server 'desk' with .*"z".*; it asked .*"a"/),
  });
  expect(tape).toMatchObject({ given: 0, left: 1 });
  expect(tape.differences).toHaveLength(1);
});

it('answers for resources as a server does', async () => {
  const tape = new Tape([
    {
      server: 'desk',
      method: 'resources/list',
      sent: '{}',
      answer: '{"resources":[{"uri":"a:b","name":"b"}]}',
    },
    { server: 'desk', method: 'resources/read', sent: '{"uri":"a:b"}', answer: '{"contents":[{"n":1.0}]}' },
  ]);
  const desk = await replayed(tape);
  expect((await listResources(desk, NEVER)).items).toEqual([{ uri: 'a:b', name: 'b' }]);
  expect((await readResource(desk, 'a:b', NEVER)).text).toBe('{"contents":[{"n":1.0}]}');
});

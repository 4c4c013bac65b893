// The id of a message that cannot be parsed: wherever it stands, however the bytes are cut, and nothing that only looks
// like one.

import { describe, expect, it } from 'vitest';
import { EnvelopeReader, envelopeOf } from '../../src/wire/envelope.js';

const request = (id: string | undefined) => ({ id, hasMethod: true, isAnswer: false });
const answer = (id: string | undefined) => ({ id, hasMethod: false, isAnswer: true });
const neither = (id?: string) => ({ id, hasMethod: false, isAnswer: false });

describe('what a message is', () => {
  it.each([
    ['id first', '{"id":7,"method":"m","params":{"id":8}}', request('7')],
    [
      'id in the middle',
      ' { "method" : "m" , "id" : "a\\"}b" , "params" : [ {"id":8} ] }',
      request('"a\\"}b"'),
    ],
    [
      'id last, after its likes',
      '{"params":{"id":8,"x":["}",{"id":9}]},"method":"m","id":-1.5e3}',
      request('-1.5e3'),
    ],
    ['a key with an escape', '{"\\u0069d":7,"meth\\u006fd":"m"}', request('7')],
    ['a repeated id', '{"id":7,"id":8,"result":{}}', answer('8')],
    ['NaN', '{"jsonrpc":"2.0","result":{"x":NaN,"y":[-Infinity]},"id":3}', answer('3')],
    ['an error', '{"error":NaN,"id":3}', answer('3')],
    ['a string without an end', '{"id":3,"result":{"text":"abc', answer('3')],
    ['a long id', `{"id":"${'x'.repeat(2_000)}","method":"m"}`, request(undefined)],
    ['an id of another kind', '{"id":{"id":3},"method":"m"}', request(undefined)],
    ['null', '{"id":null,"result":{}}', answer(undefined)],
    ['a method by value only', '{"id":3,"x":"method"}', neither('3')],
    ['a list', '[{"id":3,"method":"m"}]', neither()],
    ['words', 'started {"id":3,"method":"m"}', neither()],
    ['nothing', '', neither()],
    ['no colon', '{"id" 3,"method":"m"}', neither()],
    ['half an escape', '{"\\u00":1,"id":3}', neither('3')],
  ])('%s', (_what, text, envelope) => {
    expect(envelopeOf(text)).toEqual(envelope);
    const reader = new EnvelopeReader();
    for (const byte of Buffer.from(text)) reader.push(Buffer.from([byte]));
    expect(reader.take()).toEqual(envelope);
    expect(reader.take()).toEqual(neither());
  });
});

it('takes linear time and constant memory, however deep', () => {
  const reader = new EnvelopeReader();
  reader.push(Buffer.from('{"params":'));
  const chunk = Buffer.from('[{"a":"\\\\\\"x"},'.repeat(65_536));
  const before = process.memoryUsage().arrayBuffers;
  for (let megabyte = 0; megabyte < 64; megabyte++) reader.push(chunk);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  expect(reader.take()).toEqual(neither());
});

import { expect, test } from 'vitest';
import { EventReader } from '../../src/downstream/remote/event-reader.js';

const STREAM =
  ': hello\r\n\r\nid: 7\r\nretry: 250\r\nevent: endpoint\r\ndata: /é?a=1\r\n\r\n' +
  'data: {"a":\ndata:  1}\n\nid\nevent: none\n\nnoise\ndata\n\ndatabase: x\ndata:last\n\ndata: unfinished';

test('events are the same wherever the bytes are cut', () => {
  const bytes = Buffer.from(STREAM);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new EventReader(100);
    const events = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
    expect(events).toEqual([
      { type: 'endpoint', data: '/é?a=1' },
      { type: 'message', data: '{"a":\n 1}' },
      { type: 'message', data: '' },
      { type: 'message', data: 'last' },
    ]);
    expect(reader).toMatchObject({ lastId: '', retryMs: 250 });
  }
});

test('an event above the limit is counted, with its two ends, and the next one is read', () => {
  const answer = `{"jsonrpc":"2.0","result":"${'x'.repeat(200)}","id":12}`;
  const inOne = new EventReader(100).push(Buffer.from(`data: ${answer}\n\ndata: next\n\n`));
  expect(inOne).toEqual([
    { oversized: answer.length + 6, head: answer, tail: answer.slice(-128) },
    { type: 'message', data: 'next' },
  ]);
  const lines = `data: {"id":3,\n${`data: "${'k'.repeat(40)}":1,\n`.repeat(3)}data: "z":0}\n\ndata: next\n\n`;
  expect(new EventReader(100).push(Buffer.from(lines))).toEqual([
    { oversized: expect.any(Number), head: '{"id":3,', tail: '"z":0}' },
    { type: 'message', data: 'next' },
  ]);
});

test('a stream that never ends an event is held in constant memory', () => {
  const reader = new EventReader(1024);
  const chunk = Buffer.from(`data: ${'x'.repeat(1017)}\n`.repeat(1024));
  const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  for (let megabyte = 0; megabyte < 128; megabyte++) reader.push(chunk);
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(heapUsed + arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
});

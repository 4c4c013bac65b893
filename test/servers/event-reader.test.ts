import { expect, it } from 'vitest';
import { EventReader } from '../../src/servers/remote/event-reader.js';

const STREAM =
  ': hello\r\n\r\nid: 7\r\nretry: 250\r\nevent: endpoint\r\ndata: /é?a=1\r\n\r\n' +
  'data: {"a":\ndata:  1}\n\nid\nevent: none\n\nnoise\ndata\n\ndatabase: x\ndata:last\n\ndata: unfinished';

it.each([
  ['LF and CR LF', STREAM],
  ['LF', STREAM.replaceAll('\r\n', '\n')],
  ['CR LF', STREAM.replaceAll(/\r?\n/g, '\r\n')],
  ['CR', STREAM.replaceAll(/\r?\n/g, '\r')],
  ['LF, behind a byte order mark', `\ufeff${STREAM}`],
  ['CR, behind a byte order mark', `\ufeff${STREAM.replaceAll(/\r?\n/g, '\r')}`],
])('events are the same wherever the bytes are cut, with lines that end with %s', (_ends, stream) => {
  const bytes = Buffer.from(stream);
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

it('an event is there with the CR that ends it, and a byte order mark within a stream is data', () => {
  const reader = new EventReader(100);
  expect(reader.push(Buffer.from('data: a\r\r'))).toEqual([{ type: 'message', data: 'a' }]);
  expect(reader.push(Buffer.from('\n'))).toEqual([]);
  expect(reader.push(Buffer.from('data: \ufeffb\n\n'))).toEqual([{ type: 'message', data: '\ufeffb' }]);
});

it('an id counts when its event is there as a whole, whatever is in it', () => {
  const reader = new EventReader(100);
  const lastIds = [
    'id: 1\n',
    'data: a\n',
    '\n',
    'id: 2\ndata: half',
    ' of it\n',
    '\n',
    'id: 3\n\n',
    'data: b\n\n',
    'id\n\n',
  ].map((piece) => {
    reader.push(Buffer.from(piece));
    return reader.lastId;
  });
  expect(lastIds).toEqual([undefined, undefined, '1', '1', '1', '2', '3', '3', '']);
});

it('an event above the limit is counted, its id is read, and the next one is read', () => {
  const next = { type: 'message', data: 'next' };
  const envelope = (id: string) => ({ id, hasMethod: false, isAnswer: true });
  const long = (id: number, before: number, after: number) =>
    `{"result":"${'x'.repeat(before)}","id":${id},"more":"${'y'.repeat(after)}"}`;
  const streams: [string, string][] = [
    [`data: ${long(12, 200, 1)}`, '12'],
    [`data:${long(13, 200, 200)}\r`, '13'],
    // Several lines of which none is too long, and one that is between some that are not.
    [`data: {"id":3,\n${`data: "${'k'.repeat(40)}":1,\n`.repeat(3)}data: "result":0}`, '3'],
    [`data: {"error":0,\ndata: "x":"${'k'.repeat(300)}",\n: ${'c'.repeat(300)}\ndata: "id":4}`, '4'],
  ];
  for (const [lines, id] of streams) {
    const bytes = Buffer.from(`\ufeff${lines}\n\ndata: next\n\n`);
    const expected = [{ oversized: expect.any(Number), envelope: envelope(id) }, next];
    expect(new EventReader(100).push(bytes)).toEqual(expected);
    const slowly = new EventReader(100);
    expect([...bytes].flatMap((byte) => slowly.push(Buffer.from([byte])))).toEqual(expected);
  }
});

it('a stream that never ends an event is held in constant memory', () => {
  const reader = new EventReader(1024);
  const chunk = Buffer.from(`data: ${'x'.repeat(1017)}\n`.repeat(1024));
  const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  for (let megabyte = 0; megabyte < 128; megabyte++) reader.push(chunk);
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(heapUsed + arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
});

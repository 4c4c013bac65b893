// What the dispatcher takes and what it refuses: by number, by bytes and by shape, each with its own name.

import { describe, expect, it } from 'vitest';
import { RawJson } from '../../../src/base/json/json-text.js';
import { Dispatcher } from '../../../src/run/calls/dispatcher.js';
import { type HostFrame, MAX_FRAME_BYTES, MAX_RUN_BYTES } from '../../../src/wire/frames.js';
import { pause } from '../../support/time.js';

type Sent = {
  readonly id: number;
  readonly code: string | undefined;
  readonly message?: string;
  readonly length: number;
};

/** A dispatcher whose calls are answered with `answer`, and what it sent to a guest that reads while `reads` says so. */
function dispatcher(answer: () => unknown, reads: () => boolean = () => true) {
  const sent: Sent[] = [];
  const send = (frame: HostFrame): boolean => {
    if (frame.type === 'reply' && !reads()) return false;
    if (frame.type === 'reply') sent.push({ id: frame.id, code: undefined, length: 0 });
    if (frame.type === 'refusal')
      sent.push({ id: frame.id, ...frame.error, length: JSON.stringify(frame).length });
    return true;
  };
  const made = new Dispatcher({ answer: async () => answer() }, send);
  const call = (id: number, text = '{}', params: object = { server: 's', tool: 't', arguments: {} }) =>
    made.accept({ type: 'call', id, method: 'tools.call', params: { ...params } }, text);
  return { dispatcher: made, sent, call };
}

const waiting = (method: string, params: object) => {
  const { dispatcher: made } = dispatcher(never);
  made.accept({ type: 'call', id: 1, method, params: { ...params } }, '{}');
  return made.waitingFor;
};
const never = () => new Promise(() => {});
const settled = () => pause(10);
const codes = (sent: readonly Sent[]) => sent.map(({ code }) => code);

describe('refused by name', () => {
  it('an id that is in use; one that was answered may come again', async () => {
    const { sent, call } = dispatcher(() => 1);
    call(1);
    call(1);
    await settled();
    call(1);
    await settled();
    expect(codes(sent)).toEqual(['E_PROTOCOL', undefined, undefined]);
  });

  it('more calls than may wait', () => {
    const { dispatcher: made, sent, call } = dispatcher(never);
    for (let id = 0; id < 20_000; id++) call(id);
    expect(made.inFlight).toBe(10_128);
    expect(new Set(codes(sent))).toEqual(new Set(['E_TOO_MANY_CALLS']));
    expect(sent[0]?.message).toMatch(
      /^10128 calls are under way: at most 128 are made at once, and 10000 more may wait\./,
    );
  });

  it('more bytes of arguments than may wait, until some are answered', async () => {
    const open: Array<() => void> = [];
    const { sent, call } = dispatcher(() => new Promise<void>((resolve) => open.push(resolve)));
    const large = 'x'.repeat(MAX_FRAME_BYTES);
    for (let id = 0; id < 4; id++) call(id, large);
    expect(codes(sent)).toEqual(['E_TOO_MUCH_DATA', 'E_TOO_MUCH_DATA']);
    expect(sent[0]?.message).toMatch(
      new RegExp(
        `^With this call, the calls under way hold ${3 * MAX_FRAME_BYTES} bytes of arguments; at most \\d+ are allowed`,
      ),
    );
    await settled();
    for (const answer of open.splice(0)) answer();
    await settled();
    call(9, large);
    await settled();
    expect(codes(sent).slice(2)).toEqual([undefined, undefined]);
    expect(open).toHaveLength(1);
  });

  it('an answer that the guest leaves unread', async () => {
    let reads = false;
    const { sent, call } = dispatcher(
      () => 1,
      () => reads,
    );
    call(1);
    await settled();
    reads = true;
    call(2);
    await settled();
    expect(codes(sent)).toEqual(['E_TOO_MUCH_DATA', undefined]);
  });

  it('calls of a run that was answered with its share', async () => {
    const piece = new RawJson(`"${'x'.repeat(MAX_FRAME_BYTES)}"`);
    const { sent, call } = dispatcher(() => piece);
    for (let id = 0; id < 20; id++) {
      call(id);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const replies = MAX_RUN_BYTES / MAX_FRAME_BYTES;
    expect(codes(sent).filter((code) => code === undefined)).toHaveLength(replies);
    expect(codes(sent).slice(replies)).toEqual(Array(20 - replies).fill('E_TOO_MUCH_DATA'));
  });

  it.each([
    ['a method of a megabyte', { type: 'call', id: 1, method: 'm'.repeat(1_000_000), params: {} }],
    ['names of a megabyte', { type: 'call', id: 1, method: 'x', params: { server: 's'.repeat(1_000_000) } }],
    ['a method of every object', { type: 'call', id: 1, method: 'toString', params: {} }],
    [
      'a query of 2,000 characters',
      { type: 'call', id: 1, method: 'docs.search', params: { query: 'q'.repeat(2_000), limit: 1 } },
    ],
    [
      'arguments that are a list',
      { type: 'call', id: 1, method: 'tools.call', params: { server: 's', tool: 't', arguments: [] } },
    ],
  ] as const)('%s, without sending it back', async (_what, frame) => {
    const { dispatcher: made, sent } = dispatcher(() => 1);
    made.accept(frame, '{}');
    await settled();
    expect(codes(sent)).toEqual(['E_PROTOCOL']);
    expect(sent[0]?.length).toBeLessThan(10_000);
  });
});

it('says in words whose answer is awaited', () => {
  expect(waiting('tools.call', { server: 'github', tool: 'search', arguments: {} })).toBe('github.search');
  expect(waiting('resources.read', { server: 'github', uri: 'x:y' })).toBe('resources of github');
  expect(waiting('prompts.list', { server: 'github' })).toBe('prompts of github');
  expect(waiting('servers.list', {})).toBe('the bridge');
});

// The trace that an agent names with a call, as the run of the call has it.

import { describe, expect, it } from 'vitest';
import { byHand, ENVELOPE, fakeBridge, type Message } from './fake-bridge.js';

const TEXTS = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1',
  baggage: 'user=ann',
};
const GREETING = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'agent', version: '7' },
};

/** What the run of a call with this `_meta` knows of its trace. */
async function traceOf(era: '2025' | '2026', meta: Message) {
  const { bridge, callers } = fakeBridge();
  const { ask } = await byHand(bridge);
  if (era === '2025') await ask({ id: 1, method: 'initialize', params: GREETING });
  const _meta = era === '2025' ? meta : { ...ENVELOPE, ...meta };
  await ask({
    id: 2,
    method: 'tools/call',
    params: { name: 'run_python', arguments: { code: '1' }, _meta },
  });
  return callers[0]?.trace;
}

describe.each(['2025', '2026'] as const)('the trace of an agent of %s', (era) => {
  it('goes with its call', async () => {
    expect(await traceOf(era, TEXTS)).toEqual(TEXTS);
  });

  it('is none where its text is not well formed', async () => {
    expect(await traceOf(era, { traceparent: 'mine' })).toBeUndefined();
  });
});

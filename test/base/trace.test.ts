import { describe, expect, it } from 'vitest';
import { beginSpan, childSpan, metaOf, traceIn } from '../../src/base/trace.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const always = () => true;

describe('texts of a trace', () => {
  it('are taken out of a request as they are, under their plain names', () => {
    const texts = { traceparent: PARENT, tracestate: 'a=1,b=2', baggage: 'user=ann;p=1' };
    expect(metaOf(traceIn({ ...texts, progressToken: 1, 'x.y/traceparent': 'z' }))).toEqual(texts);
    expect(metaOf(traceIn({ baggage: 'user=ann' }))).toEqual({ baggage: 'user=ann' });
    expect(traceIn({ traceparent: `cc-${TRACE}-b7ad6b7169203331-01-later` })).toBeDefined();
  });

  it.each([
    undefined,
    null,
    'text',
    {},
    { traceparent: 7 },
    { traceparent: PARENT.toUpperCase() },
    { traceparent: `${PARENT}-more` },
    { traceparent: `ff${PARENT.slice(2)}` },
    { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
    { tracestate: 'a=1' },
    { traceparent: 'x', tracestate: 'a=1' },
    { baggage: 'a=1\nb' },
    { baggage: 'a'.repeat(9_000) },
  ])('are none where they are not well formed: %j', (meta) => {
    expect(traceIn(meta)).toBeUndefined();
  });

  it('lose a state that is too long, and not the parent', () => {
    expect(metaOf(traceIn({ traceparent: PARENT, tracestate: `a=${'1'.repeat(600)}` }))).toEqual({
      traceparent: PARENT,
    });
  });
});

describe('a span', () => {
  it('goes on with the trace of the caller, and leaves its other texts as they are', () => {
    const given = traceIn({ traceparent: PARENT, tracestate: 'a=1', baggage: 'b=2' });
    const span = beginSpan(given, always);
    const child = childSpan(span);
    expect(span?.span).toMatchObject({ trace: TRACE, parent: 'b7ad6b7169203331' });
    expect(child?.span).toMatchObject({ trace: TRACE, parent: span?.span?.id });
    expect(metaOf(child)).toEqual({
      traceparent: `00-${TRACE}-${child?.span?.id}-01`,
      tracestate: 'a=1',
      baggage: 'b=2',
    });
  });

  it('begins a trace where the caller has none', () => {
    const span = beginSpan(undefined, always);
    expect(span?.traceparent).toBe(`00-${span?.span?.trace}-${span?.span?.id}-01`);
    expect(span?.span?.parent).toBeUndefined();
    expect(span?.traceparent).not.toBe(beginSpan(undefined, always)?.traceparent);
  });

  it('is not begun where nobody records it, and the trace goes on unchanged', () => {
    const given = traceIn({ traceparent: PARENT });
    for (const sampler of [undefined, () => false]) {
      expect(childSpan(beginSpan(given, sampler))).toBe(given);
      expect(childSpan(beginSpan(undefined, sampler))).toBeUndefined();
    }
  });

  it('is recorded as the caller says', () => {
    const asked: unknown[] = [];
    const sampler = (...facts: unknown[]) => asked.push(facts) > 0;
    beginSpan(traceIn({ traceparent: PARENT.replace(/01$/, '00') }), sampler);
    beginSpan(traceIn({ traceparent: PARENT }), sampler);
    beginSpan(undefined, sampler);
    expect(asked).toEqual([
      [TRACE, false],
      [TRACE, true],
      [expect.stringMatching(/^[0-9a-f]{32}$/), undefined],
    ]);
  });
});

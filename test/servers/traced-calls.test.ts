// The trace of a call as a server is told of it.

import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { beginSpan, traceIn } from '../../src/base/trace.js';
import { getPrompt, readResource } from '../../src/servers/server/resources.js';
import { NEVER } from '../support/time.js';
import { call, poolOf, spec } from './hostile.js';

const FIXTURE = fileURLToPath(new URL('../fixtures/tracing-server.mjs', import.meta.url));
const pool = poolOf([
  spec('2025', process.execPath, [FIXTURE]),
  spec('2026', process.execPath, [FIXTURE, 'modern']),
]);
afterAll(() => pool[Symbol.asyncDispose]());

const TEXTS = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
  tracestate: 'a=1',
  baggage: 'user=ann',
};
const stopClock = () => () => {};

describe.each(['2025', '2026'])('a server of %s', (name) => {
  const metas = async (trace: ReturnType<typeof traceIn>) => {
    const server = (await pool.get(name, NEVER)).during({ stopClock, trace });
    const { structuredContent } = await call(server, 'first');
    const { contents } = JSON.parse((await readResource(server, 'trace://here', NEVER)).text);
    const { messages } = JSON.parse((await getPrompt(server, 'trace', {}, NEVER)).text);
    return [
      structuredContent?.['meta'],
      JSON.parse(contents[0].text),
      JSON.parse(messages[0].content.text),
    ] as Record<string, unknown>[];
  };

  it('is told of it with each request, in the texts of the caller', async () => {
    for (const meta of await metas(traceIn(TEXTS))) expect(meta).toMatchObject(TEXTS);
  });

  it('is told of nothing where there is none', async () => {
    for (const meta of await metas(undefined)) expect(Object.keys(meta)).not.toContain('traceparent');
  });

  it('is told of the step that is recorded, and of no other', async () => {
    const trace = beginSpan(traceIn(TEXTS), () => true);
    const { span: _span, ...texts } = trace ?? {};
    for (const meta of await metas(trace)) {
      expect(meta).toMatchObject(texts);
      expect(Object.keys(meta)).not.toContain('span');
    }
  });
});

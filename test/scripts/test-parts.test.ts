import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { HANGS_MS } from '../support/time.js';

type Ended = { readonly exitCode: number; readonly output: string };
type Run = (
  argv: readonly string[],
  options: { readonly timeoutMs?: number; readonly quiet?: boolean; readonly niceness?: number },
) => Promise<Ended>;
const script = '../../scripts/test-parts.mjs';
const { run } = (await import(script)) as { run: Run };

it('gives way to what runs beside it where it has a niceness', async () => {
  const { output } = await run(['nice'], { quiet: true, niceness: 3 });
  expect(Number(output)).toBe(Math.min(19, getPriority() + 3));
  expect(Number((await run(['nice'], { quiet: true })).output)).toBe(getPriority());
});

it.skipIf(!existsSync('/proc/self/autogroup'))('gives way as a session, too', async () => {
  // The niceness is written when the program has started already.
  const seen = 'until grep "nice 3" /proc/self/autogroup; do sleep 0.05; done';
  const { exitCode, output } = await run(['sh', '-c', seen], {
    timeoutMs: HANGS_MS,
    quiet: true,
    niceness: 3,
  });
  expect([exitCode, output]).toEqual([0, expect.stringContaining('nice 3')]);
});

it('stops what takes too long, and names it', async () => {
  const ended = await run(['sleep', '60'], { timeoutMs: 100, quiet: true, niceness: 3 });
  expect(ended.exitCode).toBe(137);
  expect(ended.output).toContain('sleep was stopped after 0.1 s');
});

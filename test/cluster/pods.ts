// The cluster under test, asked by kubectl as an administrator, and runs of a bridge in it.

import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import type { Payload, TestBridge } from '../support/start-bridge.js';
import { until } from '../support/time.js';

export const kubectl = (args: readonly string[], input?: object): string =>
  execFileSync('kubectl', ['--request-timeout=60s', ...args], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    ...(input === undefined ? {} : { input: JSON.stringify(input) }),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
export type Pod = {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
};
export const pods = (selector = 'mcp-sandbox-bridge'): readonly Pod[] =>
  JSON.parse(kubectl(['get', 'pods', `--selector=${selector}`, '--output=json'])).items;
/** Those that run or are to run. One that has ended costs nothing, and any bridge removes it. */
export const live = (): readonly Pod[] =>
  pods().filter(({ status }) => /^(?:Running|Pending)$/.test(status.phase));

/** The answer to the code, also where the set-up takes longer than a call waits for it. */
export async function answerOf({ run }: TestBridge, code: string): Promise<Payload> {
  let answer = await run(code);
  await until(async () => {
    if (answer.errorType === 'E_SETTING_UP') answer = await run(code);
    return answer.errorType !== 'E_SETTING_UP';
  });
  return answer;
}

/** A run that has begun and goes on for long, and the name of its pod. */
export async function longRun(
  of: TestBridge,
): Promise<{ readonly ended: Promise<Payload | 'gone'>; readonly pod: string }> {
  const { run } = of;
  expect(await answerOf(of, '1')).toEqual(expect.objectContaining({ status: 'success' }));
  const earlier = pods().map(({ metadata }) => metadata.name);
  let onBegun = (_word: string): void => {};
  const begun = new Promise<string>((resolve) => {
    onBegun = resolve;
  });
  const code = 'import time\nprint("a secret", flush=True)\nruntime.progress(1, 2)\ntime.sleep(300)';
  const ended = run(code, {
    timeout: 100,
    onprogress: ({ progress }) => progress === 1 && onBegun('begun'),
  }).catch(() => 'gone' as const);
  expect(await Promise.race([begun, ended])).toBe('begun');
  const running = pods().find(
    ({ metadata, status }) => status.phase === 'Running' && !earlier.includes(metadata.name),
  );
  return { ended, pod: running?.metadata.name ?? '' };
}

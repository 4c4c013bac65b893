// The tool `run_python` without a sandbox: what a host is told of it, and which arguments reach a run.

import { describe, expect, it } from 'vitest';
import { toldApart } from '../../src/base/own-lines.js';
import { parseSettings } from '../../src/config/settings.js';
import { compact } from '../../src/render/compact.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import type { Bridge, RunInput } from '../../src/server/bridge.js';
import { Progress } from '../../src/server/progress.js';
import { runPython } from '../../src/server/tools/run-python.js';

const { settings } = parseSettings(
  {},
  { home: '/home/ann', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false },
);
const tool = runPython(settings);

/** What a run is given when the tool is called with `args`; undefined when none was started. */
async function given(args: unknown): Promise<RunInput | undefined> {
  let seen: RunInput | undefined;
  const run = (input: RunInput) => {
    seen = input;
    return Promise.resolve(outcomeWithoutRun('error', { type: 'E', message: '', remedy: undefined }, 30));
  };
  const bridge = { run } as unknown as Bridge;
  await tool.call(
    args,
    { bridge, progress: new Progress(undefined), onOutput: () => {} },
    new AbortController().signal,
  );
  return seen;
}

describe('arguments', () => {
  it('takes the order of calls that Gemini CLI adds to every tool, which was refused as unknown', async () => {
    for (const wait of [true, false]) {
      expect(await given({ code: '1', wait_for_previous: wait })).toMatchObject({
        task: { code: '1' },
        servers: [],
      });
    }
    expect(tool.definition.inputSchema['properties']).not.toHaveProperty('wait_for_previous');
  });

  it('starts nothing for any other argument that it does not know', async () => {
    expect(await given({ code: '1', wait: true })).toBeUndefined();
  });
});

describe('what hosts are told', () => {
  const allowed = tool.definition._meta['anthropic/maxResultSizeChars'] as number;

  it('allows results as large as the longest answer, within what Claude Code allows', () => {
    const longest: Outcome = {
      ...outcomeWithoutRun('error', { type: 'E', message: 'm'.repeat(4_000), remedy: undefined }, 30),
      // The one status that shows a message and a traceback.
      status: 'timeout',
      stdout: { text: 'o'.repeat(40_000), dropped: 1 },
      stderr: { text: 'e'.repeat(40_000), dropped: 1 },
      result: { repr: 'v'.repeat(40_000), json: undefined },
    };
    const traceback = Array.from({ length: 60 }, () => 't'.repeat(500));
    const error = longest.error && { ...longest.error, traceback };
    const text = toldApart(compact({ ...longest, error }, true));
    expect(text.length).toBeGreaterThan(150_000);
    const INLINE_FILES_CHARS = 8_000;
    expect(text.length + INLINE_FILES_CHARS).toBeLessThanOrEqual(allowed);
    expect(allowed).toBeLessThanOrEqual(500_000);
  });

  it('says what counts in at most 2,000 characters, where older hosts cut', () => {
    expect(tool.definition.description.length).toBeLessThanOrEqual(2_000);
  });
});

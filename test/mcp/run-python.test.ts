// The tool `run_python` without a sandbox: what a host is told of it.

import { describe, expect, it } from 'vitest';
import { toldApart } from '../../src/base/text/own-lines.js';
import { hostView } from '../../src/hosts/records/all-hosts.js';
import { runPython } from '../../src/mcp/tools/run-python.js';
import { renderCompact } from '../../src/run/answer/render.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { parseSettings } from '../../src/settings/environment/settings.js';

const { settings } = parseSettings(
  {},
  { home: '/home/ann', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false },
);
const tool = runPython(settings);

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
    const text = toldApart(renderCompact({ ...longest, error }, hostView('claude-code')));
    expect(text.length).toBeGreaterThan(150_000);
    const INLINE_FILES_CHARS = 8_000;
    expect(text.length + INLINE_FILES_CHARS).toBeLessThanOrEqual(allowed);
    expect(allowed).toBeLessThanOrEqual(500_000);
  });

  it('says what counts in at most 2,000 characters, where older hosts cut', () => {
    expect(tool.definition.description.length).toBeLessThanOrEqual(2_000);
  });
});

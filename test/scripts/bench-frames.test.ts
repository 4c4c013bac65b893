// The run that the benchmark of frames sends to the harness has what the wire's types say: without a field of it the
// harness ends, and nothing else in the repository sends frames that no type has seen.

import { expect, it } from 'vitest';
import type { HostFrame, ServerBrief, ServerDoc, ToolDoc } from '../../src/wire/frames.js';

type Run = Extract<HostFrame, { type: 'run' }>;
const { RUN } = (await import(new URL('../../scripts/bench/run-frame.mjs', import.meta.url).href)) as {
  readonly RUN: Run;
};

const tool: ToolDoc = {
  name: '',
  alias: '',
  description: '',
  inputSchema: {},
  outputSchema: null,
  observed: null,
  changed: null,
};
const server: ServerDoc = {
  name: '',
  alias: '',
  description: '',
  version: null,
  instructions: null,
  tools: [],
};
const brief: ServerBrief = { name: '', alias: '', description: '', loaded: true, tools: 1 };
const run: Run = { type: 'run', timeoutSeconds: 1, loaded: [], discovered: [], files: [], program: null };

const fieldsOf = (value: object | undefined) => Object.keys(value ?? {}).sort();

it('every field is there', () => {
  expect(fieldsOf(RUN)).toEqual(fieldsOf(run));
  expect(fieldsOf(RUN.loaded[0])).toEqual(fieldsOf(server));
  expect(fieldsOf(RUN.loaded[0]?.tools[0])).toEqual(fieldsOf(tool));
  expect(fieldsOf(RUN.discovered[0])).toEqual(fieldsOf(brief));
});

// What doctor says of servers that are passed over: the same words as everywhere, and whether somebody has to act.

import { expect, it } from 'vitest';
import { serverFindings } from '../../src/cli/doctor/doctor.js';
import type { SkippedSpec, SpecSource } from '../../src/hosts/downstream-spec.js';
import { mistaken, type ServerSkipReason } from '../../src/hosts/skip-reason.js';

const source: SpecSource = {
  host: 'Cursor',
  scope: 'user',
  file: '/home/ann/.cursor/mcp.json',
  pointer: '/a',
};
const skippedFor = (reason: ServerSkipReason): SkippedSpec => ({ name: 'a', reason, source });
const findingFor = (reason: ServerSkipReason) =>
  serverFindings(
    { ready: [], skipped: [skippedFor(reason)], problems: [], files: [] },
    new Map(),
    new Map(),
  )[0];

it('what is as the user wants it is fine, and nothing is to be done', () => {
  expect(findingFor({ kind: 'disabled-in-file' })).toEqual({
    name: 'a',
    source,
    status: 'ok',
    detail: 'skipped: disabled in its file',
  });
});

it('what somebody may want to change comes with the next step', () => {
  expect(findingFor(mistaken({ kind: 'name-empty' }))).toEqual({
    name: 'a',
    source,
    status: 'warn',
    detail: 'skipped: its name is empty',
    remedy: `Correct the entry in ${source.file}.`,
  });
});

it('where the reason says the next step, no other one is made up', () => {
  expect(findingFor({ kind: 'unapproved-project', host: undefined })).toMatchObject({
    status: 'warn',
    remedy: 'This is optional: nothing else needs this server.',
  });
});

import { expect, it } from 'vitest';
import { problemInWords, remedyOfMissing } from '../../src/settings/files/config-file.js';

const file = '/home/ann/.cursor/mcp.json';
const broken = { file, message: `${file}:1:2: value expected`, place: { line: 1, column: 2 } };

it('a server that is nowhere may stand in a file that has a problem', () => {
  expect(remedyOfMissing([])).toBeUndefined();
  expect(remedyOfMissing([broken])).toBe(
    `It may be in a file that has a problem: ${file}:1:2: value expected.`,
  );
  expect(remedyOfMissing([{ file, message: 'is in UTF-16' }, broken])).toBe(
    `It may be in a file that has a problem: ${file}: is in UTF-16. There are 1 more; see \`mcp-sandbox-bridge servers\`.`,
  );
});

it('a file is named once, and what the message begins with does not matter', () => {
  expect(problemInWords(broken)).toBe(`${file}:1:2: value expected`);
  expect(problemInWords({ file: '/a', message: '/abc must be a list' })).toBe('/a: /abc must be a list');
});

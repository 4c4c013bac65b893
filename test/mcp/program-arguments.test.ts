// A program out of the Markdown fence around it, and one that has none as it is.

import { expect, it } from 'vitest';
import { outOfFence } from '../../src/mcp/tools/execute-code.js';

it.each([
  ['```javascript\nf();\n```', 'f();\n'],
  ['\n```\r\n#!/bin/sh\r\necho\r\n```\r\n', '#!/bin/sh\necho\n'],
  ['````c++\n```\n````', '```\n'],
  // None, or not around all of it.
  ['f();\n', 'f();\n'],
  ['```js\nf();', '```js\nf();'],
  ['```js\nf();\n```\ng();', '```js\nf();\n```\ng();'],
  ['```js f();\n```', '```js f();\n```'],
  ['```', '```'],
])('%j', (code, expected) => {
  expect(outOfFence(code)).toBe(expected);
});

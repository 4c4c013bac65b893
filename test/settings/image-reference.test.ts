import { expect, it } from 'vitest';
import { imageReferenceTrouble } from '../../src/settings/bounds.js';

const SHA = `sha256:${'0123456789abcdef'.repeat(4)}`;

it.each([
  'python',
  'python:3.14-slim',
  'data',
  'code-exec',
  'library/python',
  'docker.io/library/python:3.13',
  'localhost/mcp-sandbox-bridge/base:0.1.0-trixie',
  'localhost:5000/a/b__c/d-e--f.g',
  'registry:5000/node',
  '[fd00::1]:5000/node:24',
  'Registry/node',
  `python@${SHA}`,
  `python:3@${SHA}`,
  SHA,
  'a'.repeat(64),
])('%s is a reference', (text) => expect(imageReferenceTrouble(text)).toBeUndefined());

it.each([
  ['Python:3.14', "no capital letters: 'Python'"],
  ['docker.io/library/Python', "no capital letters: 'Python'"],
  ['python:', 'follows the colon'],
  ['python:3.14:slim', "'3.14:slim' is not a tag"],
  [':3', 'no name'],
  ['python/', 'empty'],
  ['a//b', 'empty'],
  ['-x', 'dash'],
  ['two words', 'white space'],
  ['python@sha256:abc', '64 hexadecimal digits'],
  ['python@', "'' is not a digest"],
  ['python@a@b', 'more than one @'],
  ['docker://python', 'protocol or transport'],
  ['https://hub.docker.com/_/python', 'protocol or transport'],
  ['py!thon', "'py!thon' is not the name"],
  ['a___b', "'a___b' is not the name"],
  ['reg_istry.io/x', "'reg_istry.io' is not the host"],
  ['registry:port/x', "'registry:port' is not the host"],
  [`python:${'x'.repeat(129)}`, 'is not a tag'],
  ['x'.repeat(256), 'has 256 characters; at most 255'],
])('%s is none: %s', (text, why) => expect(imageReferenceTrouble(text)).toContain(why));

import { expect, it } from 'vitest';
import { didYouMean, findClosest } from '../../src/base/text/closest.js';

const servers = ['github', 'filesystem', 'memory', 'git', 'server-everything'];

it.each([
  ['gihub', 'github'],
  ['GitHub', 'github'],
  ['filesytem', 'filesystem'],
  ['server_everything', 'server-everything'],
  ['got', 'git'],
])('%s stands for %s', (word, expected) => {
  expect(findClosest(word, servers)).toBe(expected);
});

it.each(['postgres', '', 'x', 'zzz'])('nothing is near %j', (word) => {
  expect(findClosest(word, servers)).toBeUndefined();
  expect(didYouMean(word, servers)).toBe('');
});

it.each([
  ['send_email', 'read_mail'],
  ['delete_file', 'create_file'],
  ['polars', 'tools'],
])('%s is too far from %s to be taken for it', (word, other) => {
  expect(findClosest(word, [other])).toBeUndefined();
});

it('two letters that changed places are near', () => {
  expect(findClosest('pyhton', ['python'])).toBe('python');
});

it('how many letters may be wrong is the caller’s to say', () => {
  expect(findClosest('polars', ['polari'])).toBe('polari');
  expect(findClosest('polars', ['polari'], (chars) => Math.floor(chars / 8))).toBeUndefined();
});

it('the first of equally near candidates wins', () => {
  expect(findClosest('tost', ['test', 'toast'])).toBe('test');
});

it('a very long word is not compared', () => {
  expect(findClosest('a'.repeat(100_000), ['a'.repeat(100_001)])).toBeUndefined();
});

it('the suggestion is a sentence that follows another', () => {
  expect(`Unknown server 'gihub'.${didYouMean('gihub', servers)}`).toBe(
    "Unknown server 'gihub'. Did you mean 'github'?",
  );
});

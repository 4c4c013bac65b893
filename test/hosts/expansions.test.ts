// Variables as each host replaces them, where the machine makes a difference or the text tries to.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references under test look like template strings

import { expect, it } from 'vitest';
import { needsInWords } from '../../src/hosts/discovery/explain-skip.js';
import { EXPANSIONS, type Expansion, type ExpansionContext } from '../../src/hosts/terms/expansions.js';

const machine = (platform: NodeJS.Platform): ExpansionContext => ({
  env: { A: 'one', NESTED: '${A} $A %A% {env:A} ${env:A}', EMPTY: '' },
  host: {
    home: platform === 'win32' ? 'C:\\Users\\ann' : '/home/ann',
    platform,
    cores: 4,
    cwd: '/',
    uid: undefined,
    exists: () => false,
  },
  workspace: platform === 'win32' ? 'D:\\work' : '/work',
  contentOf: (file) => (file === 'key' ? 'from file\n' : undefined),
});

it.each<[Expansion, string, string]>([
  ['none', '${A} $A ${env:A}', '${A} $A ${env:A}'],
  ['claude-code', '${A} ${NO:-d} $A ${env:A}', 'one d $A ${env:A}'],
  ['cline', '${env:A} ${A} ${file:key}', 'one ${A} ${file:key}'],
  ['windsurf', '${env:A} ${A} ${userHome} ${file:key}', 'one ${A} ${userHome} from file'],
  [
    'home-manager',
    '{env:A} {file:key} ${A} ${NO:-d} ${env:A} {other:A} $A',
    'one from file one d ${env:A} {other:A} $A',
  ],
  ['editor', '${env:A} ${A} ${userHome}${/}x ${workspaceFolderBasename}', 'one ${A} /home/ann/x work'],
  ['gemini-cli', '$A ${A} ${NO:-d}[$NO]${EMPTY:-d} %A% $1 $', 'one one d[] %A% $1 $'],
  ['opencode', '{env:A} {file:key} ${A} {other:A}', 'one from file ${A} {other:A}'],
  ['continue', '${A} {{ secrets.A }}', '${A} {{ secrets.A }}'],
])('%s: %s', (expansion, text, expected) => {
  expect(EXPANSIONS[expansion](text, machine('linux'))).toEqual({ text: expected, needs: [] });
});

it.each<[Expansion, string, string]>([
  ['gemini-cli', '%A%-%NO%-$A-100%', 'one--one-100%'],
  ['editor', '${userHome}${pathSeparator}${workspaceFolder}', 'C:\\Users\\ann\\D:\\work'],
])('on Windows, %s: %s', (expansion, text, expected) => {
  expect(EXPANSIONS[expansion](text, machine('win32')).text).toBe(expected);
});

it.each<[Expansion, string]>([
  ['claude-code', '${NESTED}'],
  ['cline', '${env:NESTED}'],
  ['windsurf', '${env:NESTED}'],
  ['home-manager', '{env:NESTED}'],
  ['editor', '${env:NESTED}'],
  ['gemini-cli', '$NESTED'],
  ['opencode', '{env:NESTED}'],
])('%s does not look into what it has put in', (expansion, text) => {
  const context = machine('win32');
  expect(EXPANSIONS[expansion](text, context)).toEqual({ text: context.env['NESTED'], needs: [] });
});

it.each<[Expansion, string, string]>([
  ['claude-code', '${NO} ${__proto__} ${NO}', 'environment variable NO, __proto__'],
  ['windsurf', '${env:constructor}', 'environment variable constructor'],
  ['windsurf', '${file:other}', 'file other'],
  ['home-manager', '{env:NO} {file:other} ${__proto__}', 'environment variable NO, __proto__; file other'],
  [
    'editor',
    '${input:a} ${input:b} ${env:NO} ${config:x.y}',
    'input a, b; environment variable NO; config x.y',
  ],
  ['opencode', '{file:other}', 'file other'],
  ['continue', '${{ secrets.KEY }}${{inputs.a}}${{ x }}', 'secret KEY; input a; value x'],
])('%s: what %s is wanting', (expansion, text, expected) => {
  const found = EXPANSIONS[expansion](text, machine('linux'));
  expect(needsInWords(found.needs)).toBe(expected);
  expect(found.text).toBe(text);
});

it('opencode: a variable that is not set is empty, as its own list shows', () => {
  const { text, needs } = EXPANSIONS.opencode('a{env:NO}b', machine('linux'));
  expect({ text, needs }).toEqual({ text: 'ab', needs: [] });
});

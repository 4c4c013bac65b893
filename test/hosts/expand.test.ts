// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references under test look like template strings

import { expect, it } from 'vitest';
import { expand } from '../../src/hosts/terms/expansions.js';

const env = { TOKEN: 'secret', EMPTY: '', NESTED: '${TOKEN}' };

it.each([
  ['--token=${TOKEN}', '--token=secret'],
  ['${TOKEN}${TOKEN}', 'secretsecret'],
  ['${EMPTY:-default}', ''],
  ['${ABSENT:-default}', 'default'],
  ['${ABSENT:-}', ''],
  ['$TOKEN', '$TOKEN'],
  ['${NESTED}', '${TOKEN}'],
  ['${1X} ${A-B}', '${1X} ${A-B}'],
])('%s becomes %s', (text, expected) => {
  expect(expand(text, env)).toEqual({ text: expected, missing: [] });
});

it('variables without value and default are named and stay', () => {
  expect(expand('${A}/${TOKEN}/${B}', env)).toEqual({ text: '${A}/secret/${B}', missing: ['A', 'B'] });
});

it('names of the prototype are not variables', () => {
  expect(expand('${constructor}${__proto__}', env).missing).toEqual(['constructor', '__proto__']);
});

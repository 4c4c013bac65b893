// Which sandboxes can stand in for one another, as the languages are: what is equal waits once for all of them.

import { expect, it } from 'vitest';
import { keyOf, kindAhead, kindOf, pythonProfile } from '../../src/sandbox/spec/profile.js';
import { planFor } from '../../src/settings/environment/plan.js';
import { languageNamed, languages } from '../../src/settings/languages/records.js';
import { settingsOf } from '../support/plain-kind.js';

const keyFor = (name: string, env: Record<string, string> = {}): string => {
  const language = languageNamed(name);
  if (language === undefined) throw new Error(name);
  const settings = settingsOf(env);
  return keyOf(kindOf(planFor(language, settings), settings));
};

it.each<[string, Record<string, string>]>([
  ['by default', {}],
  ['with an image of the operator', { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_PREIMPORT: 'numpy' }],
  ['with limits of the operator', { MCP_BRIDGE_MEMORY: '1g', MCP_BRIDGE_PIDS: '64', MCP_BRIDGE_CPUS: '1.5' }],
])('Python of either tool: one kind %s', (_, env) => {
  expect(keyFor('python', env)).toBe(keyOf(pythonProfile(settingsOf(env))));
});

it('each language is a kind of its own, also TypeScript, whose Node is started in another way', () => {
  const keys = languages.map(({ name }) => keyFor(name));
  expect(new Set(keys).size).toBe(languages.length);
});

it('only Python loads Python modules ahead, and only it needs the Python of its image', () => {
  const env = { MCP_BRIDGE_PREIMPORT: 'numpy' };
  for (const { name } of languages) {
    const { preimport, isPython } = JSON.parse(keyFor(name, env)) as {
      preimport: string[];
      isPython: boolean;
    };
    expect([preimport, isPython], name).toEqual(name === 'python' ? [['numpy'], true] : [[], false]);
  }
});

it.each<[string, Record<string, string>, string]>([
  [
    'run_python',
    { MCP_BRIDGE_IMAGE: 'data' },
    keyOf(pythonProfile(settingsOf({ MCP_BRIDGE_IMAGE: 'data' }))),
  ],
  [
    "execute_code's Python, where that is another",
    { MCP_BRIDGE_TOOLS: 'execute_code', MCP_BRIDGE_LANGUAGE_IMAGES: 'python=python:3.11-alpine' },
    keyFor('python', { MCP_BRIDGE_LANGUAGE_IMAGES: 'python=python:3.11-alpine' }),
  ],
  [
    'the first language there is',
    { MCP_BRIDGE_TOOLS: 'execute_code', MCP_BRIDGE_LANGUAGES: 'ruby,go' },
    keyFor('go'),
  ],
])('before the first call, one waits for %s', (_, env, key) => {
  expect(keyOf(kindAhead(settingsOf(env)))).toBe(key);
});

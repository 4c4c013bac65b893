// What everybody says of `execute` who offers it, and what is said of wrong arguments.

import { describe, expect, it } from 'vitest';
import { commandReader, definitionFor } from '../../src/code-exec/execute-definition.js';

const LIMITS = { timeoutMs: 30_000, maxTimeoutMs: 120_000, workdir: '/work', maxOutputBytes: 40_000 };
const complaint = (args: unknown): string => {
  const given = commandReader(LIMITS)(args);
  return 'problem' in given ? `${given.problem} ${given.remedy ?? ''}` : 'none';
};

describe('the definition', () => {
  it('says its limits where they are known, and none where they are not', () => {
    const { inputSchema, description } = definitionFor(LIMITS);
    expect(inputSchema.properties.timeout_ms).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 120_000,
      default: 30_000,
    });
    expect(description).toContain('Files in /work stay');
    const unknown = definitionFor();
    expect(unknown.inputSchema.properties.timeout_ms).toEqual({ type: 'integer', minimum: 1 });
    expect(JSON.stringify(unknown)).not.toMatch(/\/work|undefined|\d{3}/);
    expect(Object.keys(unknown.inputSchema.properties)).toEqual(Object.keys(inputSchema.properties));
  });

  it("takes few characters of a model's context", () => {
    expect(JSON.stringify(definitionFor(LIMITS)).length).toBeLessThan(1_100);
  });
});

describe('wrong arguments', () => {
  it.each<[unknown, string]>([
    [{ comand: 'ls' }, "comand: there is no such argument. Did you mean 'command'? Allowed: command, args"],
    [{}, 'command: got nothing, expected the name or path of a program.'],
    [{ command: 'a\0b' }, 'command: got'],
    [{ command: 'ls', args: '-l' }, 'args: got "-l", expected a list of texts'],
    [
      { command: 'ls', timeout_ms: 0 },
      'timeout_ms: got 0, expected a whole number of milliseconds from 1 to 120000',
    ],
    [{ command: 'ls', env: { 'A=B': '' } }, 'env: got'],
  ])('%j', (args, said) => {
    expect(complaint(args)).toContain(said);
  });

  it('has no complaint about arguments that are right', () => {
    const env = { A: '', b: 'c d' };
    expect(complaint({ command: 'ls', args: [], stdin: '', timeout_ms: 1, cwd: '..', env })).toBe('none');
  });
});

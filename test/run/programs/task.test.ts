// What the harness is told of a task: what is checked, how it is started, and which files it finds.

import { describe, expect, it } from 'vitest';
import {
  fileOf,
  filesOf,
  isPythonTask,
  languageOf,
  type Program,
  startOf,
} from '../../../src/run/programs/task.js';
import { type Language, languageNamed } from '../../../src/settings/languages/records.js';

const language = (steps: Language['ways'][number]['steps']): Language => ({
  ...(languageNamed('bash') as Language),
  ways: [{ needs: ['sh'], steps }],
});
const program = (overrides: Partial<Program> = {}): Program => ({
  type: 'program',
  language: language([['sh', '{file}', '{args}']]),
  code: 'echo',
  file: 'main.sh',
  args: [],
  stdin: undefined,
  env: {},
  ...overrides,
});
const cell = { type: 'cell', code: '1' } as const;

/** The steps of the only way. */
const stepsOf = (overrides: Partial<Program>) => startOf(program(overrides))?.ways[0]?.steps;

describe('what is checked', () => {
  it('is Python, under the name of its file where it has one', () => {
    const python = languageNamed('python') as Language;
    const script = program({ language: python, code: '2', file: 'a/b.py' });
    expect([cell, script, program()].map(isPythonTask)).toEqual([true, true, false]);
    expect([cell, script].map(fileOf)).toEqual([null, 'a/b.py']);
  });
});

describe('how it is started', () => {
  it('a cell is not: it is run as it is', () => {
    expect(startOf(cell)).toBeNull();
  });

  it('starts a script in Python by its file and its arguments, without a way', () => {
    const python = languageNamed('python') as Language;
    const task = program({ language: python, file: 'a.py', args: ['x'], stdin: Buffer.from([0, 255]) });
    expect(startOf(task)).toEqual({ file: 'a.py', args: ['x'], stdin: 'AP8=', ways: [] });
  });

  it('with its variables, where it has any', () => {
    expect(startOf(program({ env: { A: 'b' } }))?.env).toEqual({ A: 'b' });
    expect(startOf(program())).not.toHaveProperty('env');
    const python = languageNamed('python') as Language;
    expect(startOf(program({ language: python, env: { A: 'b' } }))?.env).toEqual({ A: 'b' });
  });

  it('empty input is not the same as none', () => {
    expect(startOf(program({ stdin: Buffer.from('') }))?.stdin).toBe('');
    expect(startOf(program())?.stdin).toBeNull();
  });

  it('puts paths for placeholders, wherever they stand in a word', () => {
    const steps = [
      ['go', 'build', '-o', '/build/main', '{folder}'],
      ['--in={file}', '{file}{folder}'],
    ];
    expect(stepsOf({ language: language(steps), file: 'cmd/app/main.go' })).toEqual([
      ['go', 'build', '-o', '/build/main', './cmd/app/'],
      ['--in=./cmd/app/main.go', './cmd/app/main.go./cmd/app/'],
    ]);
    expect(stepsOf({ language: language([['x', '{folder}']]), file: 'main.go' })).toEqual([['x', './']]);
  });

  it('puts the arguments in the place of their word, each as it is', () => {
    const args = ['', 'a b', '{file}', '{args}', '{folder}', '$&', '--'];
    expect(stepsOf({ args })).toEqual([['sh', './main.sh', ...args]]);
    expect(stepsOf({ args: [] })).toEqual([['sh', './main.sh']]);
  });

  it.each(['$&.sh', "$'x.sh", '{folder}/{file}.sh', '{args}'])('takes the name %s as it is', (file) => {
    expect(stepsOf({ file, language: language([['sh', '{file}']]) })).toEqual([['sh', `./${file}`]]);
  });

  it('leaves what only looks like a placeholder, and does not touch the record', () => {
    const steps = [['awk', '{print}', '{FILE}', '{args}x']];
    expect(stepsOf({ language: language(steps), args: ['y'] })).toEqual(steps);
  });
});

it('is told to the audit by the name of its language', () => {
  expect([languageOf(cell), languageOf(program())]).toEqual(['python', 'bash']);
});

describe('files', () => {
  const others = [{ name: 'data.csv', data: 'YQ==' }];

  it('of a cell are those of its call', () => {
    expect(filesOf(cell, others)).toBe(others);
  });

  it('of a program begin with its own, byte for byte', () => {
    const [entry, ...rest] = filesOf(program({ code: 'echo ü\r\n\0', file: 'a/main.sh' }), others);
    expect(entry?.name).toBe('a/main.sh');
    expect(Buffer.from(entry?.data ?? '', 'base64').toString()).toBe('echo ü\r\n\0');
    expect(rest).toEqual(others);
  });
});

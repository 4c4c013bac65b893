import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CompiledCode } from '../../src/cli/compiled-code.js';
import { tempHome } from '../support/start-bridge.js';

const BUILD = '0123456789abcdef';

/** A folder of files, and one for what is compiled of them. */
function place(files: Readonly<Record<string, string>>, build = BUILD) {
  const home = tempHome();
  const folder = join(home, 'bundle');
  const cache = join(home, 'cache');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), `${text}\n//# build ${build}\n`);
  const kept = join(cache, `${BUILD}-${process.version}-${process.arch}`);
  return { home, folder, cache, kept, start: (id = BUILD) => new CompiledCode({ folder, build: id, cache }) };
}

const PAIR = {
  'a.cjs': "const b=require('./b.cjs');exports.sum=()=>b.one()+require('node:path').sep.length",
  'b.cjs': 'exports.one=()=>1',
};

const sumOf = (code: CompiledCode): number => code.load<{ sum: () => number }>('a.cjs').sum();

function loadsPair(code: CompiledCode): boolean {
  return code.load<{ sum: () => number }>('a.cjs').sum() === 2;
}

it('keeps what was compiled for the next start, for this user alone', () => {
  const { start, kept, cache } = place(PAIR);
  const first = start();
  expect(loadsPair(first)).toBe(true);
  first.keep();
  expect(readdirSync(kept).sort()).toEqual(['a.cjs', 'b.cjs']);
  for (const folder of [cache, kept]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(kept, 'a.cjs')).mode & 0o777).toBe(0o600);
  const writtenMs = statSync(join(kept, 'a.cjs')).mtimeMs;
  const second = start();
  expect(loadsPair(second)).toBe(true);
  second.keep();
  // Nothing was compiled, so nothing is written.
  expect(statSync(join(kept, 'a.cjs')).mtimeMs).toBe(writtenMs);
});

it.each([
  ['nonsense', () => Buffer.from('nonsense')],
  ['nothing', () => Buffer.alloc(0)],
  ['one wrong byte', (whole: Buffer) => Buffer.from(whole).fill(7, 99, 100)],
  ['half of it', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
])('compiles anew where %s is kept, and mends it', (_what, spoilt) => {
  const { start, kept } = place(PAIR);
  const first = start();
  loadsPair(first);
  first.keep();
  const file = join(kept, 'a.cjs');
  const whole = readFileSync(file);
  writeFileSync(file, spoilt(whole));
  const second = start();
  expect(loadsPair(second)).toBe(true);
  second.keep();
  expect(readFileSync(file).length).toBe(whole.length);
});

it.each([
  ['cache', 0o770],
  ['kept', 0o770],
  // Others could put another folder in the place of one that is closed to them.
  ['home', 0o777],
] as const)('runs and writes nothing where others can write to the folder: %s', (which, mode) => {
  const files = { 'a.cjs': 'exports.sum=()=>2', 'b.cjs': 'exports.other=1' };
  // V8 takes what was made of any text of the same length.
  const hers = place({ 'a.cjs': 'exports.sum=()=>9' });
  const other = hers.start();
  expect(sumOf(other)).toBe(9);
  other.keep();
  const prepared = () => {
    const made = place(files);
    mkdirSync(made.kept, { recursive: true, mode: 0o700 });
    chmodSync(made.cache, 0o700);
    copyFileSync(join(hers.kept, 'a.cjs'), join(made.kept, 'a.cjs'));
    return made;
  };
  // The control: where only this user can write, what lies there is run.
  expect(sumOf(prepared().start())).toBe(9);
  const made = prepared();
  chmodSync(made[which], mode);
  const code = made.start();
  expect(sumOf(code)).toBe(2);
  code.load('b.cjs');
  code.keep();
  expect(readdirSync(made.kept)).toEqual(['a.cjs']);
});

it('goes on where there is no place for it', () => {
  const { folder } = place(PAIR);
  const code = new CompiledCode({ folder, build: BUILD, cache: undefined });
  expect(loadsPair(code)).toBe(true);
  code.keep();
});

it('goes on where nothing can be written', () => {
  const { folder } = place(PAIR);
  const code = new CompiledCode({ folder, build: BUILD, cache: '/proc/nowhere/code' });
  expect(loadsPair(code)).toBe(true);
  code.keep();
});

it('takes no file of another build for a part of this one', () => {
  const { start } = place(PAIR);
  expect(() => start('another').load('a.cjs')).toThrow(expect.objectContaining({ code: 'MODULE_NOT_FOUND' }));
});

it('loads a file once, also where two import each other, and again where it has failed', () => {
  const { start, folder } = place({
    'a.cjs': "exports.early=1;exports.seen=require('./b.cjs').seen",
    'b.cjs': "exports.seen=require('./a.cjs').early",
    'c.cjs': "throw new Error('not yet')",
  });
  const code = start();
  expect(code.load('a.cjs')).toEqual({ early: 1, seen: 1 });
  expect(code.load('a.cjs')).toBe(code.load('a.cjs'));
  expect(() => code.load('c.cjs')).toThrow('not yet');
  writeFileSync(join(folder, 'c.cjs'), `exports.now=true\n//# build ${BUILD}\n`);
  expect(code.load('c.cjs')).toEqual({ now: true });
});

it('keeps the code of a few builds', () => {
  const { start, cache, kept } = place(PAIR);
  for (let build = 0; build < 6; build++) {
    const folder = join(cache, `${build}-v20.0.0-x64`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    utimesSync(folder, build, build);
  }
  chmodSync(cache, 0o700);
  const code = start();
  loadsPair(code);
  code.keep();
  expect(readdirSync(cache).sort()).toEqual(
    [kept.slice(cache.length + 1), '3-v20.0.0-x64', '4-v20.0.0-x64', '5-v20.0.0-x64'].sort(),
  );
});

// The plugin of the bundle that has the SDK's schemas made later: what it makes of a module's text, and that values are the same.

import { describe, expect, it } from 'vitest';

const { Rewriting } = await import(new URL('../../scripts/bundle/rewriting.mjs', import.meta.url).href);

const LATER = 'const later$ = (make) => { let made; return () => (made ??= make()); };';

/** What the module gives, with a `z` that notes what it makes. */
async function evaluated(text: string) {
  const z =
    'export const made = []; const z = { object: (shape) => { made.push(shape); return { shape }; } };';
  return await import(`data:text/javascript,${encodeURIComponent(`${LATER}${z}${text}`)}`);
}

function deferred(code: string): string {
  const rewriting = new Rewriting(code);
  for (const statement of rewriting.body)
    if (statement.type === 'FunctionDeclaration' && statement.id.name === 'build')
      rewriting.deferMembers(statement);
  rewriting.deferConstants(rewriting.body);
  return rewriting.finish();
}

it('makes a schema at its first use, and those that it consists of', async () => {
  const code = `const A = z.object({ a: 1 });
const B = z.object({ A, again: A.shape });
const C = z.object({ c: 3 });
const plain = 5;
export const read = () => [B.shape.A === A, plain];`;
  const { made, read } = await evaluated(deferred(code));
  expect(made).toEqual([]);
  expect(read()).toEqual([true, 5]);
  expect(made).toHaveLength(2);
});

it('makes at once what a module gives away under its own name', async () => {
  const { made, A } = await evaluated(deferred('const A = z.object({ a: 1 });\nexport { A };'));
  expect(A).toEqual({ shape: { a: 1 } });
  expect(made).toHaveLength(1);
});

it('leaves a name alone that has two meanings, and names of members', () => {
  const code = 'const A = z.object({});\nfunction f(A) { return A; }\nconst o = { A: 1 };\no.A;';
  expect(deferred(code).trim()).toBe(code);
});

it('defers the members of what a function builds', async () => {
  const code = `function build() {
  const A = z.object({ a: 1 });
  const make = (inner) => z.object({ inner });
  return { A, Second: A, Third: make(A), Fourth: z.object({ A }), plain: 1 };
}
export const built = build();`;
  const { made, built } = await evaluated(deferred(code));
  expect(made).toEqual([]);
  expect(built.Second).toBe(built.A);
  expect(built.Fourth).toBe(built.Fourth);
  expect(built.Fourth.shape.A).toBe(built.A);
  expect(built.Third.shape.inner).toBe(built.A);
  expect(built.plain).toBe(1);
});

describe('a module that imports schemas', () => {
  it('gets the functions that make them instead', () => {
    const rewriting = new Rewriting(
      'import { A, VERSION } from "core";\nexport const check = (v) => A.parse(v, VERSION);',
    );
    expect(rewriting.deferImports('core', new Set(['A']))).toEqual(['A']);
    const text = rewriting.finish();
    expect(text).toContain('import { VERSION } from "core";');
    expect(text).toContain('A$later().parse(v, VERSION)');
  });

  it('keeps every line where it was', () => {
    const code = 'const A = z.object({\n  a: 1,\n});\nexport const last = () => A;';
    expect(deferred(code).split('\n')[3]).toContain('last');
  });
});

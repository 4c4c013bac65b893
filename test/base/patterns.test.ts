// Every regular expression of src/ on texts that are hostile to it: what a guest, a server or a remote answer wrote may
// be as long as it likes, and nothing else is done while one is matched.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { expect, it, vi } from 'vitest';
import { growth, LINEAR, leastCpuMs } from '../support/cpu-time.js';
import { hostileTo } from '../support/pattern-pumps.js';
import { UNMEASURED } from './unmeasured.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const SMALL_CHARS = 8 * 1024;
/** What grows with the square takes minutes for 64 of these at once; only what has passed the small text gets it. */
const LARGE_CHARS = 16 * 1024;

type Found = { readonly file: string; readonly pattern: RegExp | undefined; readonly said: string };
type Node = {
  readonly type?: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
};

/** Every literal, and every place where one is made of a text; of the latter `pattern` is undefined. */
function patterns(): Found[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  return files.sort().flatMap((file) => {
    const text = readFileSync(join(SRC, file), 'utf8');
    const found: Found[] = [];
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) return node.forEach(visit);
      if (typeof node !== 'object' || node === null) return;
      const { type, start, end, regex, callee } = node as Node;
      const said = text.slice(start, end);
      if (type === 'Literal' && regex !== undefined) {
        const { pattern, flags } = regex as { pattern: string; flags: string };
        return void found.push({ file, pattern: new RegExp(pattern, flags), said });
      }
      const isMade = type === 'NewExpression' || type === 'CallExpression';
      if (isMade && (callee as { name?: string }).name === 'RegExp')
        found.push({ file, pattern: undefined, said });
      for (const value of Object.values(node)) visit(value);
    };
    visit(parseAst(text, { lang: 'ts' }, file));
    return found;
  });
}

const filled = ([before, pump, end]: readonly [string, string, string], chars: number) =>
  before + pump.repeat(Math.ceil(chars / pump.length)) + end;

/** As it is used: a search from the first character on, for all places where it has the flag g. */
const match = (pattern: RegExp, text: string) => () => void text.replace(pattern, '');

/** One that is known to grow with the square. All others that do take a twentieth of it and more, and what does not a thousandth. */
const SQUARE_MS = leastCpuMs(match(/a+b/, 'a'.repeat(SMALL_CHARS)), 0);
const SMALL_MAX_MS = SQUARE_MS / 32;

/** The worst that is known of it, as a sentence; undefined where it takes time that grows with the text. */
function troubleOf(pattern: RegExp): string | undefined {
  const worst = hostileTo(pattern)
    .map((kind) => ({ kind, ms: leastCpuMs(match(pattern, filled(kind, SMALL_CHARS)), SMALL_MAX_MS) }))
    .reduce((left, right) => (right.ms > left.ms ? right : left), { kind: ['', 'a', ''] as const, ms: 0 });
  if (worst.ms > SMALL_MAX_MS)
    return `${JSON.stringify(worst.kind)}: 1/${Math.round(SQUARE_MS / worst.ms)} of what grows with the square`;
  const times = growth((chars) => match(pattern, filled(worst.kind, chars))(), LARGE_CHARS);
  return times > LINEAR ? `${JSON.stringify(worst.kind)}: ${Math.round(times)} times` : undefined;
}

/** Those that are made of texts when `files` are loaded, by the file and line that made them. */
async function madeBy(files: readonly string[]): Promise<ReadonlyMap<string, readonly RegExp[]>> {
  const made = new Map<string, RegExp[]>();
  vi.stubGlobal(
    'RegExp',
    new Proxy(RegExp, {
      construct(target, given: ConstructorParameters<typeof RegExp>) {
        const pattern = new target(...given);
        const file = /\/src\/([\w/.-]+\.ts)/.exec(new Error().stack ?? '')?.[1] ?? '';
        made.set(file, [...(made.get(file) ?? []), pattern]);
        return pattern;
      },
    }),
  );
  // Loaded anew, whatever has been loaded before.
  vi.resetModules();
  for (const file of files) await import(join(SRC, file));
  vi.resetModules();
  vi.unstubAllGlobals();
  return made;
}

const all = patterns();
const literals = all.flatMap(({ pattern, ...rest }) => (pattern === undefined ? [] : [{ ...rest, pattern }]));

it('finds literals, and matches each in time that grows with the text', () => {
  expect(literals.length).toBeGreaterThan(300);
  const slow = literals.map(({ file, said, pattern }) => [`${file} ${said}`, troubleOf(pattern)]);
  expect(slow.filter(([, trouble]) => trouble !== undefined)).toEqual([]);
});

it('knows what is made of texts, and the same of it', async () => {
  const sites = all.filter(({ pattern }) => pattern === undefined);
  // Hints are made by a function of another file.
  const made = await madeBy([...new Set([...sites.map(({ file }) => file), 'run/hints/hints.ts'])]);
  const unknown = sites.filter(({ file, said }) => !made.has(file) && !UNMEASURED.has(`${file} ${said}`));
  expect(unknown.map(({ file, said }) => `${file} ${said}`)).toEqual([]);
  const slow = [...made].flatMap(([file, each]) =>
    each.map((pattern) => [`${file} ${pattern}`, troubleOf(pattern)]),
  );
  expect(slow.filter(([, trouble]) => trouble !== undefined)).toEqual([]);
});

// The documents are true where a program can tell: links, commands and paths lead somewhere, what is shipped does not point
// at what is not, no sentence stands twice, and the regions that scripts write are there.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const manifest = z
  .looseObject({
    files: z.array(z.string()),
    scripts: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(read('package.json')));

const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
const PAGES = markdownIn('docs').map((name) => `docs/${name}`);
const SUPPORT = 'test/support/README.md';
const DOCUMENTS = [
  ...markdownIn('.'),
  ...PAGES,
  SUPPORT,
  'sandbox-runtime/README.md',
  'src/wire/PROTOCOL.md',
];
/** npm adds the first two by itself. */
const SHIPPED = ['README.md', 'LICENSE', ...manifest.files];
const isShipped = (file: string): boolean =>
  SHIPPED.some((entry) => file === entry || file.startsWith(`${entry}/`));

const withoutCode = (text: string): string => text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '');

/** Relative links as [path from the root, heading or an empty text]. */
function linksOf(document: string): Array<readonly [file: string, heading: string]> {
  const found = withoutCode(read(document)).matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g);
  return [...found].map(([, path = '', heading = '']) => [
    path === '' ? document : posix.normalize(posix.join(posix.dirname(document), path)),
    heading,
  ]);
}

/** As GitHub names the headings of a page. */
const headingsOf = (file: string): string[] =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

it('test/support/README.md names each file of its folder, and none that is gone', () => {
  const named = [...read(SUPPORT).matchAll(/`([a-z-]+\.ts)`/g)].map(([, file]) => file);
  const files = readdirSync(join(ROOT, 'test/support')).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  expect(named.toSorted()).toEqual(files.toSorted());
});

describe.each(DOCUMENTS)('%s', (document) => {
  it('links to what is there', () => {
    for (const [file, heading] of linksOf(document)) {
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
      if (heading !== '') expect(headingsOf(file)).toContain(heading);
    }
  });

  it.runIf(isShipped(document))('links to nothing that the npm package leaves out', () => {
    expect(linksOf(document).filter(([file]) => !isShipped(file))).toEqual([]);
  });

  it('names only scripts of npm that are there', () => {
    for (const [, name = ''] of read(document).matchAll(/\bnpm run ([\w:-]+)/g))
      expect(Object.keys(manifest.scripts)).toContain(name);
  });

  it('names only paths that are there, or that the build makes', () => {
    const paths = read(document).matchAll(
      /(?<![\w/~.<-])(?:src|test|scripts|docs|dist|sandbox-runtime)\/[\w./-]*\w(?![\w/]*[<*{])/g,
    );
    for (const [path] of paths) {
      const source = path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts');
      expect([path, existsSync(join(ROOT, source))]).toEqual([path, true]);
    }
  });
});

it('the README is short, and leads to every page', () => {
  const lines = read('README.md').split('\n');
  expect(lines.length).toBeLessThanOrEqual(100);
  const linked = linksOf('README.md').map(([file]) => file);
  for (const page of [...PAGES, 'SECURITY.md', 'ARCHITECTURE.md', 'CHANGELOG.md'])
    expect(linked).toContain(page);
});

it('the npm package has the pages for its users, and not those for its authors', () => {
  for (const page of [...PAGES, 'README.md', 'SECURITY.md', 'ARCHITECTURE.md', 'CHANGELOG.md'])
    expect([page, isShipped(page)]).toEqual([page, true]);
  for (const page of ['HISTORY.md', 'CONTRIBUTING.md'])
    expect([page, isShipped(page)]).toEqual([page, false]);
  for (const file of manifest.files.filter((name) => !/[!*]|^dist\//.test(name)))
    expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
});

/** What src/ imports of npm, all of which the bundle has in it. */
function importedPackages(): string[] {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join('src', name)));
  const specifiers = sources.flatMap((text) => [
    ...text.matchAll(
      /^(?:import |export |\}).*?from '((?:@[^/']+\/)?[^./'][^/']*)|\bimport\('([^./'][^']*)'\)/gm,
    ),
  ]);
  const names = specifiers
    .map(([, name, lazily = '']) => name ?? lazily)
    .filter((name) => !name.startsWith('node:'));
  return [...new Set(names)].sort();
}

it('ARCHITECTURE says why of every dependency', () => {
  const table = /^## Packages\n(.*?)^## /ms.exec(read('ARCHITECTURE.md'))?.[1] ?? '';
  const named = [...table.matchAll(/^\| (.*?) \| .+ \|$/gm)].flatMap(([, names = '']) => names.split(', '));
  expect(named.filter((name) => !['package', '---'].includes(name)).sort()).toEqual(importedPackages());
});

describe('ARCHITECTURE', () => {
  const text = read('ARCHITECTURE.md');
  const rowsOf = (title: string): string[][] => {
    const section = text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
    const rows = [...section.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
    return rows.slice(1);
  };

  it('has at most 200 lines, and explains at most fifteen words', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(200);
    const words = rowsOf('Words of our own');
    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThanOrEqual(15);
  });

  it('names only files that are there, below the root, src/ or sandbox-runtime/', () => {
    const paths = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.\w+)`/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) {
      const isThere = ['', 'src', 'sandbox-runtime'].some((base) => existsSync(join(ROOT, base, path)));
      expect([path, isThere]).toEqual([path, true]);
    }
  });

  it('has a line for each room, in their order', () => {
    const { rooms } = JSON.parse(read('scripts/rooms.json')) as { rooms: object };
    expect(rowsOf('Rooms').map(([name]) => name)).toEqual(Object.keys(rooms).map((name) => `\`${name}\``));
  });

  it('has a test for each invariant', () => {
    const rows = rowsOf('Invariants');
    expect(rows.length).toBeGreaterThan(0);
    for (const [invariant, tests = ''] of rows)
      expect([invariant, tests]).toEqual([invariant, expect.stringMatching(/^`test\//)]);
  });
});

it('no sentence stands twice', () => {
  const MIN_CHARS = 60;
  const seen = new Map<string, string>();
  for (const document of DOCUMENTS) {
    const prose = read(document)
      .replace(/^```.*?^```/gms, '')
      .replace(/^\|.*$/gm, '');
    for (const paragraph of prose.split(/\n\s*\n|\n(?=- |\d+\. )/)) {
      for (const sentence of paragraph.replace(/\s+/g, ' ').split(/(?<=[.?!:]) /)) {
        if (sentence.length < MIN_CHARS) continue;
        expect([document, sentence, seen.get(sentence)]).toEqual([document, sentence, undefined]);
        seen.set(sentence, document);
      }
    }
  }
});

describe('measured regions', async () => {
  const { REGIONS, withRegion } = (await load('measured-region')) as {
    REGIONS: Readonly<Record<string, string>>;
    withRegion: (text: string, name: string, markdown: string) => string;
  };

  it.each(Object.entries(REGIONS))('%s is in %s once, and keeps what is around it', (name, document) => {
    const text = read(document);
    expect(text.split(`<!-- measured:${name} -->`)).toHaveLength(2);
    const [before = '', after = ''] = withRegion(text, name, 'a $1 table').split('a $1 table\n');
    expect(text.startsWith(before)).toBe(true);
    expect(text.endsWith(after)).toBe(true);
    expect(after).toMatch(/^<!-- \/measured -->/);
  });

  it('one that is not there is an error which names the document', () => {
    expect(() => withRegion('', 'bench', '')).toThrow('docs/benchmark.md has no region');
  });
});

it('the README’s two sentences are made of the sums and of the warm call', async () => {
  const { costSummary } = (await load('context/table')) as {
    costSummary: (rows: object[], definitions: object) => string;
  };
  const { benchSummary } = (await load('bench/publish')) as {
    benchSummary: (rows: object[]) => string | undefined;
  };
  const way = (chars: number) => ({ calls: 1, chars, lookups: 0 });
  const rows = [{ name: 'a', direct: way(9_000), python: way(1_000) }];
  expect(costSummary(rows, { direct: 3_000, python: 1_000 })).toContain(
    'direct calls put 12,000 characters into the context, and `run_python` 2,000: 6.0 times less',
  );
  const warm = { measure: 'warm call of print(1)', unit: 'ms', ours: { p50: 12 }, theirs: { p50: 16.8 } };
  expect(benchSummary([{ measure: 'other', unit: 'ms', ours: { p50: 1 } }, warm])).toMatch(
    /^A call of `print\(1\)` took 12 ms; .* took 16\.8 ms\./,
  );
  expect(benchSummary([{ measure: warm.measure, failed: 'no engine' }])).toBeUndefined();
});

function load(name: string): Promise<unknown> {
  return import(new URL(`../../scripts/${name}.mjs`, import.meta.url).href);
}

// What the comparison with peers makes of its figures. Measuring them is no test: it installs other people's programs.

import { expect, it } from 'vitest';

type Sample = { peer: string; job: string; round: number; ms: number; cpuMs?: number; chars: number };
type Figures = {
  samples: Sample[];
  starts: { peer: string; round: number; startMs: number; firstMs: number; cpuMs?: number; mb?: number }[];
  rates: { peer: string; offered: number; served: number; refused: number; late: number; p95?: number }[];
  gaps: { peer: string; job?: string; why: string }[];
  definitionChars: Record<string, number>;
};
type Outcome = { ms: number; refusal?: string; isLate?: boolean };

const load = (name: string) => import(new URL(`../../scripts/peers/${name}.mjs`, import.meta.url).href);

const { ratioToOurs, timeTable, costTable, rateTable, gapLines, report, picture } = (await load('table')) as {
  ratioToOurs: (
    samples: { peer: string; round: number; value?: number }[],
    peer: string,
  ) => number | undefined;
  timeTable: (peers: object[], figures: Figures) => string;
  costTable: (peers: object[], figures: Figures) => string;
  rateTable: (peers: object[], figures: Figures) => string;
  gapLines: (peers: object[], figures: Figures) => string[];
  report: (peers: object[], figures: Figures, about: string) => string;
  picture: (peers: object[], figures: Figures, about: string) => string | undefined;
};
const { JOBS, logText, mustBeDone, pythonPrograms } = (await load('jobs')) as {
  JOBS: string[];
  logText: () => string;
  mustBeDone: (job: string, text: string) => void;
  pythonPrograms: (dialect: object, file: string) => Record<string, string>;
};
const { offer, rateOf } = (await load('rate')) as {
  offer: (
    call: () => Promise<unknown>,
    pace: { perSecond: number; seconds: number },
  ) => Promise<{ served: number }>;
  rateOf: (outcomes: Outcome[]) => Record<string, number | string>;
};

type FakePeer = { name: string; install?: () => Promise<void>; open?: () => Promise<object> };
const { Comparison } = (await load('measure')) as {
  Comparison: new (
    place: object,
    tell: (words: string) => void,
    count: (work: () => Promise<void>) => Promise<number>,
  ) => {
    figures: Figures;
    install: (peers: FakePeer[]) => Promise<FakePeer[]>;
    measureJobs: (peers: FakePeer[], rounds: Record<string, number>, pace: object) => Promise<void>;
  };
};

const peers = [
  { name: 'ours', title: 'this', version: '1', walls: 'all', lacks: '' },
  { name: 'other', title: 'another', version: '2', walls: 'few', lacks: 'tools' },
  { name: 'gone', title: 'a third', version: '3', walls: 'none', lacks: 'much' },
];

const sample = (peer: string, round: number, ms: number, more: Partial<Sample> = {}): Sample => ({
  peer,
  job: 'hello',
  round,
  ms,
  chars: 5,
  ...more,
});

const figures: Figures = {
  samples: [
    sample('ours', 1, 10, { cpuMs: 100 }),
    sample('other', 1, 30, { cpuMs: 50 }),
    sample('ours', 2, 100, { cpuMs: 100 }),
    sample('other', 2, 200, { cpuMs: 50 }),
    sample('ours', 1, 40, { job: 'filtered', chars: 999 }),
  ],
  starts: [
    { peer: 'ours', round: 1, startMs: 300, firstMs: 500, cpuMs: 900, mb: 70 },
    { peer: 'other', round: 1, startMs: 0, firstMs: 400 },
  ],
  rates: [
    { peer: 'ours', offered: 600, served: 500, refused: 60, late: 40, p95: 9_000.4 },
    { peer: 'other', offered: 600, served: 0, refused: 600, late: 0 },
  ],
  gaps: [
    { peer: 'other', job: 'filtered', why: 'a line is\n  too long' },
    { peer: 'gone', why: `there is no such package ${'x'.repeat(300)}` },
  ],
  definitionChars: { ours: 2158 },
};

it('a ratio is taken within each round, so that a busy hour counts for both', () => {
  const samples = figures.samples
    .filter(({ job }) => job === 'hello')
    .map(({ ms, ...one }) => ({ ...one, value: ms }));
  // Of the medians it would be 115 to 55.
  expect(ratioToOurs(samples, 'other')).toBe(2.5);
  expect(ratioToOurs(samples, 'gone')).toBeUndefined();
  expect(ratioToOurs([{ peer: 'other', round: 1, value: 3 }], 'other')).toBeUndefined();
});

it('the table of times has a line for each peer that was measured, and a dash for a job that it has no way to do', () => {
  const [head = '', , ...lines] = timeTable(peers, figures).split('\n');
  expect(lines).toEqual([
    '| this | 55 ms | – | – | 40 ms | 800 ms |',
    '| another | 115 ms (2.5) | – | – | – | 400 ms (0.5) |',
  ]);
  expect(head.split('|')).toHaveLength(JOBS.length + 4);
});

it('the table of costs leaves out what was not counted', () => {
  expect(costTable(peers, figures).split('\n').slice(2)).toEqual([
    '| this | 100 ms | – | 900 ms | 70 MB | 2,158 | 999 |',
    '| another | 50 ms (0.5) | – | – | – | – | – |',
  ]);
});

it('the table of offered runs has a line for each peer, also for one that served none', () => {
  expect(rateTable(peers, figures).split('\n').slice(2)).toEqual([
    '| this | 600 | 500 | 60 | 40 | – | 9,000 ms | – |',
    '| another | 600 | 0 | 600 | 0 | – | – | – |',
  ]);
});

it('each thing that could not be measured is a line that says why, on one line and not too long', () => {
  const lines = gapLines(peers, figures);
  expect(lines[0]).toBe('- another, 2 MB to ten lines: a line is too long');
  expect(lines[1]).toMatch(/^- a third: there is no such package x+…$/);
  expect(lines[1]?.length).toBeLessThan(230);
  expect(report(peers, figures, 'a machine')).toContain('Not measured:\n\n- another');
  expect(report(peers, { ...figures, gaps: [] }, 'a machine')).not.toContain('Not measured');
});

it('the picture has a bar for each peer below the title of each job that was done', () => {
  const svg = picture(peers, figures, 'a machine') ?? '';
  expect(svg.match(/<rect class="(ours|theirs)"/g)).toHaveLength(3);
  expect([...svg.matchAll(/class="title">([^<]+)</g)].map(([, title]) => title)).toEqual([
    'hello',
    '2 MB to ten lines',
  ]);
  expect(picture(peers, { ...figures, samples: [] }, 'a machine')).toBeUndefined();
});

it('a run that was offered is served, refused or late', () => {
  const outcomes = [{ ms: 10 }, { ms: 30 }, { ms: 40_000, isLate: true }, { ms: 1, refusal: 'full' }];
  expect(rateOf(outcomes)).toEqual({
    offered: 4,
    served: 2,
    refused: 1,
    late: 1,
    p50: 20,
    p95: 29,
    refusal: 'full',
  });
  expect(rateOf([{ ms: 1, refusal: 'full' }])).not.toHaveProperty('p95');
});

it('runs are offered whether or not the earlier ones have ended, up to a hundred at once', async () => {
  const begun: (() => void)[] = [];
  const call = () => new Promise<void>((resolve) => begun.push(resolve));
  const rate = offer(call, { perSecond: 1_000_000, seconds: 0.000_12 });
  await expect.poll(() => begun.length).toBe(100);
  for (const end of begun) end();
  expect(await rate).toMatchObject({ offered: 120, served: 100, refused: 20 });
});

it('a job counts only if its answer shows that it was done', () => {
  const text = logText();
  const errors = text.split('\n').filter((one) => one.startsWith('ERROR'));
  expect([text.length, errors.length]).toEqual([2_000_000, 10]);
  mustBeDone('filtered', errors.join('\n'));
  mustBeDone('gathered', '4950');
  expect(() => mustBeDone('filtered', errors.slice(1).join('\n'))).toThrow(
    'it answered something else: ERROR',
  );
  expect(() => mustBeDone('hello', 'Traceback')).toThrow('it answered something else: Traceback');
});

it('the programs of a job call tools as the peer does, and hand back as the peer does', () => {
  const call = (server: string, tool: string, name: string, value: string) =>
    `${server}.${tool}(${name}=${value})`;
  const programs = pythonPrograms({ call, give: (value: string) => `return ${value}` }, '/log');
  expect(Object.keys(programs)).toEqual(JOBS);
  expect(programs['sequence']).toContain('last = await everything.echo(message=str(n))');
  expect(programs['gathered']).toContain('gather(*[everything.echo(message=str(n)) for n in range(100)])');
  expect(programs['filtered']).toMatch(
    /^text = \(await filesystem\.read_text_file\(path="\/log"\)\)\["content"\]\nreturn /,
  );
});

const CPU_MS = 7;
const comparison = (told: string[] = []) =>
  new Comparison(
    {},
    (words) => told.push(words),
    async (work) => {
      await work();
      return CPU_MS;
    },
  );

it('a peer that cannot be installed has a reason, and the others go on', async () => {
  const run = comparison();
  const refused = { name: 'gone', install: () => Promise.reject(new Error('there is none')) };
  const kept = { name: 'ours', install: () => Promise.resolve() };
  expect(await run.install([refused, kept])).toEqual([kept]);
  expect(run.figures.gaps).toEqual([{ peer: 'gone', why: 'there is none' }]);
});

it('peers do a job in turns after a round that does not count, and one that fails is started anew for the next job', async () => {
  const told: string[] = [];
  const run = comparison(told);
  const closed: string[] = [];
  const peer = (name: string, jobs: Record<string, () => Promise<string>>): FakePeer => ({
    name,
    open: () => Promise.resolve({ jobs, close: async () => void closed.push(name) }),
  });
  const hello = () => Promise.resolve('hello');
  const good = peer('ours', { hello, gathered: () => Promise.resolve('4950') });
  const wrong = peer('other', { hello, gathered: () => Promise.resolve('4949') });
  const dead = { name: 'gone', open: () => Promise.reject(new Error('it ended')) };
  await run.measureJobs(
    [good, wrong, dead],
    { hello: 2, sequence: 2, gathered: 1, filtered: 1 },
    { perSecond: 1_000, seconds: 0.003 },
  );
  const { samples, gaps, rates } = run.figures;
  expect(samples.map(({ peer: name, job, round }) => `${job} ${round} ${name}`)).toEqual([
    'hello 1 ours',
    'hello 1 other',
    'hello 2 ours',
    'hello 2 other',
    'gathered 1 ours',
  ]);
  expect(samples[0]).toMatchObject({ cpuMs: CPU_MS, chars: 5 });
  expect(gaps).toEqual([
    { peer: 'gone', why: 'it ended' },
    { peer: 'other', job: 'gathered', why: 'it answered something else: 4949' },
  ]);
  expect(rates.map(({ peer: name, served }) => [name, served])).toEqual([
    ['ours', 3],
    ['other', 3],
  ]);
  expect(told.slice(3, 7)).toEqual([
    'hello 0 of 2 ours',
    'hello 0 of 2 other',
    'hello 1 of 2 ours',
    'hello 1 of 2 other',
  ]);
  expect(closed).toEqual(['other', 'ours', 'other']);
});

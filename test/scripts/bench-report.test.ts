// How samples become figures, a table and a plot. The measuring itself is no test: a machine may be slow.

import { expect, it } from 'vitest';

type Figure = { label: string; samples: number[]; p50: number; p95: number | undefined };

const load = (name: string) => import(new URL(`../../scripts/bench/${name}.mjs`, import.meta.url).href);

const { figure, percentile } = (await load('statistics')) as {
  figure: (label: string, samples: number[], options?: { moreIsBetter: boolean }) => Figure;
  percentile: (samples: number[], share: number) => number;
};
const { markdownTable, textTable } = (await load('report')) as {
  markdownTable: (rows: object[]) => string;
  textTable: (rows: object[]) => string;
};
const { plot } = (await load('plot')) as {
  plot: (rows: object[], caption: string) => string | undefined;
};

const row = {
  measure: 'warm call',
  unit: 'ms',
  ours: figure('warm', [1, 2, 3]),
  theirs: figure('python & co', [8, 10, 30]),
  ratio: 0.2,
  target: '<= 1',
  met: true,
  note: 'taken in turns',
};

it('percentiles are interpolated, whatever the order of the samples', () => {
  expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(percentile([10, 30, 20], 0.95)).toBeCloseTo(29);
  expect(percentile([7], 0.95)).toBe(7);
});

it('the p95 of a rate is that of its slow end, and one sample has none', () => {
  expect(figure('rate', [100, 200, 300], { moreIsBetter: true }).p95).toBeCloseTo(110);
  expect(figure('once', [5]).p95).toBeUndefined();
  expect(() => figure('never', [])).toThrow('never: there is no sample');
});

it('every row has all the columns, also one that could not be measured', () => {
  const rows = [
    row,
    { measure: 'a | b', skipped: 'no image' },
    { measure: 'broken', failed: 'it ended' },
    { ...row, measure: 'missed', met: false, note: undefined },
  ];
  const [head = '', , ...lines] = markdownTable(rows).split('\n');
  const columns = (line: string) => line.replaceAll('\\|', '').split('|').length;
  expect(lines.slice(0, 4).map(columns)).toEqual(Array(4).fill(columns(head)));
  expect(lines[0]).toBe('| warm call | 2 ms | 2.9 ms | python & co | 10 ms | 28 ms | 0.2 | <= 1 | yes |');
  expect(lines[1]).toContain('skipped: no image');
  expect(lines[2]).toContain('failed: it ended');
  expect(lines[3]).toContain('| NO |');
  expect(lines.at(-1)).toBe('- warm call: taken in turns');
  expect(textTable(rows).split('\n')).toHaveLength(5);
});

it('the plot draws times only, on a logarithmic scale', () => {
  const svg = plot([row, { ...row, measure: 'rate', unit: '/s' }, { ...row, plotted: false }], 'here') ?? '';
  expect(svg.match(/<rect class="(ours|theirs)"/g)).toEqual(['<rect class="ours"', '<rect class="theirs"']);
  expect(svg).toContain('python &#38; co');
  expect([...svg.matchAll(/class="axis">(\S+) ms</g)].map(([, tick]) => tick)).toEqual(['1', '10', '100']);
  const [ours = 0, theirs = 0] = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );
  // 2 ms and 10 ms between 1 and 100: log10 makes 0.15 and 0.5 of the whole.
  expect(ours / theirs).toBeCloseTo(Math.log10(2), 2);
  expect(plot([], 'nothing')).toBeUndefined();
});

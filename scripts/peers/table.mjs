// Figures as tables and as a picture. Pure: it knows how a file of figures is made up, and no peer.

import { barChart } from '../bench/plot.mjs';
import { displayNumber } from '../bench/report.mjs';
import { figure, median } from '../bench/statistics.mjs';
import { JOBS, TITLES } from './jobs.mjs';

/**
 * @typedef {import('./jobs.mjs').Job} Job
 * @typedef {import('./measure.mjs').Figures} Figures
 * @typedef {Pick<import('./place.mjs').Peer, 'name' | 'title' | 'version' | 'walls' | 'lacks'>} Told
 */

/** The peer with which the others are compared. */
const OURS = 'ours';
/** Stands where a peer has no way to do a job; a job that failed has its reason below the table. */
const NONE = '–';

/**
 * How much a peer takes of what ours takes: the median over the rounds, each compared with ours of the same round, since a machine is
 * busier at one time than at another. Undefined where no round has both.
 *
 * @param {readonly { peer: string, round: number, value: number | undefined }[]} samples
 * @param {string} peer
 */
export function ratioToOurs(samples, peer) {
  const of = (/** @type {string} */ name) =>
    new Map(
      samples.flatMap((one) =>
        one.peer === name && one.value !== undefined ? [[one.round, one.value]] : [],
      ),
    );
  const ours = of(OURS);
  const ratios = [...of(peer)].flatMap(([round, value]) => {
    const same = ours.get(round);
    return same === undefined || same === 0 ? [] : [value / same];
  });
  return ratios.length === 0 ? undefined : /** @type {number} */ (median(ratios));
}

/**
 * A cell with the median and, in brackets, the ratio to ours.
 *
 * @param {readonly { peer: string, round: number, value: number | undefined }[]} samples
 * @param {string} peer
 * @param {string} unit
 */
function cell(samples, peer, unit) {
  const values = samples.flatMap((one) => (one.peer === peer && one.value !== undefined ? [one.value] : []));
  if (values.length === 0) return NONE;
  const ratio = peer === OURS ? undefined : ratioToOurs(samples, peer);
  const number = `${displayNumber(rounded(median(values)))} ${unit}`.trim();
  return ratio === undefined ? number : `${number} (${displayNumber(Number(ratio.toPrecision(2)))})`;
}

/** Whole from ten on: nobody reads the tenth of 473 ms. @param {number} value */
const rounded = (value) => (value >= 10 ? Math.round(value) : Number(value.toPrecision(2)));

/** @param {readonly string[]} texts */
const line = (texts) => `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows @param {boolean} isNumbers */
const table = (head, rows, isNumbers = true) =>
  [line(head), `|---${`|${isNumbers ? '--:' : '---'}`.repeat(head.length - 1)}|`, ...rows.map(line)].join(
    '\n',
  );

/** @param {Figures} figures @param {Job} job @param {'ms' | 'cpuMs' | 'chars'} field */
const jobSamples = ({ samples }, job, field) =>
  samples.flatMap((one) =>
    one.job === job ? [{ peer: one.peer, round: one.round, value: one[field] }] : [],
  );

/** @param {Figures} figures @param {(start: Figures['starts'][number]) => number | undefined} value */
const startSamples = ({ starts }, value) =>
  starts.map((one) => ({ peer: one.peer, round: one.round, value: value(one) }));

/** Those of which anything was measured, in their order. @param {readonly Told[]} peers @param {Figures} figures */
const measured = (peers, { samples, starts }) =>
  peers.filter(({ name }) => [...samples, ...starts].some(({ peer }) => peer === name));

/** How long each job takes. @param {readonly Told[]} peers @param {Figures} figures */
export function timeTable(peers, figures) {
  const head = ['time', ...JOBS.map((job) => TITLES[job]), 'start and first hello'];
  const rows = measured(peers, figures).map(({ name, title }) => [
    title,
    ...JOBS.map((job) => cell(jobSamples(figures, job, 'ms'), name, 'ms')),
    cell(
      startSamples(figures, ({ startMs, firstMs }) => startMs + firstMs),
      name,
      'ms',
    ),
  ]);
  return table(head, rows);
}

/** What it takes of the machine and of the model's context. @param {readonly Told[]} peers @param {Figures} figures */
export function costTable(peers, figures) {
  const head = [
    'cost',
    'processor time: hello',
    '100 calls at once',
    'start and first hello',
    'memory at rest',
    'characters before the first call',
    'of the 2 MB',
  ];
  const rows = measured(peers, figures).map(({ name, title }) => [
    title,
    cell(jobSamples(figures, 'hello', 'cpuMs'), name, 'ms'),
    cell(jobSamples(figures, 'gathered', 'cpuMs'), name, 'ms'),
    cell(
      startSamples(figures, ({ cpuMs }) => cpuMs),
      name,
      'ms',
    ),
    cell(
      startSamples(figures, ({ mb }) => mb),
      name,
      'MB',
    ),
    figures.definitionChars[name] === undefined ? NONE : displayNumber(figures.definitionChars[name]),
    cell(jobSamples(figures, 'filtered', 'chars'), name, '').replace(/ \(.*/, ''),
  ]);
  return table(head, rows);
}

/** Runs that were offered at a steady pace. @param {readonly Told[]} peers @param {Figures} figures */
export function rateTable(peers, figures) {
  const head = [
    'offered',
    'runs',
    'served',
    'refused',
    'late',
    'p50',
    'p95',
    'processor time of a run served',
  ];
  const ms = (/** @type {number | undefined} */ value) =>
    value === undefined ? NONE : `${displayNumber(rounded(value))} ms`;
  const rows = peers.flatMap(({ name, title }) =>
    figures.rates
      .filter(({ peer }) => peer === name)
      .map(({ offered, served, refused, late, p50, p95, cpuMs }) => [
        title,
        ...[offered, served, refused, late].map(String),
        ms(p50),
        ms(p95),
        ms(cpuMs === undefined || served === 0 ? undefined : cpuMs / served),
      ]),
  );
  return table(head, rows);
}

/** What each is and cannot do. @param {readonly Told[]} peers @param {Figures} figures */
export function wordsTable(peers, figures) {
  const rows = measured(peers, figures).map(({ title, version, walls, lacks }) => [
    title,
    version,
    walls,
    lacks,
  ]);
  return table(['', 'what was run', 'around the code', 'what it cannot do'], rows, false);
}

/** A line for each thing that could not be measured, with its reason. @param {readonly Told[]} peers @param {Figures} figures */
export function gapLines(peers, { gaps }) {
  const titles = new Map(peers.map(({ name, title }) => [name, title]));
  const what = (/** @type {Figures['gaps'][number]['job']} */ job) =>
    job === undefined ? '' : `, ${job === 'rate' ? 'runs at a steady pace' : TITLES[job]}`;
  return gaps.map(({ peer, job, why }) => `- ${titles.get(peer) ?? peer}${what(job)}: ${oneLine(why)}`);
}

/** @param {string} text */
const oneLine = (text) => {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > 200 ? `${flat.slice(0, 199)}…` : flat;
};

/** All of it as Markdown. @param {readonly Told[]} peers @param {Figures} figures @param {string} about */
export function report(peers, figures, about) {
  const gaps = gapLines(peers, figures);
  return [
    timeTable(peers, figures),
    costTable(peers, figures),
    rateTable(peers, figures),
    wordsTable(peers, figures),
    ...(gaps.length === 0 ? [] : [`Not measured:\n\n${gaps.join('\n')}`]),
    `${about}.`,
  ].join('\n\n');
}

/** The times of all jobs as one SVG. @param {readonly Told[]} peers @param {Figures} figures @param {string} about */
export function picture(peers, figures, about) {
  const groups = JOBS.flatMap((job) => {
    const bars = peers.flatMap(({ name, title }) => {
      const times = figures.samples.filter((one) => one.job === job && one.peer === name).map(({ ms }) => ms);
      if (times.length === 0) return [];
      const { p50, p95 } = figure(title, times);
      return [{ label: title, kind: name === OURS ? 'ours' : 'theirs', p50, p95 }];
    });
    return bars.length === 0 ? [] : [{ title: TITLES[job], bars }];
  });
  return groups.length === 0 ? undefined : barChart(groups, about);
}

// The times of a run as one SVG: bars of the p50 on a logarithmic scale with whiskers to the p95, ours above what it
// was compared with. Readable on light and dark pages, since it takes its colours from the reader's preference.

import { displayNumber } from './report.mjs';

const WIDTH = 960;
const LABELS = 330;
const VALUES = 90;
const TOP = 44;
const BAR = 13;
const PAIR_GAP = 14;

const STYLE = `
    text { font: 12px system-ui, sans-serif; fill: #24292f; }
    .axis { fill: #57606a; } .title { font-weight: 600; } .grid { stroke: #d0d7de; } .ours { fill: #0969da; } .theirs { fill: #8c959f; }
    .whisker { stroke: #24292f; stroke-width: 1.5; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .axis { fill: #9198a1; } .grid { stroke: #30363d; } .ours { fill: #4493f8; }
      .theirs { fill: #6e7681; } .whisker { stroke: #e6edf3; }
    }`;

/** @param {string} text */
export const escapeText = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const round = (value) => Math.round(value * 10) / 10;

/** SVG text; undefined where no row is a time. */
export function plot(rows, caption) {
  const pairs = rows.filter(
    ({ unit, ours, plotted = true }) => plotted && unit === 'ms' && ours !== undefined && ours.p50 > 0,
  );
  if (pairs.length === 0) return undefined;
  return barChart(
    pairs.map(({ ours, theirs, measure }) => ({
      bars: [
        { ...ours, label: measure, kind: 'ours' },
        ...(theirs === undefined || !(theirs.p50 > 0) ? [] : [{ ...theirs, kind: 'theirs' }]),
      ],
    })),
    caption,
  );
}

/**
 * SVG text of bars in milliseconds. Each of `groups` is { title?, bars }, and a bar is { label, kind, p50, p95? }, of the kind
 * 'ours' or 'theirs'.
 */
export function barChart(groups, caption) {
  const x = logScale(groups.flatMap(({ bars }) => bars.flatMap(({ p50, p95 }) => [p50, p95 ?? p50])));
  let y = TOP;
  const drawn = [];
  for (const { title, bars } of groups) {
    if (title !== undefined) {
      drawn.push(text(4, y + BAR - 2, title, 'start', 'title'));
      y += BAR + 2;
    }
    for (const bar of bars) {
      drawn.push(
        text(LABELS - 10, y + BAR - 2, bar.label, 'end', bar.kind === 'theirs' ? 'axis' : undefined),
      );
      drawn.push(drawBar(bar, x, y));
      y += BAR + 2;
    }
    y += PAIR_GAP;
  }
  const height = y + 8;
  const grid = x.ticks.map(
    (tick) =>
      `<line class="grid" x1="${round(x(tick))}" x2="${round(x(tick))}" y1="${TOP - 8}" y2="${height - 16}"/>` +
      text(x(tick), TOP - 14, `${displayNumber(tick)} ms`, 'middle', 'axis'),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
  <title>${escapeText(caption)}</title>
  <style>${STYLE}
  </style>
  ${[text(4, 14, caption, 'start', 'axis'), ...grid, ...drawn].join('\n  ')}
</svg>
`;
}

function drawBar({ kind, p50, p95 }, x, y) {
  const middle = y + BAR / 2;
  const end = Math.max(x(p50), x(p95 ?? p50));
  const whisker =
    p95 === undefined
      ? ''
      : `<path class="whisker" fill="none" d="M${round(x(p50))} ${middle}H${round(x(p95))}m0 -4v8"/>`;
  return (
    `<rect class="${kind}" x="${LABELS}" y="${y}" width="${round(x(p50) - LABELS)}" height="${BAR}"/>${whisker}` +
    text(end + 6, y + BAR - 2, `${displayNumber(p50)} ms`, 'start')
  );
}

/** Milliseconds to a horizontal place; the scale begins and ends at powers of ten. */
function logScale(values) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const scale = (value) => LABELS + ((Math.log10(value) - low) / (high - low)) * (WIDTH - LABELS - VALUES);
  scale.ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return scale;
}

function text(x, y, content, anchor, kind) {
  const role = kind === undefined ? '' : ` class="${kind}"`;
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${role}>${escapeText(content)}</text>`;
}

// Rows as a table: Markdown for a file and aligned text for a terminal. Pure. A row is
//   { measure, unit, ours, theirs?, ratio?, target?, met?, note?, plotted? }   figures come from statistics.mjs
//   { measure, skipped }  or  { measure, failed }                    with the reason

const HEAD = ['measure', 'ours p50', 'p95', 'compared with', 'p50', 'p95', 'ratio', 'target', 'met'];
const RIGHT = new Set([1, 2, 4, 5, 6]);

/** Three significant digits; whole numbers keep all of theirs, with thousands apart. */
export function displayNumber(value) {
  if (value === undefined) return '';
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-GB');
  return String(Number(value.toPrecision(3)));
}

const withUnit = (value, unit) => (value === undefined ? '' : `${displayNumber(value)} ${unit}`.trim());

const verdict = (met) => (met === undefined ? '' : met ? 'yes' : 'NO');

function cells({ measure, unit, ours, theirs, ratio, target, met, skipped, failed }) {
  if (ours === undefined) {
    const reason = skipped === undefined ? `failed: ${failed}` : `skipped: ${skipped}`;
    return [measure, '', '', reason, '', '', '', '', ''];
  }
  return [
    measure,
    withUnit(ours.p50, unit),
    withUnit(ours.p95, unit),
    theirs?.label ?? '',
    withUnit(theirs?.p50, unit),
    withUnit(theirs?.p95, unit),
    displayNumber(ratio),
    target ?? '',
    verdict(met),
  ];
}

/** The rows as a Markdown table, with their notes below. */
export function markdownTable(rows) {
  const line = (texts) => `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${HEAD.map((_, index) => (RIGHT.has(index) ? '--:' : '---')).join('|')}|`;
  const notes = rows
    .filter(({ note }) => note !== undefined)
    .map(({ measure, note }) => `- ${measure}: ${note}`);
  return [
    line(HEAD),
    rule,
    ...rows.map((row) => line(cells(row))),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n');
}

/** The rows as aligned lines; `paint` may colour a whole line by its row, or by nothing for the head. */
export function textTable(rows, paint = (line, _row) => line) {
  const all = [HEAD, ...rows.map(cells)];
  // A reason stands in the place of a comparison and may be long: it does not widen the column.
  const measured = all.filter((_, index) => index === 0 || rows[index - 1].ours !== undefined);
  const widths = HEAD.map((_, column) =>
    Math.max(...(column === 0 ? all : measured).map((row) => row[column].length)),
  );
  const aligned = (row) =>
    row
      .map((text, column) =>
        RIGHT.has(column) ? text.padStart(widths[column]) : text.padEnd(widths[column]),
      )
      .join('  ')
      .trimEnd();
  return all.map((row, index) => paint(aligned(row), rows[index - 1])).join('\n');
}

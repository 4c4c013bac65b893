// What tasks cost in context, as Markdown. Pure.

const CHARS_PER_TOKEN = 4;

const count = (number) => Math.round(number).toLocaleString('en-GB');
const ratioOf = (direct, python) => (direct / python).toPrecision(2);
const sum = (rows, way, field) => rows.reduce((all, row) => all + row[way][field], 0);

const HEAD = [
  'task',
  'direct calls',
  'characters',
  '`run_python` calls',
  'characters',
  'of these to find out',
  'direct / `run_python`',
];

/** `rows` are { name, direct, python } (both-ways.mjs); `definitions` { direct, python } characters before any call. */
export function costTable(rows, definitions) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const total = (way) => sum(rows, way, 'chars') + definitions[way];
  const heavy = (chars) => `**${count(chars)}** (≈ ${count(chars / CHARS_PER_TOKEN)} tokens)`;
  const cells = ({ name, direct, python }) => [
    name,
    count(direct.calls),
    count(direct.chars),
    count(python.calls),
    count(python.chars),
    count(python.lookups),
    ratioOf(direct.chars, python.chars),
  ];
  const { direct, python } = definitions;
  const before = ['definitions and instructions, once', '', count(direct), '', count(python), ''];
  const all = [
    '**all of it**',
    count(sum(rows, 'direct', 'calls')),
    heavy(total('direct')),
    count(sum(rows, 'python', 'calls')),
    heavy(total('python')),
    count(sum(rows, 'python', 'lookups')),
    `**${ratioOf(total('direct'), total('python'))}**`,
  ];
  return [
    line(HEAD),
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows.map((row) => line(cells(row))),
    line([...before, ratioOf(direct, python)]),
    line(all),
  ].join('\n');
}

/** One sentence with the sums, for who does not read the table. */
export function costSummary(rows, definitions) {
  const total = (way) => sum(rows, way, 'chars') + definitions[way];
  const times = ratioOf(total('direct'), total('python'));
  return (
    `Over ${rows.length} tasks on real servers, direct calls put ${count(total('direct'))} characters into the context, and ` +
    `\`run_python\` ${count(total('python'))}: ${times} times less. Without the ` +
    `schemas, as with a host that searches tools, it is still ${count(sum(rows, 'direct', 'chars'))} against ` +
    `${count(sum(rows, 'python', 'chars'))}. [docs/benchmark.md](docs/benchmark.md) has each task, ` +
    'also the small ones that direct calls do with less.'
  );
}

/** How to read the table: what was counted, and what a host that shows structured results would add. */
export function costNote(rows) {
  const more = sum(rows, 'direct', 'structured') / sum(rows, 'direct', 'chars') - 1;
  const way = more < 0 ? 'less' : 'more';
  return (
    'Every task begins as if nothing were known: what `run_python` has to find out is counted each time, the definitions ' +
    'of the tools once. A result counts as its text; where a host shows `structuredContent` instead (Claude Code, Codex), ' +
    `the direct calls cost ${Math.abs(more * 100).toFixed(1)} % ${way}. Counted is what enters the context; a model reads it ` +
    'again at each further call.'
  );
}

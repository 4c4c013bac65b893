// Clients and findings as a table: one row for each client, one column for each transport. Pure.

/** `report` is [{ client, version, way, findings, failed }]; a client that could not be tried has `failed` and no findings. */
export function clientTable(report) {
  const ways = [...new Set(report.map(({ way }) => way))];
  const clients = [...new Set(report.map(({ client }) => client))];
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const rows = clients.map((client) => {
    const tried = report.filter((one) => one.client === client);
    const [{ version }] = tried;
    return line([
      `${LABELS[client] ?? client}, ${version}`,
      ...ways.map((way) => sawOf(tried.find((one) => one.way === way))),
    ]);
  });
  const head = line(['', ...ways.map((way) => `over ${WAYS[way] ?? way}`)]);
  return [head, `|---|${'---|'.repeat(ways.length)}`, ...rows].join('\n');
}

const WAYS = { http: 'HTTP, with a token' };

const LABELS = {
  'sdk-v1': 'SDK, first line',
  'sdk-v2-legacy': 'SDK, second line, `legacy`',
  'sdk-v2-auto': 'SDK, second line, `auto`',
  'sdk-v2-pin': 'SDK, second line, `pin`',
  inspector: 'Inspector, command line',
};

function sawOf(result) {
  if (result === undefined) return 'not tried';
  const { findings, failed } = result;
  if (failed !== undefined) return `**not tried: ${failed}**`;
  return findings
    .map(({ what, saw, held }) => (held ? heldAs(what, saw) : `**${what}: ${saw || 'nothing'}**`))
    .join(', ');
}

/** The revision is worth telling; of the rest, that it held. */
const heldAs = (what, saw) => (what === 'revision' ? saw : what);
const cell = (text) =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\n', ' ');

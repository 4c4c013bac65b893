// The table of other people's clients, made of results made up here.

import { expect, it } from 'vitest';

const { clientTable } = (await import(new URL('../../scripts/clients/report.mjs', import.meta.url).href)) as {
  clientTable: (report: readonly object[]) => string;
};

it('names what held, and marks what did not and what could not be tried', () => {
  const findings = [
    { what: 'revision', saw: '2026-07-28', held: true },
    { what: 'tools', saw: 'execute', held: true },
    { what: 'progress', saw: '', held: false },
  ];
  const held = findings.slice(0, 2);
  const table = clientTable([
    { client: 'sdk-v1', version: '1.2.3', way: 'stdio', findings: held },
    { client: 'sdk-v1', version: '1.2.3', way: 'http', findings },
    { client: 'other', version: '4.5.6', way: 'stdio', findings: [], failed: 'no <such> program | here' },
  ]);
  expect(table.split('\n')).toEqual([
    '|  | over stdio | over HTTP, with a token |',
    '|---|---|---|',
    '| SDK, first line, 1.2.3 | 2026-07-28, tools | 2026-07-28, tools, **progress: nothing** |',
    '| other, 4.5.6 | **not tried: no &lt;such&gt; program \\| here** | not tried |',
  ]);
});

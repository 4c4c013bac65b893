// The outcomes as a table: a row for each scenario, a column for each revision and version of the suite. Pure, but for
// `publish`, which writes the page.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = 'scripts/conformance/README.md';
const TITLES = { server: 'As a server', client: 'As a client' };

const columnOf = ({ revision, suite }) => `${revision}, suite ${suite}`;
const unique = (values) => [...new Set(values)];
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const row = (cells) => `| ${cells.map(cell).join(' | ')} |`;

function resultWords({ outcome, passed, missed, wrong }, notes) {
  if (wrong !== undefined) return `failed: ${missed.join(', ')}`;
  if (outcome === 'skipped') return 'left out by the suite';
  const numbers = notes.map((note) => `[${note}]`).join('');
  if (outcome === 'passed') return passed === 0 ? 'nothing to check' : `passed (${passed})`;
  if (outcome === 'left out') return `left out ${numbers}`;
  return `${passed} passed, ${missed.length} missed ${numbers}`;
}

/** Markdown for [{ side, suite, revision, scenario, outcome, passed, missed, reasons, wrong }]. */
export function tableOf(results) {
  const reasons = unique(results.flatMap(({ missed, reasons: all }) => (missed.length === 0 ? [] : all)));
  const number = (reason) => reasons.indexOf(reason) + 1;
  const parts = unique(results.map(({ side }) => side)).map((side) => {
    const own = results.filter((each) => each.side === side);
    const columns = unique(own.map(columnOf));
    const rows = unique(own.map(({ scenario }) => scenario)).map((scenario) =>
      row([
        scenario,
        ...columns.map((column) => {
          const found = own.find((each) => each.scenario === scenario && columnOf(each) === column);
          return found === undefined ? '' : resultWords(found, found.reasons.map(number));
        }),
      ]),
    );
    const head = row(['scenario', ...columns]);
    return [`## ${TITLES[side]}`, '', head, `|---|${'---|'.repeat(columns.length)}`, ...rows].join('\n');
  });
  const notes = reasons.map((reason, index) => `${index + 1}. ${reason}`);
  return [...parts, ...(notes.length === 0 ? [] : [`## Reasons\n\n${notes.join('\n')}`])].join('\n\n');
}

/** `12 of 34 scenarios passed whole, …`, as a sentence. */
export function summaryOf(results) {
  const count = (outcome) =>
    results.filter((each) => each.wrong === undefined && each.outcome === outcome).length;
  const tried = results.filter(({ outcome }) => outcome !== 'skipped').length;
  const failed = results.filter(({ wrong }) => wrong !== undefined).length;
  return [
    `Of ${tried} trials ${count('passed')} passed whole; ${count('partly')} missed checks that have a reason below;`,
    `${count('left out')} were left out with a reason; ${failed} failed.`,
  ].join(' ');
}

/** Writes the page of a whole trial, and returns its path. */
export function publish(root, { date, results }) {
  writeFileSync(
    join(root, PAGE),
    `${INTRODUCTION}\n${summaryOf(results)} Tried on ${date.slice(0, 10)}.\n\n${tableOf(results)}\n`,
  );
  return PAGE;
}

const INTRODUCTION = `# Conformance

The protocol has a conformance suite, [@modelcontextprotocol/conformance](https://www.npmjs.com/package/@modelcontextprotocol/conformance).
It plays a client to servers, and a server to clients. \`npm run test:conformance -- --publish\` runs it and writes this page.

- **As a server** it is shown the endpoint of \`serve --http\`: the listener, its sessions and streams, and the server object that each
  agent gets. The scenarios look for tools and resources by name, so a profile in \`test/fixtures/conformance\` adds them as tools of
  the bridge; a call of one takes the way of every call. The suite also wants questions under names of its own and completes a prompt:
  the profile exchanges the bridge's names for those, and nothing else.
- **As a client** it is shown what reaches the servers behind the bridge: the pool of servers, with its logins. The profile calls every
  tool, reads every resource, answers questions with what the form proposes, and takes the place of the person at the browser.

A cell says how many checks passed. A scenario is one row, once for each revision of the protocol that it is for; 2026-07-28 and the
extensions are in a version of the suite that is not released yet. What is missed has the number of its reason; what the protocol only
recommends counts as missed too. The trial fails when something is missed that has no reason, and when something passes that has one.
`;

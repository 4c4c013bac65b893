// How well search finds tools: starts the eleven real servers from npm, lists them, asks what people ask, and prints
// recall and MRR, by whether tables and weights were chosen on a question or not (search/measure.mjs), with the misses.
// Exits with 1 below the target, 2 for a wrong option; --help says how.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leaveWrong, takeOptions } from './options.mjs';
import { measure, QUESTIONS } from './search/measure.mjs';
import { listRealServers } from './search/real-servers.mjs';

const DIST = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist/servers/catalog');
/** Share of questions with a right tool among the first five. */
const TARGET = 0.85;

const options = () =>
  takeOptions({
    command: 'npm run search-quality --',
    about:
      'Asks what users ask of the tools of eleven real servers, and says how often search finds a right one.',
    options: {
      only: { value: 'TEXT', says: 'only questions that have this in them' },
      json: { says: 'print JSON' },
      tools: { value: 'FILE', says: 'write there what the servers list' },
    },
  });

async function listServers() {
  const scratch = mkdtempSync(join(tmpdir(), 'search-quality-'));
  try {
    return await listRealServers(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function row(name, { questions, recallAt1, recallAt5, mrr }) {
  const cells = [String(questions), recallAt1.toFixed(3), recallAt5.toFixed(3), mrr.toFixed(3)];
  return name.padEnd(10) + cells.map((cell) => cell.padStart(11)).join('');
}

function print({ all, tuned, heldOut, blind, misses, notFirst, tools, indexMs, searchMs }) {
  console.log(`${tools} tools; index ${indexMs} ms, a search ${searchMs} ms`);
  console.log(
    `\n${''.padEnd(10)}${['questions', 'recall@1', 'recall@5', 'MRR'].map((head) => head.padStart(11)).join('')}`,
  );
  for (const [name, figures] of Object.entries({ all, tuned, 'held out': heldOut, blind }))
    if (figures.questions > 0) console.log(row(name, figures));
  for (const [head, answers] of Object.entries({ 'not among five': misses, 'not first': notFirst })) {
    console.log(`\n${head}:`);
    for (const { question, place, found, tools: wanted } of answers)
      console.log(
        `  ${place || '-'}  ${question}\n       wanted ${wanted.join(', ')}; found ${found.join(', ')}`,
      );
  }
}

const { json, tools: file, only } = options();
const asks = QUESTIONS.filter(({ question }) => only === undefined || question.includes(only));
if (asks.length === 0) leaveWrong(`--only: no question has '${only}' in it.`);
if (!existsSync(join(DIST, 'search.js'))) {
  console.error('The bridge is not built. Run `npm run build`.');
  process.exit(1);
}
const { searchTools } = await import(join(DIST, 'search.js'));
const { toServerDoc } = await import(join(DIST, 'catalog.js'));
const servers = await listServers();
if (file !== undefined) writeFileSync(file, `${JSON.stringify(servers)}\n`);
const docs = Object.entries(servers).map(([name, { version, instructions, tools }]) => {
  const described = tools.map((tool) => ({ description: '', ...tool }));
  const server = {
    spec: { name, description: '' },
    serverVersion: version,
    instructions,
    tools: () => described,
  };
  return toServerDoc(server, name, () => undefined);
});
const tools = docs.reduce((sum, doc) => sum + doc.tools.length, 0);
const indexed = performance.now();
searchTools(docs, 'anything', 1);
const asked = performance.now();
const measured = measure(
  (question, limit) =>
    searchTools(docs, question, limit).map(({ server, tool }) => `${server.name}/${tool.name}`),
  asks,
);
const searchMs = Math.round((10 * (performance.now() - asked)) / measured.all.questions) / 10;
const report = { tools, indexMs: Math.round(asked - indexed), searchMs, ...measured };
if (json) console.log(JSON.stringify(report, null, 1));
else print(report);
process.exitCode = report.all.recallAt5 < TARGET ? 1 : 0;

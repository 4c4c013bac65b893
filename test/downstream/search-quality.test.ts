// Whether search finds what people ask for, on the real servers' tools as they list them now; and whether the sandbox
// finds the same. `npm run search-quality` prints the figures.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toServerDoc } from '../../src/downstream/catalog/catalog.js';
import { searchTools } from '../../src/downstream/catalog/search.js';
import { searchWords } from '../../src/downstream/catalog/search-words.js';
import type { ServerDoc } from '../../src/protocol/frames.js';
import { hostile } from './hostile.js';

type Figures = { readonly questions: number; readonly recallAt5: number };
type Measured = Readonly<Record<'all' | 'tuned' | 'heldOut' | 'blind', Figures>>;
type Question = { readonly question: string; readonly tools: readonly string[] };
type Listed = {
  readonly version?: string;
  readonly instructions?: string;
  readonly tools: readonly RealTool[];
};
type RealTool = { readonly name: string; readonly description?: string; readonly inputSchema: object };

const load = (name: string) => import(new URL(`../../scripts/search/${name}.mjs`, import.meta.url).href);
const { measure, QUESTIONS } = (await load('measure')) as {
  readonly measure: (search: (question: string, limit: number) => readonly string[]) => Measured;
  readonly QUESTIONS: readonly Question[];
};
const { listRealServers } = (await load('real-servers')) as {
  readonly listRealServers: (scratch: string) => Promise<Readonly<Record<string, Listed>>>;
};

const RUNTIME = fileURLToPath(new URL('../../sandbox-runtime', import.meta.url));
const IN_SANDBOX = fileURLToPath(new URL('../fixtures/sandbox_search.py', import.meta.url));
const DEPTH = 20;

const scratch = mkdtempSync(join(tmpdir(), 'search-quality-'));
let docs: readonly ServerDoc[];

beforeAll(async () => {
  docs = Object.entries(await listRealServers(scratch)).map(([name, { version, instructions, tools }]) => {
    const listed = tools.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      inputSchema: { ...inputSchema },
      outputSchema: undefined,
      needsTask: false,
    }));
    const spec = { ...hostile(), name };
    const server = { spec, serverVersion: version, instructions, tools: () => listed };
    return toServerDoc(server, name.replaceAll('-', '_'), () => undefined);
  });
}, 60_000);

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const onHost = (question: string, limit: number) =>
  searchTools(docs, question, limit).map(({ server, tool }) => `${server.name}/${tool.name}`);

test('the questions are many, about tools that there are, and copied from none of them', () => {
  const names = new Set(docs.flatMap(({ name, tools }) => tools.map((tool) => `${name}/${tool.name}`)));
  expect(names.size).toBeGreaterThanOrEqual(150);
  expect(QUESTIONS.length).toBeGreaterThanOrEqual(80);
  expect(QUESTIONS.flatMap(({ tools }) => tools).filter((name) => !names.has(name))).toEqual([]);
  const said = docs.flatMap(({ tools }) => tools.map((tool) => JSON.stringify(tool).toLowerCase()));
  const copied = ({ question }: Question) => said.some((text) => text.includes(question.toLowerCase()));
  expect(QUESTIONS.filter(copied)).toEqual([]);
});

test('five results hold a right one for at least 85 of 100 questions, and not only of those it was tuned on', () => {
  const { all, heldOut, blind } = measure(onHost);
  expect(all.recallAt5).toBeGreaterThanOrEqual(0.85);
  expect(heldOut.recallAt5).toBeGreaterThanOrEqual(0.8);
  expect(blind.recallAt5).toBeGreaterThanOrEqual(0.8);
});

test('the sandbox takes the same words for a question, and ranks as the host does', () => {
  const queries = QUESTIONS.map(({ question }) => question);
  const input = JSON.stringify({ docs, queries, limit: DEPTH });
  const { stdout, stderr } = spawnSync('python3', ['-I', IN_SANDBOX, RUNTIME], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  const { found, words } = JSON.parse(stdout) as {
    readonly found: ReadonlyArray<ReadonlyArray<readonly [name: string, score: number]>>;
    readonly words: readonly string[][];
  };
  expect(words).toEqual(queries.map((query) => searchWords(query, 'prose')));
  const byQuestion = new Map(queries.map((query, at) => [query, (found[at] ?? []).map(([name]) => name)]));
  const inSandbox = measure((question) => byQuestion.get(question) ?? []);
  expect(inSandbox.all.recallAt5).toBeGreaterThanOrEqual(0.85);
  const shared = queries.map((query) => {
    const [host, sandbox] = [onHost(query, 5), (byQuestion.get(query) ?? []).slice(0, 5)];
    return host.filter((name) => sandbox.includes(name)).length / Math.max(1, host.length);
  });
  // Ties and letters outside ASCII may fall differently; anything more is a difference of the two programs.
  expect(shared.reduce((sum, share) => sum + share, 0) / shared.length).toBeGreaterThan(0.98);
});

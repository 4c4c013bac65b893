// Whether search finds what people ask for, on the real servers' tools as they list them now. `npm run search-quality`
// prints the figures.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toServerDoc } from '../../src/servers/catalog/catalog.js';
import { searchTools } from '../../src/servers/catalog/search.js';
import type { ServerDoc } from '../../src/wire/frames.js';
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
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const onHost = (question: string, limit: number) =>
  searchTools(docs, question, limit).map(({ server, tool }) => `${server.name}/${tool.name}`);

it('the questions are many, about tools that there are, and copied from none of them', () => {
  const names = new Set(docs.flatMap(({ name, tools }) => tools.map((tool) => `${name}/${tool.name}`)));
  expect(names.size).toBeGreaterThanOrEqual(150);
  expect(QUESTIONS.length).toBeGreaterThanOrEqual(80);
  expect(QUESTIONS.flatMap(({ tools }) => tools).filter((name) => !names.has(name))).toEqual([]);
  const said = docs.flatMap(({ tools }) => tools.map((tool) => JSON.stringify(tool).toLowerCase()));
  const copied = ({ question }: Question) => said.some((text) => text.includes(question.toLowerCase()));
  expect(QUESTIONS.filter(copied)).toEqual([]);
});

it('five results hold a right one for at least 85 of 100 questions, and not only of those it was tuned on', () => {
  const { all, heldOut, blind } = measure(onHost);
  expect(all.recallAt5).toBeGreaterThanOrEqual(0.85);
  expect(heldOut.recallAt5).toBeGreaterThanOrEqual(0.8);
  expect(blind.recallAt5).toBeGreaterThanOrEqual(0.8);
});

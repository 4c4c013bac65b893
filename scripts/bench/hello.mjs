// A program that says hello, in each language: through execute_code, where a sandbox waits for it and where none does,
// beside the engine's own command line with the same image, flags and commands, and beside what a user would type on the
// host, in turns.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../dist/base/process/start-of.js';
import { languages } from '../../dist/settings/languages/records.js';
import { prints } from './bare.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure, median } from './statistics.mjs';

/** Long enough for the sandbox that takes the place of the last one to be there. */
const THINK_MS = 500;
/** Long enough for a container's removal to be over. */
const SETTLE_MS = 250;

const HELLO = {
  python: 'print("hello")',
  javascript: 'console.log("hello");',
  typescript: 'const word: string = "hello";\nconsole.log(word);',
  go: 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n',
  bash: 'echo hello',
  ruby: 'puts "hello"',
};

/**
 * What a user would type on the host, by language: a file's ending and the shell's words for the program FILE. TypeScript is made
 * into JavaScript by esbuild, as in the sandbox; `go run` finds its cache warm.
 */
const ON_HOST = {
  javascript: { ending: 'cjs', program: 'node', words: 'node FILE', most: 0.6 },
  typescript: {
    ending: 'ts',
    program: 'esbuild',
    words: 'esbuild --bundle --platform=node --log-level=error FILE | node -',
    most: 0.6,
  },
  go: { ending: 'go', program: 'go', words: 'go run FILE', most: 1 },
  ruby: { ending: 'rb', program: 'ruby', words: 'ruby FILE', most: 0.6 },
};

export async function hello(stage, bare, signal) {
  const known = languages.filter(({ name }) => HELLO[name] !== undefined);
  const images = new Map();
  const skipped = [];
  for (const language of known) {
    try {
      images.set(language, await bare.imageOf(language, signal));
    } catch (thrown) {
      if (thrown.code !== 'E_IMAGE_MISSING') throw thrown;
      skipped.push({ measure: `hello in ${language.title}`, skipped: thrown.message });
    }
  }
  const dir = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-bench-hello-'));
  try {
    const samples = images.size === 0 ? new Map() : await takeSamples(stage, bare, images, dir);
    return [...[...samples].flatMap(([language, of]) => rowsOf(language, of, bare)), ...skipped];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/**
 * Times by language. All languages take turns, and in each turn what waits, the host's own, what does not wait and the engine's own
 * follow each other.
 */
async function takeSamples(stage, bare, images, dir) {
  const samples = new Map(
    [...images.keys()].map((language) => [language, { warm: [], host: [], cold: [], bare: [] }]),
  );
  const hello = (bridge, { name }) => bridge.execute(name, HELLO[name]);
  const timed = async (times, work) => times.push((await timeWork(work)).ms);
  await withBridges(stage, async (warm, cold) => {
    // Of each the first is a cold start, from which on one waits.
    for (const language of samples.keys()) await hello(warm, language);
    // A language's interpreter waits from its second call on.
    for (const language of samples.keys()) await hello(warm, language);
    for (const { name } of samples.keys()) await onHost(name, dir);
    for (let round = 0; round < stage.times(6, 2); round++) {
      for (const [language, of] of samples) {
        await pause(THINK_MS);
        await timed(of.warm, () => hello(warm, language));
        const host = await onHost(language.name, dir);
        if (host !== undefined) of.host.push(host);
        await pause(THINK_MS);
        await timed(of.cold, () => hello(cold, language));
        await pause(SETTLE_MS);
        of.bare.push(await bare.runProgram(language, images.get(language), HELLO[language.name]));
      }
    }
  });
  return samples;
}

/** Milliseconds of the same program by the host's own; undefined where the host has none, or the language has no row for it. */
async function onHost(name, dir) {
  const host = ON_HOST[name];
  if (host === undefined || findProgram(host.program, process.env) === undefined) return undefined;
  const file = join(dir, `hello.${host.ending}`);
  writeFileSync(file, HELLO[name]);
  return prints('hello\n', '/bin/sh', ['-c', host.words.replace('FILE', file)], dir);
}

/** Has `work` use a bridge with a sandbox that waits, and one without. */
function withBridges(stage, work) {
  const env = { MCP_BRIDGE_TOOLS: 'run_python,execute_code' };
  return stage.withBridge({ env }, (warm) =>
    stage.withBridge({ env: { ...env, MCP_BRIDGE_WARM: '0' } }, (cold) => work(warm, cold)),
  );
}

function rowsOf(language, { warm, host, cold, bare: times }, bare) {
  const theirs = figure(`bare ${bare.engine.name} run of the same`, times);
  const row = (kind, samples, most, target) => {
    const measure = `hello in ${language.title}, ${kind}`;
    const ratio = median(samples) / theirs.p50;
    const compared = { theirs, ratio, target, met: ratio <= most };
    return { measure, unit: 'ms', ours: figure(measure, samples), ...compared, plotted: kind === 'warm' };
  };
  return [
    row('warm', warm, 1, '<= 1'),
    ...besideHost(language, warm, host),
    row('cold', cold, 1.3, '<= 1.3'),
  ];
}

/** The row beside the host's own; none for a language that has no such row. */
function besideHost({ name, title }, warm, host) {
  if (ON_HOST[name] === undefined) return [];
  const { program, most } = ON_HOST[name];
  const measure = `hello in ${title}, warm, beside the host's own`;
  if (host.length === 0) return [{ measure, skipped: `${program} is not installed on the host` }];
  const [ours, theirs] = [figure(measure, warm), figure(wordsOf(name), host)];
  const ratio = ours.p50 / theirs.p50;
  return [
    { measure, unit: 'ms', ours, theirs, ratio, target: `<= ${most}`, met: ratio <= most, plotted: false },
  ];
}

const wordsOf = (name) => ON_HOST[name].words.replace('FILE', 'hello');

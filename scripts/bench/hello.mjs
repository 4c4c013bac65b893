// A program that says hello, in each language: through execute_code, where a sandbox waits for it and where none does,
// beside the engine's own command line with the same image, flags and commands, in turns.

import { languages } from '../../dist/settings/languages/records.js';
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
  const samples = images.size === 0 ? new Map() : await takeSamples(stage, bare, images);
  return [...[...samples].flatMap(([language, of]) => rowsOf(language, of, bare)), ...skipped];
}

/** Times by language. All languages take turns, and in each turn what waits, what does not and the engine's own follow each other. */
async function takeSamples(stage, bare, images) {
  const samples = new Map([...images.keys()].map((language) => [language, { warm: [], cold: [], bare: [] }]));
  const hello = (bridge, { name }) => bridge.execute(name, HELLO[name]);
  const timed = async (times, work) => times.push((await timeWork(work)).ms);
  await withBridges(stage, async (warm, cold) => {
    // Of each the first is a cold start, from which on one waits.
    for (const language of samples.keys()) await hello(warm, language);
    for (let round = 0; round < stage.times(6, 2); round++) {
      for (const [language, of] of samples) {
        await pause(THINK_MS);
        await timed(of.warm, () => hello(warm, language));
        await pause(THINK_MS);
        await timed(of.cold, () => hello(cold, language));
        await pause(SETTLE_MS);
        of.bare.push(await bare.runProgram(language, images.get(language), HELLO[language.name]));
      }
    }
  });
  return samples;
}

/** Has `work` use a bridge with a sandbox that waits, and one without. */
function withBridges(stage, work) {
  const env = { MCP_BRIDGE_TOOLS: 'run_python,execute_code' };
  return stage.withBridge({ env }, (warm) =>
    stage.withBridge({ env: { ...env, MCP_BRIDGE_WARM: '0' } }, (cold) => work(warm, cold)),
  );
}

function rowsOf(language, { warm, cold, bare: times }, bare) {
  const theirs = figure(`bare ${bare.engine.name} run of the same`, times);
  const row = (kind, samples, most, target) => {
    const measure = `hello in ${language.title}, ${kind}`;
    const ratio = median(samples) / theirs.p50;
    const compared = { theirs, ratio, target, met: ratio <= most };
    return { measure, unit: 'ms', ours: figure(measure, samples), ...compared, plotted: kind === 'warm' };
  };
  return [row('warm', warm, 1, '<= 1'), row('cold', cold, 1.3, '<= 1.3')];
}

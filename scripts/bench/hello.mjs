// A program that says hello, in each language: through execute_code, where a sandbox waits for it and where none does,
// beside the engine's own command line with the same image, flags and commands. All languages take turns on one bridge.

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
  const present = [...images.keys()];
  const tools = { MCP_BRIDGE_TOOLS: 'run_python,execute_code' };
  const warm = await takeSamples(present, stage.times(6, 2), (record) =>
    stage.withBridge({ env: tools }, async (bridge) => {
      // Of each the first is a cold start, from which on one waits.
      for (const language of present) await bridge.execute(language.name, HELLO[language.name]);
      await record(async (language, of) => {
        await pause(THINK_MS);
        of.ours.push((await timeWork(() => bridge.execute(language.name, HELLO[language.name]))).ms);
      });
    }),
  );
  const cold = await takeSamples(present, stage.times(4, 2), (record) =>
    stage.withBridge({ env: { ...tools, MCP_BRIDGE_WARM: '0' } }, (bridge) =>
      record(async (language, of) => {
        await pause(SETTLE_MS);
        of.ours.push((await timeWork(() => bridge.execute(language.name, HELLO[language.name]))).ms);
        await pause(SETTLE_MS);
        of.theirs.push(await bare.runProgram(language, images.get(language), HELLO[language.name]));
      }),
    ),
  );
  return [...present.flatMap((language) => rowsOf(language, warm, cold, bare)), ...skipped];
}

/** Samples by language, after `rounds` in which each had its turn. */
async function takeSamples(present, rounds, within) {
  const samples = new Map(present.map((language) => [language, { ours: [], theirs: [] }]));
  await within(async (measure) => {
    for (let round = 0; round < rounds; round++)
      for (const [language, of] of samples) await measure(language, of);
  });
  return samples;
}

function rowsOf(language, warm, cold, bare) {
  const theirs = figure(`bare ${bare.engine.name} run of the same`, cold.get(language).theirs);
  const row = (kind, samples, most, target) => {
    const measure = `hello in ${language.title}, ${kind}`;
    const ratio = median(samples) / theirs.p50;
    const compared = { theirs, ratio, target, met: ratio <= most };
    return { measure, unit: 'ms', ours: figure(measure, samples), ...compared, plotted: kind === 'warm' };
  };
  return [
    row('warm', warm.get(language).ours, 1, '<= 1'),
    row('cold', cold.get(language).ours, 1.3, '<= 1.3'),
  ];
}

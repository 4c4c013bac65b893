// `npm run peers`: the same jobs by the bridge and by what somebody would take instead, in one run on one machine, in turns. The peers are
// installed from their registries into .cache/peers; one that cannot be had or run here is a line with the reason. --help says how.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { putIntoRegion, REGIONS } from './measured-region.mjs';
import { leaveWrong, takeOptions } from './options.mjs';
import { PEERS } from './peers/all-peers.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MAIN = join(ROOT, 'dist/cli/main.js');
const RESULTS = join(ROOT, 'bench-results/peers');
const PER_SECOND = 10;
const ROUNDS = {
  full: { starts: 3, hello: 30, sequence: 10, gathered: 10, filtered: 10 },
  quick: { starts: 1, hello: 5, sequence: 2, gathered: 2, filtered: 2 },
};
const PICTURE = '![Times of the bridge beside those of other programs, for each job](peers.svg)\n\n';
const SECONDS = { full: 60, quick: 10 };

const options = takeOptions({
  command: 'npm run peers --',
  about:
    'Gives the same jobs to the built bridge and to what could be taken instead, in turns, and counts time, processor time, memory and characters.',
  options: {
    quick: { says: 'fewer repetitions' },
    only: { value: 'NAME,NAME', says: 'only these', among: PEERS.map(({ name }) => name) },
    'python-bridge': {
      value: 'DIR',
      says: 'a checkout of mcp-server-code-execution-mode, which is in no registry',
    },
    seconds: {
      value: 'N',
      kind: 'count',
      says: `offer ${PER_SECOND} runs a second for so long (without it: ${SECONDS.full}; with --quick: ${SECONDS.quick})`,
    },
    out: { value: 'FOLDER', says: 'where raw numbers, tables and picture are written', default: RESULTS },
    publish: { says: `put tables and picture into ${REGIONS.peers}` },
    from: { value: 'FILE', says: 'take the numbers of an earlier run instead of measuring' },
  },
});
if (options.from === undefined && !existsSync(MAIN))
  leaveWrong('The bridge is not built. Run `npm run build`.');
if (options.from === undefined) await measureInGroup();
else await tellFrom(JSON.parse(readFileSync(options.from, 'utf8')));

/** In a group of its own where that can be had, so that processor time is counted; else as it is. */
async function measureInGroup() {
  const { runInGroup } = await import('./bench/processor.mjs');
  const exitCode = await runInGroup();
  if (exitCode === undefined) await tellFrom(await measure());
  else process.exitCode = exitCode;
}

async function measure() {
  const { Bare } = await import('./bench/bare.mjs');
  const { loadNow, machineFacts } = await import('./bench/machine.mjs');
  const { Stage } = await import('./bench/stage.mjs');
  const { Comparison } = await import('./peers/measure.mjs');
  const { Place } = await import('./peers/place.mjs');
  const quick = options.quick;
  const interrupted = new AbortController();
  const stage = new Stage({ quick });
  process.once('exit', () => stage.close());
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      interrupted.abort();
      process.exit(130);
    });
  const bare = await Bare.open(stage, interrupted.signal);
  const checkout = options['python-bridge'];
  const place = new Place(stage, bare, checkout === undefined ? undefined : resolve(checkout));
  /** @type {number[]} */
  const loads = [];
  /** @param {string} words */
  const tell = (words) => {
    loads.push(loadNow());
    process.stderr.write(pc.dim(`${new Date().toTimeString().slice(0, 8)} ${words}\n`));
  };
  const chosen = PEERS.filter(({ name }) => options.only.includes(name));
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const pace = {
    perSecond: PER_SECOND,
    seconds: options.seconds ?? (quick ? SECONDS.quick : SECONDS.full),
  };
  const comparison = new Comparison(place, tell);
  const installed = await comparison.install(chosen);
  const started = await comparison.measureStarts(installed, rounds.starts);
  await comparison.measureJobs(started, rounds, pace);
  await comparison.remove(installed);
  bare.close();
  const told = chosen.map(({ name, title, version, walls, lacks }) => ({
    name,
    title,
    version,
    walls,
    lacks,
  }));
  return {
    ...machineFacts(bare.choice),
    quick,
    loads: [Math.min(...loads), Math.max(...loads)],
    peers: told,
    figures: comparison.figures,
  };
}

/** @param {any} run  as its file has it */
async function tellFrom({ peers, figures, quick, loads, ...facts }) {
  const { machineLine } = await import('./bench/machine.mjs');
  const { picture, report } = await import('./peers/table.mjs');
  const about = `${machineLine(facts)}; ${facts.date.slice(0, 10)}; load ${loads.join(' to ')}${quick ? '; quick run' : ''}`;
  const tables = report(peers, figures, about);
  const drawing = picture(peers, figures, about);
  console.log(tables);
  mkdirSync(options.out, { recursive: true });
  const raw = `${JSON.stringify({ ...facts, quick, loads, peers, figures }, null, 1)}\n`;
  write(join(options.out, 'raw.json'), raw);
  write(join(options.out, 'tables.md'), `${tables}\n`);
  if (drawing !== undefined) write(join(options.out, 'peers.svg'), drawing);
  if (!options.publish) return;
  console.log(pc.dim(`wrote ${putIntoRegion('peers', `${drawing === undefined ? '' : PICTURE}${tables}`)}`));
  if (drawing !== undefined) write(join(ROOT, 'docs/peers.svg'), drawing);
}

/** @param {string} file @param {string} text */
function write(file, text) {
  writeFileSync(file, text);
  console.log(pc.dim(`wrote ${file}`));
}

// Runs attacks and their controls: probes together in one sandbox, deeds in one each, pairs in two at a time; controls
// together in one container per set of defences that they do without. Judges nothing; report.ts does.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Payload, RunOptions, TestBridge } from '../support/start-bridge.js';
import type { Answer, Attack, AttackResult, Deed, DeedControl, Pair, Probe, Seen } from './attack.js';
import { type BatchProbe, batchProgram, missing, verdictsIn } from './batch.js';
import type { Controls } from './raw-container.js';
import type { Relaxation } from './relaxations.js';
import { OPEN_SERVER, type World } from './world.js';

/** Of one probe; a control that is cut off after its own time counts as endless. */
const PROBE_SECONDS = 60;
const ENDLESS_SECONDS = 2;
const BATCH_SECONDS = 250;
/** One argument of a program may have 128 KB, and this is without the prelude. */
const MAX_BATCH_CHARS = 60_000;
/** Most of what is run at the same time waits. */
const AT_ONCE = 4;

export type Stage = {
  readonly bridge: TestBridge;
  readonly containers: Controls;
  readonly world: World;
};

type Control = BatchProbe & { readonly off: readonly Relaxation[] };

/** The results in the order of `attacks`. */
export async function runAttacks(attacks: readonly Attack[], stage: Stage): Promise<AttackResult[]> {
  const seen = new Map<string, Seen>();
  const controls = new Map<string, Seen>();
  const note = (into: Map<string, Seen>, from: ReadonlyMap<string, Seen>) =>
    from.forEach((value, key) => void into.set(key, value));

  const probes = attacks.filter((attack) => attack.kind === 'probe');
  for (const batch of batches(probes)) note(seen, await tryProbes(batch, stage));
  note(
    seen,
    await tryPairs(
      attacks.filter((attack) => attack.kind === 'pair'),
      stage,
    ),
  );
  const deeds = attacks.filter((attack) => attack.kind === 'deed');
  await eachOf(deeds, async (deed) => seen.set(deed.id, await tryDeed(deed, stage)));

  note(controls, await tryControls(attacks.flatMap(controlOf).filter(possible(stage)), stage));
  // Many deeds share one control.
  const tried = new Map<DeedControl, Promise<Seen | undefined>>();
  await eachOf(deeds, async ({ id, control }) => {
    const trial = tried.get(control) ?? tryDeedControl(control, stage);
    tried.set(control, trial);
    const came = await trial;
    if (came !== undefined) controls.set(id, came);
  });
  return attacks.map((attack) => ({
    attack,
    seen: seen.get(attack.id) ?? missing('it was not tried'),
    control: controls.get(attack.id),
  }));
}

/** Calls the bridge and keeps what the client saw. */
export async function ask(bridge: TestBridge, code: string, options: RunOptions = {}): Promise<Answer> {
  const { servers, timeout } = options;
  const result: CallToolResult = await bridge.call({
    code,
    ...(servers === undefined ? {} : { servers }),
    ...(timeout === undefined ? {} : { timeout }),
  });
  const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { payload: result.structuredContent as Payload, text };
}

async function tryProbes(probes: readonly Probe[], { bridge, world }: Stage): Promise<Map<string, Seen>> {
  const batch = probes.map(({ id, code }) => ({ id, code, endless: false }));
  const program = batchProgram(batch, world.facts, { seconds: PROBE_SECONDS, atOnce: 1 });
  const { payload, text } = await ask(bridge, program, { timeout: BATCH_SECONDS });
  const found = verdictsIn(payload.stdout ?? []);
  return new Map(probes.map(({ id }) => [id, found.get(id) ?? missing(text.slice(-300))]));
}

/** All that is left is left by one run, and looked for by another while the first goes on. */
async function tryPairs(pairs: readonly Pair[], { bridge, world }: Stage): Promise<Map<string, Seen>> {
  if (pairs.length === 0) return new Map();
  const limits = { seconds: PROBE_SECONDS, atOnce: pairs.length };
  const program = (codeOf: (pair: Pair) => string) =>
    batchProgram(
      pairs.map((pair) => ({ id: pair.id, code: codeOf(pair), endless: false })),
      world.facts,
      limits,
    );
  const [left, found] = await Promise.all([
    ask(
      bridge,
      program(({ leave }) => `${leave}\ntime.sleep(3)\nreturn "left"`),
    ),
    ask(
      bridge,
      program(({ look }) => `time.sleep(1.5)\n${look}`),
    ),
  ]);
  const [leaving, looking] = [left, found].map(({ payload }) => verdictsIn(payload.stdout ?? []));
  return new Map(
    pairs.map(({ id }) => {
      const came = leaving?.get(id)?.verdict === 'through' ? looking?.get(id) : undefined;
      return [id, came ?? missing(`${left.text.slice(-200)} ${found.text.slice(-200)}`)];
    }),
  );
}

async function tryDeed(deed: Deed, { bridge, world }: Stage): Promise<Seen> {
  const { servers = [OPEN_SERVER], timeout } = deed;
  const program = deed.program.replaceAll('CANARY', world.token);
  const answer = await ask(bridge, program, { servers, ...(timeout === undefined ? {} : { timeout }) });
  const through = deed.verdict(answer, world);
  return through === undefined
    ? {
        verdict: 'held',
        detail: `${answer.payload.status}: ${answer.payload.error ?? answer.payload.summary}`,
      }
    : { verdict: 'through', detail: through };
}

function controlOf(attack: Attack): Control[] {
  const { id } = attack;
  if (attack.kind === 'probe')
    return [{ id, code: attack.control ?? attack.code, endless: false, off: attack.off }];
  if (attack.kind === 'pair') {
    const code = `if os.fork() == 0:\n${indented(attack.leave)}\n    time.sleep(3)\n    os._exit(0)\ntime.sleep(0.7)\n${attack.look}`;
    return [{ id, code, endless: false, off: attack.off }];
  }
  const { control } = attack;
  if (control.in !== 'probe') return [];
  return [{ id, code: control.code, endless: control.endless ?? false, off: control.off }];
}

const indented = (code: string): string => code.replace(/^/gm, '    ');

/** What needs root itself can only be shown by a root engine. */
const possible =
  ({ containers }: Stage) =>
  ({ off }: Control): boolean =>
    !off.includes('everything') || containers.setting.ids !== 'rootless';

async function tryControls(controls: readonly Control[], stage: Stage): Promise<Map<string, Seen>> {
  const groups = groupBy(controls, ({ off, endless }) => JSON.stringify([[...off].sort(), endless]));
  const seen = new Map<string, Seen>();
  const work = [...groups.values()].flatMap((group) => batches(group));
  await eachOf(work, async (batch) => {
    const { off = [], endless = false } = batch[0] ?? {};
    const limits = { seconds: endless ? ENDLESS_SECONDS : PROBE_SECONDS, atOnce: endless ? 4 : 1 };
    const program = batchProgram(
      batch.map(({ id, code }) => ({ id, code, endless })),
      stage.world.facts,
      limits,
    );
    const output = await stage.containers.run(off, program, BATCH_SECONDS);
    const found = verdictsIn(output.stdout.toString().split('\n'));
    for (const { id } of batch) seen.set(id, found.get(id) ?? missing(output.stderr.trim().slice(-300)));
  });
  return seen;
}

/** Undefined where the control is a probe. */
async function tryDeedControl(control: DeedControl, stage: Stage): Promise<Seen | undefined> {
  const { bridge, containers, world } = stage;
  switch (control.in) {
    case 'probe':
      return undefined;
    case 'container': {
      const output = await containers.run(control.off, control.program, control.seconds);
      return control.through(output)
        ? { verdict: 'through', detail: `${output.bytes} bytes` }
        : { verdict: 'held', detail: `${output.bytes} bytes; ${output.stderr.trim().slice(-200)}` };
    }
    case 'bridge': {
      const { servers = [OPEN_SERVER] } = control;
      const answer = await ask(bridge, control.program.replaceAll('CANARY', world.token), { servers });
      return {
        verdict: control.through(answer, world) ? 'through' : 'held',
        detail: answer.text.slice(-200),
      };
    }
  }
}

function batches<T extends { readonly code: string }>(list: readonly T[]): T[][] {
  const made: T[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of list) {
    if (size + one.code.length > MAX_BATCH_CHARS) {
      made.push([]);
      size = 0;
    }
    made.at(-1)?.push(one);
    size += one.code.length + 100;
  }
  return made;
}

async function eachOf<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = [...list];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one);
    }),
  );
}

/** Map.groupBy, which Node 20 lacks. */
function groupBy<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

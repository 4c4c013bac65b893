// The same calls to an engine that runs elsewhere, beside this machine's own, in turns: with a waiting sandbox, without one,
// and without a pause; and what the engine's client takes that stays beside a waiting sandbox. Takes root, and what
// `scripts/setup --with remote` installs.

import { openRemoteEngine, REMOTE_KINDS, whyNoRemoteEngine } from '../remote/engines.mjs';
import { sustainedRate } from './back-to-back.mjs';
import { commandLine, family, pssMb } from './processes.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const THINK_MS = 1_500;
const SETTLE_MS = 3_000;
const IN_FLIGHT = 2;
/** The engines that stand for another machine's have no control groups to give; what is measured is not the limits. */
const ACCEPTED = { MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,pids,cpu' };

export async function measureElsewhere(stage, bare) {
  const rows = [];
  for (const kind of REMOTE_KINDS) rows.push(...(await ofKind(kind, stage, bare)));
  return rows;
}

async function ofKind(kind, stage, bare) {
  const why = whyNoRemoteEngine(kind);
  if (why !== undefined) return [{ measure: `calls over ${kind}`, skipped: why }];
  const engine = await openRemoteEngine(kind);
  try {
    await engine.load(bare.choice.image);
    const there = { ...engine.environment(), ...ACCEPTED, MCP_BRIDGE_IMAGE: bare.choice.image };
    return [
      await measureWaiting(kind, stage, there),
      await measureCold(kind, stage, there),
      await withoutPause(kind, stage, there),
      await clientMemory(kind, stage, there),
    ];
  } finally {
    await engine.close();
  }
}

/** Has `work` use a bridge here and one there, which are both set up. */
const besideLocal = (stage, there, env, work) =>
  stage.withBridge({ env }, (local) =>
    stage.withBridge({ env: { ...there, ...env } }, (remote) => work(local, remote)),
  );

async function inTurns(stage, there, env, times, pauseMs) {
  const [ours, theirs] = [[], []];
  await besideLocal(stage, there, env, async (local, remote) => {
    await pause(SETTLE_MS);
    for (let round = 0; round < times; round++) {
      await pause(pauseMs);
      theirs.push((await timeWork(() => local.run('print(1)'))).ms);
      await pause(pauseMs);
      ours.push((await timeWork(() => remote.run('print(1)'))).ms);
    }
  });
  return [ours, theirs];
}

const row = (measure, unit, ours, theirs, moreIsBetter = false) => {
  const [there, here] = [figure('there', ours, { moreIsBetter }), figure('here', theirs, { moreIsBetter })];
  return { measure, unit, ours: there, theirs: here, ratio: there.p50 / here.p50 };
};

const measureWaiting = async (kind, stage, there) =>
  row(`warm call over ${kind}`, 'ms', ...(await inTurns(stage, there, {}, stage.times(20, 4), THINK_MS)));

const measureCold = async (kind, stage, there) =>
  row(
    `cold call over ${kind}`,
    'ms',
    ...(await inTurns(stage, there, { MCP_BRIDGE_WARM: '0' }, stage.times(12, 3), THINK_MS)),
  );

async function withoutPause(kind, stage, there) {
  const calls = stage.times(16, 6);
  const [ours, theirs] = [[], []];
  await besideLocal(stage, there, { MCP_BRIDGE_CONCURRENCY: String(IN_FLIGHT) }, async (local, remote) => {
    for (let round = 0; round < stage.times(2, 1); round++) {
      await pause(SETTLE_MS);
      theirs.push(await sustainedRate(IN_FLIGHT, calls, () => local.run('print(1)')));
      await pause(SETTLE_MS);
      ours.push(await sustainedRate(IN_FLIGHT, calls, () => remote.run('print(1)')));
    }
  });
  return row(`calls without a pause over ${kind}, ${IN_FLIGHT} at once`, '/s', ours, theirs, true);
}

/** The bridge's own children are the clients of its containers, and of what it asks just now. */
async function clientMemory(kind, stage, there) {
  const mb = await stage.withBridge({ env: there }, async ({ pid }) => {
    await pause(SETTLE_MS);
    const clients = family(pid).filter((each) => commandLine(each).includes('--interactive'));
    return clients.reduce((sum, each) => sum + pssMb(each), 0);
  });
  return {
    measure: `client beside a waiting sandbox over ${kind} (PSS)`,
    unit: 'MB',
    ours: figure('client', [mb]),
  };
}

// A large tool result on its way into the sandbox, beside the same result for a plain client; and whether the cost
// per megabyte stays the same as results grow.

import { echoServer, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const MB = 1024 * 1024;
const SIZES_MB = [1, 10, 40];
const COMPARED_MB = 10;
/** A reader that copies per chunk would be at 4 to 40 here. */
const LINEAR_WITHIN = 1.5;

const codeFor = (bytes) => `
import time

started = time.perf_counter()
text = await mcp_echo.big(bytes=${bytes})
elapsed = time.perf_counter() - started
assert len(text) == ${bytes}
elapsed * 1000
`;

export async function relay(stage) {
  const inside = new Map(SIZES_MB.map((size) => [size, []]));
  const plain = [];
  await stage.withBridge({ servers: { echo: echoServer } }, (bridge) =>
    stage.withPlainClient(echoServer, async (client) => {
      await bridge.run(codeFor(MB));
      for (let round = 0; round < stage.times(6, 2); round++) {
        for (const size of SIZES_MB) inside.get(size).push((await bridge.run(codeFor(size * MB))).result);
        const big = { name: 'big', arguments: { bytes: COMPARED_MB * MB } };
        plain.push((await timeWork(() => client.callTool(big))).ms);
      }
    }),
  );
  return [compareWithPlain(inside.get(COMPARED_MB), plain), growth(inside)];
}

function compareWithPlain(inside, plain) {
  const ours = figure('into the sandbox', inside);
  const theirs = figure('plain MCP client on the host', plain);
  const ratio = ours.p50 / theirs.p50;
  return { measure: '10 MB tool result', unit: 'ms', ours, theirs, ratio, target: '<= 3', met: ratio <= 3 };
}

function growth(inside) {
  const perMb = (size) =>
    figure(
      `${size} MB`,
      inside.get(size).map((ms) => ms / size),
    );
  const ours = perMb(SIZES_MB.at(-1));
  const theirs = perMb(COMPARED_MB);
  const ratio = ours.p50 / theirs.p50;
  return {
    measure: 'cost of a MB in a result of 40 MB',
    unit: 'ms',
    ours,
    theirs: { ...theirs, label: 'of a MB in one of 10 MB' },
    ratio,
    target: `linear: <= ${LINEAR_WITHIN}`,
    met: ratio <= LINEAR_WITHIN,
    plotted: false,
    note: `1 MB ${perMb(1).p50.toFixed(1)} ms, each of 10 MB ${theirs.p50.toFixed(1)} ms, each of 40 MB ${ours.p50.toFixed(1)} ms`,
  };
}

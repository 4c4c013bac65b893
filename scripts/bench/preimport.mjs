// What `import pandas` costs in a sandbox that has loaded it while it waited, and in one that has not. Needs the image
// profile `data`; without it there is nothing to measure, and the row says so.

import { PACKAGE_NAME, VERSION } from '../../dist/base/version.js';
import { pause } from './stage.mjs';
import { figure } from './statistics.mjs';

const IMAGE = `localhost/${PACKAGE_NAME}/data:${VERSION}`;
const MEASURE = 'import pandas, loaded ahead';
/** Long enough for the pool to be filled and pandas to be loaded. */
const THINK_MS = 3_000;
const TARGET_MS = 5;

const CODE = `
import time

started = time.perf_counter()
import pandas
(time.perf_counter() - started) * 1000
`;

export async function preimport(stage, bare, signal) {
  if ((await bare.engine.images.imageId(IMAGE, signal)) === undefined) {
    return [{ measure: MEASURE, skipped: `there is no image ${IMAGE}` }];
  }
  const ahead = [];
  const fresh = [];
  const env = { MCP_BRIDGE_IMAGE: IMAGE };
  await stage.withBridge({ env: { ...env, MCP_BRIDGE_PREIMPORT: 'numpy,pandas' } }, (prepared) =>
    stage.withBridge({ env }, async (unprepared) => {
      for (let round = 0; round < stage.times(8, 2); round++) {
        await pause(THINK_MS);
        ahead.push((await prepared.run(CODE)).result);
        fresh.push((await unprepared.run(CODE)).result);
      }
    }),
  );
  const ours = figure('loaded ahead', ahead);
  const theirs = figure('loaded by the code', fresh);
  return [
    {
      measure: MEASURE,
      unit: 'ms',
      ours,
      theirs,
      ratio: ours.p50 / theirs.p50,
      target: '< 5 ms',
      met: ours.p50 < TARGET_MS,
    },
  ];
}

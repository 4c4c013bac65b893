// What a tool call costs from inside a sandbox beyond what the same call of the same server costs a plain client on
// the host. Timed where it is awaited: by the guest's own clock, and by ours.

import { echoServer, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const WARM_UPS = 20;
const BLOCK = 100;

/** Milliseconds of each of BLOCK calls, by the guest's own clock. */
export const CALLS_FROM_INSIDE = `
import time

async def once():
    started = time.perf_counter()
    await mcp_echo.echo(text="hello")
    return round((time.perf_counter() - started) * 1000, 4)

for _ in range(${WARM_UPS}):
    await once()
[await once() for _ in range(${BLOCK})]
`;

export async function toolCall(stage) {
  const inside = [];
  const plain = [];
  await stage.withBridge({ servers: { echo: echoServer } }, (bridge) =>
    stage.withPlainClient(echoServer, async (client) => {
      const echo = () => client.callTool({ name: 'echo', arguments: { text: 'hello' } });
      for (let round = 0; round < stage.times(10, 2); round++) {
        inside.push(...(await bridge.run(CALLS_FROM_INSIDE)).result);
        for (let count = 0; count < WARM_UPS; count++) await echo();
        for (let count = 0; count < BLOCK; count++) plain.push((await timeWork(echo)).ms);
      }
    }),
  );
  const ours = figure('a tool call from inside', inside);
  const theirs = figure('plain MCP client on the host', plain);
  const beyond = ours.p50 - theirs.p50;
  return [
    {
      measure: 'tool call from inside',
      unit: 'ms',
      ours,
      theirs,
      ratio: ours.p50 / theirs.p50,
      target: '<= 0.6 ms beyond, aim 0.3',
      met: beyond <= 0.6,
      note: `${beyond.toFixed(3)} ms beyond the plain client, at p50`,
    },
  ];
}

// Processes that code starts in a real sandbox: with what they begin, what they share, and what they are told that they
// lack. What each start method does is in sandbox-runtime/tests/test_spawning.py.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ h: hostileServer() });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const METHODS = ['fork', 'spawn', 'forkserver'];
const sharing = (method: string) => `
import asyncio, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, shared_memory
await asyncio.sleep(0)
def double(x): return 2 * x
def write(name, lock, value, queue):
    memory = shared_memory.SharedMemory(name=name)
    with lock: memory.buf[0] = value.value = 7
    memory.close()
    queue.put("done")
if __name__ == "__main__":
    ctx = get_context("${method}")
    said = []
    with ctx.Pool(2) as pool: said.append(pool.map(double, [1, 2]))
    with ProcessPoolExecutor(1, mp_context=ctx) as pool: said.append(pool.submit(double, 4).result())
    with ctx.Manager() as manager: said.append(list(manager.list([1])))
    memory, lock, value, queue = shared_memory.SharedMemory(create=True, size=9), ctx.Lock(), ctx.Value("i"), ctx.Queue()
    child = ctx.Process(target=write, args=(memory.name, lock, value, queue))
    child.start()
    said += [queue.get(), memory.buf[0], value.value]
    child.join()
    memory.close()
    memory.unlink()
    print(said, child.exitcode)
`;
const SAID = ["[[2, 4], 8, [1], 'done', 7, 7] 0"];

it.each(METHODS)('share what they are given: %s', async (method) => {
  const payload = await bridge.run(sharing(method));
  expect(payload).toMatchObject({ status: 'success', stdout: SAID });
  expect(payload.stderr ?? []).toEqual([]);
});

it('do so in a session', async () => {
  for (const method of METHODS) {
    const { content } = await bridge.call({ code: sharing(method), session: 'work' });
    expect(content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')).toContain(SAID[0]);
  }
});

it.each(['spawn', 'forkserver'])(
  'that call a tool, or have no guard, are told so, and nothing hangs: %s',
  async (method) => {
    const start = `import multiprocessing\nctx = multiprocessing.get_context("${method}")\n`;
    const calls = `${start}import asyncio
def ask(_): return asyncio.run(mcp_h.echo(text="x"))
if __name__ == "__main__":
    with ctx.Pool(1) as pool: pool.map(ask, [1])`;
    expect(await bridge.run(calls, { servers: ['h'] })).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/MCP calls work only in the main process of the run/),
    });
    const open = `${start}def f(x): return x\nwith ctx.Pool(4) as pool: print(pool.map(f, [1]))`;
    expect(await bridge.run(open)).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/belongs under `if __name__ == "__main__":`/),
    });
  },
);

// Canaries wherever a user keeps secrets, and every place that anybody could read afterwards. A tool's successful result
// is data and is left alone; everything that is said about a failure is not.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesBelow, processesWith } from '../support/nothing-left.js';
import { hostileServer, type ServerEntry, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

const CANARIES = {
  host: 'canary-of-the-host-4711',
  named: 'canary/handed+on 0815',
  downstream: 'canary "of" the downstream 1234',
  header: 'canary-of-a-header-5678',
};
const forms = Object.values(CANARIES).flatMap((value) => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  Buffer.from(value).toString('base64').slice(0, -4),
  Buffer.from(`user:${value}`).toString('base64').slice(8, -4),
]);
const found = (text: string) => forms.filter((form) => text.includes(form));

let bridge: TestBridge;
const said: string[] = [];
beforeAll(async () => {
  const env = { TOKEN: CANARIES.downstream };
  const remote = { url: 'http://127.0.0.1:9/', headers: { Authorization: `Bearer ${CANARIES.header}` } };
  bridge = await startBridge(
    {
      h: { ...hostileServer('secret'), env },
      early: { ...hostileServer('secret', 'exit-early'), env },
      remote: remote as unknown as ServerEntry,
    },
    {
      env: {
        MCP_BRIDGE_LOG_LEVEL: 'trace',
        HOST_CANARY: CANARIES.host,
        GITHUB_TOKEN: CANARIES.host,
        HANDED_ON: CANARIES.named,
        MCP_BRIDGE_DOWNSTREAM_ENV: 'HANDED_ON',
      },
    },
  );
});
afterAll(() => bridge[Symbol.asyncDispose]());

async function run(code: string, servers: readonly string[], timeout = 20): Promise<string> {
  const result = await bridge.call({ code, servers: [...servers], timeout });
  const text = JSON.stringify(result);
  said.push(text);
  return text;
}

describe('canaries', () => {
  it.each(['error', 'base64', 'rpc', 'crash'])('in what a tool says of its failure: %s', async (how) => {
    const code = `
try:
    await mcp_h.leak(how=${JSON.stringify(how)})
except runtime.MCPError as error:
    print(repr(error), error.args, vars(error))
await mcp_h.leak(how=${JSON.stringify(how)})
`;
    const text = await run(code, ['h']);
    expect(text).toContain('MCPError');
    expect(text).toContain('[TOKEN of ');
    expect(found(text)).toEqual([]);
  });

  it('in the last words of a server that does not start', async () => {
    for (let round = 0; round < 2; round++) {
      const text = await run('1', ['early']);
      expect(text).toContain('[TOKEN of ');
      expect(found(text)).toEqual([]);
    }
    expect(found(await run('1', ['remote']))).toEqual([]);
  });

  it('in the environment and the memory of what the code can see', async () => {
    const code = `
import glob, os
print(dict(os.environ))
for place in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + ["/proc/self/mountinfo"]:
    try: print(open(place, "rb").read())
    except OSError: pass
`;
    expect(found(await run(code, ['h']))).toEqual([]);
  });

  it('are a success of a tool: that is data', async () => {
    const code =
      'r = await mcp_h.env(name="TOKEN")\nr.value == "canary " + chr(34) + "of" + chr(34) + " the downstream 1234"';
    expect(await run(code, ['h'])).toContain('"result":true');
  });

  it('in no command line, log line or file that is left', async () => {
    const running = run('import time; time.sleep(2)', ['h']);
    await eventually(() => processesWith(bridge.stateDir).length > 0);
    for (const form of forms) expect(processesWith(form)).toEqual([]);
    await running;
    expect(bridge.stderr()).toContain('[TOKEN of ');
    expect(bridge.stderr().length).toBeLessThan(1_000_000);
    expect(found(bridge.stderr())).toEqual([]);
    const files = filesBelow(bridge.stateDir);
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect(found(textOf(file))).toEqual([]);
    expect(found(said.join())).toEqual([]);
  });
});

/** Empty for one that has gone meanwhile, such as that of a container's id. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

// A network for those kinds of sandboxes that the operator has given one, and for no other of the same bridge: what is
// reached with it, what is not, and that what carries it ends with the sandbox, however that ends.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocket, type Server as SocketServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageOf } from '../../src/base/errors.js';
import { demandNetworkMode, podmanNetworkMode } from '../../src/engine/machine/network-modes.js';
import type { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { WarmPools } from '../../src/sandbox/launch/warm-pool.js';
import { pythonProfile, type SandboxProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import type { GuestFrame } from '../../src/wire/frames.js';
import { networkHelpers, ourContainers } from '../support/nothing-left.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
import { eventually, NEVER } from '../support/time.js';

const FIXTURE = fileURLToPath(new URL('../fixtures/networked-sandbox.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;

/** Why nothing can be tried here; undefined where it can. */
function obstacle(): string | undefined {
  try {
    const info = execFileSync('podman', ['info', '--format', 'json'], { encoding: 'utf8' });
    demandNetworkMode(podmanNetworkMode(info, isRoot ? 'userns-mapped' : 'rootless'));
    return address === undefined ? 'this machine has no IPv4 address but its localhost' : undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
const address = Object.values(networkInterfaces())
  .flatMap((of) => of ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const why = obstacle();

const settings = parseSettings(bridgeEnv(tempHome()), hostFacts()).settings;
const closed = pythonProfile(settings);
const open: SandboxProfile = { ...closed, network: 'outbound' };
let launcher: Launcher;
let pools: WarmPools;
let web: Server;
let local: SocketServer;
let abstract: SocketServer;
const visitors: string[] = [];
const portOf = (server: SocketServer) => (server.address() as AddressInfo).port;
const ABSTRACT = `mcp-sandbox-bridge-network-${process.pid}`;

async function listening(server: SocketServer, ...where: [number, string] | [string]): Promise<void> {
  server.listen(...(where as [number, string]));
  await once(server, 'listening');
}

/** What the code's last line is worth, in a sandbox of `kind`. */
async function valueIn(kind: SandboxProfile, code: string): Promise<unknown> {
  const sandbox = await pools.of(kind).take(NEVER);
  let value: unknown;
  const onGuest = (frame: GuestFrame) => {
    if (frame.type === 'result') value = frame.value;
    if (frame.type === 'raised') throw new Error(JSON.stringify(frame));
  };
  await sandbox.check(code);
  const run = { timeoutSeconds: 100, loaded: [], discovered: [], files: [], program: null };
  sandbox.run({ type: 'run', ...run }, { onGuest, onOutput: () => {}, onFile: () => {} });
  await sandbox.ended;
  pools.of(kind).retire(sandbox);
  return value;
}

const LOOK = (lan: string, webPort: number, localPort: number) => `
import http.client, socket
def outcome(family, where, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(where)
        return "reached"
    except OSError as error:
        return "not reached"
def fetched():
    try:
        connection = http.client.HTTPConnection("${lan}", ${webPort}, timeout=3)
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    except OSError as error:
        return "not reached"
status = dict(l.split(":\\t", 1) for l in open("/proc/self/status").read().splitlines() if ":\\t" in l)
try:
    raw = "made" if socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) else ""
except OSError as error:
    raw = "refused"
found = {
    "the host, by an address of its own": fetched(),
    "its localhost": outcome(socket.AF_INET, ("127.0.0.1", ${localPort})),
    "its localhost, by its own address": outcome(socket.AF_INET, ("${lan}", ${localPort})),
    "its localhost, by a gateway": [outcome(socket.AF_INET, (gateway, ${localPort})) for gateway in ("169.254.0.2", "169.254.0.3", "10.0.2.2")],
    "its localhost, by IPv6": outcome(socket.AF_INET6, ("::1", ${localPort})),
    "an abstract socket": outcome(socket.AF_UNIX, "\\0${ABSTRACT}"),
    "raw sockets": raw,
    "capabilities": [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")],
    "interfaces": sorted(name for _, name in socket.if_nameindex()),
}
found
`;

describe.skipIf(why !== undefined)(why === undefined ? 'network' : `network (passed over: ${why})`, () => {
  beforeAll(async () => {
    launcher = new Launcher(settings, hostFacts(), () => {});
    pools = new WarmPools({
      size: 1,
      start: (kind, signal) => launcher.start(kind, signal),
      retire: (sandbox) => launcher.retire(sandbox),
      isCurrent: (sandbox) => launcher.isCurrent(sandbox),
      observer: () => {},
    });
    web = createServer((request, response) => {
      visitors.push(request.url ?? '');
      response.end('hello from outside');
    });
    local = createSocket((socket) => {
      visitors.push('localhost');
      socket.destroy();
    });
    abstract = createSocket((socket) => {
      visitors.push('abstract');
      socket.destroy();
    });
    await listening(web, 0, '0.0.0.0');
    await listening(local, 0, '127.0.0.1');
    await listening(abstract, `\0${ABSTRACT}`);
  });
  afterAll(async () => {
    pools?.[Symbol.dispose]();
    await launcher?.[Symbol.asyncDispose]();
    for (const server of [web, local, abstract]) server?.close();
    expect(await eventually(() => networkHelpers().length === 0)).toBe(true);
  });

  it('leads out of a sandbox that has it, not to the localhost of the host, and is in no other one', async () => {
    const look = LOOK(address ?? '', portOf(web), portOf(local));
    const walls = {
      'its localhost': 'not reached',
      'its localhost, by its own address': 'not reached',
      'its localhost, by a gateway': ['not reached', 'not reached', 'not reached'],
      'its localhost, by IPv6': 'not reached',
      'an abstract socket': 'not reached',
      'raw sockets': 'refused',
      capabilities: [0, 0, 0, 0],
    };
    expect(await valueIn(open, look)).toMatchObject({
      ...walls,
      'the host, by an address of its own': 'hello from outside',
      interfaces: ['lo', expect.any(String)],
    });
    expect(visitors.splice(0)).toEqual(['/']);
    expect(await valueIn(closed, look)).toMatchObject({
      ...walls,
      'the host, by an address of its own': 'not reached',
      interfaces: ['lo'],
    });
    // The next of each kind has waited: it is as the first.
    expect(await valueIn(open, look)).toMatchObject({ interfaces: ['lo', expect.any(String)] });
    expect(await valueIn(closed, look)).toMatchObject({ interfaces: ['lo'] });
    expect(visitors.splice(0)).toEqual(['/']);
  });

  it('by slirp4netns: knows its name server and no domain of the host; link-local addresses lead nowhere', async ({
    skip,
  }) => {
    const { engine } = await launcher.pad();
    const networkMode = await engine.networkMode(NEVER);
    if (networkMode !== 'slirp4netns') skip(`it is carried by ${networkMode} here`);
    const code = `
import socket
def outcome(where):
    try:
        socket.create_connection((where, 80), 1).close()
        return "reached"
    except OSError:
        return "not reached"
[[outcome(where) for where in ("169.254.169.254", "169.254.1.1")], open("/etc/resolv.conf").read().split()]
`;
    expect(await valueIn(open, code)).toEqual([
      ['not reached', 'not reached'],
      ['nameserver', '169.254.0.3'],
    ]);
  });

  it('what carries it ends with its sandbox: when that is killed, and when its bridge is', async () => {
    const sandboxes: Sandbox[] = [];
    for (let i = 0; i < 3; i++) sandboxes.push(await launcher.start(open, NEVER));
    expect(networkHelpers().length).toBeGreaterThanOrEqual(3);
    for (const sandbox of sandboxes) {
      sandbox.kill();
      launcher.retire(sandbox);
    }
    pools[Symbol.dispose]();
    expect(await eventually(() => networkHelpers().length === 0)).toBe(true);
    const bridge = spawn(process.execPath, [FIXTURE], {
      env: bridgeEnv(tempHome(), { MCP_BRIDGE_WARM: '0' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(bridge.stdout, 'data');
    expect(networkHelpers().length).toBe(1);
    bridge.kill('SIGKILL');
    expect(await eventually(() => networkHelpers().length === 0 && ourContainers().length === 0)).toBe(true);
  });
});

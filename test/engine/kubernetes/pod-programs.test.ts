// The program that becomes a sandbox in a pod, run by this machine's Python: it holds itself to what a pod's specification cannot say,
// and lets nobody's code run where the network is open.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { enterCommand, OPEN_EXIT_CODE } from '../../../src/engine/kubernetes/pod-programs.js';
import { sandboxSpec } from '../../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from '../../support/plain-kind.js';

const LOOK = `
import json, os, resource
mask = os.umask(0)
print(json.dumps({
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "nofile": resource.getrlimit(resource.RLIMIT_NOFILE),
    "umask": mask,
    "cluster": [name for name in os.environ if name.startswith("KUBERNETES_")],
}))
`;
const spec = {
  ...sandboxSpec({
    image: 'x',
    harnessDir: '/state/ipc/abc',
    areInImage: true,
    fallbackDir: undefined,
    seccompFile: '/s.json',
    name: 'n',
    user: '20123:20123',
    kind: PLAIN_KIND,
    enforcement: undefined,
    networkMode: undefined,
    cores: 2,
    maxTimeoutSeconds: 120,
    maxWaitSeconds: 0,
  }),
  command: ['python3', '-I', '-c', LOOK],
};
const server = createServer((socket) => socket.destroy());
let port = 0;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const enter = (witness: { host: string; port: number } | undefined) => {
  const [program = '', ...args] = enterCommand(spec, { witness, seconds: 0 });
  return { program, args };
};

it('limits, the mask of new files and the environment are as the spec has them, and the program runs', () => {
  const { program, args } = enter(undefined);
  const { stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, KUBERNETES_SERVICE_HOST: '10.96.0.1' },
  });
  expect(JSON.parse(stdout || stderr)).toEqual({
    core: [0, 0],
    nofile: [1024, 1024],
    umask: 0o077,
    cluster: [],
  });
});

it('no code runs where the place that has to be closed is reached', async () => {
  const { program, args } = enter({ host: '127.0.0.1', port });
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [said, printed] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  expect([code, printed]).toEqual([OPEN_EXIT_CODE, '']);
  expect(said).toContain(`its network is open: 127.0.0.1:${port} is reached`);
});

it('code runs where that place is not reached', async () => {
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port: free } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const { program, args } = enter({ host: '127.0.0.1', port: free });
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  expect([status, JSON.parse(stdout)['core']]).toEqual([0, [0, 0]]);
});

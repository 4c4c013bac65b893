// The program that becomes a sandbox in a pod, run by this machine's Python: it holds itself to what a pod's specification cannot say,
// and lets nobody's code run where the network is open.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { enterCommand, keepCommand, OPEN_EXIT_CODE } from '../../../src/engine/kubernetes/pod-programs.js';
import { sandboxSpec } from '../../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from '../../support/plain-kind.js';
import { until } from '../../support/time.js';

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
    name: `pod-programs-${process.pid}`,
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

type Witness = { host: string; port: number };

/** Both programs as they are in a pod: what the exec's streams said, and how each ended. */
async function entered(witness: Witness | undefined) {
  const started = (argv: readonly string[], streams: 'ignore' | 'pipe') => {
    const [program = '', ...args] = argv;
    const env = { ...process.env, KUBERNETES_SERVICE_HOST: '10.96.0.1' };
    return spawn(program, args, { stdio: ['ignore', streams, streams], env });
  };
  const first = started(keepCommand(spec), 'ignore');
  try {
    await until(() => readFileSync('/proc/net/unix', 'utf8').includes(`@${spec.name}`));
    const exec = started(enterCommand(spec, { witness, seconds: 0 }), 'pipe');
    const closed = once(exec, 'close');
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      exec[name]?.setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
      });
    const code = await Promise.race([
      once(first, 'exit').then(() => 'the sandbox has ended'),
      once(exec, 'exit').then(([code]) => code),
    ]);
    exec.kill('SIGKILL');
    await closed;
    return { ...said, code };
  } finally {
    first.kill('SIGKILL');
  }
}

const PLANNED = { core: [0, 0], nofile: [1024, 1024], umask: 0o077, cluster: [] };

it('the first process has the limits, the mask and the environment of the spec, and the streams of the exec', async () => {
  const { stdout, code } = await entered(undefined);
  expect([code, JSON.parse(stdout)]).toEqual(['the sandbox has ended', PLANNED]);
});

it('no code runs where the place that has to be closed is reached', async () => {
  const { stdout, stderr, code } = await entered({ host: '127.0.0.1', port });
  expect([code, stdout]).toEqual([OPEN_EXIT_CODE, '']);
  expect(stderr).toContain(`its network is open: 127.0.0.1:${port} is reached`);
});

it('code runs where that place is not reached', async () => {
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port: free } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const { stdout } = await entered({ host: '127.0.0.1', port: free });
  expect(JSON.parse(stdout)).toEqual(PLANNED);
});

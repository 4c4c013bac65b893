// kubernetes-sigs/agent-sandbox in a cluster: its kinds of resources, and the controller that makes pods of them.

import { kubeconfigOf } from './keys.mjs';
import { attempt, CONTROL, inNetwork } from './place.mjs';
import { start, until } from './processes.mjs';
import { CONTROLLER, definitionsFile } from './programs.mjs';

/** Starts it in a cluster that is up, and returns when it works. */
export async function startController(
  /** @type {(args: readonly string[], input?: string) => string} */ kubectl,
  /** @type {string} */ path,
  /** @type {(line: string) => void} */ say,
) {
  say('starting agent-sandbox');
  kubectl(['apply', '--server-side', `--filename=${definitionsFile()}`]);
  // It ends where it does not find them.
  kubectl(['wait', '--for=condition=Established', '--timeout=60s', `--filename=${definitionsFile()}`]);
  const probes = '127.0.0.1:8081';
  const asks = `fetch('http://${probes}/readyz').then(({ ok }) => process.exit(ok ? 0 : 1))`;
  start(
    CONTROLLER,
    [
      ...[...inNetwork(CONTROL.netns), CONTROLLER, '--extensions', '--leader-elect=false'],
      // Nobody has resources of an older version here.
      ...['--enable-webhook=false', '--metrics-bind-address=0', `--health-probe-bind-address=${probes}`],
    ],
    { env: { PATH: path, KUBECONFIG: kubeconfigOf('admin') } },
  );
  await until(
    'agent-sandbox does not work',
    CONTROLLER,
    () => attempt(...inNetwork(CONTROL.netns), process.execPath, '--eval', asks) !== undefined,
  );
}

// Programs of ours in a pod, as Python that the image's own interpreter is given: the first process, which keeps the pod, the one
// that tries the wall of the network and then becomes the sandbox, and the one by which it is known that the wall can be seen.

import type { SandboxSpec } from '../engine.js';

/** Exit code of a program that has found the network open. */
export const OPEN_EXIT_CODE = 86;

/** Where a connection is tried that no policy of the bridge allows. */
export type Witness = { readonly host: string; readonly port: number };

/** A start is given up after a minute. */
const ENTERED_WITHIN_SECONDS = 90;
/** Between two programs of an exec there is a moment without any. */
const LEFT_FOR_SECONDS = 3;

/**
 * Keeps the pod. It goes when it is told to, and by itself once what was started beside it has ended, or where nothing was within
 * the time of a start: the bridge may be gone, and a pod that does nothing would stay until its clock ends it. Its children,
 * orphans of the pod, are buried by the kernel.
 */
const KEEP = `
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
def others():
    return any(name.isdigit() and name != "1" for name in os.listdir("/proc"))
left = ${ENTERED_WITHIN_SECONDS}
while left > 0:
    time.sleep(1)
    left = ${LEFT_FOR_SECONDS} if others() else left - 1
os._exit(0)
`;

/** Whether a TCP connection to the place is made. A refusal and silence are the same: nothing gets there. */
const REACHES = `
import socket
def reaches(host, port):
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
`;

/** A node may need half a minute until an address that a sandbox had is no longer closed by that one's rule. */
const REACHED_WITHIN_SECONDS = 40;

/** Ends with 0 where the place is reached, with nothing in between that forbids it. */
const WITNESS = `${REACHES}
import json, sys, time
place = json.loads(sys.argv[1])
until = time.monotonic() + ${REACHED_WITHIN_SECONDS}
while not reaches(place["host"], place["port"]):
    if time.monotonic() > until:
        sys.exit(1)
    time.sleep(0.2)
`;

/**
 * Waits until the place is not reached any more, twice in a row, since a policy comes into force a moment after the pod. Then holds
 * itself to the limits that a pod's specification cannot say, and becomes the sandbox. The cluster's own variables stay behind.
 */
const ENTER = `${REACHES}
import json, os, resource, sys, time
plan = json.loads(sys.argv[1])
place = plan["witness"]
until = time.monotonic() + plan["seconds"]
closed = 0
while place is not None and closed < 2:
    if not reaches(place["host"], place["port"]):
        closed += 1
    elif time.monotonic() > until:
        sys.stderr.write("its network is open: %s:%d is reached although a NetworkPolicy forbids it\\n" % (place["host"], place["port"]))
        sys.exit(${OPEN_EXIT_CODE})
    else:
        closed = 0
        time.sleep(0.1)
for name, limit in plan["ulimits"].items():
    kind = getattr(resource, "RLIMIT_" + name.upper())
    most = resource.getrlimit(kind)[1]
    least = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(kind, (least, least))
os.umask(int(plan["umask"], 8))
for name in list(os.environ):
    if name.startswith("KUBERNETES_"):
        del os.environ[name]
os.execvp(sys.argv[2], sys.argv[2:])
`;

/** Without the environment's and the user's modules, as the harness itself is run. */
const python = (interpreter: string, code: string): string[] => [interpreter, '-I', '-c', code];

const interpreterOf = ({ command }: SandboxSpec): string => command[0] ?? 'python3';

/** The pod's first process. */
export const keepCommand = (spec: SandboxSpec): string[] => python(interpreterOf(spec), KEEP);

export const witnessCommand = (spec: SandboxSpec, witness: Witness): string[] => [
  ...python(interpreterOf(spec), WITNESS),
  JSON.stringify(witness),
];

/** The sandbox. Without a `witness` nothing is tried, since the operator has accepted an open network by name. */
export const enterCommand = (
  spec: SandboxSpec,
  { witness, seconds }: { readonly witness: Witness | undefined; readonly seconds: number },
): string[] => [
  ...python(interpreterOf(spec), ENTER),
  JSON.stringify({
    witness: witness ?? null,
    seconds,
    umask: spec.umask,
    ulimits: Object.fromEntries(spec.ulimits.map(({ name, limit }) => [name, limit])),
  }),
  ...spec.command,
];

// Programs of ours in a pod, as Python that the image's own interpreter is given: the first process, which becomes the sandbox, the
// one that tries the wall of the network and then hands that one its streams, and the one by which it is known that the wall can be
// seen. Streams of an exec are in no log; those of a pod's first process are.

import type { SandboxSpec } from '../engine.js';

/** Exit code of a program that has found the network open. */
export const OPEN_EXIT_CODE = 86;

/** Where a connection is tried that no policy of the bridge allows. */
export type Witness = { readonly host: string; readonly port: number };

/** The number in linux/prctl.h. */
const PR_SET_DUMPABLE = 4;

/** A start is given up after a minute, and then the bridge may be gone. */
const ENTERED_WITHIN_SECONDS = 90;

/** Takes the limits of the plan, none of which can be raised again. */
const HOLDS = `for name, limit in plan["ulimits"].items():
    kind = getattr(resource, "RLIMIT_" + name.upper())
    most = resource.getrlimit(kind)[1]
    least = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(kind, (least, least))
`;

/**
 * Waits for who enters, who sends the plan and three streams, and becomes the sandbox on those streams: what stops all of its
 * container, and takes in its orphans, has to be the first process. Goes when it is told to, and where nobody enters in the time that it
 * was given. The cluster's own variables stay behind.
 */
const KEEP = `
import array, json, os, resource, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind("\\0" + sys.argv[1])
door.listen(1)
door.settimeout(json.loads(sys.argv[2]))
try:
    guest, _ = door.accept()
except OSError:
    os._exit(0)
door.close()
streams = array.array("i")
text, rights, _, _ = guest.recvmsg(1 << 16, socket.CMSG_LEN(3 * streams.itemsize))
streams.frombytes(rights[0][2])
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
guest.close()
plan = json.loads(text)
${HOLDS}os.umask(int(plan["umask"], 8))
for name in list(os.environ):
    if name.startswith("KUBERNETES_"):
        del os.environ[name]
os.execvp(plan["command"][0], plan["command"])
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
 * Waits until the place is not reached any more, twice in a row, since a policy comes into force a moment after the pod. Then hands
 * its streams to the first process, which becomes the sandbox, and stays for the exec's sake: nothing of it can be looked at or
 * changed by code, and it has no right that code has not. Its outputs stay open: containerd takes the end of one of an exec's
 * outputs, which is that of the code here, for the end of its input as well, and the harness would see its host gone.
 */
const ENTER = `${REACHES}
import array, json, os, resource, signal, socket, sys, time
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
try:
    import _ctypes
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
    _ctypes.call_function(prctl, (${PR_SET_DUMPABLE}, 0, 0, 0, 0))
except ImportError:
    pass
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.connect("\\0" + sys.argv[2])
door.sendmsg([sys.argv[1].encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
door.close()
os.dup2(os.open(os.devnull, os.O_RDWR), 0)
${HOLDS}while True:
    signal.pause()
`;

/** Without the environment's and the user's modules, as the harness itself is run. */
const python = (interpreter: string, code: string): string[] => [interpreter, '-I', '-c', code];

const interpreterOf = ({ command }: SandboxSpec): string => command[0] ?? 'python3';

/** The pod's first process. In a pool it waits for as long as that wants it. */
export const keepCommand = (spec: SandboxSpec, { waitsForEver = false } = {}): string[] => [
  ...python(interpreterOf(spec), KEEP),
  spec.name,
  JSON.stringify(waitsForEver ? null : ENTERED_WITHIN_SECONDS),
];

export const witnessCommand = (spec: SandboxSpec, witness: Witness): string[] => [
  ...python(interpreterOf(spec), WITNESS),
  JSON.stringify(witness),
];

/** Has the first process become the sandbox. Without a `witness` nothing is tried: the operator has accepted an open network by name. */
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
    command: spec.command,
  }),
  spec.name,
];

// Attacks on the limits of a run, and what a contained one must be answered with. Data only: made in a machine whose
// control groups limit each container, so that the kernel's word is expected and never a watchdog's.

import { kernelMemoryProgram } from '../kernel-memory/attacks.mjs';

export const LIMITS = { memoryMb: 150, pids: 40, cpus: 0.5 };

/** As the settings that the bridge under attack is started with. */
export const LIMIT_SETTINGS = {
  MCP_BRIDGE_MEMORY: `${LIMITS.memoryMb}m`,
  MCP_BRIDGE_PIDS: String(LIMITS.pids),
  MCP_BRIDGE_CPUS: String(LIMITS.cpus),
};

const OUT_OF_MEMORY = {
  errorType: /^E_MEMORY$/,
  text: new RegExp(`Memory limit ${LIMITS.memoryMb} MB exceeded`),
};
/** The same where nobody can see the count: what the limit most likely was is told besides. */
const KILLED = {
  status: /^error$/,
  errorType: /^E_(?:MEMORY|SIGNAL)$/,
  text: new RegExp(`[Mm]emory limit (?:of )?${LIMITS.memoryMb} MB`),
};
const TOO_MANY = { text: new RegExp(`At most ${LIMITS.pids} processes`) };
/** Seconds of processor time that code under the quota may have had per second. */
const MOST_CPU = LIMITS.cpus * 1.3;

/** Of the kernel's memory: twice the limit, which an emulated machine takes a while to fill. */
const KERNEL_MEMORY_MB = 2 * LIMITS.memoryMb;
const KERNEL_MEMORY_SECONDS = 60;
/** By the kernel where the group counts it, else by the bridge. */
const KERNEL_MEMORY_ENDED = { text: /memory limit \d+ MB exceeded|could hold \d+ MB/i };
const kernelMemory = (kind) => ({
  name: `memory of the kernel: ${kind}`,
  code: kernelMemoryProgram(kind, KERNEL_MEMORY_MB),
  timeout: KERNEL_MEMORY_SECONDS,
  expect: KERNEL_MEMORY_ENDED,
});

/**
 * `expect`: patterns for fields of the answer, `text` for all of it; `expectElsewhere` in its place where the engine is another
 * machine's; `holds`: what its result must satisfy.
 */
export const LIMIT_ATTACKS = [
  {
    name: 'private memory, all at once',
    code: 'x = b"x" * (300 << 20)\nimport time; time.sleep(5)',
    expect: OUT_OF_MEMORY,
    expectElsewhere: KILLED,
  },
  {
    name: 'private memory, in many pieces',
    code: 'print("before")\nx = []\nwhile True: x.append(bytes([1]) * 1_000_000)',
    expect: { ...OUT_OF_MEMORY, stdout: /before/ },
    expectElsewhere: { ...KILLED, stdout: /before/ },
  },
  {
    name: 'shared memory',
    code: 'import mmap, time\nm = mmap.mmap(-1, 300 << 20)\nfor n in range(0, 300 << 20, 4096): m[n] = 1\ntime.sleep(5)',
    expect: OUT_OF_MEMORY,
    expectElsewhere: KILLED,
  },
  {
    name: 'files and process together',
    code: 'open("/tmp/a", "wb").write(bytes(60 << 20)); open("/workspace/a", "wb").write(bytes(60 << 20))\nx = b"x" * (80 << 20)\nimport time; time.sleep(5)',
    expect: OUT_OF_MEMORY,
    expectElsewhere: KILLED,
  },
  {
    name: 'many processes, each below the limit',
    code: `import os, time
for _ in range(10):
    if os.fork() == 0:
        x = b"x" * (40 << 20); time.sleep(60); os._exit(0)
for _ in range(10): assert os.wait()[1] == 0, "a worker was killed"`,
    // The kernel may take the code itself, or a worker, and the code goes on and fails over it.
    expect: { text: new RegExp(`memory limit ${LIMITS.memoryMb} MB exceeded`, 'i') },
    expectElsewhere: {
      status: /^error$/,
      text: new RegExp(`a worker was killed|memory limit of ${LIMITS.memoryMb} MB`, 'i'),
    },
  },
  {
    name: 'processes',
    code: 'import os, time\nfor n in range(200):\n    if os.fork() == 0: time.sleep(60); os._exit(0)',
    expect: { ...TOO_MANY, errorType: /^BlockingIOError$/ },
  },
  {
    name: 'threads',
    code: 'import threading, time\nfor n in range(200): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()',
    expect: TOO_MANY,
  },
  {
    name: 'processors',
    code: `import time
start, used = time.monotonic(), time.process_time()
while time.monotonic() - start < 4: pass
(time.process_time() - used) / (time.monotonic() - start)`,
    holds: (result) => typeof result === 'number' && result > 0 && result <= MOST_CPU,
  },
  {
    name: 'time, deaf to every signal',
    code: `import os, signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
os.fork()
while True: pass`,
    timeout: 5,
    expect: { status: /^timeout$/ },
  },
  ...['TCP on loopback', 'UDP on loopback', 'netlink answers', 'unix sockets', 'pipes'].map(kernelMemory),
  {
    name: 'a run after all of them',
    code: '6 * 7',
    holds: (result) => result === 42,
  },
];

/** Of an answer: a traceback says at its end what it was. */
const MAX_SHOWN_CHARS = 4_000;

/** Undefined when the answer to the attack is the one that a contained attack gets, else what is wrong with it. */
export function complaint({ expect = {}, holds }, payload) {
  for (const [field, pattern] of Object.entries(expect)) {
    const got = field === 'text' ? JSON.stringify(payload) : String(payload[field] ?? '');
    if (!pattern.test(got))
      return `${field} is not ${pattern}: ${JSON.stringify(payload).slice(0, MAX_SHOWN_CHARS)}`;
  }
  if (holds?.(payload.result) === false)
    return `the result: ${JSON.stringify(payload).slice(0, MAX_SHOWN_CHARS)}`;
  return undefined;
}

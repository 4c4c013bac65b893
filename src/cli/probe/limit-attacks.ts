// The attacks on the limits, as Python. Each says what it has got as it goes, so that its last words count when it is
// ended in the middle, and `all taken` when nothing stopped it.

/** Small enough that a machine without enforcement does not notice, and more than the interpreter needs. */
export const MEMORY_LIMIT_MB = 64;
/** Beyond the limit. */
export const EXCESS_MB = 64;
const TARGET_MB = MEMORY_LIMIT_MB + EXCESS_MB;
const STEP_MB = 4;
export const ALL_TAKEN = 'all taken';

/** The interpreter and the harness need a few; a limit below that would end the run, not the attack. */
export const PIDS_LIMIT = 24;
const EXCESS_PIDS = 8;

/** How much an attacker prints, and how much of that may be found on disk. */
export const FLOOD_MB = 8;
/** The second one where the first was over before the code began, as on a slow machine. */
export const DEADLINES_SECONDS = [1, 10] as const;

/** Each pair has two buffers, and the kernel rounds their size up: without a bound they take twice the limit. */
const SOCKET_PAIRS = 640;
const SOCKET_PAIR_KB = 200;

// What was taken is held for a moment: a watchdog looks now and then.
const HOLD = 'import time; time.sleep(0.6)';

export type MemoryKind = 'private' | 'shared' | 'tmpfs' | 'sockets';

export const MEMORY_ATTACKS: Readonly<Record<MemoryKind, string>> = {
  // Each process stays far below the limit: what counts is the sum.
  private: `
import os, signal, time
for n in range(4):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            held = []
            for _ in range(${TARGET_MB / 4 / STEP_MB}):
                held.append(b"x" * (${STEP_MB} << 20)); os.write(writing, b".")
        except MemoryError:
            os.write(writing, b"R")
        time.sleep(20); os._exit(0)
    os.close(writing)
    said = b""
    while len(said) < ${TARGET_MB / 4 / STEP_MB}:
        more = os.read(reading, 1)
        if more == b"R": print("refused: MemoryError", flush=True); os._exit(9)
        if more == b"" or os.waitpid(-1, os.WNOHANG)[0]: print("refused: a process was ended", flush=True); os._exit(9)
        said += more
        print("taken", n * ${TARGET_MB / 4} + len(said) * ${STEP_MB}, flush=True)
${HOLD}
print("refused: a process was ended" if os.waitpid(-1, os.WNOHANG)[0] else "${ALL_TAKEN}")
os._exit(0)
`,
  shared: `
import mmap
held = []
for n in range(${TARGET_MB / STEP_MB}):
    try:
        held.append(mmap.mmap(-1, ${STEP_MB} << 20))
        held[-1].write(b"x" * (${STEP_MB} << 20))
    except (OSError, MemoryError) as error:
        print("refused:", error); raise SystemExit(9)
    print("taken", (n + 1) * ${STEP_MB}, flush=True)
${HOLD}
print("${ALL_TAKEN}")
`,
  // Not quite all: the largest tmpfs may be no larger than that.
  tmpfs: `
with open("/workspace/fill", "wb", buffering=0) as fill:
    for n in range(${TARGET_MB / STEP_MB - 1}):
        try:
            fill.write(b"x" * (${STEP_MB} << 20))
        except OSError as error:
            print("refused:", error); raise SystemExit(9)
        print("taken", (n + 1) * ${STEP_MB}, flush=True)
${HOLD}
print("${ALL_TAKEN}")
`,
  // What is written to a connection and not read is memory of the kernel. Each process may have some 1,000 descriptors.
  sockets: `
import os, select, socket, time
reading, writing = os.pipe()
for n in range(4):
    if os.fork() == 0:
        server, kept = socket.create_server(("127.0.0.1", 0)), []
        for _ in range(${SOCKET_PAIRS / 4}):
            one = socket.create_connection(server.getsockname())
            kept += [one, server.accept()[0]]
            one.setblocking(False)
            try:
                while True: one.send(b"x" * 16384)
            except OSError:
                os.write(writing, b".")
        time.sleep(20); os._exit(0)
for n in range(${SOCKET_PAIRS}):
    if not select.select([reading], [], [], 5)[0] or os.waitpid(-1, os.WNOHANG)[0]:
        print("refused: a process was ended", flush=True); os._exit(9)
    os.read(reading, 1)
    if n % 64 == 63: print("taken", (n + 1) * ${SOCKET_PAIR_KB} // 1024, flush=True)
${HOLD}
print("${ALL_TAKEN}")
os._exit(0)
`,
};

export const pidsAttack = (limit: number): string => `
import os, time
for n in range(${limit + EXCESS_PIDS}):
    try:
        if os.fork() == 0:
            time.sleep(20); os._exit(0)
    except OSError as error:
        print("refused:", error.strerror); break
    print("taken", n + 1, flush=True)
else:
    print("${ALL_TAKEN}")
os._exit(0)
`;

/** Floods its output, then spins in two processes that are deaf to every signal that can be ignored. */
export const DEADLINE_ATTACK = `
import os, signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
for _ in range(${FLOOD_MB}): os.write(1, b"x" * (1 << 20))
os.fork()
while True: pass
`;

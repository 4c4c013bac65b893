// Code that computes on although it has to stand still: while a person is asked, and between the calls of a session. It notes when it
// has computed, and what it notes while nothing has to stand is what the rest is held against.

import { codeOf } from './sessions/world.js';

export type Waker = {
  readonly id: string;
  /** What it does, after "code". */
  readonly tries: string;
  /** Defines `start()`, which begins it. */
  readonly code: string;
};

/** What all of them use. A tick is five milliseconds of processor time. */
const TOOLS = `import asyncio, ctypes, os, signal, struct, sys, threading, time
# A thread that gives the interpreter up for each note it writes gets it back at once, unless others want it by then.
sys.setswitchinterval(0.0005)
LOG = "/tmp/ticks"
def tick(fd):
    end = time.thread_time() + 0.005
    while time.thread_time() < end: pass
    os.write(fd, b"%.3f\\n" % time.monotonic())
def work():
    fd = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True: tick(fd)
# A sandbox has 256 timers and signals that wait; two that wake each other share them.
def wake(every=0.15, count=120):
    signal.signal(signal.SIGCONT, lambda *_: None)
    libc = ctypes.CDLL(None, use_errno=True)
    event = ctypes.create_string_buffer(struct.pack("qii", 0, signal.SIGCONT, 0), 64)
    for number in range(1, count + 1):
        timer, at = ctypes.c_void_p(), int(number * every * 1000)
        assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
        once = ctypes.create_string_buffer(struct.pack("qqqq", 0, 0, at // 1000, at % 1000 * 1_000_000))
        assert libc.timer_settime(timer, 0, once, None) == 0
def child(*steps):
    if os.fork() == 0:
        try:
            for step in steps: step()
        finally:
            os._exit(0)
def ticks(since, seconds):
    with open(LOG) as log: return sum(since < float(line) < since + seconds for line in log)
`;

export const wakers: readonly Waker[] = [
  {
    id: 'wakes-itself',
    tries: 'starts a child that has timers send it SIGCONT',
    code: 'def start(): child(wake, work)',
  },
  {
    id: 'wakes-main',
    tries: 'has timers send SIGCONT to its own process, in which a thread works',
    code: codeOf(['def start():', '    wake()', '    threading.Thread(target=work, daemon=True).start()']),
  },
  {
    id: 'naps-ahead',
    tries: 'starts a child that wakes itself, and stops itself again ahead of whoever looks',
    code: codeOf([
      'def spells():',
      '    fd = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)',
      '    while True:',
      '        end = time.monotonic() + 0.35',
      '        while time.monotonic() < end: tick(fd)',
      '        os.kill(os.getpid(), signal.SIGSTOP)',
      'def start(): child(lambda: wake(0.5, 100), spells)',
    ]),
  },
  {
    id: 'in-another-session',
    tries: 'starts an orphan in a session of its own that wakes itself',
    code: 'def start(): child(os.setsid, lambda: child(wake, work))',
  },
  {
    id: 'wake-each-other',
    tries: 'starts two children that wake each other as soon as one of them is awake',
    code: codeOf([
      'def spur(other):',
      '    while True:',
      '        time.sleep(0.01)',
      '        os.kill(other, signal.SIGCONT)',
      'def pair():',
      '    first = os.getpid()',
      '    second = os.fork()',
      '    wake()',
      '    other = first if second == 0 else second',
      '    threading.Thread(target=spur, args=(other,), daemon=True).start()',
      '    work()',
      'def start(): child(pair)',
    ]),
  },
  {
    id: 'relay',
    tries: 'starts a child that computes a little, forks another one to go on, and ends',
    code: codeOf([
      'def leg(fd):',
      '    while True:',
      '        tick(fd)',
      '        if os.fork() != 0: os._exit(0)',
      'def start():',
      '    fd = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)',
      '    child(lambda: leg(fd))',
    ]),
  },
];

/** For so many seconds it is counted how often it has computed. */
const COUNTED_SECONDS = 4;
/** After so many it has to stand still: two, or half of one, and as much again for a machine that is busy. */
const BY_THEN_SECONDS = 4;
export const STANDS_SECONDS = BY_THEN_SECONDS + COUNTED_SECONDS + 1;

/** Begins it, and counts in `free` while nothing has to stand still; it has to from `since` on. */
export const beginning = ({ code }: Waker): string =>
  codeOf(
    TOOLS,
    code,
    'start()',
    'since = time.monotonic()',
    `await asyncio.sleep(${COUNTED_SECONDS})`,
    `free = ticks(since, ${COUNTED_SECONDS})`,
    'since = time.monotonic()',
  );

/** Ends with what it has counted then and while it had to stand still. */
export const COUNTED = `f"{free} and {ticks(since + ${BY_THEN_SECONDS}, ${COUNTED_SECONDS})} ticks"`;

/** What got through, of what code says that ended with COUNTED. */
export function computedOn(said: string): string | undefined {
  const [, free = '0', stood = '0'] = /(\d+) and (\d+) ticks/.exec(said) ?? [];
  if (Number(free) === 0) throw new Error(`nothing was counted: ${said}`);
  return Number(stood) * 5 < Number(free)
    ? undefined
    : `it computed on: ${stood} ticks, ${free} while nothing had to stand still`;
}

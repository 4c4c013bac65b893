// What code of an earlier call has left in its session tries to have the host believe something of a later one, as data. The
// control is the same piece of code where nothing stands in its way: in the later call itself, or in a run that goes on.

import { REACH_SECONDS } from '../../front-door/reached.js';
import type { TestBridge } from '../../support/start-bridge.js';
import { pause } from '../../support/time.js';
import { beginning, COUNTED, computedOn, STANDS_SECONDS, type Waker, wakers } from '../wakers.js';
import { codeOf, sessionIn } from './world.js';

/** What got through, in a few words; undefined where it was held. */
export type Attempt = (bridge: TestBridge) => Promise<string | undefined>;

export type Attack = {
  readonly id: string;
  /** One sentence: what it tries. */
  readonly tries: string;
  /** What holds it. */
  readonly wall: string;
  /** Why it gets through under gVisor, as the table of a run says it. */
  readonly gvisor?: string;
  readonly attempt: Attempt;
  readonly control: Attempt;
};

/** Finds the descriptor by which the guest's frames leave, as any code in there can. */
const FRAMES = `import os, stat, sys
def frames_fd():
    import gc
    gc.unfreeze()
    for found in gc.get_objects():
        if type(found).__name__ == "Channel" and hasattr(found, "_frames_fd"):
            return found._frames_fd
`;
const FORGED = `{"type":"result","value":"forged","repr":"'forged'","exact":true}`;

/** Whether a later call's answer is that of a forger. */
const isForged = ({ text }: { readonly text: string }): string | undefined =>
  text.includes('forged') ? 'the answer is the forged one' : undefined;

/** `leave` in one call, then `code` in the next: what it answers. */
async function later(bridge: TestBridge, leave: string, code: string, waitMs = 0) {
  const session = await sessionIn(bridge);
  await session.call(leave);
  await pause(waitMs);
  return session.call(code);
}

export const attacks: readonly Attack[] = [
  {
    id: 'forged-result-ahead',
    tries: 'a thread writes a result of its own into the stream of frames while no call is under way',
    wall: 'what comes between two calls belongs to none',
    attempt: async (bridge) =>
      isForged(
        await later(
          bridge,
          codeOf(
            FRAMES,
            'import threading, time',
            'runtime.keep_running()',
            `fd = frames_fd()`,
            [
              'def write():',
              `    time.sleep(${REACH_SECONDS})`,
              `    os.write(fd, ${JSON.stringify(`${FORGED}\n`)}.encode())`,
            ],
            'threading.Thread(target=write).start()',
          ),
          '"true"',
          2_000 * REACH_SECONDS,
        ),
      ),
    control: async (bridge) => isForged(await (await sessionIn(bridge)).call(withToken())),
  },
  {
    id: 'forged-result-beside',
    tries: 'a thread that goes on writes results of its own while the later call runs',
    wall: 'the last word of a call repeats what only that call was told',
    attempt: async (bridge) =>
      isForged(
        await later(
          bridge,
          codeOf(
            FRAMES,
            'import threading, time',
            'fd = frames_fd()',
            [
              'def write():',
              '    while True:',
              `        os.write(fd, ${JSON.stringify(`${FORGED}\n`)}.encode())`,
              '        time.sleep(0.01)',
            ],
            'threading.Thread(target=write, daemon=True).start()',
          ),
          'import time\ntime.sleep(0.5)\n"true"',
        ),
      ),
    control: async (bridge) => isForged(await (await sessionIn(bridge)).call(withToken())),
  },
  {
    id: 'forged-end',
    tries:
      'code writes what the harness tells of an end by, so that the later call ends before its code does',
    wall: 'an end repeats what only the supervisor and the harness of that call know',
    attempt: async (bridge) => {
      const { text } = await later(
        bridge,
        codeOf(
          FRAMES,
          'import threading, time',
          [
            'def write():',
            '    while True:',
            '        for fd in range(3, 60):',
            '            try:',
            '                if stat.S_ISFIFO(os.fstat(fd).st_mode) and fd != frames_fd():',
            '                    os.write(fd, b"\\0" * 10)',
            '            except OSError: pass',
            '        time.sleep(0.05)',
          ],
          'threading.Thread(target=write, daemon=True).start()',
        ),
        'import time\ntime.sleep(0.5)\n"whole"',
      );
      return text.includes("=> 'whole'") ? undefined : `it ended early: ${text}`;
    },
    control: async (bridge) => {
      const { text } = await (await sessionIn(bridge)).call('import os\nos._exit(0)\n"whole"');
      return text.includes('whole') ? undefined : 'it ended early';
    },
  },
  {
    id: 'supervisor-stream',
    tries:
      'a thread opens the stream of the supervisor, in whose name it would tell how the later call ended',
    wall: 'the supervisor’s process is closed to everybody of the same user',
    gvisor: 'its kernel lets a user’s processes open what others of them have open',
    attempt: async (bridge) => {
      const { text } = await later(
        bridge,
        codeOf('import os', 'opened = []', [
          'for fd in range(0, 200):',
          '    try: opened.append(os.open(f"/proc/1/fd/{fd}", os.O_WRONLY))',
          '    except OSError: pass',
        ]),
        'len(opened)',
      );
      return text.includes('=> 0') ? undefined : `opened: ${text}`;
    },
    control: async (bridge) => {
      const { text } = await (await sessionIn(bridge)).call(
        'import os\nr, w = os.pipe()\nos.close(os.open(f"/proc/self/fd/{w}", os.O_WRONLY))\n"opened"',
      );
      return text.includes('opened') ? 'a stream of its own can be opened so' : undefined;
    },
  },
  {
    id: 'handler',
    tries: 'a handler of an earlier call swallows the interrupt, so that a later call outlives its time',
    wall: 'the signal is taken back at each call',
    attempt: async (bridge) => {
      const session = await sessionIn(bridge);
      await session.call(
        'import signal\nsignal.signal(signal.SIGINT, lambda *_: None)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])',
      );
      const { text } = await session.call('import time\ntime.sleep(30)', { timeout: 1 });
      return text.includes('its state is kept') ? undefined : `it was not interrupted: ${text}`;
    },
    control: async (bridge) => {
      const session = await sessionIn(bridge);
      const { text } = await session.call(
        'import signal, time\nsignal.signal(signal.SIGINT, lambda *_: None)\nwhile True: time.sleep(0.1)',
        { timeout: 1 },
      );
      return text.includes('its state is kept') ? undefined : 'a handler of the call itself swallows it';
    },
  },
  {
    id: 'clock',
    tries: 'code patches the clocks and sleeps that it can see, to have a later call take longer than it may',
    wall: 'the host’s own clock',
    attempt: async (bridge) => {
      const session = await sessionIn(bridge);
      await session.call('import time\nreal = time.sleep\ntime.monotonic = time.time = lambda: 0.0');
      const { text } = await session.call('real(30)', { timeout: 1 });
      return text.includes('Timed out after 1 s') ? undefined : `it took longer: ${text}`;
    },
    control: async (bridge) => {
      const session = await sessionIn(bridge);
      await session.call('import time\ntime.time = lambda: 0.0');
      return (await session.call('time.time()')).text.includes('=> 0.0')
        ? 'code is deceived itself'
        : undefined;
    },
  },
  {
    id: 'patched-builtins',
    tries:
      'code replaces the built-in functions that the harness uses, so that a later call cannot end or lies',
    wall: 'whatever the guest says is a claim; the session ends where it says nothing',
    attempt: async (bridge) => {
      const session = await sessionIn(bridge);
      await session.call(
        'import builtins\nbuiltins.open = builtins.isinstance = builtins.len = lambda *a, **k: 1 / 0',
      );
      const { text } = await session.call('1 + 1', { timeout: 2 });
      const isTold = /=> 2|\[error\]|\[timeout\]/.test(text);
      return isTold ? undefined : text;
    },
    control: async (bridge) => {
      const session = await sessionIn(bridge);
      await session.call('import builtins\nbuiltins.sorted = lambda x: 7');
      return (await session.call('sorted([])')).text.includes('=> 7')
        ? 'later code gets the patched one'
        : undefined;
    },
  },
  {
    id: 'patched-runtime',
    tries:
      'code replaces functions of runtime, to have the later call’s tool calls pass unseen by policy and audit',
    wall: 'the host judges every frame, whoever has made it',
    attempt: async (bridge) => {
      const session = await sessionIn(bridge, { servers: ['open'] });
      await session.call(
        'async def fake(*a, **k): return {"forged": True}\nruntime.call_tool = fake\nimport mcp._call\nmcp._call.call = fake',
      );
      const denied = await session.call(
        'try:\n    r = await runtime.call_tool_raw("open", "denied", {})\nexcept Exception as e: r = e.code\nr',
      );
      return denied.text.includes('E_DENIED') || denied.text.includes('E_TOOL_UNKNOWN')
        ? undefined
        : `the denied tool: ${denied.text}`;
    },
    control: async (bridge) => {
      const session = await sessionIn(bridge, { servers: ['open'] });
      const { text } = await session.call(
        'await runtime.call_tool_raw("open", "echo", {"text": "a"})\n"called"',
      );
      return text.includes('called') ? 'the allowed tool answers' : undefined;
    },
  },
  {
    id: 'calls-between',
    tries:
      'a thread calls a tool while no call is under way, which no limit and no audit of a run would count',
    wall: 'between two calls nothing is answered but by a refusal',
    attempt: async (bridge) => {
      const session = await sessionIn(bridge, { servers: ['open'] });
      await session.call(
        codeOf(
          'import asyncio',
          'said = []',
          [
            'async def ask():',
            // By then its call is over.
            `    await asyncio.sleep(${REACH_SECONDS})`,
            '    try: said.append(await mcp_open.echo(text="between"))',
            '    except runtime.MCPError as e: said.append(e.code)',
          ],
          'runtime.keep_running()',
          'task = asyncio.create_task(ask())',
          'await asyncio.sleep(0)',
        ),
      );
      await pause(2_000 * REACH_SECONDS);
      const { text } = await session.call('said');
      return text.includes('E_NO_CALL') ? undefined : `it was answered: ${text}`;
    },
    control: async (bridge) => {
      const session = await sessionIn(bridge, { servers: ['open'] });
      const { text } = await session.call('str(await mcp_open.echo(text="within"))');
      return text.includes('within') ? 'within a call it is answered' : undefined;
    },
  },
  {
    id: 'past-its-time',
    tries: 'a thread that has asked to go on computes between two calls when the time of its call is over',
    wall: 'what goes on has the time of its call, by the host’s clock',
    attempt: (bridge) => goesOn(bridge, 'runtime.keep_running()', 1),
    control: (bridge) => goesOn(bridge, 'runtime.keep_running()', 60),
  },
  {
    id: 'goodbye-ahead',
    tries:
      'code finds in the frames of its interpreter what the end of a call is told with, tells it early, and goes on',
    wall: 'whether and how long code goes on is the host’s decision',
    attempt: (bridge) => goesOn(bridge, GOODBYE, 1),
    control: (bridge) => goesOn(bridge, GOODBYE, 60),
  },
  ...wakers.map(
    (waker): Attack => ({
      id: waker.id,
      tries: `code ${waker.tries}, and so computes between two calls`,
      wall: 'the freezer, which no signal undoes; elsewhere a look each second at what was used, and the end of what wakes again and again',
      attempt: (bridge) => computesBetween(bridge, waker, ''),
      control: (bridge) => computesBetween(bridge, waker, 'runtime.keep_running()\n'),
    }),
  ),
  {
    id: 'open-descriptors',
    tries:
      'descriptors that an earlier call has opened, copies of the harness’s among them, let a later call’s output be forged',
    wall: 'output goes by pipes of the supervisor; what is written is what the code has written, and ends with its call',
    attempt: async (bridge) => {
      const { text } = await later(
        bridge,
        codeOf('import os', [
          'copies = []',
          'for fd in range(3, 200):',
          '    try: copies.append(os.dup(fd))',
          '    except OSError: pass',
        ]),
        'print("mine")\n"true"',
      );
      return /mine\n=> 'true'$/.test(text) ? undefined : `the answer: ${text}`;
    },
    control: async (bridge) => {
      const { text } = await later(
        bridge,
        'import os\ncopy = os.dup(1)',
        'os.write(copy, b"copied\\n")\n"true"',
      );
      return text.includes('copied') ? 'a copy of its own output is written to' : undefined;
    },
  },
  {
    id: 'atexit',
    tries:
      'an exit callback of an earlier call runs when a later one ends by sys.exit, and changes its status',
    wall: 'no call ends the interpreter; its status is told before anything of the kind runs',
    attempt: async (bridge) => {
      const { text } = await later(
        bridge,
        'import atexit, os\natexit.register(lambda: os._exit(0))',
        'import sys\nsys.exit(9)',
      );
      return text.includes('exit status 9') ? undefined : `the status: ${text}`;
    },
    control: async (bridge) => {
      const { text } = await (await sessionIn(bridge)).call(
        'import atexit, os, sys\natexit.register(lambda: os._exit(0))\natexit._run_exitfuncs()\nsys.exit(9)',
      );
      return text.includes('exit status 9') ? undefined : 'a callback that runs changes it';
    },
  },
];

/** Says in the supervisor's hearing that the call has ended, and that its code goes on. */
const GOODBYE = codeOf('import os, sys', [
  'frame = sys._getframe()',
  'while "farewell" not in frame.f_locals:',
  '    frame = frame.f_back',
  'os.write(frame.f_locals["self"]._leave_fd, frame.f_locals["farewell"] + bytes([0, 1]))',
]);

/** Whether a thread goes on two seconds after a call of so many began, whose code first does what `first` says. */
async function goesOn(bridge: TestBridge, first: string, timeout: number): Promise<string | undefined> {
  const session = await sessionIn(bridge);
  await session.call(
    codeOf('import threading, time', 'ticks, began = [], time.monotonic()', [
      'def tick():',
      '    while True:',
      '        ticks.append(time.monotonic() - began)',
      '        time.sleep(0.01)',
      'threading.Thread(target=tick, daemon=True).start()',
      first,
    ]),
    { timeout },
  );
  await pause(4_500);
  const { text } = await session.call('sum(2.5 < at < 3.5 for at in ticks)');
  const ticks = /=> (\d+)$/.exec(text)?.[1];
  if (ticks === undefined) throw new Error(`no number: ${text}`);
  return ticks === '0' ? undefined : `it goes on: ${ticks} ticks`;
}

/** What a waker computes after its call, whose code first does what `first` says. */
async function computesBetween(bridge: TestBridge, waker: Waker, first: string): Promise<string | undefined> {
  const session = await sessionIn(bridge);
  await session.call(`${first}${beginning(waker)}`, { timeout: 60 });
  await pause(STANDS_SECONDS * 1_000);
  const { text } = await session.call(COUNTED);
  return /the code went on while it was paused|it used the processor/.test(text)
    ? undefined
    : computedOn(text);
}

/** Code of the call itself, which finds the token of its own call and forges with it: the harness is in its own process. */
function withToken(): string {
  return codeOf(FRAMES, [
    'frame, token = sys._getframe(), None',
    'while frame is not None:',
    '    token = frame.f_locals.get("token", token)',
    '    frame = frame.f_back',
    `os.write(frames_fd(), (${JSON.stringify(FORGED.slice(0, -1))} + ',"token":"' + str(token) + '"}\\n').encode())`,
    '"true"',
  ]);
}

// The conversation with the host. What is printed is never a frame; a frame that the code forges gives it no more than
// a call through the API would, and one that is wrong ends its own run and nothing else. The control shows that the
// descriptor of the frames is live: a well-formed call on it does reach the server that the run was given.

import { REACH_SECONDS } from '../../front-door/reached.js';
import { type Answer, type Deed, type DeedControl, py } from '../attack.js';
import { OPEN_SERVER, SHUT_SERVER, type World } from '../world.js';

/** As code that looks for it would find the way out, also among what was set aside before it; `say` writes bytes there. */
const TOOLS = py`
  import ctypes, gc, json, os, signal, subprocess, sys, threading, time
  gc.unfreeze()
  channel = next(one for one in gc.get_objects() if type(one).__name__ == "Channel")
  def say(data, fd=channel._frames_fd):
      # gVisor writes to a pipe in pieces of what fits into it.
      data = memoryview(data.encode() if isinstance(data, str) else data)
      while data:
          data = data[os.write(fd, data):]
  def call(server, text, number=1, **more):
      params = {"server": server, "tool": "mark", "arguments": {"text": "CANARY-" + text}}
      return '{"type":"call",' + json.dumps({"id": number, "method": "tools.call", "params": params, **more})[1:] + "\n"
`;

const marked = (world: World, server: string, text: string): boolean =>
  world.marks(server).includes(`${world.token}-${text}`);

const LIVE: DeedControl = {
  in: 'bridge',
  program: `${TOOLS}\nsay(call("${OPEN_SERVER}", "live"))\ntime.sleep(${REACH_SECONDS})`,
  through: (_, world) => marked(world, OPEN_SERVER, 'live'),
};

const deed = (
  id: string,
  tries: string,
  program: string,
  verdict: Deed['verdict'],
  more: Partial<Deed> = {},
): Deed => ({
  kind: 'deed',
  id: `frames.${id}`,
  group: 'frames',
  tries,
  program: `${TOOLS}\n${program}`,
  verdict,
  control: LIVE,
  timeout: 100,
  ...more,
});

/** Neither server may have heard of `text`. */
const unheard =
  (text: string) =>
  (_: Answer, world: World): string | undefined =>
    [OPEN_SERVER, SHUT_SERVER].filter((server) => marked(world, server, text)).join() || undefined;

/** A call as output, which must stay output. */
const printed = (id: string, tries: string, how: (frame: string) => string): Deed =>
  deed(id, tries, `frame = call("${OPEN_SERVER}", "${id}")\n${how('frame')}\ntime.sleep(0.5)`, unheard(id));

const asOutput: readonly Deed[] = [
  printed('printed', 'Prints a call.', (frame) => `print(${frame}, flush=True)`),
  printed('written to 1', 'Writes a call to descriptor 1.', (frame) => `os.write(1, ${frame}.encode())`),
  printed('written to 2', 'Writes a call to descriptor 2.', (frame) => `os.write(2, ${frame}.encode())`),
  printed(
    'shown by a program',
    'Has a program show a file that holds a call.',
    (frame) => `open("/tmp/note.txt", "w").write(${frame})\nsubprocess.run(["cat", "/tmp/note.txt"])`,
  ),
  printed(
    'put by C',
    'Has the C library print a call.',
    (frame) => `ctypes.CDLL(None).puts(${frame}.encode())`,
  ),
  printed(
    'a program’s descriptors',
    'Has a program write a call to every descriptor that it inherits.',
    (frame) => py`
      code = "import os, sys\nfor fd in range(3, 1024):\n    try: os.write(fd, sys.argv[1].encode())\n    except OSError: pass"
      subprocess.run([sys.executable, "-I", "-c", code, ${frame}], close_fds=False)
    `,
  ),
  printed(
    'read as input',
    'Has a program read the host’s side and write to it.',
    (frame) => `os.write(0, ${frame}.encode()) if os.access("/proc/self/fd/0", os.W_OK) else None`,
  ),
];

/** The authority of a forged call: none beyond the run's own. */
const authority: readonly Deed[] = [
  deed(
    'every descriptor',
    'Writes a call of a server that it was not given to every descriptor.',
    py`
      frame = call("${SHUT_SERVER}", "every descriptor").encode()
      for fd in range(3, 1024):
          try:
              os.set_blocking(fd, False)
              os.write(fd, frame)
          except OSError:
              continue
      time.sleep(0.7)
    `,
    unheard('every descriptor'),
  ),
  deed(
    'a server not given',
    'Calls a server that it was not given.',
    `say(call("${SHUT_SERVER}", "not given"))\ntime.sleep(0.7)`,
    unheard('not given'),
  ),
  deed(
    'the harness’s own hand',
    'Has the harness ask for a server that it was not given.',
    py`
      try:
          channel.request_sync("tools.call", {"server": "${SHUT_SERVER}", "tool": "mark", "arguments": {"text": "CANARY-hand"}})
      except Exception as error:
          print(error)
    `,
    unheard('hand'),
  ),
  ...[
    `${SHUT_SERVER} `,
    `${SHUT_SERVER}\\0`,
    SHUT_SERVER.toUpperCase(),
    `${OPEN_SERVER}/../${SHUT_SERVER}`,
  ].map((name) =>
    deed(
      `a server called ${JSON.stringify(name)}`,
      'Calls a server by a name that is nearly right.',
      `say(call("${name}", "nearly"))\ntime.sleep(0.5)`,
      unheard('nearly'),
    ),
  ),
  ...['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'then', 'toString', '0'].map((name) =>
    deed(
      `a server called ${name}`,
      'Calls a server by a name that every object knows.',
      `say(call("${name}", "${name}"))\ntime.sleep(0.4)`,
      unheard(name),
    ),
  ),
  deed(
    'a prototype in the arguments',
    'Sends arguments that would change every object of the host.',
    py`
      frame = call("${OPEN_SERVER}", "proto").replace('{"text"', '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "text"')
      say(frame)
      time.sleep(0.5)
      print("went on")
    `,
    ({ payload }) => (payload.status === 'success' ? undefined : `it ended with ${payload.status}`),
  ),
  deed(
    'an unknown method',
    'Asks for a method that there is not.',
    'say(\'{"type":"call","id":1,"method":"tools.unlock","params":{}}\\n\')\ntime.sleep(0.3)\nprint("went on")',
    ({ payload }) => (payload.stdout?.join() === 'went on' ? undefined : `it ended with ${payload.status}`),
  ),
  deed(
    'a forked child',
    'Calls from a child, in whose name nobody listens.',
    py`
      from mcp import runtime
      if os.fork() == 0:
          try:
              channel.request_sync("tools.call", {"server": "${OPEN_SERVER}", "tool": "mark", "arguments": {"text": "CANARY-child"}})
          except RuntimeError:
              os._exit(0)
          os._exit(0)
      os.wait()
    `,
    unheard('child'),
  ),
];

/** Ends the run with a named error of the protocol, and hands nothing on. */
const violation = (id: string, tries: string, frame: string): Deed =>
  deed(
    id,
    tries,
    `say(${frame})\nsay(call("${OPEN_SERVER}", "after ${id}"))\ntime.sleep(60)\nprint("THROUGH")`,
    (answer, world) => {
      const { payload } = answer;
      if (payload.status !== 'error') return `it ended with ${payload.status}`;
      if (!/protocol|frame|JSON/i.test(payload.error ?? ''))
        return `its error does not name it: ${payload.error}`;
      return unheard(`after ${id}`)(answer, world);
    },
  );

const violations: readonly Deed[] = [
  violation('no JSON', 'Writes a line that is no JSON.', '"what?\\n"'),
  violation('a number', 'Writes a number.', '"42\\n"'),
  violation('null', 'Writes null.', '"null\\n"'),
  violation('a list', 'Writes a list.', '"[]\\n"'),
  violation('an unknown type', 'Writes a frame of an unknown type.', '\'{"type":"unlock"}\\n\''),
  violation(
    'a missing field',
    'Writes a call without a method.',
    '\'{"type":"call","id":1,"params":{}}\\n\'',
  ),
  violation(
    'a field too many',
    'Writes a call with one more field.',
    `call("${OPEN_SERVER}", "many", also=1)`,
  ),
  violation(
    'an id of another kind',
    'Writes a call whose id is a text.',
    `call("${OPEN_SERVER}", "text id", number="1")`,
  ),
  violation(
    'a negative id',
    'Writes a call with a negative id.',
    `call("${OPEN_SERVER}", "negative", number=-1)`,
  ),
  violation(
    'an endless id',
    'Writes a call whose id no number can hold.',
    `call("${OPEN_SERVER}", "huge", number=10 ** 400)`,
  ),
  violation('an answer', 'Answers the host.', '\'{"type":"reply","id":1,"value":null}\\n\''),
  violation(
    'the supervisor’s report',
    'Reports its own end in the supervisor’s name.',
    '\'{"type":"exited","code":0,"signal":null,"cpuSeconds":0,"maxRssKb":0}\\n\'',
  ),
  violation(
    'a greeting',
    'Greets a second time.',
    '\'{"type":"hello","protocol":1,"harness":"x","python":"3"}\\n\'',
  ),
  violation('nul bytes', 'Writes NUL.', 'bytes(64) + b"\\n"'),
  violation('no UTF-8', 'Writes a frame that is no UTF-8.', 'b\'{"type":"\\xff\\xfe"}\\n\''),
  violation(
    'a byte order mark',
    'Writes a mark before its frame.',
    `b"\\xef\\xbb\\xbf" + call("${OPEN_SERVER}", "bom").encode()`,
  ),
  violation(
    'not a number',
    'Writes a result that is no number.',
    '\'{"type":"result","value":NaN,"repr":"","exact":true}\\n\'',
  ),
  violation(
    'a deep frame',
    'Writes a frame nested 100,000 deep, which breaks recursive code.',
    '\'{"type":"result","value":\' + "[" * 100_000 + "]" * 100_000 + \',"repr":"","exact":true}\\n\'',
  ),
  violation('a long frame', 'Writes a line longer than any frame may be.', 'b"{" + b"x" * (65 << 20)'),
];

const ending: readonly Deed[] = [
  deed(
    'half a frame',
    'Ends in the middle of a frame.',
    `say(call("${OPEN_SERVER}", "half")[:-20])\nos._exit(0)`,
    unheard('half'),
  ),
  deed(
    'a forged end',
    'Writes a result and runs on, to outlive its own end.',
    'say(\'{"type":"result","value":1,"repr":"1","exact":true}\\n\')\nwhile True:\n    time.sleep(1)',
    ({ payload }) => (payload.status === 'timeout' ? undefined : `it ended with ${payload.status}`),
    { timeout: 1 },
  ),
  deed(
    'a forged report',
    'Reports its own end on the descriptors of the first process, and calls on.',
    py`
      told = 0
      for fd in os.listdir("/proc/1/fd"):
          try:
              if not os.readlink(f"/proc/1/fd/{fd}").startswith("pipe:") or int(fd) < 100:
                  continue
              way = os.open(f"/proc/1/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
              say('{"type":"exited","code":0,"signal":null,"memoryKills":null}\\n', way)
              told += 1
          except OSError:
              continue
      # Whose report nobody has heard may call as before.
      if told == 0: raise SystemExit("no way there")
      time.sleep(0.5)
      say(call("${OPEN_SERVER}", "after its report"))
      time.sleep(60)
    `,
    unheard('after its report'),
    { timeout: 5 },
  ),
  deed(
    'a success that was none',
    'Writes a result and fails.',
    'say(\'{"type":"result","value":1,"repr":"1","exact":true}\\n\')\nos._exit(3)',
    ({ payload }) =>
      payload.status === 'error' && payload.exitCode === 3 ? undefined : `it ended with ${payload.status}`,
  ),
  deed(
    'a thousand results',
    'Writes a thousand results.',
    'say(\'{"type":"result","value":1,"repr":"1","exact":true}\\n\' * 1000)\n2',
    ({ payload }) => (payload.result === 1 ? undefined : `the result is ${JSON.stringify(payload.result)}`),
  ),
  deed('closed descriptors', 'Closes every descriptor.', 'os.closerange(0, 1024)\n1', ({ payload }) =>
    payload.status === 'timeout' ? 'it came to its deadline' : undefined,
  ),
  deed(
    'a harness without its parts',
    'Takes the harness apart from inside.',
    py`
      for one in gc.get_objects():
          if type(one).__module__.startswith("harness") and hasattr(one, "__dict__"):
              vars(one).clear()
      sys.modules.clear()
      1
    `,
    // Whatever it says, it is answered.
    ({ payload }) => (payload.status === undefined ? 'no answer' : undefined),
    { timeout: 10 },
  ),
  deed(
    'a slow frame',
    'Writes a frame one byte at a time, for ever.',
    'for byte in iter(lambda: b" ", None):\n    say(byte)\n    time.sleep(0.05)',
    ({ payload }) => (payload.status === 'timeout' ? undefined : `it ended with ${payload.status}`),
    { timeout: 1 },
  ),
  deed(
    'twenty thousand calls',
    'Asks 20,000 times without listening.',
    `say("".join(call("${SHUT_SERVER}", "flood", number=n) for n in range(1, 20_001)))\nos.kill(os.getpid(), signal.SIGSTOP)`,
    (answer, world) =>
      answer.payload.status === 'timeout'
        ? unheard('flood')(answer, world)
        : `it ended with ${answer.payload.status}`,
    { timeout: 2 },
  ),
  deed(
    'answers that nobody reads',
    'Asks for 100 MB and never reads.',
    py`
      for number in range(1, 101):
          say('{"type":"call",' + json.dumps({"id": number, "method": "tools.call", "params": {"server": "${OPEN_SERVER}", "tool": "big", "arguments": {"size": 1_000_000}}})[1:] + "\n")
      os.kill(os.getpid(), signal.SIGSTOP)
    `,
    ({ payload }) => (payload.status === 'timeout' ? undefined : `it ended with ${payload.status}`),
    { timeout: 2 },
  ),
  deed(
    'eight threads',
    'Writes frames from eight threads, so that they might mix.',
    py`
      def deed(name):
          for n in range(300):
              try:
                  channel.request_sync("tools.call", {"server": "${SHUT_SERVER}", "tool": "mark", "arguments": {"text": "CANARY-mix"}})
              except Exception:
                  continue
      threads = [threading.Thread(target=deed, args=(n,)) for n in range(8)]
      [one.start() for one in threads]
      [one.join() for one in threads]
      "whole"
    `,
    (answer, world) =>
      answer.payload.result === 'whole'
        ? unheard('mix')(answer, world)
        : `it ended with ${answer.payload.status}`,
    { timeout: 100 },
  ),
];

export const frameAttacks: readonly Deed[] = [...asOutput, ...authority, ...violations, ...ending];

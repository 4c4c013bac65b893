// Makes one Python program of many attempts: each runs in a process of its own with a time limit, so that one that
// changes its process, or hangs, spoils none of the others. The program's value is {control: answer}. Answers that
// begin with `?` mean that the attempt itself broke.

import type { Canaries } from './canaries.js';
import type { ProbedSandbox } from './control.js';
import type { Wall } from './wall.js';

/** Time limit of one attempt. All attempts together take about a quarter of a second. */
const ATTEMPT_SECONDS = 3;

const PREAMBLE = `
import ctypes, errno, os, re, select, shutil, signal, socket, stat, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)

def call(result):
    return "succeeded" if result == 0 else errno.errorcode.get(ctypes.get_errno(), "failed")

def status(name):
    found = re.search(rf"^{name}:\\s*(\\S+)", open("/proc/self/status").read(), re.M)
    if found is None: raise LookupError("this kernel does not say it")
    return found[1]

def listed(items):
    return " ".join(sorted(items)) or "none"

def answer(attempt):
    try:
        return str(attempt())
    except OSError as error:
        return errno.errorcode.get(error.errno, "EUNKNOWN")
    except BaseException as error:
        return f"?{type(error).__name__}: {error}"

def apart(attempt):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.write(writing, answer(attempt).encode()[:2000])
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 2000).decode() if select.select([reading], [], [], ${ATTEMPT_SECONDS})[0] else "?no answer in time"
    os.close(reading)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return said or "?it died"

attempts = {}
`;

export function guestCode(walls: readonly Wall[], canaries: Canaries, probed: ProbedSandbox): string {
  const attempts = walls.map(
    ({ control, python }, index) => `
def attempt_${index}():
${python(canaries, probed).replaceAll(/^/gm, '    ')}
attempts[${JSON.stringify(control)}] = attempt_${index}
`,
  );
  return `${PREAMBLE}${attempts.join('')}
{name: apart(attempt) for name, attempt in attempts.items()}
`;
}

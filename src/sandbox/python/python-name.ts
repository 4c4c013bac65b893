// Name by which the Python of an image is started: `python3`, or `python` where an image has nothing by the first name. Found
// out by trying, once for each image: one that has `python3` pays nothing for this. Also the bridge's own code in a sandbox in
// which nobody else's ever runs, for what only the image's own Python can tell: what comes back passes the parser like every
// guest's word, and the sandbox is used up like every other.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import { replaceFile } from '../../base/files/replace-file.js';
import type { Observer } from '../../base/log/events.js';
import type { OutputStream } from '../../base/process/streams.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { GuestFrame } from '../../wire/frames.js';
import { NotStarted, type Sandbox } from '../conversation/sandbox.js';
import { HARNESS_MOUNT, type PythonName, saysTooOld } from '../spec/harness-files.js';
import type { Files } from '../spec/installed-files.js';
import { knownPythonName, rememberPython } from './image-facts.js';

/**
 * Engines and OCI runtimes name the program that they did not find: runc 1.1 says `exec: "python3": executable file not found
 * in $PATH`, and crun says ``executable file `python3` not found in $PATH``. A Python without its library names its path.
 */
const NAMES_PYTHON = /\bpython3\b/;
/** The answer of Python 2.7, and every one before 3.4, to our command line: such a Python never comes to the entry point. */
const UNKNOWN_OPTION = /Unknown option: -I/;

/** Whether a start has failed because the image has no `python3`, or one that is too old. */
export function lacksPython(thrown: unknown): boolean {
  if (!(thrown instanceof NotStarted)) return false;
  return NAMES_PYTHON.test(thrown.detail) || saysTooOld(thrown.detail);
}

/** Calls `start` with the name that works. Throws what `start` throws; where neither name works, what was said of both. */
export async function startByName<T>(
  image: { readonly id: string },
  { settings, observer }: { readonly settings: Pick<Settings, 'stateDir'>; readonly observer: Observer },
  start: (python: PythonName) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const known = knownPythonName(settings.stateDir, image.id);
  try {
    return await start(known);
  } catch (thrown) {
    if (known === 'python' || signal.aborted || !(thrown instanceof NotStarted) || !lacksPython(thrown))
      throw thrown;
    const started = await startAsPython(start, thrown, signal);
    try {
      rememberPython(settings.stateDir, image.id);
    } catch (trouble) {
      // Only later starts are slower for it.
      const message = `the name of an image's Python could not be saved: ${messageOf(trouble)}`;
      observer({ type: 'engine.trouble', message });
    }
    return started;
  }
}

async function startAsPython<T>(
  start: (python: PythonName) => Promise<T>,
  first: NotStarted,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await start('python');
  } catch (second) {
    if (signal.aborted || !(second instanceof NotStarted)) throw second;
    const said = UNKNOWN_OPTION.test(second.detail) ? 'it is older than 3.4' : second.detail;
    throw new NotStarted(`${first.detail}; and by the name python: ${said}`, { cause: second });
  }
}

/**
 * Runs it to its end, or until `seconds` are over, which shows in what is missing. Throws E_SANDBOX_START where the harness does
 * not come to look at the code: it greets before it is loaded.
 */
export async function runOwnCode(
  sandbox: Sandbox,
  code: string,
  seconds: number,
): Promise<{
  /** Value of the last expression; undefined when there was none. */
  readonly value: unknown;
  readonly stdout: string;
  readonly stderr: string;
}> {
  let value: unknown;
  const printed = { stdout: [] as string[], stderr: [] as string[] };
  const onGuest = (frame: GuestFrame) => {
    if (frame.type === 'result') value = frame.value;
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    sandbox.kill();
  }, seconds * 1000);
  const first = await Promise.race([sandbox.check(code), sandbox.ended]);
  if ('how' in first && first.how === 'lost' && !isLate) {
    clearTimeout(timer);
    throw new NotStarted(first.detail);
  }
  if (sandbox.isAlive) {
    const run = {
      type: 'run',
      timeoutSeconds: seconds,
      loaded: [],
      discovered: [],
      files: [],
      program: null,
    } as const;
    const onOutput = (stream: OutputStream, text: string) => void printed[stream].push(text);
    sandbox.run(run, { onGuest, onOutput, onFile: () => {} });
    await sandbox.ended;
  }
  clearTimeout(timer);
  return { value, stdout: printed.stdout.join(''), stderr: printed.stderr.join('') };
}

/** Path below a state directory. What is in it holds for every state directory of a machine. */
export const COMPILED_FILE = join('cache', 'harness.json');
const COMPILE_SECONDS = 10;

// Unchecked: the bridge compares the folder with what was installed, and each check of Python's would read the source.
const CODE = `
import base64, glob, importlib.util, os
from importlib._bootstrap_external import _code_to_hash_pyc
root = "${HARNESS_MOUNT}/"
compiled = {}
for path in glob.glob(root + "*/*.py"):
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, path, "exec", dont_inherit=True)
    data = _code_to_hash_pyc(code, importlib.util.source_hash(source), False)
    compiled[importlib.util.cache_from_source(path)[len(root):]] = base64.b64encode(data).decode()
compiled
`;

const files = z.record(z.string().regex(/^\w+\/__pycache__\/[\w.-]+\.pyc$/), z.base64());
const cacheFile = z.object({ key: z.string(), files });

/**
 * Compiles the harness with the very Python that runs it: half of its start is compiling, and its folder is read-only in every
 * sandbox, so nothing could be kept there. Asked of the trial sandbox, in which no code of anybody else ever runs. What another
 * Python made is not wrong, only unused: Python looks for its own. Undefined where it cannot. Uses up the sandbox.
 */
export async function compileIn(sandbox: Sandbox): Promise<Files | undefined> {
  const { value } = await runOwnCode(sandbox, CODE, COMPILE_SECONDS);
  const parsed = files.safeParse(value);
  return parsed.success ? decodeFiles(parsed.data) : undefined;
}

/** Files that an earlier start kept for the same harness and image. */
export function readCompiled(stateDir: string, key: string): Files | undefined {
  try {
    const cached = cacheFile.parse(JSON.parse(readFileSync(join(stateDir, COMPILED_FILE), 'utf8')), {
      jitless: true,
    });
    return cached.key === key ? decodeFiles(cached.files) : undefined;
  } catch {
    // Absent, or of another version: the next trial makes it anew.
    return undefined;
  }
}

export function keepCompiled(stateDir: string, key: string, compiled: Files): void {
  const text = [...compiled].map(([name, data]) => [name, Buffer.from(data).toString('base64')]);
  replaceFile(join(stateDir, COMPILED_FILE), JSON.stringify({ key, files: Object.fromEntries(text) }));
}

const decodeFiles = (encoded: Readonly<Record<string, string>>): Files =>
  new Map(Object.entries(encoded).map(([name, data]) => [name, Buffer.from(data, 'base64')]));

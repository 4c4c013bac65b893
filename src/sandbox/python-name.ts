// By which name the Python of an image is started: `python3`, or `python` where an image has nothing by the first name.
// Found out by trying, once for each image: one that has `python3` pays nothing for this.

import { asBridgeError, BridgeError, messageOf } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { Settings } from '../config/settings.js';
import { knownPythonName, type PythonName, rememberPython } from './loans.js';

/** Every engine names the program that it did not find, and so does the entry point where it is too old. */
const LACKS_PYTHON = /\bpython3\b|\bPython is \d/;
/** What a Python before 3.4 says to our command line, so that it never comes to the entry point. */
const UNKNOWN_OPTION = /Unknown option: -I/;

/** Whether a start has failed because the image has no `python3`, or one that is too old. */
export function lacksPython(thrown: unknown): boolean {
  const { code, message } = asBridgeError(thrown);
  return code === 'E_SANDBOX_START' && LACKS_PYTHON.test(message);
}

type Start<T> = (python: PythonName) => Promise<T>;
type Context = { readonly settings: Pick<Settings, 'stateDir'>; readonly observer: Observer };

/** What `start` gives with the name that works. Throws what it throws; where neither works, what was said of both. */
export async function startByName<T>(
  image: { readonly id: string },
  { settings, observer }: Context,
  start: Start<T>,
  signal: AbortSignal,
): Promise<T> {
  const known = knownPythonName(settings.stateDir, image.id);
  try {
    return await start(known);
  } catch (thrown) {
    if (known === 'python' || signal.aborted || !lacksPython(thrown)) throw thrown;
    const started = await startAsPython(start, asBridgeError(thrown), signal);
    try {
      rememberPython(settings.stateDir, image.id);
    } catch (trouble) {
      // Only later starts are slower for it.
      const message = `the name of an image's Python is not remembered: ${messageOf(trouble)}`;
      observer({ type: 'engine.trouble', message });
    }
    return started;
  }
}

async function startAsPython<T>(start: Start<T>, first: BridgeError, signal: AbortSignal): Promise<T> {
  try {
    return await start('python');
  } catch (thrown) {
    const second = asBridgeError(thrown);
    if (signal.aborted || second.code !== 'E_SANDBOX_START') throw thrown;
    const said = UNKNOWN_OPTION.test(second.message)
      ? 'it is older than 3.4'
      : second.message.replace(/^The sandbox did not start: /, '');
    const { remedy } = first;
    throw new BridgeError(first.code, `${first.message}; and by the name python: ${said}`, {
      fault: first.fault,
      cause: thrown,
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
}

// A program that runs in the test's own process, for tests of what it says of its command line: a process of Node for each,
// which loads everything anew, takes a quarter of a second. It is the source and not the build, and its standard input
// and what it writes past `process.stdout` and `process.stderr` are the test's. Tests of signals, streams and of the
// start itself have a real process.

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

export type Said = { readonly stdout: string; readonly stderr: string; readonly exitCode: number };

export type Surroundings = {
  readonly folder?: string;
  /** All variables that it has; without it, those of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** The script that was started, where it has loaded the program. */
  readonly script?: string;
};

/** Ends the program where it calls `process.exit`, as nothing else can. */
class Exit extends Error {}

/** Programs that can be interrupted listen for these until they end, and some for the end of whoever reads them. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let count = 0;

/** Runs the module `file` as the program; what it loads besides stays loaded. */
export async function runHere(
  file: string,
  args: readonly string[],
  { folder = process.cwd(), env, script = file }: Surroundings = {},
): Promise<Said> {
  const said = { stdout: '', stderr: '' };
  let exitCode: number | undefined;
  const writer = (name: keyof typeof said) => (chunk: string | Uint8Array) => {
    // Output after the end comes from our own Exit on its way up through the program.
    if (exitCode === undefined) said[name] += Buffer.from(chunk as string).toString();
    return true;
  };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write: (chunk, _encoding, done) => {
        writer(name)(chunk);
        done();
      },
    });
  const { argv, exit, env: ownEnv } = process;
  const [stdoutWrite, stderrWrite, ownConsole] = [
    process.stdout.write,
    process.stderr.write,
    globalThis.console,
  ];
  const before = { ...ownEnv };
  const ownFolder = process.cwd();
  const listeners = SIGNALS.map((signal) => process.listeners(signal));
  const outputs = [process.stdout, process.stderr];
  const onError = outputs.map((output) => output.listeners('error'));
  process.argv = [process.execPath, script, ...args];
  if (env !== undefined) replace(env);
  process.chdir(folder);
  process.stdout.write = writer('stdout');
  process.stderr.write = writer('stderr');
  globalThis.console = new Console(stream('stdout'), stream('stderr'));
  process.exit = (code) => {
    exitCode ??= Number(code ?? process.exitCode ?? 0);
    throw new Exit();
  };
  try {
    const program = await import(`${pathToFileURL(file).href}?run=${++count}`);
    // Programs that do not wait for their own end export `finished`.
    await program.finished;
    exitCode ??= Number(process.exitCode ?? 0);
  } catch (thrown) {
    if (!(thrown instanceof Exit)) throw thrown;
  } finally {
    process.argv = argv;
    process.exit = exit;
    process.exitCode = undefined;
    process.stdout.write = stdoutWrite;
    process.stderr.write = stderrWrite;
    globalThis.console = ownConsole;
    process.chdir(ownFolder);
    replace(before);
    for (const [at, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (!listeners[at]?.includes(listener)) process.off(signal, listener);
    for (const [at, output] of outputs.entries())
      for (const listener of output.listeners('error'))
        if (!onError[at]?.includes(listener)) output.off('error', listener as () => void);
  }
  return { ...said, exitCode: exitCode ?? 0 };
}

/** Name by name, so that what has kept `process.env` sees it, and the system as well. */
function replace(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (process.env[name] !== value) process.env[name] = value;
}

// Parts of the program that are loaded when they are first needed, and what is said where one has gone: whoever upgrades the
// package takes its files away from the bridges that run.

import { BridgeError } from './errors.js';

/** Node's codes for a module that is not where it was. */
const GONE = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ENOENT']);

/** E_REPLACED for what loading a part has thrown because it is not there any more; anything else as it is. */
export function replacedPart(thrown: unknown): unknown {
  const isGone = thrown instanceof Error && 'code' in thrown && GONE.has(String(thrown.code));
  // A part of another version does not export what this one imports.
  if (!isGone && !(thrown instanceof SyntaxError)) return thrown;
  return new BridgeError('E_REPLACED', 'The files of the bridge were replaced or removed while it ran.', {
    fault: 'operator',
    remedy: 'Restart the bridge: reconnect it in the host, or restart the host.',
    cause: thrown,
  });
}

/** `load`, once: later calls are given the same. A failure is E_REPLACED where the part has gone, and is not kept. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((thrown: unknown) => {
      loading = undefined;
      throw replacedPart(thrown);
    });
    return loading;
  };
}

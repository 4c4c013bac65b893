// How large an image is, said the same before and after it was used. A rootless podman copies a layer for the ids of a
// container, keeps the copy, and from then on counts it with the image; the layers themselves stay as large as they were.

import { run } from '../../base/process/process.js';
import { engineNameOf } from '../client/engine-status.js';
import type { EngineClient } from '../machine/place.js';

const QUERY_TIMEOUT_MS = 30_000;

/** Bytes of the layers of a local image; `inspectedBytes`, which the engine says of the whole, where it names no layers. */
export async function layerBytes(
  { binary, env }: EngineClient,
  image: string,
  inspectedBytes: number,
  signal: AbortSignal,
): Promise<number> {
  if (engineNameOf(binary) !== 'podman') return inspectedBytes;
  const options = { timeoutMs: QUERY_TIMEOUT_MS, env };
  const { exitCode, stdout } = await run([binary, 'history', '--format', 'json', image], options, signal);
  return (exitCode === 0 ? sumOfLayers(stdout) : undefined) ?? inspectedBytes;
}

function sumOfLayers(json: string): number | undefined {
  try {
    const layers: unknown = JSON.parse(json);
    if (!Array.isArray(layers)) return undefined;
    const sum = layers.reduce((bytes: number, layer) => bytes + Number(Object(layer).size), 0);
    return sum > 0 ? sum : undefined;
  } catch {
    return undefined;
  }
}

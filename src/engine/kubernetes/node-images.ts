// Images as a cluster knows them: those that its nodes say they have, which an account may not be allowed to ask, and those that a
// node pulls when a pod wants one.

import { type Api, ApiError } from './api.js';

type NodeImage = { readonly names: readonly string[]; readonly sizeBytes: number };

export class NodeImages {
  readonly #api: Api;
  /** References that a node is to pull, as far as it has not. */
  readonly #left = new Set<string>();

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * The digest of an image that a node has, or else its reference, where the nodes cannot be asked or are to pull it; undefined
   * where no node has it.
   */
  async idOf(image: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.inspect(image, signal))?.id;
  }

  async inspect(image: string, signal: AbortSignal) {
    const images = await this.#ofNodes(signal);
    const found = images?.find(({ names }) => names.includes(image));
    if (found === undefined)
      return images === undefined || this.#left.has(image) ? { id: image, sizeBytes: 0 } : undefined;
    const digest = found.names.find((name) => name.includes('@sha256:'));
    return { id: digest ?? `${image} of ${found.sizeBytes} bytes`, sizeBytes: found.sizeBytes };
  }

  async names(signal: AbortSignal): Promise<readonly string[]> {
    const names = (await this.#ofNodes(signal))?.flatMap(({ names }) => names) ?? [];
    return [...new Set(names)].filter((name) => !name.includes('@'));
  }

  leaveToNodes(image: string): void {
    this.#left.add(image);
  }

  /** Undefined where the account may not ask. */
  async #ofNodes(signal: AbortSignal): Promise<readonly NodeImage[] | undefined> {
    try {
      const { items } = await this.#api.ask('GET', '/api/v1/nodes', signal);
      return items.flatMap(
        (node: { status?: { images?: Array<{ names?: string[]; sizeBytes?: number }> } }) =>
          (node.status?.images ?? []).map(({ names, sizeBytes }) => ({
            names: names ?? [],
            sizeBytes: sizeBytes ?? 0,
          })),
      );
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 403) return undefined;
      throw thrown;
    }
  }
}

// When a pod is removed: at once where its code is to end, and a moment later where its run has, so that the answer goes first. The
// cluster is a stand-in that writes down what it is asked for, since a real one does not tell in which order that was.

import { once } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import type { ContainerExit, EngineOptions, SandboxSpec } from '../../../src/engine/engine.js';
import type { Cluster, RunningPod } from '../../../src/engine/kubernetes/cluster.js';
import { PodContainer } from '../../../src/engine/kubernetes/pod-container.js';

let asked: string[];
let endPod: (exit: ContainerExit) => void;
let startPod: () => void;

beforeEach(() => {
  asked = [];
});

/** One whose pod ends once it is removed, as a real one does. */
function containerIn(): PodContainer {
  const exited = new Promise<ContainerExit>((resolve) => {
    endPod = resolve;
  });
  const running: RunningPod = { exited, write: async () => {}, closeInput: async () => {} };
  const pods = {
    run: (_spec: unknown, _options: unknown, _output: unknown, signal: AbortSignal) =>
      new Promise<RunningPod>((resolve, reject) => {
        startPod = () => resolve(running);
        signal.addEventListener('abort', () => reject(new Error('the start was given up')));
      }),
    removeSurely: async (name: string) => {
      asked.push(`remove ${name}`);
      endPod({ code: 137, signal: undefined });
    },
    whyLost: async () => {
      asked.push('why');
      return 'its node is gone';
    },
  };
  const cluster = Promise.resolve({ pods } as unknown as Cluster);
  return new PodContainer(cluster, { name: 'one' } as SandboxSpec, {} as EngineOptions);
}

async function startedContainer(): Promise<PodContainer> {
  const container = containerIn();
  await Promise.resolve();
  startPod();
  return container;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('a pod whose run has ended is removed once the answer has had its time to go', async () => {
  const container = await startedContainer();
  const gone = container[Symbol.asyncDispose]();
  await settled();
  expect(asked).toEqual([]);
  await gone;
  expect(asked).toEqual(['remove one']);
});

it('a pod that is killed is removed at once, and not again when it is put away', async () => {
  const container = await startedContainer();
  container.kill();
  await settled();
  expect(asked).toEqual(['remove one']);
  await container[Symbol.asyncDispose]();
  expect(asked).toEqual(['remove one']);
});

it('a pod that is put away while it starts is not waited for', async () => {
  const container = containerIn();
  await Promise.resolve();
  await container[Symbol.asyncDispose]();
  expect(asked).toEqual(['remove one']);
  expect(await container.exited).toEqual({ code: 1, signal: undefined });
});

it('the reason of a loss is asked for where nobody has put the pod away', async () => {
  const container = await startedContainer();
  endPod({ code: undefined, signal: undefined });
  const [words] = await once(container.stderr, 'data');
  expect(String(words)).toBe('its node is gone\n');
  await container[Symbol.asyncDispose]();
  expect(asked).toEqual(['why', 'remove one']);
});

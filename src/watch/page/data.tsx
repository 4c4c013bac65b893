// What the page has from its program: data of a view, asked for again when the program says that it has changed, and forms.

import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks';
import type { Changed } from '../front/shown.js';

type Topic = Changed[number];
const listeners = new Set<(changed: Changed | 'all') => void>();

/** Whether the program of the page answers. */
export const isConnected = { value: true };
const connectionListeners = new Set<() => void>();

function setConnected(value: boolean): void {
  if (isConnected.value === value) return;
  isConnected.value = value;
  for (const listener of connectionListeners) listener();
}

/** Has the component drawn again when the connection is lost or there again. */
export function useConnection(): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    connectionListeners.add(redraw as () => void);
    return () => void connectionListeners.delete(redraw as () => void);
  }, []);
}

const events = new EventSource('events');
events.onmessage = ({ data }) => {
  const changed = JSON.parse(data) as Changed;
  for (const listener of listeners) listener(changed);
};
let hasOpened = false;
events.onopen = () => {
  setConnected(true);
  // What has happened while nobody told us.
  if (hasOpened) for (const listener of listeners) listener('all');
  hasOpened = true;
};
events.onerror = () => setConnected(false);

/** The data at `path`, undefined until they are there, and asked for again with each change of `topics`. */
export function useData<T>(
  path: string,
  topics: readonly Topic[],
  /** A view whose data are many asks less often. */
  atMostEveryMs = 0,
): { readonly data: T | undefined; readonly isMissing: boolean; readonly reload: () => void } {
  const [state, setState] = useState<{ path: string; data: T | undefined; isMissing: boolean }>();
  const [asked, ask] = useReducer((count: number) => count + 1, 0);
  const key = topics.join();
  // Data are asked for at once, and not when the page without them has been drawn.
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listener = (changed: Changed | 'all') => {
      if (changed !== 'all' && !changed.some((one) => key.split(',').includes(one))) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        ask(undefined);
      }, atMostEveryMs);
    };
    listeners.add(listener);
    return () => {
      clearTimeout(timer);
      listeners.delete(listener);
    };
  }, [key, atMostEveryMs]);
  // Each `asked` asks once more.
  useLayoutEffect(() => {
    const ends = new AbortController();
    void (async () => {
      try {
        const answer = await fetch(path, { signal: ends.signal });
        const data = answer.ok ? ((await answer.json()) as T) : undefined;
        if (!ends.signal.aborted) setState({ path, data, isMissing: answer.status === 404 });
      } catch {
        // The connection says it, or another question has taken its place.
      }
    })();
    return () => ends.abort();
  }, [path, asked]);
  const current = state?.path === path ? state : undefined;
  return {
    data: current?.data,
    isMissing: current?.isMissing ?? false,
    reload: () => ask(undefined),
  };
}

/** Sends a form; resolves with what the program says to it. */
export async function post(
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<{ readonly isDone: boolean; readonly says: string }> {
  try {
    const answer = await fetch(path, { method: 'POST', body: new URLSearchParams(fields) });
    return { isDone: answer.ok, says: (await answer.text()).trim() };
  } catch {
    return { isDone: false, says: 'Nothing was done: the program of the page does not answer.' };
  }
}

/** The bytes at `path`, or what the program says instead of them. */
export async function load(
  path: string,
): Promise<{ readonly content: Blob | undefined; readonly says: string }> {
  try {
    const answer = await fetch(path);
    if (answer.ok) return { content: await answer.blob(), says: '' };
    return { content: undefined, says: (await answer.text()).trim() };
  } catch {
    return { content: undefined, says: 'The program of the page does not answer.' };
  }
}

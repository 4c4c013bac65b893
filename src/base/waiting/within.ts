// A wait with an end. Whoever uses it looks at the state afterwards, since it does not say which came first.

/** `promise`, or the end of `timeoutMs`, whichever comes first; rejects as `promise` does. */
export function within(timeoutMs: number, promise: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

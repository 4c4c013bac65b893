// Resources that their opener disposes, in reverse order. Node 20 has Symbol.asyncDispose but no AsyncDisposableStack; this is
// the small part of that class that the project uses.

export class DisposalStack implements AsyncDisposable {
  readonly #disposers: Array<() => unknown> = [];
  #disposing: Promise<void> | undefined;

  /** Keeps `resource` and returns it, so that opening and owning are one line. */
  use<T extends AsyncDisposable | Disposable>(resource: T): T {
    this.defer(() =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
    );
    return resource;
  }

  defer(dispose: () => unknown): void {
    this.#disposers.push(dispose);
  }

  /** Runs every disposer, last opened first; one that fails does not keep the others from running. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#run();
    return this.#disposing;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (let dispose = this.#disposers.pop(); dispose !== undefined; dispose = this.#disposers.pop()) {
      try {
        await dispose();
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some resources did not close cleanly');
  }
}

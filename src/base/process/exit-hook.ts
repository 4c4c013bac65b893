// The synchronous last resort: when the process is about to end for whatever reason, these run and cannot wait.
// They kill what would outlive us. SIGKILL runs nothing; labels on containers let the next start sweep.

const hooks = new Set<() => void>();
let installed = false;

function runAll(): void {
  for (const hook of hooks) {
    try {
      hook();
    } catch {
      // The process is ending and every other hook still has to run; nobody is left to tell.
    }
  }
  hooks.clear();
}

/** Registers `hook` to run synchronously at process exit; returns how to take it back. */
export function onExit(hook: () => void): () => void {
  if (!installed) {
    installed = true;
    process.on('exit', runAll);
  }
  hooks.add(hook);
  return () => {
    hooks.delete(hook);
  };
}

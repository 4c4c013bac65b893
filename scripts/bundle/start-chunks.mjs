// Which modules lie together, so that a start reads few files: each costs as much as ten kilobytes of code. What `serve` imports is
// four chunks, since other programs begin with a part of it: `window` is what the relay of a shared bridge needs, which loads nothing
// else, `base` what the command line uses too, `common` what the command server does, and `start` the rest.

import { join } from 'node:path';

const ROOTS = {
  relay: 'src/cli/windows/start-relay.ts',
  serve: 'src/cli/serving/serve.ts',
  program: 'src/cli/program.ts',
  codeExec: 'src/cli/serving/code-exec.ts',
};

/** Groups of modules for the bundler, of the sources below `root`. */
export function startChunks(root) {
  let imported;
  const name = (id, context) => {
    const getModuleInfo = (module) => context.getModuleInfo(module);
    imported ??= Object.fromEntries(
      Object.entries(ROOTS).map(([key, file]) => [key, withImports(join(root, file), getModuleInfo)]),
    );
    if (imported.relay.has(id)) return 'window';
    if (!imported.serve.has(id)) return null;
    if (imported.program.has(id)) return 'base';
    return imported.codeExec.has(id) ? 'common' : 'start';
  };
  return [{ debugName: 'start', name }];
}

/** The module and all that it imports, but for what is imported later, by `import()`. */
function withImports(id, getModuleInfo, found = new Set()) {
  if (found.has(id)) return found;
  found.add(id);
  for (const imported of getModuleInfo(id)?.importedIds ?? []) withImports(imported, getModuleInfo, found);
  return found;
}

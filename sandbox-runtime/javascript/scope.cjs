// What CommonJS code has without asking, for ES modules too: `require`, `module`, `__dirname` and `__filename`. Models mix
// both kinds in one file, above all `require` with a top-level await. A module that declares such a name has its own.
// Code that was bundled is told by its source map whose names it wants.

'use strict';

const Module = require('node:module');
const path = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

/** In bundled code these stand for what is written out in it: every file of it would else share the first one's. */
const STAND_INS = {
  'import.meta.url': 'globalThis.__fileurl',
  'import.meta.filename': 'globalThis.__filename',
  'import.meta.dirname': 'globalThis.__dirname',
  'require.main': 'globalThis.__mainmodule',
  __filename: 'globalThis.__filename',
  __dirname: 'globalThis.__dirname',
};

/** `main` is the program's first file, which is also who asks where that cannot be told. */
function defineCommonJsNames(main) {
  const moduleOf = remembering((file) =>
    file === main && process.mainModule ? process.mainModule : newModule(file),
  );
  const names = {
    __filename: (file) => file,
    __dirname: (file) => path.dirname(file),
    __fileurl: (file) => pathToFileURL(file).href,
    __mainmodule: (file) => (file === main ? moduleOf(main) : undefined),
    module: moduleOf,
    require: remembering((file) => Object.assign(Module.createRequire(file), { main: moduleOf(main) })),
  };
  for (const [name, valueFor] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get: function get() {
        return valueFor(callerOf(get) ?? main);
      },
      set: (value) => {
        Object.defineProperty(globalThis, name, { configurable: true, writable: true, value });
      },
    });
  }
}

const newModule = (file) => Object.assign(new Module(file, null), { filename: file });

function remembering(make) {
  const made = new Map();
  return (file) => {
    if (!made.has(file)) made.set(file, make(file));
    return made.get(file);
  };
}

/** The file of the code that called `callee`; undefined where it is none, as in eval. */
function callerOf(callee) {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const trace = {};
  try {
    Error.stackTraceLimit = 1;
    Error.prepareStackTrace = (_, sites) => sites[0];
    Error.captureStackTrace(trace, callee);
    const site = trace.stack;
    const written = site?.getFileName?.() ?? undefined;
    if (typeof written !== 'string') return undefined;
    const from = Module.findSourceMap(written)?.findEntry(
      site.getLineNumber() - 1,
      site.getColumnNumber() - 1,
    );
    const file = from?.originalSource ?? written;
    return file.startsWith('file:') ? fileURLToPath(file) : path.isAbsolute(file) ? file : undefined;
  } finally {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}

module.exports = { STAND_INS, defineCommonJsNames };

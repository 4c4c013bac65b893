// CommonJS files beside an ES module, all of them named `.js`: a Node that does not look for itself takes them for what
// package.json says. Where there are any, each is asked for its kind, for `import` (mixed-hooks.mjs) and for `require`.

'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { hasModuleSyntax } = require('./syntax.cjs');

/** More than come with a call. */
const MAX_FILES = 200;

/** Costs a thread of Node's own where there is such a file, and else a look at each. */
function allowCommonJsIn(folder) {
  if (!scriptsIn(folder).some(isCommonJs)) return;
  Module.register?.(pathToFileURL(path.join(__dirname, 'mixed-hooks.mjs')));
  const load = Module._extensions['.js'];
  Module._extensions['.js'] = (module, file) => {
    if (isCommonJs(file)) module._compile(fs.readFileSync(file, 'utf8'), file);
    else load(module, file);
  };
}

function scriptsIn(folder) {
  const found = [];
  const folders = [folder];
  while (folders.length > 0 && found.length < MAX_FILES) {
    const next = folders.pop();
    for (const entry of fs.readdirSync(next, { withFileTypes: true })) {
      const name = path.join(next, entry.name);
      if (entry.isDirectory() && entry.name !== 'node_modules') folders.push(name);
      else if (entry.isFile() && name.endsWith('.js')) found.push(name);
    }
  }
  return found;
}

/** Of a script that is neither for certain: no. */
function isCommonJs(file) {
  const source = fs.readFileSync(file, 'utf8');
  return /\b(module\.exports|exports\.|require\s*\()/.test(source) && !hasModuleSyntax(source);
}

module.exports = { allowCommonJsIn, isCommonJs };

// Whether a `.js` file is an ES module: what V8's parser says (syntax.cjs) is written where Node looks for it, the `type` of
// package.json. So the program's other files and the processes that it starts find the same. A `type` that is given is
// never touched.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { hasModuleSyntax, isSeenByNode } = require('./syntax.cjs');

/** Makes Node take `file` for what it is. */
function settleType(file) {
  try {
    const manifest = manifestFor(file);
    const described = manifest.text === undefined ? {} : JSON.parse(manifest.text);
    const source = fs.readFileSync(file, 'utf8');
    if (described.type !== undefined || !hasModuleSyntax(source)) return;
    if (looksItself() && isSeenByNode(source)) return;
    const text = JSON.stringify({ ...described, type: 'module' }, undefined, 2);
    fs.writeFileSync(manifest.path, `${text}\n`);
    if (!looksItself()) require('./mixed.cjs').allowCommonJsIn(path.dirname(manifest.path));
  } catch {
    // A file that is not there or no JSON: Node says so itself, and better.
  }
}

function looksItself() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19);
}

/** The nearest package.json above `file`; where there is none, the one to be made beside it. */
function manifestFor(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'package.json');
    if (fs.existsSync(candidate)) return { path: candidate, text: fs.readFileSync(candidate, 'utf8') };
    if (folder === path.dirname(folder)) break;
  }
  // Where all of the program's files are, unless it lies elsewhere.
  const top = file.startsWith(process.cwd() + path.sep) ? process.cwd() : path.dirname(file);
  return { path: path.join(top, 'package.json') };
}

module.exports = { settleType };

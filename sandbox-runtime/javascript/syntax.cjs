// Whether a `.js` file is an ES module: V8's parser is asked, as Node asks it itself from 20.19 and 22.7 on, and the answer
// is written where Node looks for it, the `type` of package.json. So the program's other files and the processes that it
// starts find the same. A `type` that is given is never touched.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];
/** What V8 says of syntax that only modules have. */
const OF_MODULES =
  /^(Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module)/;
/** What else a newer Node knows them by. Of `console.log(await f())` and `for await` V8 says less, and not each one knows it. */
const ALSO_KNOWN = /^(await is only valid|Identifier '\w+' has already been declared)/;

/** Makes Node take `file` for what it is. */
function settleType(file) {
  try {
    const manifest = manifestFor(file);
    const described = manifest.text === undefined ? {} : JSON.parse(manifest.text);
    const source = fs.readFileSync(file, 'utf8');
    if (described.type !== undefined || !hasModuleSyntax(source)) return;
    if (looksItself() && isKnown(complaintOf(source, WRAPPER))) return;
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

const isKnown = (complaint) => OF_MODULES.test(complaint) || ALSO_KNOWN.test(complaint);

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

/** Whether it is no CommonJS, and would be something where it may await. */
function hasModuleSyntax(source) {
  const complaint = complaintOf(source, WRAPPER);
  if (complaint === undefined) return false;
  if (OF_MODULES.test(complaint)) return true;
  const rest = complaintOf(`async () => {${source.replace(/^#!.*/, '')}\n}`, []);
  return rest === undefined || OF_MODULES.test(rest);
}

/** What the parser has against it as the body of a function. */
function complaintOf(source, parameters) {
  try {
    vm.compileFunction(source, parameters);
    return undefined;
  } catch (error) {
    return String(error?.message);
  }
}

module.exports = { hasModuleSyntax, settleType };

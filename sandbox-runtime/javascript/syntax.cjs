// What V8's parser says a `.js` file is: it is asked as Node asks it itself from 20.19 and 22.7 on.

'use strict';

const vm = require('node:vm');

const WRAPPER = ['exports', 'require', 'module', '__filename', '__dirname'];
/** What V8 says of syntax that only modules have. */
const OF_MODULES =
  /^(Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module)/;
/** What else a newer Node knows them by. Of `console.log(await f())` and `for await` V8 says less, and not each one knows it. */
const ALSO_KNOWN = /^(await is only valid|Identifier '\w+' has already been declared)/;

/** Whether a Node that looks itself knows it for a module. */
function isSeenByNode(source) {
  const complaint = complaintOf(source, WRAPPER);
  return OF_MODULES.test(complaint) || ALSO_KNOWN.test(complaint);
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

module.exports = { hasModuleSyntax, isSeenByNode };

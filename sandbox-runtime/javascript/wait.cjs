// A program that comes after its interpreter: loads what programs need of ours, says that it waits, and reads which program
// it is (harness/waiting.py). Blocks in the first script, so that Node has not come further than where a program begins.

'use strict';

const fs = require('node:fs');
require('./scope.cjs');
require('./module-type.cjs');
if (process.execArgv.includes('--enable-source-maps')) require('./typescript.cjs');
const ofAll = new Set(Object.keys(require.cache));
require('./bind.cjs');
require('./mcp/index.cjs');
// Of what nearly every program does first; the stream itself is made when it is asked for.
require('node:net');

/** Where the harness leaves them: host frames in, guest frames out, the program, and our own words. */
const CONVERSATION = [3, 4];
const PROGRAM_IN = 5;
const WORDS_OUT = 6;
const WORD = '.';

/**
 * {words, known, early}: those of the command line, and what came with the run of a program that may speak with the host, as
 * JSON and as what was read behind it; '' for others.
 */
function awaitProgram() {
  fs.writeSync(WORDS_OUT, WORD);
  const bytes = fs.readFileSync(PROGRAM_IN);
  // Whoever started us has another use for the program, or none.
  if (bytes.length === 0) process.exit(0);
  let at = 0;
  const next = () => {
    const end = bytes.indexOf(0, at);
    const word = bytes.toString('utf8', at, end);
    at = end + 1;
    return word;
  };
  const words = Array.from({ length: Number(next()) }, next);
  const input = next();
  const known = next();
  if (input !== '') {
    fs.closeSync(0);
    fs.openSync(input);
  }
  fs.writeSync(WORDS_OUT, WORD);
  for (const fd of [PROGRAM_IN, WORDS_OUT, ...(known === '' ? CONVERSATION : [])]) fs.closeSync(fd);
  // Where it may not, nothing of that is there.
  if (known === '')
    for (const name of Object.keys(require.cache)) if (!ofAll.has(name)) delete require.cache[name];
  delete require.cache[__filename];
  return { words, known, early: bytes.subarray(at) };
}

module.exports = { awaitProgram };

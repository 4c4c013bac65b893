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
const PIECE_BYTES = 65_536;

/**
 * {words, known, early}: those of the command line, and what came with the run of a program that may speak with the host, as
 * JSON and as what was read behind it; '' for others.
 */
function awaitProgram() {
  fs.writeSync(WORDS_OUT, WORD);
  const bytes = readAll(PROGRAM_IN);
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

/**
 * Not by readFileSync, which asks what kind of file it is: after a look at a pipe, Node's own look for the true path of a package
 * ends too early (it takes what was looked at last for a part of the path), and `import 'mcp'` finds a link that leads nowhere.
 */
function readAll(fd) {
  const pieces = [];
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const size = fs.readSync(fd, piece);
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, size));
  }
}

module.exports = { awaitProgram };

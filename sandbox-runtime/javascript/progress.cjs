// How far the code says it is, told to the host five times a second at most, and of those between the last.

'use strict';

const { current } = require('./binding.cjs');

/** As often as a display can change and still be read. */
const INTERVAL_MS = 200;
/** One line of a display. */
const MAX_MESSAGE_CHARS = 200;

let newest;
let isWaiting = false;

/** TypeError or RangeError for what is no number, or no finite one. */
function progress(done, total = null, message = null) {
  newest = {
    type: 'progress',
    done: checkedNumber('done', done),
    total: total === null ? null : checkedNumber('total', total),
    message: message === null ? null : String(message).slice(0, MAX_MESSAGE_CHARS),
  };
  if (!isWaiting) tell();
}

function tell() {
  isWaiting = newest !== undefined;
  if (newest === undefined) return;
  current().channel.send(newest);
  newest = undefined;
  // News is no reason for a program to go on.
  setTimeout(tell, INTERVAL_MS).unref();
}

function checkedNumber(name, value) {
  if (typeof value !== 'number') throw new TypeError(`progress(): ${name} must be a number`);
  if (!Number.isFinite(value) || value < 0)
    throw new RangeError(`progress(): ${name} must be a finite number from 0 up`);
  return value;
}

module.exports = { progress };

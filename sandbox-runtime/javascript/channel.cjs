// The program's end of the conversation: calls out, answers in, any number under way. Frames are written at once and
// whole; answers are read by Node's event loop, which a call under way keeps alive and an idle channel does not. So a
// program ends when it has nothing left to do, and a call that nobody awaits is still made and answered.

'use strict';

const fs = require('node:fs');
const { Socket } = require('node:net');
const { encode, parse } = require('./json.cjs');
const { refusal } = require('./errors.cjs');

/** The code was stopped, or its host is gone; nobody asks for more than that it ended. */
const STOPPED = 1;
/** A descriptor that is full and does not block is tried again so often. */
const RETRY_MS = 1;
const ANSWER = /^\{"type":"(?:reply|refusal)","id":(\d+),/;

class Channel {
  #calls = new Map();
  #lastId = 0;
  #partial = [];
  #input;
  #output;

  /** `early` is what somebody else has read of `input` and not used. */
  constructor(input, output, early) {
    this.#output = output;
    this.#input = new Socket({ fd: input, readable: true, writable: false });
    this.#input.on('data', (chunk) => this.#take(chunk));
    this.#input.on('close', () => process.exit(STOPPED));
    this.#input.on('error', () => process.exit(STOPPED));
    this.#input.unref();
    // An answer to nothing that has been asked; a word to stop may be among it.
    if (early.length > 0) setImmediate(() => this.#take(early));
  }

  /** The host's answer; rejects with an MCPError for a refusal. Throws for what cannot be sent. */
  request(method, params, signal) {
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const line = encode({ type: 'call', id, method, params }, { isExact: true });
    return new Promise((resolve, reject) => {
      const abandon = () => {
        this.#end(id);
        this.send({ type: 'abandon', id });
        reject(signal.reason);
      };
      this.#calls.set(id, { resolve, reject, release: () => signal?.removeEventListener('abort', abandon) });
      signal?.addEventListener('abort', abandon, { once: true });
      this.#input.ref();
      this.#write(line);
    });
  }

  /** News that nobody answers. */
  send(frame) {
    this.#write(encode(frame));
  }

  #write(line) {
    const bytes = Buffer.from(line, 'latin1');
    for (let at = 0; at < bytes.length; ) {
      try {
        at += fs.writeSync(this.#output, bytes, at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #take(chunk) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#partial.push(chunk.subarray(from, end));
      const line = Buffer.concat(this.#partial).toString('utf8');
      this.#partial = [];
      from = end + 1;
      this.#answer(line);
    }
    if (from < chunk.length) this.#partial.push(chunk.subarray(from));
  }

  #answer(line) {
    let frame;
    try {
      frame = parse(line);
    } catch (error) {
      const id = Number(ANSWER.exec(line)?.[1]);
      this.#end(id)?.reject(new RangeError(`the answer cannot be read: ${error.message}`));
      return;
    }
    if (frame.type === 'stop') process.exit(STOPPED);
    const call = this.#end(frame.id);
    if (frame.type === 'refusal') call?.reject(refusal(frame.error));
    else call?.resolve(frame.value);
  }

  #end(id) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.release();
    if (this.#calls.size === 0) this.#input.unref();
    return call;
  }
}

module.exports = { Channel };

// No code at all: a host that is the client of both servers, and a model that makes each call itself.

import { CALLS_AT_ONCE, CALLS_IN_TURN } from './jobs.mjs';

/** @type {import('./place.mjs').Peer} */
export const direct = {
  name: 'direct',
  title: 'direct calls, no code',
  version: 'the SDK that the bridge is tested with',
  walls: 'none: there is no code',
  lacks: 'run code: each answer goes through the model, in a turn of its own',
  install: async () => {},
  open: async (place) => {
    const { servers, logFile } = place;
    const everything = await place.openClient(servers.everything);
    const filesystem = await place.openClient(servers.filesystem);
    /** @param {number} n */
    const echo = (n) => everything.call('echo', { message: String(n) });
    return {
      jobs: {
        hello: () => everything.call('echo', { message: 'hello' }),
        sequence: async () => {
          const texts = [];
          for (let n = 0; n < CALLS_IN_TURN; n++) texts.push(await echo(n));
          return texts.join('\n');
        },
        gathered: async () => {
          const texts = await Promise.all(Array.from({ length: CALLS_AT_ONCE }, (_, n) => echo(n)));
          const sum = texts.reduce((all, text) => all + Number(text.slice('Echo: '.length)), 0);
          // The model reads them all and adds them up; the sum is there for the judge of the job.
          return [...texts, sum].join('\n');
        },
        filtered: () => filesystem.call('read_text_file', { path: logFile }),
      },
      definitionChars: everything.definitionChars + filesystem.definitionChars,
      close: async () => {
        await everything.close();
        await filesystem.close();
      },
    };
  },
};

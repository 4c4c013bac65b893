// The one link between what programs import and the conversation with the host; there is none in workers and in processes
// that the program starts.

'use strict';

let bound;

/** {channel, catalog, proxies}: `proxies` are the loaded servers as objects, by real name. */
function current() {
  if (bound === undefined) {
    throw new Error(
      'MCP tools work only in the main thread of the program itself, and only in a run that names servers.',
    );
  }
  return bound;
}

function setCurrent(binding) {
  bound = binding;
}

module.exports = { current, setCurrent };

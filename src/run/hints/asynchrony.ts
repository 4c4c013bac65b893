// Mistakes with `await`, which is the one thing that a tool call asks of code: forgotten, or where Python does not
// take it.

import type { Hint } from './hint.js';
import { says } from './hint.js';

const awaitIt = 'A call gives its value when it is awaited: value = await mcp_<alias>.<tool>(...).';

export const asyncHints: readonly Hint[] = [
  {
    about: 'await in a plain function',
    matches: says(
      /^'(?:await|async for|async with)' outside async function|asynchronous comprehension outside/,
      /^SyntaxError$/,
    ),
    sentence: () =>
      'Write `async def` for the function that awaits, and `await` its calls; at the top level await works as it is.',
  },
  {
    about: 'a coroutine used as a value',
    matches: says(/['"\s]coroutine['"\s]/, /^(?:TypeError|AttributeError)$/),
    sentence: () => awaitIt,
  },
  {
    about: 'a loop inside a loop',
    matches: says(/event loop is already running|while another loop is running/, /^RuntimeError$/),
    sentence: () =>
      'A loop runs already where the code awaits at its top level: `await` the coroutine instead.',
  },
];

/**
 * Note on what a run that succeeded has most likely not meant: a call that was never awaited was never sent. Undefined where
 * neither the run's value nor its stderr shows such a call.
 */
export const unawaitedNote = (repr: string, stderr: string): string | undefined =>
  /<coroutine object /.test(repr) || /RuntimeWarning: coroutine '[^'\n]*' was never awaited/.test(stderr)
    ? `A call was made and not awaited, so it was not sent. ${awaitIt}`
    : undefined;

// One tool call: arguments checked and sent, the answer unwrapped, a failure traced to the line that made the call.

'use strict';

const { current } = require('./binding.cjs');
const { shownTool, tracedTo } = require('./errors.cjs');
const { encode } = require('./json.cjs');
const { complaintAboutCall, signatureOf } = require('./signature.cjs');
const { unwrap } = require('./values.cjs');

/** The function that a program calls for `tool`: one object of arguments, and {signal} where it may be given up. */
function callOf(tool) {
  const method = {
    async [tool.alias](given, options) {
      const trace = {};
      Error.captureStackTrace(trace, method[tool.alias]);
      try {
        return await callTool(
          tool,
          checked(tool.alias, given, () => signatureOf(tool)),
          options,
        );
      } catch (error) {
        throw tracedTo(error, trace);
      }
    },
  };
  return method[tool.alias];
}

async function callTool(tool, given, options) {
  const complaint = complaintAboutCall(tool, given);
  if (complaint !== undefined) throw new TypeError(`${complaint} Signature: ${signatureOf(tool)}`);
  return unwrap(tool.server, tool.name, await callRaw(tool, given, options));
}

/** The whole CallToolResult; `isError` is no failure. */
function callRaw({ server, name }, given, { signal } = {}) {
  const { channel } = current();
  try {
    return channel.request('tools.call', { server, tool: name, arguments: given }, signal);
  } catch (error) {
    throw withArgument(error, shownTool(server, name), given);
  }
}

/** The error again, with the argument at fault named where one alone is. */
function withArgument(error, name, given) {
  for (const [argument, value] of Object.entries(given)) {
    try {
      encode({ value }, { isExact: true });
    } catch (reason) {
      const kind = reason instanceof RangeError ? RangeError : TypeError;
      return new kind(`${name}: argument '${argument}' cannot be sent: ${reason.message}`);
    }
  }
  return error;
}

/** Arguments as an object; TypeError for anything else. */
function checked(name, given = {}, signature = undefined) {
  const prototype = typeof given === 'object' && given !== null ? Object.getPrototypeOf(given) : undefined;
  const isPlain = prototype !== undefined && !Array.isArray(given) && !(given instanceof Promise);
  if (isPlain && !(given instanceof Map)) return given;
  const said = signature === undefined ? '' : ` Signature: ${signature()}`;
  throw new TypeError(`${name}() takes one object of arguments, such as {name: value}.${said}`);
}

module.exports = { callOf, callRaw, callTool, checked };

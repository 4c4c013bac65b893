// What goes wrong between the code and a server's tool: the tool's own failure, arguments that are no JSON, a server
// that is not there.

import { closest } from '../../base/text/closest.js';
import { type Hint, type HintSpec, says } from './hint.js';

/** How to say in JSON what is none. */
const AS_JSON: Readonly<Record<string, string>> = {
  datetime: 'x.isoformat()',
  date: 'x.isoformat()',
  time: 'x.isoformat()',
  timedelta: 'x.total_seconds()',
  Timestamp: 'x.isoformat()',
  set: 'list(x)',
  frozenset: 'list(x)',
  range: 'list(x)',
  generator: 'list(x)',
  dict_keys: 'list(x)',
  dict_values: 'list(x)',
  map: 'list(x)',
  filter: 'list(x)',
  Decimal: 'float(x) or str(x)',
  Fraction: 'float(x)',
  UUID: 'str(x)',
  PosixPath: 'str(x)',
  complex: 'str(x)',
  ndarray: 'x.tolist()',
  int64: 'x.item()',
  int32: 'x.item()',
  float32: 'x.item()',
  bool: 'x.item()',
  bool_: 'x.item()',
  DataFrame: 'x.to_dict("records")',
  Series: 'x.tolist()',
  coroutine: 'await x',
};

/** With the nearest of those that there are. */
function notConfigured({ aliases = [] }: HintSpec, ...words: readonly string[]): string {
  const near = closest(words.find((word) => word !== '') ?? '', aliases);
  const meant = near === undefined ? '' : ` Did you mean 'mcp_${near}'?`;
  return `No server of that name is configured: runtime.discovered_servers() lists them; name one in the call's \`servers\`.${meant}`;
}

export const toolHints: readonly Hint[] = [
  {
    about: 'an argument that is no JSON',
    matches: says(
      /argument '[^'\n]*' cannot be sent as JSON: Object of type (\w+) is not JSON/,
      /^TypeError$/,
    ),
    sentence: (_walls, type = '') =>
      `Arguments are JSON: text, numbers, booleans, None, lists and dicts. Pass ${AS_JSON[type] ?? 'its parts, or str(x),'} instead of the ${type}.`,
  },
  {
    about: 'a tool that failed',
    // A tool's own words come after its name; the bridge's own sentences have none in front, or say what to do.
    matches: says(/^([\w.\\-]+)\.([\w-]+): (?!.* did not answer within )/, /^MCPError$/),
    sentence: (_walls, server = '', tool = '') =>
      `That is the server's own answer. What it takes: await runtime.query_tool_docs("${server.replaceAll('\\.', '.')}", "${tool}", detail="full"). To go on without it, catch MCPError.`,
  },
  {
    about: 'a server that is not configured',
    matches: says(/^name 'mcp_(\w+)' is not defined/, /^NameError$/),
    sentence: notConfigured,
  },
];

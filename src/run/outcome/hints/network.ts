// Exceptions of a network that is not there. A tool's own trouble with its network arrives as an MCPError and is none
// of these; nor is one that the code made up itself.

import { type Hint, says } from './hint.js';

/** Exceptions of the standard library and of the libraries that programs use in its place. */
const NETWORK_ERROR =
  /^(?:OSError|TimeoutError|Connection\w*Error|(?:socket|ssl|urllib|http|ftplib|smtplib|requests|urllib3|httpx|httpcore|aiohttp)\.[\w.]+)$/;

export const networkHints: readonly Hint[] = [
  {
    about: 'localhost',
    matches: says(/\[Errno 111\]|Connection refused|Connect call failed \('(?:127\.|::1)/, NETWORK_ERROR),
    sentence: () =>
      "Nothing listens there: localhost is the sandbox itself, not the user's machine, and it has no network. Use a server's tool.",
  },
  {
    about: 'network',
    matches: says(
      /\[Errno (?:-[2358]|99|10[01])\]|Network is unreachable|[Nn]ame resolution|Name or service not known|NameResolutionError|getaddrinfo failed|Cannot connect to host/,
      NETWORK_ERROR,
    ),
    sentence: () =>
      'The sandbox has no network. Use a server\'s tool: runtime.search_tool_docs("...") finds one.',
  },
];

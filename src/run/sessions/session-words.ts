// How a person is asked for a server that a session has not had yet, and what the agent reads where the answer is no.

import { BridgeError } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import type { AskingWords } from '../calls/on-demand.js';

export function wordsOfSession(session: string): AskingWords {
  const name = shownName(session);
  return {
    question: (server) =>
      `A call in the session '${name}' asks for the MCP server '${shownName(server)}'. If you accept, code of its earlier calls can call the tools of that server too, until the session ends. Load it?`,
    refused: (server, why) =>
      new BridgeError(
        'E_DENIED',
        `servers: '${shownName(server)}' is not added to the session '${name}', whose earlier code would get it too: ${why}.`,
        {
          fault: 'agent',
          remedy:
            'Nothing was run. Call it without session, or begin another session with all servers that it needs.',
        },
      ),
  };
}

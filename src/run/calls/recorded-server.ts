// A server whose answers to one run are told as well as given, where MCP_BRIDGE_RECORD keeps what runs did: so that the run can be
// run again without the server. Changes nothing of what is asked or answered.

import { asBridgeError } from '../../base/errors.js';
import { stringify } from '../../base/json/json-text.js';
import { callText, type TapedRequest } from '../../servers/catalog/replayed-slot.js';
import { rawResultOf } from '../../servers/connection/inbound.js';
import type { Downstream } from '../../servers/server/downstream.js';

export function recordedServer(downstream: Downstream, tell: (request: TapedRequest) => void): Downstream {
  const server = downstream.spec.name;
  const told = async <T extends object>(
    asked: Pick<TapedRequest, 'method' | 'sent'>,
    asking: Promise<T>,
    textOf: (answer: T) => string | undefined,
  ): Promise<T> => {
    try {
      const answer = await asking;
      tell({ server, ...asked, answer: textOf(answer), error: undefined });
      return answer;
    } catch (thrown) {
      const { code, message } = asBridgeError(thrown);
      tell({ server, ...asked, answer: undefined, error: { code, message } });
      throw thrown;
    }
  };
  return {
    ...downstream,
    callTool: (tool, args, onProgress, signal) =>
      told(
        { method: 'tools/call', sent: callText(tool, args) },
        downstream.callTool(tool, args, onProgress, signal),
        ({ text }) => text,
      ),
    ask: (question, signal) =>
      told(
        { method: question.method, sent: stringify(question.params) ?? '{}' },
        downstream.ask(question, signal),
        (result) => rawResultOf(result)?.text,
      ),
  };
}

// The Responses API, as far as Codex speaks it: tools of a server lie in a namespace, results are items of the input.

const DATA_URL = /^data:([^;]+);base64,(.*)$/s;

export const openaiResponses = {
  read(path, body) {
    if (!path.endsWith('/responses') || !Array.isArray(body.tools)) return undefined;
    return {
      tools: body.tools.flatMap((tool) =>
        tool.type === 'namespace' ? tool.tools.map((inner) => toolOf(inner, tool.name)) : [toolOf(tool)],
      ),
      results: body.input.filter(({ type }) => type === 'function_call_output').map(result),
    };
  },

  reply({ call, text }, response) {
    const item =
      call === undefined
        ? { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text }] }
        : {
            type: 'function_call',
            id: `fc_${call.id}`,
            call_id: call.id,
            name: call.tool.name,
            ...(call.tool.namespace === undefined ? {} : { namespace: call.tool.namespace }),
            arguments: JSON.stringify(call.args),
          };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
    ])
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  },
};

const toolOf = ({ name = '', description, parameters }, namespace) => ({
  name,
  namespace,
  description,
  schema: parameters,
  isDeferred: false,
});

/** This API has no mark for a failed call. */
function result({ output }) {
  const parts = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
  return {
    isError: undefined,
    text: parts.flatMap(({ text }) => text ?? []).join('\n'),
    images: parts.flatMap(({ image_url: url = '' }) => {
      const [, mimeType, base64] = DATA_URL.exec(url) ?? [];
      return base64 === undefined ? [] : [{ mimeType, base64 }];
    }),
  };
}

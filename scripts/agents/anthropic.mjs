// The Messages API, as far as Claude Code speaks it: a turn read from a request, and a reply as its event stream.

export const anthropic = {
  /** A Turn (see model.mjs), or undefined for what is no turn of the session. */
  read(path, body) {
    if (!path.startsWith('/v1/messages') || !Array.isArray(body.tools) || body.tools.length === 0) return;
    const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    return {
      tools: body.tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        schema: tool.input_schema,
        isDeferred: tool.defer_loading === true,
      })),
      results: blocks.filter(({ type }) => type === 'tool_result').map(result),
    };
  },

  reply(reply, response) {
    const isCall = reply.call !== undefined;
    const block = isCall
      ? { type: 'tool_use', id: reply.call.id, name: reply.call.tool.name, input: {} }
      : { type: 'text', text: '' };
    const delta = isCall
      ? { type: 'input_json_delta', partial_json: JSON.stringify(reply.call.args) }
      : { type: 'text_delta', text: reply.text };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'stand-in', content: [] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' }, usage },
      { type: 'message_stop' },
    ])
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  },
};

function result({ content, is_error: isError = false }) {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return {
    isError,
    text: blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
    images: blocks.flatMap((block) =>
      block.type === 'image' ? [{ mimeType: block.source.media_type, base64: block.source.data }] : [],
    ),
  };
}

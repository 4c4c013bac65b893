// Chat completions, as far as OpenCode speaks them to a provider of the user's own. A tool's message is text only; hosts
// put its pictures into the user's message that follows it.

const DATA_URL = /^data:([^;]+);base64,(.*)$/s;

export const openaiChat = {
  read(path, body) {
    if (!path.endsWith('/chat/completions') || !Array.isArray(body.tools)) return undefined;
    return {
      tools: body.tools.map(({ function: { name, description, parameters } }) => ({
        name,
        description,
        schema: parameters,
        isDeferred: false,
      })),
      results: results(body.messages),
    };
  },

  reply({ call, text }, response) {
    const delta =
      call === undefined
        ? { role: 'assistant', content: text }
        : {
            role: 'assistant',
            tool_calls: [
              {
                index: 0,
                id: call.id,
                type: 'function',
                function: { name: call.tool.name, arguments: JSON.stringify(call.args) },
              },
            ],
          };
    const finish = call === undefined ? 'stop' : 'tool_calls';
    const chunk = (choice, more = {}) =>
      `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 0, model: 'one', choices: [{ index: 0, ...choice }], ...more })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ delta, finish_reason: null }));
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.write(chunk({ delta: {}, finish_reason: finish }, { usage }));
    response.end('data: [DONE]\n\n');
  },
};

/** This API has no mark for a failed call. */
function results(messages) {
  const found = [];
  for (const { role, content } of messages) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
    if (role === 'tool') found.push({ isError: undefined, text: textOf(parts), images: imagesOf(parts) });
    else if (found.length > 0) found.at(-1).images.push(...imagesOf(parts));
  }
  return found;
}

const textOf = (parts) => parts.flatMap(({ text }) => text ?? []).join('\n');

const imagesOf = (parts) =>
  parts.flatMap(({ image_url: image }) => {
    const [, mimeType, base64] = DATA_URL.exec(image?.url ?? '') ?? [];
    return base64 === undefined ? [] : [{ mimeType, base64 }];
  });

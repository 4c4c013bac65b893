// The Gemini API, as far as Gemini CLI speaks it: a result is an object in a part, with `output` or `error`.

export const gemini = {
  read(path, body) {
    if (!path.includes(':streamGenerateContent') || !Array.isArray(body.tools)) return undefined;
    const parts = body.contents.flatMap((content) => content.parts ?? []);
    return {
      tools: body.tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map(({ name, description, parameters, parametersJsonSchema }) => ({
          name,
          description,
          schema: parametersJsonSchema ?? parameters,
          isDeferred: false,
        })),
      results: results(parts),
    };
  },

  reply({ call, text }, response) {
    const part =
      call === undefined
        ? { text }
        : { functionCall: { id: call.id, name: call.tool.name, args: call.args } };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ candidates: [candidate], usageMetadata })}\n\n`);
  },
};

/** Pictures lie within the response's own parts, or follow it. */
function results(parts) {
  const found = [];
  for (const { functionResponse: answer, inlineData } of parts) {
    if (answer !== undefined) {
      const { output, error } = answer.response;
      found.push({
        isError: error !== undefined,
        text: String(error ?? output ?? JSON.stringify(answer.response)),
        images: (answer.parts ?? []).flatMap((part) => imageOf(part.inlineData)),
      });
    } else if (found.length > 0) found.at(-1).images.push(...imageOf(inlineData));
  }
  return found;
}

const imageOf = (data) => (data === undefined ? [] : [{ mimeType: data.mimeType, base64: data.data }]);

// Resources and prompts of loaded servers. A text is a string and a blob a Buffer; only several of them come as an array.
// Nothing is parsed: a text that holds JSON is that text.

'use strict';

const { current } = require('./binding.cjs');
const { MCPError, shownName } = require('./errors.cjs');
const { contentOf, valueOfBlock } = require('./values.cjs');

const asItIs = (text) => text;

/** All pages of them, as the server wrote them; `templates` has those whose URI is to be filled in. */
async function listResources(server) {
  const { resources, templates, problems } = await ask('resources.list', server, {});
  return Object.assign(resources, { templates, problems });
}

/** `uri` may be an entry of listResources() or a link from a tool's answer. */
async function readResource(server, uri) {
  const address = uri?.uri ?? uri;
  if (typeof address !== 'string') throw new TypeError('uri must be a URI, or an entry of listResources()');
  const { contents } = await ask('resources.read', server, { uri: address });
  if (!Array.isArray(contents)) throw odd(server, `Resource '${address}'`, 'E_RESOURCE_FAILED');
  const values = contents.map((content) => contentOf(content) ?? content);
  return values.length === 1 ? values[0] : values;
}

/** All pages of them, as the server wrote them. */
async function listPrompts(server) {
  const { prompts, problems } = await ask('prompts.list', server, {});
  return Object.assign(prompts, { problems });
}

/** The text where the prompt is one text, else its messages: {role, content}. */
async function getPrompt(server, prompt, given = {}) {
  const { messages } = await ask('prompts.get', server, { prompt, arguments: textsOf(given) });
  if (!Array.isArray(messages)) throw odd(server, `Prompt '${prompt}'`, 'E_PROMPT_FAILED');
  const shown = messages.map((message) => ({ ...message, content: contentOfMessage(message?.content) }));
  return shown.length === 1 && typeof shown[0].content === 'string' ? shown[0].content : shown;
}

const contentOfMessage = (content) =>
  Array.isArray(content)
    ? content.map((block) => valueOfBlock(block, asItIs))
    : valueOfBlock(content, asItIs);

/** A prompt's arguments are texts; other plain values become their JSON, and what is not there is left out. */
function textsOf(given) {
  const there = Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    there.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

function ask(method, server, params) {
  const { channel, catalog } = current();
  return channel.request(method, { server: catalog.server(server).name, ...params });
}

const odd = (server, what, code) =>
  new MCPError(
    server,
    null,
    `${what} of server '${shownName(String(server))}' came in a form that MCP does not know.`,
    code,
  );

module.exports = { getPrompt, listPrompts, listResources, readResource };

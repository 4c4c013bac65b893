// Runs in workerd: gives code to the executor of codemode, whose tools are calls of the binding TOOLS. A request is a JSON object: `code`
// to be run, or `types` to be told what a model reads of the tools.

// @ts-expect-error It lies in .cache, where its peer is installed; this file is bundled with it.
import { DynamicWorkerExecutor, generateTypesFromJsonSchema } from '@cloudflare/codemode';

/** @typedef {{ fetch: (url: string, init?: object) => Promise<Response> }} Binding */

/** @param {Binding} tools @param {object} message @returns {Promise<any>} */
async function ask(tools, message) {
  const response = await tools.fetch('http://tools/', { method: 'POST', body: JSON.stringify(message) });
  const { error, value } = /** @type {any} */ (await response.json());
  if (error !== undefined) throw new Error(error);
  return value;
}

const worker = {
  /** @param {Request} request @param {{ LOADER: object, TOOLS: Binding }} env */
  async fetch(request, { LOADER, TOOLS }) {
    const { code } = /** @type {any} */ (await request.json());
    /** @type {Record<string, object>} */
    const tools = await ask(TOOLS, {});
    if (code === undefined) return Response.json(generateTypesFromJsonSchema(tools));
    const executor = new DynamicWorkerExecutor({ loader: LOADER });
    const fns = Object.fromEntries(
      Object.keys(tools).map((name) => [name, (/** @type {object} */ args) => ask(TOOLS, { name, args })]),
    );
    return Response.json(await executor.execute(code, [{ name: 'codemode', fns }]));
  },
};

// biome-ignore lint/style/noDefaultExport: workerd takes a worker by its default export.
export default worker;

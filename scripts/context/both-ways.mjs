// One task, done by direct tool calls and by run_python, each on servers, files and a graph of its own, and what of it goes
// through the model's context. Both ways must come to the expected end; a figure of a task that failed would mean nothing.
//
// Way = { calls, chars, lookups, structured }     characters of calls and results; `lookups` of them for finding out how;
//                                                 `structured` the same where a host shows structuredContent for text

import { deepStrictEqual } from 'node:assert';
import { mkdirSync } from 'node:fs';
import { npmServer } from '../bench/stage.mjs';

/** What of a tool's definition hosts hand to the model. */
export const definitionOf = ({ name, description, inputSchema }) =>
  JSON.stringify({ name, description, inputSchema });

const charsOf = (name, args) => JSON.stringify({ name, arguments: args }).length;
const textOf = ({ content }) => content.flatMap(({ text }) => text ?? []).join('\n');

/** { direct: Way, python: Way } of `task`, in folders below `root` whose paths are equally long. */
export async function bothWays(task, stage, root) {
  return {
    direct: await callDirectly(task, stage, placeIn(task, `${root}/direct`)),
    python: await byPython(task, stage, placeIn(task, `${root}/python`)),
  };
}

function placeIn(task, folder) {
  const place = { dir: `${folder}/work`, memory: `${folder}/memory.jsonl` };
  mkdirSync(place.dir, { recursive: true });
  task.furnish(place);
  return place;
}

function serversOf({ servers }, { dir, memory }) {
  const all = {
    filesystem: npmServer('server-filesystem', dir),
    memory: { ...npmServer('server-memory'), env: { PATH: process.env.PATH, MEMORY_FILE_PATH: memory } },
  };
  return Object.fromEntries(servers.map((name) => [name, all[name]]));
}

async function callDirectly(task, stage, place) {
  const way = { calls: 0, chars: 0, lookups: 0, structured: 0 };
  const clients = {};
  const call = async (server, name, args) => {
    const result = await clients[server].callTool({ name, arguments: args });
    if (result.isError) throw new Error(`${task.name}: ${name}: ${textOf(result)}`);
    const text = textOf(result);
    const asked = charsOf(name, args);
    way.calls++;
    way.chars += asked + text.length;
    way.structured +=
      asked +
      (result.structuredContent === undefined ? text : JSON.stringify(result.structuredContent)).length;
    return text;
  };
  const within = (/** @type {[string, any][]} */ [[name, entry], ...more], work) =>
    stage.withPlainClient(entry, (client) => {
      clients[name] = client;
      return more.length === 0 ? work() : within(more, work);
    });
  const answer = await within(Object.entries(serversOf(task, place)), () => task.direct(call, place));
  verify(task, place, answer);
  return way;
}

function byPython(task, stage, place) {
  const way = { calls: 0, chars: 0, lookups: 0, structured: 0 };
  return stage.withBridge({ servers: serversOf(task, place) }, async ({ client }) => {
    const run = async (code) => {
      const args = { code, servers: task.servers };
      const result = await client.callTool({ name: 'run_python', arguments: args });
      if (result.isError) throw new Error(`${task.name}: ${textOf(result)}`);
      way.calls++;
      way.chars += charsOf('run_python', args) + textOf(result).length;
      return textOf(result);
    };
    await run(task.servers.map((name) => `print(await runtime.query_tool_docs("${name}"))`).join('\n'));
    if (task.peek !== undefined) await run(task.peek(place));
    way.lookups = way.chars;
    const text = await run(task.code(place));
    verify(task, place, task.left === undefined ? JSON.parse(text.split('\n').at(-1)) : undefined);
    return { ...way, structured: way.chars };
  });
}

const verify = (task, place, answer) =>
  deepStrictEqual(task.left === undefined ? answer : task.left(place), task.expected, task.name);

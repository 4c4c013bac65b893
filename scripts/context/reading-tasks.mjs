// Tasks whose result is an answer. A task is done twice, each time in a folder of its own that `furnish` has filled:
//   direct(call, place)  as an agent calls tools one by one; what it concludes from their texts is computed from just those
//   peek?(place)         a run_python call that looks at the form of a result before code is written for it
//   code(place)          the run_python call that does the work; its last printed line is the answer, as JSON
// Place = { dir, memory }: the folder, and the memory server's file. `expected` is what both must come to.

import { Chance, filesIn, graphText, parts, put } from './fixtures.mjs';

/** Files that one call reads: larger results are moved out of the context by hosts, or cut. */
const AT_ONCE = 10;

const FOLDERS = ['api', 'auth', 'billing', 'search', 'ui'];

export const todos = {
  name: 'count the TODOs in 40 source files, by folder',
  servers: ['filesystem'],
  furnish({ dir }) {
    const chance = new Chance();
    this.expected = Object.fromEntries(FOLDERS.map((folder) => [folder, 0]));
    for (const folder of FOLDERS)
      for (let file = 0; file < 8; file++) {
        const lines = Array.from({ length: 40 }, () => {
          if (chance.nextBelow(25) > 0) return chance.code();
          this.expected[folder]++;
          return `  // TODO: ${chance.code().trim()}`;
        });
        put(`${dir}/src/${folder}/part${file}.ts`, `export function run() {\n${lines.join('\n')}\n}\n`);
      }
  },
  async direct(call, { dir }) {
    const listed = await call('filesystem', 'search_files', { path: `${dir}/src`, pattern: '**/*.ts' });
    const counts = {};
    for (const paths of parts(listed.split('\n'), AT_ONCE)) {
      const read = await call('filesystem', 'read_multiple_files', { paths });
      for (const [path, text] of Object.entries(filesIn(read))) {
        const folder = path.split('/').at(-2);
        counts[folder] = (counts[folder] ?? 0) + text.split('TODO').length - 1;
      }
    }
    return counts;
  },
  peek: ({ dir }) =>
    `(await mcp_filesystem.search_files(path="${dir}/src", pattern="**/*.ts")).content[:200]`,
  code: ({ dir }) => `import asyncio, json
from collections import Counter

found = await mcp_filesystem.search_files(path="${dir}/src", pattern="**/*.ts")
paths = found.content.splitlines()
files = await asyncio.gather(*[mcp_filesystem.read_text_file(path=path) for path in paths])
counts = Counter()
for path, file in zip(paths, files):
    counts[path.split("/")[-2]] += file.content.count("TODO")
print(json.dumps(counts))`,
};

const OWNERS = ['ann', 'bo', 'cy', 'di'];
const nameOf = (n) => `service-${String(n).padStart(2, '0')}`;

export const crossReference = {
  name: 'compare 40 services in memory with 38 deployment files',
  servers: ['filesystem', 'memory'],
  furnish({ dir, memory }) {
    const chance = new Chance();
    const all = Array.from({ length: 42 }, (_, n) => ({ name: nameOf(n), owner: chance.pick(OWNERS) }));
    const entities = all.slice(0, 40).map(({ name, owner }) => ({
      name,
      entityType: 'service',
      observations: [`owner: ${owner}`, `port: ${8_000 + chance.nextBelow(900)}`, chance.code().trim()],
    }));
    put(memory, graphText(entities));
    this.expected = { noFile: all.slice(0, 4).map(({ name }) => name), unknown: [], otherOwner: [] };
    for (const { name, owner } of all.slice(4)) {
      const isOther = chance.nextBelow(10) === 0;
      const said = isOther ? 'eve' : owner;
      if (name >= nameOf(40)) this.expected.unknown.push(name);
      else if (isOther) this.expected.otherOwner.push(name);
      const more = Array.from(
        { length: 12 },
        () => `${chance.pick(OWNERS)}_limit: ${chance.nextBelow(9_999)}`,
      );
      put(`${dir}/deploy/${name}.yaml`, `service: ${name}\nowner: ${said}\n${more.join('\n')}\n`);
    }
  },
  async direct(call, { dir }) {
    const { entities } = JSON.parse(await call('memory', 'read_graph', {}));
    const owners = new Map(entities.map(({ name, observations }) => [name, observations[0].slice(7)]));
    const listed = await call('filesystem', 'list_directory', { path: `${dir}/deploy` });
    const paths = listed.split('\n').map((line) => `${dir}/deploy/${line.replace('[FILE] ', '')}`);
    const deployed = new Map();
    for (const some of parts(paths, AT_ONCE)) {
      const read = await call('filesystem', 'read_multiple_files', { paths: some });
      for (const text of Object.values(filesIn(read))) {
        const [, name, owner] = /service: (\S+)\nowner: (\S+)/.exec(text);
        deployed.set(name, owner);
      }
    }
    return {
      noFile: [...owners.keys()].filter((name) => !deployed.has(name)),
      unknown: [...deployed.keys()].filter((name) => !owners.has(name)),
      otherOwner: [...deployed]
        .filter(([name, owner]) => (owners.get(name) ?? owner) !== owner)
        .map(([name]) => name),
    };
  },
  peek: ({ dir }) => `listed = (await mcp_filesystem.list_directory(path="${dir}/deploy")).content
print(listed[:80])
print((await mcp_filesystem.read_text_file(path="${dir}/deploy/" + listed.split()[1])).content[:80])
(await mcp_memory.read_graph()).entities[0]`,
  code: ({ dir }) => `import asyncio, json, re

graph = await mcp_memory.read_graph()
owners = {e.name: e.observations[0].removeprefix("owner: ") for e in graph.entities}
listed = await mcp_filesystem.list_directory(path="${dir}/deploy")
names = [line.removeprefix("[FILE] ") for line in listed.content.splitlines()]
files = await asyncio.gather(*[mcp_filesystem.read_text_file(path=f"${dir}/deploy/{name}") for name in names])
deployed = dict(re.search(r"service: (\\S+)\\nowner: (\\S+)", file.content).groups() for file in files)
print(json.dumps({
    "noFile": [name for name in owners if name not in deployed],
    "unknown": [name for name in deployed if name not in owners],
    "otherOwner": [name for name, owner in deployed.items() if owners.get(name, owner) != owner],
}))`,
};

export const oneFile = {
  name: 'small: the port in one file of 20 lines',
  servers: ['filesystem'],
  expected: '8443',
  furnish({ dir }) {
    const chance = new Chance();
    const lines = Array.from(
      { length: 19 },
      () => `${chance.pick(OWNERS)}_limit: ${chance.nextBelow(9_999)}`,
    );
    put(`${dir}/settings.yaml`, `${lines.toSpliced(7, 0, 'port: 8443').join('\n')}\n`);
  },
  async direct(call, { dir }) {
    return /port: (\d+)/.exec(
      await call('filesystem', 'read_text_file', { path: `${dir}/settings.yaml` }),
    )[1];
  },
  code: ({ dir }) => `import json, re

file = await mcp_filesystem.read_text_file(path="${dir}/settings.yaml")
print(json.dumps(re.search(r"port: (\\d+)", file.content)[1]))`,
};

export const oneNode = {
  name: 'small: one entity of the graph',
  servers: ['memory'],
  expected: ['likes tea', 'lives in Graz'],
  furnish({ memory }) {
    const entities = ['ann', 'bo', 'cy'].map((name) => ({
      name,
      entityType: 'person',
      observations: ['likes tea', 'lives in Graz'],
    }));
    put(memory, graphText(entities));
  },
  async direct(call) {
    return JSON.parse(await call('memory', 'open_nodes', { names: ['bo'] })).entities[0].observations;
  },
  code: () => `import json

print(json.dumps((await mcp_memory.open_nodes(names=["bo"])).entities[0].observations))`,
};

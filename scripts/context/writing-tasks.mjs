// Tasks whose result is what they leave behind. Their form is that of reading-tasks.mjs, but that the outcome is compared
// where it lies: `left(place)` must be `expected` after either way.

import { Chance, filesIn, graphIn, graphText, parts, put, treeOf } from './fixtures.mjs';

const AT_ONCE = 10;
const TEAMS = ['north', 'south', 'west'];
const CITIES = ['Graz', 'Linz', 'Wels', 'Steyr'];

const person = ({ name, city, mail }) => ({
  name,
  entityType: 'person',
  observations: [`lives in ${city}`, `mail: ${mail}`],
});
const membership = ({ name, team }) => ({ from: name, to: team, relationType: 'member_of' });
const team = (name) => ({ name, entityType: 'team', observations: [] });

export const graph = {
  name: 'make a knowledge graph of a CSV file with 60 rows',
  servers: ['filesystem', 'memory'],
  furnish({ dir, memory }) {
    const chance = new Chance();
    const people = Array.from({ length: 60 }, (_, n) => {
      const name = `person_${String(n).padStart(2, '0')}`;
      return { name, team: chance.pick(TEAMS), city: chance.pick(CITIES), mail: `${name}@example.org` };
    });
    const rows = people.map(({ name, team, city, mail }) => [name, team, city, mail].join(','));
    put(`${dir}/people.csv`, `name,team,city,mail\n${rows.join('\n')}\n`);
    put(`${memory}.expected`, graphText([...TEAMS.map(team), ...people.map(person)], people.map(membership)));
    this.expected = graphIn(`${memory}.expected`);
  },
  async direct(call, { dir }) {
    const text = await call('filesystem', 'read_text_file', { path: `${dir}/people.csv` });
    const people = text
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => {
        const [name, team, city, mail] = line.split(',');
        return { name, team, city, mail };
      });
    await call('memory', 'create_entities', { entities: [...TEAMS.map(team), ...people.map(person)] });
    await call('memory', 'create_relations', { relations: people.map(membership) });
  },
  peek: ({ dir }) => `(await mcp_filesystem.read_text_file(path="${dir}/people.csv", head=3)).content`,
  code: ({ dir }) => `import csv

text = (await mcp_filesystem.read_text_file(path="${dir}/people.csv")).content
people = list(csv.DictReader(text.splitlines()))
teams = sorted({p["team"] for p in people})
await mcp_memory.create_entities(entities=[
    {"name": team, "entityType": "team", "observations": []} for team in teams
] + [
    {"name": p["name"], "entityType": "person", "observations": [f"lives in {p['city']}", f"mail: {p['mail']}"]}
    for p in people
])
await mcp_memory.create_relations(relations=[
    {"from": p["name"], "to": p["team"], "relationType": "member_of"} for p in people
])
print(len(people), "people,", len(teams), "teams")`,
  left: ({ memory }) => graphIn(memory),
};

const FIRMS = ['acme', 'brix', 'corda'];
const KINDS = ['invoice', 'letter'];

/** scan_20260305_invoice_acme_07.txt becomes 2026/03/acme-invoice-07.txt. */
function sortedPath(name) {
  const [, year, month, kind, firm, number] = /^scan_(\d{4})(\d\d)\d\d_(\w+?)_(\w+?)_(\d+)\.txt$/.exec(name);
  return { folder: `${year}/${month}`, file: `${firm}-${kind}-${number}.txt` };
}

export const renaming = {
  name: 'sort 24 scanned files into folders by a rule',
  servers: ['filesystem'],
  furnish({ dir }) {
    const chance = new Chance();
    this.expected = {};
    for (let n = 0; n < 24; n++) {
      const date = `20260${1 + chance.nextBelow(4)}${10 + chance.nextBelow(18)}`;
      const name = `scan_${date}_${chance.pick(KINDS)}_${chance.pick(FIRMS)}_${10 + n}.txt`;
      put(`${dir}/inbox/${name}`, `${n}\n`);
      const { folder, file } = sortedPath(name);
      this.expected[`${folder}/${file}`] = `${n}\n`;
    }
    this.expected = Object.fromEntries(Object.entries(this.expected).sort(([a], [b]) => (a < b ? -1 : 1)));
  },
  async direct(call, { dir }) {
    const listed = await call('filesystem', 'list_directory', { path: `${dir}/inbox` });
    const names = listed.split('\n').map((line) => line.replace('[FILE] ', ''));
    for (const folder of new Set(names.map((name) => sortedPath(name).folder)))
      await call('filesystem', 'create_directory', { path: `${dir}/inbox/${folder}` });
    for (const name of names) {
      const { folder, file } = sortedPath(name);
      await call('filesystem', 'move_file', {
        source: `${dir}/inbox/${name}`,
        destination: `${dir}/inbox/${folder}/${file}`,
      });
    }
  },
  peek: ({ dir }) => `(await mcp_filesystem.list_directory(path="${dir}/inbox")).content[:200]`,
  code: ({ dir }) => `import re
from collections import Counter

inbox = "${dir}/inbox"
moved = Counter()
for line in (await mcp_filesystem.list_directory(path=inbox)).content.splitlines():
    name = line.removeprefix("[FILE] ")
    year, month, kind, firm, number = re.match(r"scan_(\\d{4})(\\d\\d)\\d\\d_(.+)_(.+)_(\\d+)\\.txt", name).groups()
    folder = f"{inbox}/{year}/{month}"
    if folder not in moved:
        await mcp_filesystem.create_directory(path=folder)
    await mcp_filesystem.move_file(source=f"{inbox}/{name}", destination=f"{folder}/{firm}-{kind}-{number}.txt")
    moved[folder] += 1
dict(moved)`,
  left: ({ dir }) => treeOf(`${dir}/inbox`),
};

function reportOf(orders) {
  const totals = new Map();
  for (const { customer, items } of orders)
    for (const { price, count } of items) totals.set(customer, (totals.get(customer) ?? 0) + price * count);
  const lines = [...totals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => `- ${name}: ${sum}`);
  return `# Orders by customer\n\n${lines.join('\n')}\n`;
}

export const report = {
  name: 'add up 30 JSON files by customer and write a report',
  servers: ['filesystem'],
  furnish({ dir }) {
    const chance = new Chance();
    const orders = Array.from({ length: 30 }, (_, n) => ({
      id: n,
      customer: `customer-${chance.nextBelow(8)}`,
      note: chance.code().trim(),
      items: Array.from({ length: 4 }, () => ({
        sku: `sku-${chance.nextBelow(900)}`,
        price: 1 + chance.nextBelow(90),
        count: 1 + chance.nextBelow(5),
      })),
    }));
    for (const order of orders) put(`${dir}/orders/${100 + order.id}.json`, JSON.stringify(order, null, 2));
    this.expected = reportOf(orders);
  },
  async direct(call, { dir }) {
    const listed = await call('filesystem', 'list_directory', { path: `${dir}/orders` });
    const paths = listed.split('\n').map((line) => `${dir}/orders/${line.replace('[FILE] ', '')}`);
    const orders = [];
    for (const some of parts(paths, AT_ONCE)) {
      const read = await call('filesystem', 'read_multiple_files', { paths: some });
      orders.push(...Object.values(filesIn(read)).map((text) => JSON.parse(text)));
    }
    await call('filesystem', 'write_file', { path: `${dir}/report.md`, content: reportOf(orders) });
  },
  peek: ({ dir }) => `listed = (await mcp_filesystem.list_directory(path="${dir}/orders")).content
print(listed[:60])
print((await mcp_filesystem.read_text_file(path="${dir}/orders/" + listed.split()[1])).content)`,
  code: ({ dir }) => `import asyncio, json
from collections import Counter

listed = await mcp_filesystem.list_directory(path="${dir}/orders")
names = [line.removeprefix("[FILE] ") for line in listed.content.splitlines()]
files = await asyncio.gather(*[mcp_filesystem.read_text_file(path=f"${dir}/orders/{name}") for name in names])
totals = Counter()
for file in files:
    order = json.loads(file.content)
    totals[order["customer"]] += sum(item["price"] * item["count"] for item in order["items"])
lines = [f"- {name}: {total}" for name, total in sorted(totals.items())]
await mcp_filesystem.write_file(
    path="${dir}/report.md", content="# Orders by customer\\n\\n" + "\\n".join(lines) + "\\n")
print(len(files), "orders,", len(totals), "customers")`,
  left: ({ dir }) => treeOf(dir)['report.md'],
};

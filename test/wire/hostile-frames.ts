// What hostile code may write to its stream, made from a seed: frames that are right but for one thing, rows of frames,
// and then bytes that are cut, doubled, swapped or thrown away. Knows the shapes of the wire, so that most inputs get
// past the first check and the deeper ones are reached.

import { type Random, randomJson, randomString } from './random.js';

const OTHER_METHODS = [
  'servers.list',
  'tools.list',
  'docs.get',
  'docs.search',
  'resources.list',
  'resources.read',
  'prompts.list',
  'prompts.get',
  'saved.put',
  'saved.list',
  'saved.get',
  'no.such',
  '__proto__',
  'constructor',
  'toString',
];
const OTHER_SERVERS = ['"shut"', '"open\\u0000"', '"open "', '"Open"', '"__proto__"', '""'];
const OTHER_TOOLS = ['"echo\\u0000"', '" echo"', '"ECHO"', '"__proto__"', '"constructor"', '"\\ud800"'];
const GOOD_IDS = ['1', '1', '2', '3', '0', '-0', '1.0', '9007199254740991'];
const BAD_IDS = ['-1', '1.5', '"1"', 'null', '1e400', '9007199254740992', '[1]'];
const LINE_ENDS = ['\n', '\n', '\n', '\n', '\n', '\r\n', '\n\n', ''];
/** Whole inputs that are no mutation of anything. */
const ODD_LINES = [
  '42',
  '"text"',
  'null',
  'true',
  '[]',
  '[1,2]',
  '{}',
  '',
  ' ',
  '\ufeff{"type":"abandon","id":1}',
  '\0',
  '{"type":"abandon","id":1',
  '{"type":"abandon","id":1}{"type":"abandon","id":2}',
  '{"type":"abandon","id":1},',
  '{"type":"reply","id":1,"value":null}',
  '{"type":"refusal","id":1,"error":{}}',
  '{"type":"run","code":"","timeoutSeconds":1,"loaded":[],"discovered":[]}',
  '{"type":"stop","reason":"x"}',
  '{"type":"exited","code":0,"signal":null,"memoryKills":null}',
  '{"type":"__proto__"}',
  '{"__proto__":{"type":"abandon","id":1}}',
  '{"type":"abandon","id":1,"__proto__":{"polluted":1}}',
  `{"type":"result","value":${'['.repeat(127)}${']'.repeat(127)},"repr":"","exact":true}`,
  `{"type":"result","value":${'['.repeat(129)}${']'.repeat(129)},"repr":"","exact":true}`,
  '['.repeat(5_000),
  '{"a":'.repeat(5_000),
];

function member(random: Random, name: string, value: string): string {
  if (random.oneIn(80)) return '';
  if (random.oneIn(80)) return `"${name}":${randomJson(random, 2)}`;
  if (random.oneIn(80)) return `"${name}":${randomJson(random, 1)},"${name}":${value}`;
  if (random.oneIn(80)) return `${randomString(random)}:${value}`;
  return `"${name}":${value}`;
}

const object = (...members: readonly string[]): string =>
  `{${members.filter((one) => one !== '').join(',')}}`;

const record = (random: Random): string => {
  const made = randomJson(random, 4);
  return made.startsWith('{') ? made : `{"value":${made}}`;
};

function params(random: Random, method: string): string {
  const server = member(random, 'server', random.oneIn(3) ? random.pick(OTHER_SERVERS) : '"open"');
  switch (method) {
    case 'tools.call':
      return object(
        server,
        member(random, 'tool', random.oneIn(3) ? random.pick(OTHER_TOOLS) : '"echo"'),
        member(random, 'arguments', record(random)),
      );
    case 'tools.list':
    case 'resources.list':
    case 'prompts.list':
      return object(server);
    case 'resources.read':
      return object(server, member(random, 'uri', randomString(random)));
    case 'prompts.get':
      return object(
        server,
        member(random, 'prompt', randomString(random)),
        member(random, 'arguments', record(random)),
      );
    case 'docs.get':
      return object(server, member(random, 'tool', random.pick([...OTHER_TOOLS, '"echo"', 'null'])));
    case 'docs.search':
      return object(
        member(random, 'query', randomString(random)),
        member(random, 'limit', random.pick(['1', '100', '0', '1e9'])),
      );
    case 'saved.put':
      return object(
        member(random, 'name', randomString(random)),
        member(random, 'source', '""'),
        member(random, 'signature', '""'),
        member(random, 'description', '""'),
      );
    case 'saved.get':
      return object(member(random, 'name', randomString(random)));
    default:
      return random.oneIn(10) ? randomJson(random, 2) : '{}';
  }
}

function frame(random: Random): string {
  const type = (name: string) => member(random, 'type', `"${name}"`);
  const id = member(random, 'id', random.pick(random.oneIn(15) ? BAD_IDS : GOOD_IDS));
  switch (random.below(10)) {
    case 0:
      return object(type('abandon'), id);
    case 1:
      return object(
        type('result'),
        member(random, 'value', randomJson(random, 5)),
        member(random, 'repr', randomString(random)),
        member(random, 'exact', random.pick(['true', 'true', 'false'])),
      );
    case 2:
      return object(type('where'), member(random, 'lines', `[${randomString(random)}]`));
    case 3:
      return object(
        type('progress'),
        member(random, 'done', random.pick(['0', '3', '0.1', '-1', '1e308', '1e400', '"3"'])),
        member(random, 'total', random.pick(['10', 'null', '0', '-1e300', '[]'])),
        member(random, 'message', random.oneIn(2) ? 'null' : randomString(random)),
      );
    case 4:
      return object(
        type('raised'),
        member(
          random,
          'error',
          object(
            `"type":${randomString(random)}`,
            `"message":${randomString(random)}`,
            `"traceback":[${randomString(random)}]`,
          ),
        ),
        member(random, 'exitCode', random.pick(['1', '1.5', 'null'])),
      );
    case 5:
      return object(type('picture'), member(random, 'data', randomString(random)));
    default: {
      const method = random.oneIn(2) ? 'tools.call' : random.pick(OTHER_METHODS);
      return object(
        type('call'),
        id,
        member(random, 'method', `"${method}"`),
        member(random, 'params', params(random, method)),
      );
    }
  }
}

function mutated(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const until = Math.min(bytes.length, at + 1 + random.below(20));
  const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, until), bytes.subarray(until)];
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, piece, piece, after]);
    case 2:
      return Buffer.concat([before, Buffer.from([random.below(256)]), piece, after]);
    case 3:
      return Buffer.concat([before, Buffer.from([0xff, 0xc0, 0x80]), after]);
    case 4:
      return Buffer.concat([after, before]);
    default:
      return before;
  }
}

/** One input: up to five lines, mostly frames, mostly whole. */
export function hostileBytes(random: Random): Buffer {
  const lines = Array.from({ length: 1 + random.below(5) }, () => {
    const text = random.oneIn(20) ? random.pick(ODD_LINES) : frame(random);
    return `${text}${random.pick(LINE_ENDS)}`;
  });
  let bytes: Buffer = Buffer.from(lines.join(''));
  while (random.oneIn(5)) bytes = mutated(random, bytes);
  return bytes;
}

// What the stand-in has the host call, in one session. The reference is what our bridge answers a plain client to the
// same calls; a host is judged by what of that reaches the model.

export const CALLS = {
  text: { code: 'print("hello")\n6 * 7' },
  'tool call': { code: 'await mcp_everything.get_sum(a=2, b=40)', servers: ['everything'] },
  error: { code: 'def load():\n    return {}["missing"]\n\nload()' },
  picture: {
    code: `import struct, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

class Square:
    def _repr_png_(self):
        rows = b"".join(b"\\0" + b"\\xff\\x80\\0" * 64 for _ in range(64))
        head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

Square()`,
  },
  '45,000 characters': { code: 'for n in range(1_000):\n    print(f"line {n:05}", "." * 34)' },
  'everything full': {
    code: 'import sys\nprint("o" * 45_000)\nprint("e" * 45_000, file=sys.stderr)\n"v" * 45_000',
  },
  'a file': { code: `open("out/report.csv", "w").write("${'name,value\\n'}" + "kept,1\\n" * 900)` },
  'seven seconds': { code: 'import time\ntime.sleep(7)\n"awake"' },
};

/** Calls of which the answers have the address of something that was kept, and a part of what is found there. */
export const KEPT = {
  'a file': { file: 'out/report.csv', has: /name,value/ },
  '45,000 characters': { file: 'stdout.txt', has: /line 00000 / },
};

/** Address and path of a kept file, as an answer's first lines say them; undefined where they do not. */
export const addressIn = (text = '', file) => {
  const line = text.split('\n').find((each) => each.includes(`${file} (`));
  const found = /: (resource:\S+) or (\S+)$/.exec(line ?? '');
  return found === null ? undefined : { uri: found[1], path: found[2] };
};

/** A call of the host's own tool, made of the results before it: the model reads what was kept. */
export const reading = (host, name) => (results) => {
  const answer = results[Object.keys(CALLS).indexOf(name)];
  const { uri = 'resource://none' } = addressIn(answer?.text, KEPT[name].file) ?? {};
  return { name: host.reads.name, args: host.reads.args(uri) };
};

/** What a host's own display may say while the last call runs. */
export const PROGRESS = /Running for|in flight/;

/** A call that is still running when the host is ended. */
export const ENDLESS = { code: 'import time\nwhile True:\n    time.sleep(1)', timeout: 100 };

const CALL_TIMEOUT_MS = 120_000;

/** Instructions, tool and answers of the bridge itself: { instructions, tool, answers: { [call]: Result } }. */
export async function reference(stage, program) {
  return stage.withClient(program, async (client) => {
    const [tool] = (await client.listTools()).tools;
    const answers = {};
    for (const [name, args] of Object.entries(CALLS)) {
      const options = { timeout: CALL_TIMEOUT_MS };
      const { content, isError } = await client.callTool(
        { name: tool.name, arguments: args },
        undefined,
        options,
      );
      answers[name] = {
        isError,
        text: content.flatMap(({ text }) => text ?? []).join('\n'),
        images: content.flatMap(({ type, mimeType, data }) =>
          type === 'image' ? [{ mimeType, base64: data }] : [],
        ),
      };
    }
    // Its description says what the image holds, as soon as that is known: as every later session reads it.
    const [known] = (await client.listTools()).tools;
    return { instructions: client.getInstructions(), tool: known, answers };
  });
}

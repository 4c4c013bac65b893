// Sessions of run_python in real hosts: each loads a table in one call and shows a picture of it in the next call of the same session,
// after a pause in which it stands still. Where the image has pandas and matplotlib, these are a data frame and a plot. Findings
// as in judge.mjs.

import { pause } from '../bench/stage.mjs';
import { Session } from './session.mjs';

/** A session stands still half a second after an answer. */
const HELD_MS = 1_500;
const ROWS = 2_000;

const load = (name) => ({
  code: `import csv, io
text = "day,sold\\n" + "\\n".join(f"{day},{day % 97}" for day in range(${ROWS}))
try:
    import pandas
    table = pandas.read_csv(io.StringIO(text))
    kind = "data frame"
except ImportError:
    table = list(csv.DictReader(io.StringIO(text)))
    kind = "list"
f"a {kind} of {len(table)} rows"`,
  session: name,
});

/** Uses names of the call before, and nothing of its own but what draws. */
const show = (name) => ({
  code: `import struct, zlib
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
class Bars:
    def _repr_png_(self):
        heights = [int(row["sold"]) for row in table[:97]]
        lines = (b"\\0" + bytes(0 if height > 97 - y else 255 for height in heights) for y in range(97))
        head = struct.pack(">IIBBBBB", 97, 97, 8, 0, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
                + chunk(b"IDAT", zlib.compress(b"".join(lines))) + chunk(b"IEND", b""))
print("of", len(table), "rows, as a", kind)
try:
    from matplotlib import pyplot
    table.plot(x="day", y="sold")
except ImportError:
    print("drawn by hand")
    shown = Bars()
else:
    shown = None
shown`,
  session: name,
});

/** What is asked of a session that there is not. */
const MISSING = { code: 'table', session: 'other', require_session: true };

const handleIn = (text) => /\[session \S+ \((s-[a-z0-9]{16})\): new\]/.exec(text)?.[1];
/** By the handle alone, as a model does that has read it in the answers before. */
const byHandle = (results) => ({
  name: 'run_python',
  args: { code: 'len(table)', session: handleIn(results[0]?.text ?? '') ?? 'none', require_session: true },
});

/** Findings by the id of the host. */
export async function judgeSessions(hosts, { stage, engine }) {
  const found = {};
  for (const { id, host, argv } of hosts)
    found[id] = await inOneSession(new Session(id, host, argv, stage, engine, {})).catch((thrown) => [
      { what: 'sessions', saw: thrown.message, held: false },
    ]);
  return found;
}

async function inOneSession(session) {
  // A host that kills its bridge leaves a word for the next one of this user that is asked for a session of that name.
  const name = `sales-${session.id}`;
  const before = (next) => pause(next === 0 ? 0 : HELD_MS);
  const { standIn, end } = await session.play([load(name), show(name), byHandle, MISSING], { before });
  const results = standIn.turns.at(-1).results;
  const [loaded, shown, named, missing] = results.map((result) => ({ text: '', images: [], ...result }));
  const handle = handleIn(loaded.text);
  const isCall = ({ text }, call) => text.includes(`[session ${name} (${handle}): call ${call}]`);
  const kind = /a (data frame|list) of 2000 rows/.exec(loaded.text)?.[1];
  const [image] = shown.images;
  const isShown = isCall(shown, 2) && shown.text.includes(`of ${ROWS} rows, as a ${kind}`);
  return [
    {
      what: 'session, first call',
      saw: handle !== undefined && kind !== undefined ? `new; a ${kind} loaded` : brief(loaded.text),
      held: handle !== undefined && kind !== undefined,
    },
    {
      what: 'session, next call',
      saw:
        isShown && image !== undefined
          ? `call 2; ${shown.text.includes('by hand') ? 'its picture' : 'its plot'} as ${image.mimeType}`
          : `${image === undefined ? 'no picture; ' : ''}${brief(shown.text)}`,
      held: isShown && image !== undefined,
    },
    {
      what: 'session, by its handle',
      saw: isCall(named, 3) ? 'call 3' : brief(named.text),
      held: isCall(named, 3) && named.text.includes(String(ROWS)),
    },
    {
      what: 'session, one that is not there',
      saw: /there is no session/.test(missing.text) ? 'refused, with what to do' : brief(missing.text),
      held: /there is no session 'other'/.test(missing.text) && missing.isError !== false,
    },
    {
      what: 'session, after its host',
      saw: end.left.length === 0 ? 'nothing left' : `left: ${end.left.join('; ')}`,
      held: end.left.length === 0,
    },
  ];
}

const brief = (text) => text.replaceAll(/\s+/g, ' ').slice(0, 200);

// The image profile `data` in the real sandbox, with its walls and limits: libraries load, compute and draw, and are
// there at once where they were loaded ahead. Skipped where nobody has built the image.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { pictureHeader } from '../../src/run/outcome/pictures.js';
import { suiteWithImage } from '../support/built-image.js';
import { ourContainers } from '../support/nothing-left.js';
import { type Payload, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

suiteWithImage('data', 'the data image', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge({}, { env: { MCP_BRIDGE_IMAGE: 'data', MCP_BRIDGE_WARM: '0' } });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('computes with numpy, scipy and pandas, and reads back a spreadsheet', async () => {
    const code = `
import io
import numpy as np, pandas as pd
from scipy import linalg, optimize, stats

a = np.arange(1, 10).reshape(3, 3) + np.eye(3)
root = optimize.brentq(lambda x: x * x - 2, 0, 2)
frame = pd.DataFrame({"day": pd.date_range("2024-02-28", periods=3, tz="Europe/Paris"), "n": [1, 2, 4]})
book = io.BytesIO()
frame.assign(day=frame.day.dt.tz_localize(None)).to_excel(book, index=False)
again = pd.read_excel(book)
[
    round(float(linalg.det(a)), 6),
    round(root, 6),
    round(float(stats.norm.cdf(1.96)), 4),
    [str(day)[:10] for day in again.day],
    int(again.n.sum()),
    frame.groupby(frame.day.dt.month).n.sum().to_dict() == {2: 3, 3: 4},
]
`;
    expect(await bridge.run(code)).toMatchObject({
      status: 'success',
      result: [
        expect.closeTo(-2),
        expect.closeTo(Math.SQRT2),
        0.975,
        ['2024-02-28', '2024-02-29', '2024-03-01'],
        7,
        true,
      ],
    });
  });

  it('draws a figure in memory, without a display and without a word about fonts or folders', async () => {
    const code = `
import io
import matplotlib
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D
from PIL import Image, ImageDraw, ImageFont

figure, axes = plt.subplots(figsize=(4, 3), dpi=100)
axes.plot([1, 4, 9])
axes.set_title("caf\\u00e9 $\\\\alpha^2$")
made = {}
for kind in ("png", "pdf", "svg"):
    out = io.BytesIO()
    figure.savefig(out, format=kind)
    made[kind] = out.getvalue()
picture = Image.open(io.BytesIO(made["png"]))
dark = sum(picture.convert("L").histogram()[:128])
draw = ImageDraw.Draw(picture)
draw.text((5, 5), "x", font=ImageFont.truetype("DejaVuSans.ttf", 20), fill="black")
darker = sum(picture.convert("L").histogram()[:128])
[matplotlib.get_backend(), list(picture.size), made["pdf"][:5].decode(), "</svg>" in made["svg"].decode(), 200 < dark < darker]
`;
    const payload = await bridge.run(code);
    expect(payload).toMatchObject({
      status: 'success',
      result: [expect.stringMatching(/^agg$/i), [400, 300], '%PDF-', true, true],
    });
    expect(payload.stderr).toBeUndefined();
  });

  it('shows figures where they are shown, at the end, and images, scaled down where they are too large', async () => {
    const code = `
import matplotlib.pyplot as plt, numpy as np
from PIL import Image
plt.plot([1, 4, 9]); plt.title("first")
print("before")
plt.show()
print("after", plt.get_fignums())
noise = np.random.default_rng(1).integers(0, 255, (2000, 3000, 3), dtype=np.uint8)
runtime.display(Image.fromarray(noise), Image.new("RGBA", (90, 60), "red"))
fig, ax = plt.subplots(figsize=(30, 3), dpi=100)
ax.scatter(range(9), range(9))
Image.new("CMYK", (50, 40))
`;
    const { content, isError, structuredContent } = await bridge.call({ code, timeout: 60 });
    expect(isError, JSON.stringify(structuredContent).slice(0, 2_000)).toBe(false);
    const images = content.flatMap((block) => (block.type === 'image' ? [block] : []));
    const headers = images.map(({ data }) => pictureHeader(Buffer.from(data, 'base64')));
    expect(headers.map((header) => header?.kind)).toEqual(['png', 'jpeg', 'png', 'png', 'png']);
    expect(images.map(({ mimeType }) => mimeType)).toEqual(headers.map((header) => `image/${header?.kind}`));
    expect(headers[2]).toMatchObject({ width: 90, height: 60 });
    expect(headers[3]).toMatchObject({ width: 50, height: 40 });
    for (const header of headers) expect(header?.width).toBeLessThanOrEqual(1_600);
    expect(headers[4]?.width).toBeGreaterThan(1_000);
    const { stdout, stderr, result } = structuredContent as Payload;
    expect(stdout).toEqual([
      'before',
      expect.stringMatching(/^\[picture 1: \d+x\d+ png, \d+ KB\]$/),
      'after []',
      expect.stringMatching(/^\[picture 2: \d+x\d+ jpeg, \d+ KB\]$/),
      '[picture 3: 90x60 png, 1 KB]',
    ]);
    expect([stderr, result]).toEqual([undefined, undefined]);
  });

  it('shows data frames as rows where they are small and plain, else as tables', async () => {
    const small = await bridge.run('import pandas as pd\npd.DataFrame({"n": [1, 2], "s": ["a", "b"]})');
    expect(small.result).toEqual([
      { n: 1, s: 'a' },
      { n: 2, s: 'b' },
    ]);
    const { result } = await bridge.run(
      'import numpy as np, pandas as pd\npd.DataFrame(np.arange(50_000).reshape(1000, 50))',
    );
    expect(result).toContain('49999');
    expect(result).toMatch(/\n\[1,000 rows x 50 columns\]$/);
    expect(String(result).length).toBeLessThan(20_100);
    const series = await bridge.run('import pandas as pd\npd.Series([1.5, None], name="x")');
    expect(series.result).toBe('0    1.5\n1    NaN\nName: x, dtype: float64');
    const array = await bridge.run('import numpy as np\nnp.zeros((100, 100))');
    expect(array.result).toMatch(/# shape \(100, 100\), float64$|, shape=\(100, 100\)\)$/);
  });

  it('says which line of the code pandas did not like, and where in pandas', async () => {
    const { traceback } = await bridge.run('import pandas as pd\npd.DataFrame({"a": [1]})["b"]');
    expect(traceback?.filter((line) => line.includes('File'))).toEqual([
      '  File "main.py", line 2, in <module>',
    ]);
    expect(traceback?.join('\n')).toMatch(/ {2}… in pandas\.[\w.]+ \(library\)\nKeyError: 'b'$/);
  });

  it('multiplies in many threads at once below the limit of memory, where OpenBLAS hung', async () => {
    const code = `
import resource
from concurrent.futures import ThreadPoolExecutor
resource.setrlimit(resource.RLIMIT_DATA, (512 * 1024**2,) * 2)
import numpy as np
a = np.random.default_rng(1).random((400, 400))
with ThreadPoolExecutor(8) as pool:
    same = all(np.allclose(product, a @ a) for product in pool.map(lambda _: a @ a, range(32)))
same
`;
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result: true });
  });
});

suiteWithImage('data', 'what the data image has loaded ahead', () => {
  const open: TestBridge[] = [];
  afterEach(async () => {
    for (const bridge of open.splice(0)) await bridge[Symbol.asyncDispose]();
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  });

  it('is there before the code, computes, and is one warning where it is not there', async () => {
    const bridge = await startBridge(
      {},
      {
        env: {
          MCP_BRIDGE_IMAGE: 'data',
          MCP_BRIDGE_WARM: '1',
          MCP_BRIDGE_PREIMPORT: 'numpy,pandas,no_such_module',
        },
      },
    );
    open.push(bridge);
    await bridge.client.listTools();
    // Told once all that comes before it has been loaded.
    expect(await eventually(() => bridge.stderr().includes('no_such_module'))).toBe(true);
    const code = `
import sys
is_there = "pandas" in sys.modules
import os, numpy
[is_there, len(os.listdir("/proc/self/task")), float((numpy.ones((300, 300)) @ numpy.ones((300, 300)))[0, 0])]
`;
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result: [true, 2, 300] });
    expect((await bridge.run('import no_such_module')).error).toContain('ModuleNotFoundError');
    expect(bridge.stderr().match(/no_such_module of MCP_BRIDGE_PREIMPORT is not loaded ahead/g)).toHaveLength(
      1,
    );
  });
});

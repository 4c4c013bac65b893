// `image build --pip` with a Python index of our own: a wheel in Python and one with a compiled part are fetched, installed,
// locked and imported in a sandbox, and what cannot be had is said. The containers reach the index at this machine's address.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/base/version.js';
import { command } from '../cli/command.js';
import { imageOf } from '../support/built-image.js';
import { removeImages } from '../support/remove-images.js';
import { tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';

/** The engine's network has no way to this machine's localhost. */
const [address] = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .filter(({ family, internal }) => family === 'IPv4' && !internal)
  .map((each) => each.address);

const TUN = '/dev/net/tun';
const why = obstacle();

/** The reason why no container here reaches an index of this machine; undefined where one can. */
function obstacle(): string | undefined {
  if (address === undefined) return 'this machine has no address but its localhost';
  // What carries the traffic of an ordinary user's containers opens it.
  if (process.getuid?.() === 0 || canUse(TUN)) return undefined;
  return `${TUN} is closed to this user`;
}

function canUse(device: string): boolean {
  try {
    accessSync(device, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Makes wheels in the image, whose Python has a compiled module of its own to put into one of them. */
const MAKE_WHEELS = `
import base64, importlib.util, io, json, sysconfig, zipfile
def wheel(name, version, tag, files):
    meta = f"{name}-{version}.dist-info"
    files = {**files, f"{meta}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
             f"{meta}/WHEEL": f"Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: false\\nTag: {tag}\\n"}
    files[f"{meta}/RECORD"] = "".join(f"{each},,\\n" for each in files)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return {f"{name}-{version}-{tag}.whl": base64.b64encode(whole.getvalue()).decode()}
library = importlib.util.find_spec("_queue").origin
with open(library, "rb") as file:
    compiled = file.read()
cp = sysconfig.get_config_var("py_version_nodot")
platform = sysconfig.get_platform().replace("-", "_").replace("linux", "manylinux_2_17")
print(json.dumps({
    **wheel("tinypure", "1.0", "py3-none-any", {"tinypure.py": "answer = 42\\n", "tinypure.pth": "import os; os.environ['PTH'] = '1'\\n"}),
    **wheel("tinypure", "2.0", "py3-none-any", {"tinypure.py": "answer = 43\\n"}),
    **wheel("tinybin", "1.0", f"cp{cp}-cp{cp}-{platform}",
            {"tinybin/__init__.py": "from tinybin._queue import SimpleQueue\\n", f"tinybin/{library.split('/')[-1]}": compiled}),
    **wheel("tinyold", "1.0", "cp27-cp27m-manylinux1_x86_64", {"tinyold.py": ""}),
}))
`;

function makeWheels(): Readonly<Record<string, Buffer>> {
  for (const runtime of ['runc', 'crun']) {
    try {
      const flags = ['--rm', '--network=none', '--ulimit=nofile=1024:1024', '--ulimit=nproc=128:128'];
      const words = [
        `--runtime=${runtime}`,
        'run',
        ...flags,
        imageOf('base'),
        'python3',
        '-I',
        '-c',
        MAKE_WHEELS,
      ];
      const made = execFileSync('podman', ['--log-level=error', ...words], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
      const files = Object.entries(JSON.parse(made) as Record<string, string>);
      return Object.fromEntries(files.map(([name, base64]) => [name, Buffer.from(base64, 'base64')]));
    } catch {
      // The other one may start it.
    }
  }
  throw new Error('neither runc nor crun starts a container of the base image');
}

describe.skipIf(why !== undefined)(
  `image build --pip${why === undefined ? '' : ` (passed over: ${why})`}`,
  () => {
    const home = tempHome();
    const image = `localhost/mcp-sandbox-bridge/python:${VERSION}-pip_tinybin--1.0_tinypure`;
    /** Files that the index has at present. */
    const served = new Map<string, Buffer>();
    let wheels: Readonly<Record<string, Buffer>>;
    let index: Server;
    let env: Readonly<Record<string, string>>;

    const serve = (...beginnings: readonly string[]) => {
      for (const [file, content] of Object.entries(wheels))
        if (beginnings.some((beginning) => file.startsWith(beginning))) served.set(file, content);
    };

    beforeAll(async () => {
      wheels = makeWheels();
      serve('tinypure-1.0', 'tinybin-', 'tinyold-');
      index = createServer((request, response) => {
        const [, folder, name = ''] = (request.url ?? '').split('/');
        const file = served.get(decodeURIComponent(name));
        const links = [...served.keys()]
          .filter((each) => each.startsWith(`${name}-`))
          .map((each) => {
            const hash = createHash('sha256')
              .update(served.get(each) ?? '')
              .digest('hex');
            return `<a href="/files/${encodeURIComponent(each)}#sha256=${hash}">${each}</a>`;
          });
        if (folder === 'files' && file !== undefined) response.end(file);
        else if (folder === 'simple' && links.length > 0)
          response
            .setHeader('content-type', 'text/html')
            .end(`<!DOCTYPE html><html><body>${links.join('\n')}</body></html>`);
        else response.writeHead(404).end();
      }).listen(0, '0.0.0.0');
      await once(index, 'listening');
      const { port } = index.address() as AddressInfo;
      env = {
        PIP_INDEX_URL: `http://${address}:${port}/simple`,
        PIP_TRUSTED_HOST: String(address),
        PIP_DEFAULT_TIMEOUT: '15',
      };
    }, HANGS_MS);

    afterAll(async () => {
      index.close();
      index.closeAllConnections();
      await removeImages(image);
      rmSync(home, { recursive: true, force: true });
    });

    const build = async (...words: readonly string[]) => command(['image', 'build', ...words], { home, env });
    /** Versions that a build told of, by name. */
    const built = async (...words: readonly string[]) => {
      const { stdout, stderr } = await build(...words, '--json');
      const { images } = JSON.parse(stdout || `{"images": [${JSON.stringify({ image: stderr })}]}`);
      const { pip, ...rest } = images[0];
      const versions = (pip?.packages ?? []).map((each: { name: string; version: string }) => [
        each.name,
        each.version,
      ]);
      return { ...rest, lockFile: pip?.lockFile, versions: Object.fromEntries(versions) };
    };
    const LIST = ['--pip', 'tinypure', '--pip', 'tinybin==1.0'];

    it(
      'adds wheels that sandboxes import, and takes the same files again until its lock is gone',
      async () => {
        const first = await built(...LIST);
        expect(first).toMatchObject({ image, versions: { tinybin: '1.0', tinypure: '1.0' } });
        const lock = readFileSync(first.lockFile, 'utf8');
        const hash = createHash('sha256')
          .update(wheels['tinypure-1.0-py3-none-any.whl'] ?? '')
          .digest('hex');
        expect(lock).toContain(`tinypure==1.0 --hash=sha256:${hash}\n`);

        const code =
          'import os, tinypure, tinybin\nprint(os.environ.get("PTH"), tinypure.answer, tinybin.SimpleQueue().qsize(), tinypure.__cached__)';
        const ran = await command(['run', '--image', 'base-pip_tinybin--1.0_tinypure', '-'], {
          home,
          input: code,
        });
        expect(ran).toMatchObject({
          stdout: expect.stringMatching(
            /^None 42 0 \/usr\/local\/lib\/python3\.\d+\/dist-packages\/__pycache__\/tinypure\.\S+\.pyc\n$/,
          ),
          exitCode: 0,
        });

        serve('tinypure-2.0');
        expect(await built(...LIST)).toMatchObject({ versions: { tinybin: '1.0', tinypure: '1.0' } });
        expect(readFileSync(first.lockFile, 'utf8')).toBe(lock);
        rmSync(first.lockFile);
        expect(await built(...LIST)).toMatchObject({ versions: { tinybin: '1.0', tinypure: '2.0' } });
      },
      5 * HANGS_MS,
    );

    it(
      'names the package and the reason where the index has no such version, wheel or package',
      async () => {
        expect((await build('--pip', 'tinypure==9')).stderr).toMatch(
          /'tinypure==9' has no such version as a wheel for Python 3\.\d+ on linux \w+\. The newest are 1\.0/,
        );
        for (const name of ['tinyold', 'tinynowhere'])
          expect((await build('--pip', name)).stderr).toMatch(
            new RegExp(
              `'${name}' has no wheel for Python 3\\.\\d+ on linux \\w+, or the index has no such package\\.`,
            ),
          );
      },
      3 * HANGS_MS,
    );

    it(
      'takes nothing that the index has changed since it was locked',
      async () => {
        await built(...LIST);
        served.set('tinybin-1.0-py3-none-any.whl', Buffer.from('other bytes'));
        for (const file of [...served.keys()].filter((each) => each.startsWith('tinybin-1.0-cp')))
          served.delete(file);
        const { stderr, exitCode } = await build(...LIST);
        expect(stderr).toContain('than the lock file says.');
        expect(stderr).toMatch(/next: +Delete \S+\.lock to take what the index has now\./);
        expect(exitCode).not.toBe(0);
      },
      3 * HANGS_MS,
    );

    it('leaves no container and no scratch folder', () => {
      const listed = execFileSync('podman', [
        'ps',
        '--all',
        '--filter=label=mcp-sandbox-bridge=image-build',
        '--quiet',
      ]);
      expect(listed.toString()).toBe('');
    });
  },
);

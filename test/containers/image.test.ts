// The images as they are installed, whoever made them: what image.ts refuses when we build must not be in it either. Each
// is mounted beside a throw-away container of itself, so that its own /dev is seen and not the engine's.

import { describe, expect, it } from 'vitest';
import { run } from '../../src/base/process/process.js';
import { profiles } from '../../src/engine/images/image-name.js';
import { sandboxSpec } from '../../src/sandbox/spec/spec.js';
import { languages } from '../../src/settings/languages/records.js';
import { command } from '../cli/command.js';
import { imageOf, isBuilt } from '../support/built-image.js';
import { PLAIN_KIND } from '../support/plain-kind.js';
import { tempHome } from '../support/start-bridge.js';
import { HANGS_MS, NEVER } from '../support/time.js';

const { mounts, tmpfs } = sandboxSpec({
  ...{ image: '', harnessDir: '/', fallbackDir: undefined, name: '', user: '65534:65534', kind: PLAIN_KIND },
  ...{
    maxTimeoutSeconds: 1,
    maxWaitSeconds: 0,
    seccompFile: '/',
    enforcement: undefined,
    networkMode: undefined,
    cores: 1,
  },
});
/** Something is mounted on each of them, by us or by every engine: a link there could lead the mount elsewhere. */
const MOUNT_TARGETS = [...mounts, ...tmpfs, ...languages.flatMap(({ places }) => places)]
  .map(({ target }) => target)
  .concat(['/proc', '/sys', '/dev', '/dev/shm', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/run']);

const LINT = `
import json, os, stat
targets = ${JSON.stringify(MOUNT_TARGETS)}
def lint(root):
    found, entries = [], 0
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            shown, mode = path[len(root):], os.lstat(path).st_mode
            entries += 1
            if stat.S_ISLNK(mode): continue
            if mode & (stat.S_ISUID | stat.S_ISGID) and stat.S_ISREG(mode): found.append(f"{shown} is set-id")
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode): found.append(f"{shown} is a device node")
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode): found.append(f"{shown} is a pipe or socket")
            if "security.capability" in os.listxattr(path, follow_symlinks=False): found.append(f"{shown} has file capabilities")
            if mode & stat.S_IWOTH and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX): found.append(f"{shown} is writable by all")
    dev = os.path.join(root, "dev")
    if os.path.isdir(dev) and os.listdir(dev): found.append("/dev is not empty: " + " ".join(os.listdir(dev)))
    for target in targets:
        if os.path.islink(root + target): found.append(f"{target} is a link")
    return {"entries": entries, "found": sorted(found)}
def put(path, mode):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").close(); os.chmod(path, mode)
put("/bad/usr/bin/su", 0o4755)
put("/bad/usr/bin/ping", 0o755)
os.setxattr("/bad/usr/bin/ping", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
put("/bad/etc/shadow", 0o666)
put("/bad/dev/node", 0o644)
os.mkfifo("/bad/usr/pipe")
os.symlink("/", "/bad/workspace")
print(json.dumps([lint("/image"), lint("/bad")]))
`;

type Lint = { readonly entries: number; readonly found: readonly string[] };

async function lint(image: string): Promise<readonly [image: Lint, control: Lint]> {
  for (const ociRuntime of ['runc', 'crun']) {
    const { stdout, exitCode } = await run(
      [
        ...([
          'podman',
          '--log-level=error',
          `--runtime=${ociRuntime}`,
          'run',
          '--rm',
          '--interactive',
        ] as const),
        ...['--pull=never', '--network=none', '--log-driver=none', '--ulimit=nofile=1024:1024'],
        ...['--ulimit=nproc=128:128', `--mount=type=image,source=${image},target=/image`, '--tmpfs=/bad'],
        ...['--entrypoint=', image, 'python3', '-I', '-'],
      ],
      { input: LINT, timeoutMs: HANGS_MS },
      NEVER,
    );
    if (exitCode === 0) return JSON.parse(stdout) as [Lint, Lint];
  }
  throw new Error(`neither runc nor crun starts ${image}`);
}

/** What a sandbox of run_python uses here, whoever made it. */
async function chosenImage(): Promise<string> {
  const { stdout } = await command(['image', 'list', '--json'], { home: tempHome() });
  const { images } = JSON.parse(stdout) as { images: ReadonlyArray<{ image: string; chosen: boolean }> };
  return images.find(({ chosen }) => chosen)?.image ?? '';
}

describe.each(['chosen', ...profiles().filter(isBuilt)])('image: %s', (which) => {
  it('holds nothing that gives privileges, no node, no link where something is mounted, an empty /dev', async () => {
    const [image, control] = await lint(which === 'chosen' ? await chosenImage() : imageOf(which));
    expect(image.entries).toBeGreaterThan(500);
    expect(image.found).toEqual([]);
    // Each of these would have been seen.
    expect(control.found).toEqual([
      '/dev is not empty: node',
      '/etc/shadow is writable by all',
      '/usr/bin/ping has file capabilities',
      '/usr/bin/su is set-id',
      '/usr/pipe is a pipe or socket',
      '/workspace is a link',
    ]);
  });
});

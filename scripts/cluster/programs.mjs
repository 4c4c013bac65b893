// The programs of a cluster, built from Go modules whose versions go.sum keeps, and left outside of the checkout for the next
// time. One program is all of Kubernetes and etcd; another holds pods to NetworkPolicies; a third is the first process of pods;
// helm installs the chart of the bridge.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KEPT } from './place.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** Minor version that go.mod asks for. */
const OLDEST_GO = 24;
/** Names by which the one program is called. */
const NAMES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
];

const MODULE = join(HERE, 'kubernetes');
const KUBERNETES =
  /\sk8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8'))?.[1] ?? '';
/** For tests alone: its makers mark this version as one with flaws, and no later one is to be had as a module. */
const NETWORK = 'v2.1.0';
/** The last version that is made of the packages of this minor version of Kubernetes. */
const HELM = 'v3.19.5';

/** Without these, a program calls itself v0.0.0 and its API another one's. */
function versionFlags() {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(KUBERNETES) ?? [];
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((name) => [
    `-X ${name}.gitVersion=${KUBERNETES}`,
    `-X ${name}.gitMajor=${major}`,
    `-X ${name}.gitMinor=${minor}`,
  ]);
}

/** Without these, charts are told a Kubernetes of long ago. */
function helmFlags() {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(KUBERNETES) ?? [];
  const places = ['chartutil', 'lint/rules'].map((name) => `helm.sh/helm/v3/pkg/${name}`);
  return [
    `-X helm.sh/helm/v3/internal/version.version=${HELM}`,
    ...places.flatMap((place) => [
      `-X ${place}.k8sVersionMajor=${major}`,
      `-X ${place}.k8sVersionMinor=${minor}`,
    ]),
  ];
}

/** Each build: what go is told, in which folder, and what it is made of besides its version. */
const BUILDS = [
  { program: 'pause', version: KUBERNETES, sources: ['pause/main.go'], of: './pause', flags: [] },
  // By its own go.mod, whose versions the checksum database of Go knows.
  {
    program: 'kube-router',
    version: NETWORK,
    sources: [],
    of: `github.com/cloudnativelabs/kube-router/v2/cmd/kube-router@${NETWORK}`,
    flags: [],
  },
  // For the chart of the bridge, which it installs and makes the plain manifests of.
  {
    program: 'helm',
    version: HELM,
    sources: [],
    of: `helm.sh/helm/v3/cmd/helm@${HELM}`,
    flags: helmFlags(),
  },
  {
    program: 'kubernetes',
    version: KUBERNETES,
    sources: ['go.mod', 'go.sum', 'main.go'],
    of: '.',
    flags: versionFlags(),
  },
];

/** Where a program is kept. */
function folderOf(/** @type {(typeof BUILDS)[number]} */ { program, version, sources }) {
  const hash = createHash('sha256');
  for (const name of sources) hash.update(`${name}\0`).update(readFileSync(join(MODULE, name)));
  return join(KEPT, `${program}-${version}-${hash.digest('hex').slice(0, 12)}`);
}

/** Programs that are still to be built. */
export const missingPrograms = () =>
  BUILDS.filter((build) => !existsSync(folderOf(build))).map(({ program }) => program);

/** Why the programs that are missing cannot be built here, in a sentence; undefined where they can, or none is missing. */
export function whyNotBuilt() {
  if (missingPrograms().length === 0) return undefined;
  const { stdout } = spawnSync('go', ['version'], { encoding: 'utf8' });
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (major === undefined)
    return 'its programs are built by Go, and there is none on PATH; install Go 1.24 or later';
  if (Number(major) === 1 && Number(minor) < OLDEST_GO)
    return `its programs need Go 1.${OLDEST_GO} or later, and this is ${major}.${minor}`;
  return undefined;
}

/** Builds what is missing, and returns the folders for PATH. Throws with the compiler's words. */
export async function preparePrograms(/** @type {(line: string) => void} */ say) {
  for (const build of BUILDS) {
    const folder = folderOf(build);
    if (existsSync(folder)) continue;
    say(
      `building ${build.program} ${build.version}${build.program === 'kubernetes' ? ': a quarter of an hour, once' : ''}`,
    );
    const fresh = `${folder}.${process.pid}`;
    try {
      mkdirSync(fresh, { recursive: true });
      await compile(build, fresh);
      if (build.program === 'kubernetes')
        for (const name of NAMES) symlinkSync(build.program, join(fresh, name));
      renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return BUILDS.map(folderOf);
}

/** Into the folder `fresh`, under the program's own name. */
function compile(/** @type {(typeof BUILDS)[number]} */ { program, of, flags }, /** @type {string} */ fresh) {
  const common = ['-buildvcs=false', '-trimpath', '-p=2', `-ldflags=${['-s', '-w', ...flags].join(' ')}`];
  const args = of.includes('@')
    ? ['install', ...common, of]
    : ['build', ...common, '-o', join(fresh, program), of];
  // It takes all processors for long, and nobody waits for anything but it.
  const child = spawn('nice', ['-n', '19', 'go', ...args], {
    cwd: MODULE,
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: fresh },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`go could not build ${of} (exit code ${code}): see above`)),
      );
    })
  );
}

/** Path of the program that is the first process of a pod. */
export const pauseProgram = () => {
  const [pause] = BUILDS;
  if (pause === undefined) throw new Error('there is no pause');
  return join(folderOf(pause), pause.program);
};

/** Path of helm: the one that was built for the cluster, else one of PATH; undefined where there is none. */
export function helmProgram() {
  const build = BUILDS.find(({ program }) => program === 'helm');
  const folders = [...(build ? [folderOf(build)] : []), ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));
}

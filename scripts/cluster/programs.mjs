// The programs of a cluster, built from Go modules whose versions go.sum keeps, and left outside of the checkout for the next
// time. One program is all of Kubernetes and etcd; another holds pods to NetworkPolicies; a third is the first process of pods;
// helm installs the chart of the bridge. Where it is asked for, a last one is the controller of agent-sandbox.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KEPT } from './place.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
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
const EXTENSION = join(HERE, 'agent-sandbox');
/** Version of a module that the go.mod of this folder asks for. */
const versionIn = (/** @type {string} */ folder, /** @type {string} */ module) =>
  readFileSync(join(folder, 'go.mod'), 'utf8')
    .split('\n')
    .map((line) =>
      line
        .replace(/^require/, '')
        .trim()
        .split(' '),
    )
    .find(([name]) => name === module)?.[1] ?? '';
const KUBERNETES = versionIn(MODULE, 'k8s.io/kubernetes');
const AGENT_SANDBOX = 'sigs.k8s.io/agent-sandbox';
/** The name of its controller, which is the one of a build and of a running process. */
export const CONTROLLER = 'agent-sandbox-controller';
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

/**
 * Each build: what go is told, in which folder, what it is made of besides its version, and the minor version of Go that it needs.
 *
 * @typedef {{
 *   program: string, version: string, sources: string[], of: string, flags: string[], module?: string, oldestGo?: number,
 *   isExtra?: true,
 * }} Build
 * @type {readonly Build[]}
 */
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
  {
    program: CONTROLLER,
    version: versionIn(EXTENSION, AGENT_SANDBOX),
    sources: ['go.mod', 'go.sum'],
    of: `${AGENT_SANDBOX}/cmd/${CONTROLLER}`,
    flags: [],
    module: EXTENSION,
    oldestGo: 26,
    isExtra: true,
  },
];
/** Programs that are built by this call: those that only few need are asked for by their name. */
const wanted = (/** @type {readonly string[]} */ extras) =>
  BUILDS.filter(({ program, isExtra }) => isExtra === undefined || extras.includes(program));
/** Minor version of Go that most of them need. */
const OLDEST_GO = 24;

/** Where a program is kept. */
function folderOf(/** @type {Build} */ { program, version, sources, module = MODULE }) {
  const hash = createHash('sha256');
  for (const name of sources) hash.update(`${name}\0`).update(readFileSync(join(module, name)));
  return join(KEPT, `${program}-${version}-${hash.digest('hex').slice(0, 12)}`);
}

/** Programs that are still to be built, of those that all need and these. */
export const missingPrograms = (/** @type {readonly string[]} */ ...extras) =>
  missingBuilds(extras).map(({ program }) => program);
const missingBuilds = (/** @type {readonly string[]} */ extras) =>
  wanted(extras).filter((build) => !existsSync(folderOf(build)));

/** Why the programs that are missing cannot be built here, in a sentence; undefined where they can, or none is missing. */
export function whyNotBuilt(/** @type {readonly string[]} */ ...extras) {
  const missing = missingBuilds(extras);
  if (missing.length === 0) return undefined;
  const oldest = Math.max(...missing.map(({ oldestGo = OLDEST_GO }) => oldestGo));
  const { stdout } = spawnSync('go', ['version'], { encoding: 'utf8' });
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (major === undefined)
    return `its programs are built by Go, and there is none on PATH; install Go 1.${oldest} or later`;
  if (Number(major) === 1 && Number(minor) < oldest)
    return `its programs need Go 1.${oldest} or later, and this is ${major}.${minor}`;
  return undefined;
}

/** Builds what is missing, and returns the folders for PATH. Throws with the compiler's words. */
export async function preparePrograms(
  /** @type {(line: string) => void} */ say,
  /** @type {readonly string[]} */ extras = [],
) {
  for (const build of wanted(extras)) {
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
      if (build.program === CONTROLLER) keepDefinitions(fresh);
      renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return wanted(extras).map(folderOf);
}

/** Keeps the definitions of its resources beside the controller, as they are served where nothing converts older versions of them. */
function keepDefinitions(/** @type {string} */ fresh) {
  const folder = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', AGENT_SANDBOX], {
    cwd: EXTENSION,
    encoding: 'utf8',
  }).trim();
  const definitions = join(folder, 'k8s/crds');
  const texts = readdirSync(definitions).map((name) =>
    readFileSync(join(definitions, name), 'utf8').replace(
      /^ {2}conversion:\n(?: {4}.*\n?)+/m,
      '  conversion:\n    strategy: None\n',
    ),
  );
  writeFileSync(join(fresh, DEFINITIONS), texts.join('---\n'));
}
const DEFINITIONS = 'definitions.yaml';

/** The file with the definitions of agent-sandbox's resources, once its controller was built. */
export function definitionsFile() {
  const build = BUILDS.find(({ program }) => program === CONTROLLER);
  return join(build === undefined ? '' : folderOf(build), DEFINITIONS);
}

/** Into the folder `fresh`, under the program's own name. */
function compile(/** @type {Build} */ { program, of, flags, module = MODULE }, /** @type {string} */ fresh) {
  const common = ['-buildvcs=false', '-trimpath', '-p=2', `-ldflags=${['-s', '-w', ...flags].join(' ')}`];
  const args = of.includes('@')
    ? ['install', ...common, of]
    : ['build', ...common, '-o', join(fresh, program), of];
  // It takes all processors for long, and nobody waits for anything but it.
  const child = spawn('nice', ['-n', '19', 'go', ...args], {
    cwd: module,
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

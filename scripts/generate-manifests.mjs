// Writes packaging/kubernetes/mcp-sandbox-bridge.yaml, what `helm template` makes of the chart as it is by default, for clusters without
// helm. With --check only says whether the file is that of the chart; this needs no helm, since the file names the chart's bytes.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { helmProgram } from './cluster/programs.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CHART = join(ROOT, 'packaging/helm/mcp-sandbox-bridge');
const FILE = 'packaging/kubernetes/mcp-sandbox-bridge.yaml';
const NAME = 'mcp-sandbox-bridge';
/** The part of each comment by which helm says from which file an object is. */
const SOURCE = /^# Source: .*\n/gm;

/** Digest of all files of the chart, by their names. */
function digestOfChart() {
  const hash = createHash('sha256');
  const names = readdirSync(CHART, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const name of names.sort())
    hash
      .update(`${name.slice(CHART.length)}\0`)
      .update(readFileSync(name))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

const head =
  () => `# The chart packaging/helm/${NAME} as it is by default, written by scripts/generate-manifests.mjs from its files ${digestOfChart()}.
# Before it, make its Secrets; docs/kubernetes.md says how:
#
#   kubectl create namespace ${NAME}
#   kubectl --namespace ${NAME} create secret generic ${NAME}-tokens --from-file=tokens.json
#   kubectl --namespace ${NAME} create secret generic ${NAME}-replicas --from-literal=key=$(openssl rand -hex 32)
`;

if (process.argv.includes('--check')) {
  const text = existsSync(join(ROOT, FILE)) ? readFileSync(join(ROOT, FILE), 'utf8') : '';
  if (!text.startsWith(head())) {
    console.error(
      `${FILE} is not of the chart as it is: run node scripts/generate-manifests.mjs, which needs helm.`,
    );
    process.exitCode = 1;
  }
} else {
  const helm = helmProgram();
  if (helm === undefined) {
    console.error('There is no helm here: `node scripts/cluster.mjs up` builds it, or put one on PATH.');
    process.exit(3);
  }
  const flags = [
    `--namespace=${NAME}`,
    `--set=tokens.secret=${NAME}-tokens`,
    `--set=replicaKey.secret=${NAME}-replicas`,
  ];
  const made = execFileSync(helm, ['template', NAME, CHART, ...flags], { encoding: 'utf8' });
  writeFileSync(
    join(ROOT, FILE),
    head() + made.replace(SOURCE, '').replaceAll('managed-by: Helm', 'managed-by: kubectl'),
  );
}

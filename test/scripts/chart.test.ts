// The chart of the bridge as it is by default: its rights beside what the engine asks of a cluster, and its own pods beside the
// Restricted standard. The real cluster judges the rest in test/cluster/chart.test.ts.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MANIFESTS = join(ROOT, 'packaging/kubernetes/mcp-sandbox-bridge.yaml');

type Rule = { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] };
// biome-ignore lint/suspicious/noExplicitAny: objects of a cluster, of which each test reads a few fields
type Manifest = any;

const manifests: readonly Manifest[] = parseAllDocuments(readFileSync(MANIFESTS, 'utf8')).map((document) =>
  document.toJS(),
);
const ofKind = (kind: string): readonly Manifest[] => manifests.filter((each) => each.kind === kind);
const pairsOf = (rules: readonly Rule[]): string[] =>
  rules
    .flatMap(({ resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
    )
    .sort();

/** What the source of the engine asks of the API, as verbs of roles: each place where it does, by method and path. */
function asked(): string[] {
  const folder = join(ROOT, 'src/engine/kubernetes');
  const found = new Set<string>();
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), 'utf8');
    // The one place that only hands a path on.
    const calls = text.matchAll(/\.(ask|find|connect)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g);
    for (const [whole, word = '', args = ''] of calls) {
      if (!/api\s*$|this\.#api\s*$/i.test(text.slice(0, text.indexOf(whole)))) continue;
      // A path that was put together before is a constant of the same file.
      const path = /path\(|\/apis?\/|\/version/.test(args)
        ? args
        : (/const path =\s*([^;]+);/.exec(text)?.[1] ?? '');
      if (path.includes('/version')) continue;
      const resource =
        /(pods|configmaps|networkpolicies|services|nodes|sandbox(?:templates|warmpools|claims))/.exec(
          path,
        )?.[1];
      const method = word === 'ask' ? /'(GET|POST|DELETE)'/.exec(args)?.[1] : 'GET';
      expect({ name, whole, resource, method }).toEqual({
        name,
        whole,
        resource: expect.any(String),
        method: expect.any(String),
      });
      // An exec over a WebSocket is a GET; newer clusters ask for the right to create one besides.
      if (word === 'connect') for (const verb of ['create', 'get']) found.add(`${verb} ${resource}/exec`);
      else if (method === 'GET')
        found.add(`${/labelSelector|limit=|nodes'/.test(args) ? 'list' : 'get'} ${resource}`);
      else found.add(`${method === 'POST' ? 'create' : 'delete'} ${resource}`);
    }
  }
  return [...found].sort();
}

describe('the chart', () => {
  it('gives the bridge the rights that the engine uses, and no others', () => {
    const rules = ofKind('Role')
      .filter(({ metadata }) => !metadata.name.endsWith('-replicas'))
      .flatMap((role) => role.rules);
    // Nodes are seen by a ClusterRole, which is off by default.
    expect(pairsOf(rules)).toEqual(asked().filter((pair) => !pair.endsWith(' nodes')));
    expect(ofKind('ClusterRole')).toEqual([]);
  });

  it('has the role that the document of the engine shows for a bridge elsewhere', () => {
    const document = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
    const [, block = ''] = /```yaml\n(apiVersion: rbac[\s\S]+?)```/.exec(document) ?? [];
    const roles = block.split(/^---$/m).map((text) => parse(text) as { readonly rules: readonly Rule[] });
    const own = ofKind('Role').filter(({ metadata }) => !metadata.name.endsWith('-replicas'));
    expect(own.map(({ rules }) => rules)).toEqual(roles.map(({ rules }) => rules));
  });

  it('starts pods that hold to the Restricted standard, with a read-only root', () => {
    const [{ spec }] = ofKind('Deployment').map(({ spec }) => spec.template);
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of [...spec.initContainers, ...spec.containers])
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  });

  it('gives runs their whole time to end before the pod is killed', () => {
    const [{ spec }] = ofKind('Deployment').map(({ spec }) => spec.template);
    const [bridge] = spec.containers;
    const drain = Number(
      bridge.env.find(({ name }: { name: string }) => name === 'MCP_BRIDGE_HTTP_DRAIN')?.value,
    );
    const leave = Number(bridge.lifecycle.preStop.exec.command[1]);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(drain + leave);
  });

  it('and its plain manifests are of one state', () => {
    const script = join(ROOT, 'scripts/generate-manifests.mjs');
    expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow();
  });
});

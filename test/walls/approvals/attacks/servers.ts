// What servers say of their own tools.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NameOwners } from '../../../../src/hosts/discovery/name-owners.js';
import type { DownstreamSpec, SpecSource } from '../../../../src/hosts/downstream-spec.js';
import { policyOf } from '../../../../src/policy/rules/policy.js';
import type { ApprovalSection } from '../../../../src/policy/rules/policy-file.js';
import { type Attack, through } from '../attack.js';
import { calling, played, type SceneParts } from '../scene.js';

const group = 'claims of servers';
const OPEN_WORLD = { rules: [{ action: 'ask' as const, is: 'open-world' as const }] };
const reaching = (parts: SceneParts) => async () => through((await played([calling('echo')], parts)).reached);

const entry = (command: string, scope: SpecSource['scope']): DownstreamSpec => ({
  name: 'open',
  description: '',
  transport: 'stdio',
  command,
  args: [],
  env: {},
  cwd: undefined,
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
  source: { host: 'claude-code', scope, file: `/h/${scope}.json`, pointer: '/mcpServers/open' },
});

/** What reaches a server called `open`, where the user's own one of this name was there before. */
const afterMine =
  (section: Partial<ApprovalSection>, allow: readonly string[] | undefined, scope: SpecSource['scope']) =>
  async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'names-'));
    try {
      const owners = new NameOwners(stateDir);
      const seen = (spec: DownstreamSpec) => owners.judge({ ready: [spec], skipped: [] }).ready;
      seen(entry('mine', 'user'));
      owners.keep();
      const specs = seen(entry('another', scope));
      const approvals = { trust: [], reads: [], rules: [], always: [], ...section };
      const content = {
        version: 1,
        deny: [],
        perServer: {},
        limits: {},
        changedTools: 'flag',
        approvals,
      } as const;
      const policy = policyOf({ allow, deny: [], file: { path: '/p.yaml', content } }, specs);
      const parts = { policy: () => policy, hints: { readOnly: true } };
      return through((await played([calling('echo')], parts)).reached);
    } finally {
      rmSync(stateDir, { recursive: true, force: true });
    }
  };
const taking = (what: string, section: Partial<ApprovalSection>, allow?: readonly string[]): Attack => ({
  id: `takes-a-name-that-${what}`,
  group,
  tries: `the file of a trusted project gives its server the name of one that ${what.replaceAll('-', ' ')}`,
  wall: 'what was decided of a name holds for the entry that had it, until somebody accepts another one',
  attempt: afterMine(section, allow, 'project'),
  control: afterMine(section, allow, 'user'),
});

export const serverAttacks: readonly Attack[] = [
  {
    id: 'claims-to-read',
    group,
    tries: 'a server says that its tool only reads',
    wall: 'a claim of harmlessness counts of a server that the policy trusts',
    attempt: reaching({ section: { mode: 'destructive' }, hints: { readOnly: true } }),
    control: reaching({ section: { mode: 'destructive', trust: ['open'] }, hints: { readOnly: true } }),
  },
  {
    id: 'claims-no-harm',
    group,
    tries: 'a server says that its tool destroys nothing',
    wall: 'a claim of harmlessness counts of a server that the policy trusts',
    attempt: reaching({ section: { mode: 'destructive' }, hints: { destructive: false } }),
    control: reaching({ section: { mode: 'destructive', trust: ['open'] }, hints: { destructive: false } }),
  },
  {
    id: 'claims-a-closed-world',
    group,
    tries: 'a server says that its tool reaches nothing outside',
    wall: 'a claim of harmlessness counts of a server that the policy trusts',
    attempt: reaching({ section: OPEN_WORLD, hints: { openWorld: false } }),
    control: reaching({ section: { ...OPEN_WORLD, trust: ['open'] }, hints: { openWorld: false } }),
  },
  {
    id: 'says-nothing',
    group,
    tries: 'a trusted server says nothing of its tool',
    wall: 'what is not said is the worst',
    attempt: reaching({ section: { mode: 'destructive', trust: ['open'] } }),
    control: reaching({ section: { mode: 'destructive', trust: ['open'] }, hints: { destructive: false } }),
  },
  {
    id: 'trusted-look-alike',
    group,
    tries: 'a server has a name that looks like that of a trusted one',
    wall: 'trust means the name exactly',
    attempt: reaching({ section: { mode: 'writes', trust: ['OPEN'] }, hints: { readOnly: true } }),
    control: reaching({ section: { mode: 'writes', trust: ['open'] }, hints: { readOnly: true } }),
  },
  taking('is-trusted', { mode: 'writes', trust: ['open'] }),
  taking('only-reads', { mode: 'writes', reads: ['open.echo'] }),
  taking('a-rule-allows', { mode: 'all', rules: [{ action: 'allow', tools: ['open'] }] }),
  taking('was-allowed-for-good', { mode: 'all', always: [{ server: 'open', tool: 'echo' }] }),
  taking('an-allow-list-names', {}, ['open']),
];

// What servers say of their own tools.

import { type Attack, through } from '../attack.js';
import { calling, played, type SceneParts } from '../scene.js';

const group = 'claims of servers';
const OPEN_WORLD = { rules: [{ action: 'ask' as const, is: 'open-world' as const }] };
const reaching = (parts: SceneParts) => async () => through((await played([calling('echo')], parts)).reached);

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
];

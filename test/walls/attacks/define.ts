// Short forms for the tables of probes.

import type { Group, Probe } from '../attack.js';
import type { Relaxation } from '../relaxations.js';

type More = Partial<Pick<Probe, 'gvisor' | 'control' | 'rootControl'>>;

/** A maker of the probes of one group, whose ids begin with its name. */
export const probesOf =
  (group: Group, shared: More = {}) =>
  (id: string, tries: string, off: readonly Relaxation[], code: string, more: More = {}): Probe => ({
    kind: 'probe',
    id: `${group.replace(' ', '-')}.${id}`,
    group,
    tries,
    off,
    code,
    ...shared,
    ...more,
  });

/** As root of the host alone the kernel would say yes, which no container of an ordinary user can show. */
export const ONLY_ROOT = 'the kernel asks for a capability of the host itself';

// What a user can have decided in a host about its servers, beside the file that names them. A type only.

import type { SpecSource } from '../downstream-spec.js';
import type { ServerSkipReason } from '../skip-reason.js';

export type HostDecisions = {
  /**
   * What the user decided on an entry of a project's own file; undefined when not asked yet. The method is absent where
   * decisions cannot be read.
   */
  approval?(name: string, source: SpecSource): 'approved' | 'refused' | undefined;
  /** Why the entry is switched off; undefined when it is not. */
  reasonOff(name: string): ServerSkipReason | undefined;
};

// The kind of run_python's sandboxes with the default settings, for tests of what is made of a kind.

import { parseSettings } from '../../src/config/settings.js';
import { pythonKind, type SandboxKind } from '../../src/sandbox/kind.js';

const host = {
  home: '/home/u',
  platform: 'linux',
  cores: 2,
  cwd: '/',
  uid: 1000,
  exists: () => false,
} as const;

export const PLAIN_KIND: SandboxKind = pythonKind(parseSettings({}, host).settings);

// What the user has switched off in Copilot CLI. Whether it would start a project's servers is not known from its files.

import { z } from 'zod';
import type { ConfigFile } from '../config-file.js';
import type { HostFacts } from '../host-facts.js';
import type { Environment } from '../settings.js';
import type { HostDecisions } from './host-decisions.js';
import { locate } from './source-files.js';
import { COPILOT_HOME } from './sources/command-lines.js';

const settings = z.looseObject({ disabledMcpServers: z.array(z.string()).catch([]) });

export function copilotDecisions(
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
): HostDecisions {
  const [file = ''] = locate(`${COPILOT_HOME}/settings.json`, env, host);
  const found = open(file);
  const off = found.state === 'parsed' ? settings.safeParse(found.value).data?.disabledMcpServers : [];
  return {
    reasonOff: (name) =>
      off?.includes(name) ? { kind: 'disabled-in-host', host: 'Copilot CLI' } : undefined,
  };
}

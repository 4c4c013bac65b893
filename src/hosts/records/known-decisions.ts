// The hosts whose users' decisions can be read: which servers are switched off, and which of a project's own may start.
// Reads only files that the user's own hosts keep, never the project's.

import { z } from 'zod';
import { namesOf } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import type { ConfigFile } from '../../settings/files/config-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { claudeDecisions } from './claude-code.js';
import { codexDecisions } from './codex-trust.js';
import { COPILOT_HOME } from './command-lines.js';
import { geminiDecisions } from './gemini-choices.js';
import type { HostDecisions } from './host-decisions.js';
import { locate } from './source-files.js';

const copilotSettings = z.looseObject({ disabledMcpServers: z.unknown().optional().transform(namesOf) });

/** By the host's name; of one that is not among them, nothing can be read. */
export function knownDecisions(
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
): ReadonlyMap<string, HostDecisions> {
  const claude = claudeDecisions(env, host, (file) => {
    const found = open(file);
    return found.state === 'parsed' ? found.value : undefined;
  });
  return new Map<string, HostDecisions>([
    [
      'Claude Code',
      {
        approval: (name) => claude.approval(name),
        reasonOff: (name) =>
          claude.isOff(name) ? { kind: 'disabled-for-project', host: 'Claude Code' } : undefined,
      },
    ],
    ['Codex', codexDecisions(env, host, open)],
    ['Gemini CLI', geminiDecisions(env, host, open)],
    ['Copilot CLI', copilotDecisions(env, host, open)],
  ]);
}

/** Only what is switched off: whether Copilot CLI would start a project's servers is not known from its files. */
function copilotDecisions(
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
): HostDecisions {
  const [file = ''] = locate(`${COPILOT_HOME}/settings.json`, env, host);
  const found = open(file);
  const off = found.state === 'parsed' ? copilotSettings.safeParse(found.value).data?.disabledMcpServers : [];
  return {
    reasonOff: (name) =>
      off?.includes(name) ? { kind: 'disabled-in-host', host: 'Copilot CLI' } : undefined,
  };
}

// Which projects the user has told Codex to trust: only of these does Codex read the project's own file. Reads the
// user's config.toml.

import { z } from 'zod';
import type { Environment } from '../../base/process/environment.js';
import type { ConfigFile } from '../../settings/files/config-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { keyOfPath } from '../../settings/files/same-path.js';
import { CODEX_CONFIG } from './command-lines.js';
import type { HostDecisions } from './host-decisions.js';
import { checkoutRoot, locate, realPath, workspaceOf } from './source-files.js';

const config = z.looseObject({ projects: z.record(z.string(), z.unknown()).catch({}) });
const project = z.looseObject({ trust_level: z.string() });

export function codexDecisions(
  env: Environment,
  host: HostFacts,
  open: (file: string) => ConfigFile,
): HostDecisions {
  const [file = ''] = locate(CODEX_CONFIG, env, host);
  const found = open(file);
  const said = found.state === 'parsed' ? config.safeParse(found.value).data : undefined;
  const projects = said?.projects ?? {};
  const levelOf = (folder: string) => {
    const key = keyOfPath(projects, folder, host);
    return key === undefined ? undefined : project.safeParse(projects[key]).data?.trust_level;
  };
  return {
    approval: (_name, source) => {
      // Codex notes the root of the checkout where there is one, and paths without symbolic links.
      const folders = [workspaceOf(source.file, host), checkoutRoot(host)].filter((one) => one !== undefined);
      const levels = folders.flatMap((folder) => [levelOf(folder), levelOf(realPath(folder))]);
      if (levels.includes('untrusted')) return 'refused';
      return levels.includes('trusted') ? 'approved' : undefined;
    },
    reasonOff: () => undefined,
  };
}

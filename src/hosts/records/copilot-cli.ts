// Copilot CLI.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { z } from 'zod';
import { namesOf } from '../../base/json/records.js';
import { MS, PROGRAM, REMOTE, timeout } from '../terms/dialect.js';
import type { Host, ReadDecisions } from '../terms/host.js';
import { locate } from '../terms/source-files.js';

const TITLE = 'Copilot CLI';
/** Where Copilot CLI keeps the user's side. */
const HOME = '${COPILOT_HOME:-~/.copilot}';

const settings = z.looseObject({ disabledMcpServers: z.unknown().optional().transform(namesOf) });

/** Reads only which servers are off: whether Copilot CLI would start a project's servers is not known from its files. */
const decisions: ReadDecisions = (env, host, open) => {
  const [file = ''] = locate(`${HOME}/settings.json`, env, host);
  const found = open(file);
  const off = found.state === 'parsed' ? settings.safeParse(found.value).data?.disabledMcpServers : [];
  return {
    reasonOff: (name) => (off?.includes(name) ? { kind: 'disabled-in-host', host: TITLE } : undefined),
  };
};

export const copilotCli: Host = {
  title: TITLE,
  dialect: {
    types: { local: 'stdio', stdio: 'stdio', http: 'http', sse: 'sse' },
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, ...REMOTE, only: 'tools' },
    callTimes: timeout(MS),
    startTimes: [],
  },
  expansion: 'claude-code',
  sources: [
    // The other file that it reads of a project, `.mcp.json`, stands in the table as Claude Code's.
    { scope: 'project', files: { any: ['./.github/mcp.json'] } },
    { scope: 'user', files: { any: [`${HOME}/mcp-config.json`] } },
  ],
  decisions,
};

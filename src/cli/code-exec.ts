// `code-exec`: the MCP server that runs commands where it is itself, which is meant to be an isolated machine. On stdio for
// one client, or over Streamable HTTP; ends at the first signal with all that it has started.

import { appendFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveExecute } from '../exec/exec-server.js';
import { parseExecSettings } from '../exec/exec-settings.js';
import { Execute } from '../exec/execute.js';
import { HttpFace } from '../exec/http-face.js';
import { interruptSignal } from './interrupt.js';

export async function codeExec(): Promise<void> {
  const settings = parseExecSettings(process.env);
  const { auditFile, listen } = settings;
  const execute = new Execute(settings, process.env, (told) => {
    if (auditFile !== undefined) appendFileSync(auditFile, `${JSON.stringify(told)}\n`, { mode: 0o600 });
  });
  const interrupted = interruptSignal();
  const isInterrupted = new Promise<void>((resolve) => {
    interrupted.addEventListener('abort', () => resolve(), { once: true });
  });
  if (listen.at === 'stdio') {
    const transport = new StdioServerTransport();
    const hasGone = new Promise<void>((resolve) => process.stdin.once('end', resolve));
    const server = await serveExecute(execute, transport);
    await Promise.race([isInterrupted, hasGone]);
    await server.close();
  } else {
    await using face = await HttpFace.open(execute, settings);
    process.stderr.write(`code-exec listens at ${face.address}\n`);
    await isInterrupted;
  }
  process.exit(0);
}

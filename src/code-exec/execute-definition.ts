// The tool `execute` as everybody sees it who offers it.

/** Limits and folder of `execute`, which differ between the programs that offer the tool. */
export type ExecuteLimits = {
  /** Where a call does not say. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The folder that relative paths start from, and the only one whose files stay. */
  readonly workdir: string;
  /** Limit for stdout and stderr together, in bytes. */
  readonly maxOutputBytes: number;
};

/** Without limits, of a server that nobody has asked for them. */
export const definitionFor = (limits?: ExecuteLimits) => ({
  name: 'execute',
  title: 'Run a command',
  description: `Run a program in an isolated machine. Its arguments are handed on as they are: no shell (for pipes: command "sh", args ["-c", "..."]). ${stays(limits)}`,
  inputSchema: {
    type: 'object' as const,
    properties: {
      command: { type: 'string', description: 'Program name or path' },
      args: { type: 'array', items: { type: 'string' } },
      stdin: { type: 'string' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        ...(limits === undefined ? {} : { maximum: limits.maxTimeoutMs, default: limits.timeoutMs }),
      },
      cwd: {
        type: 'string',
        ...(limits === undefined ? {} : { description: `Relative to ${limits.workdir}` }),
      },
      env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Further variables' },
    },
    required: ['command'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

const stays = (limits: ExecuteLimits | undefined): string =>
  limits === undefined
    ? 'Of long output, head and tail come back.'
    : `Files in ${limits.workdir} stay; everything else may go. Of stdout and stderr, head and tail of ${limits.maxOutputBytes} bytes come back.`;

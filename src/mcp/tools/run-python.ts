// The tool `run_python`: what the model is told about it, and its arguments, checked before anything is spent.

import { z } from 'zod';
import type { RunInput } from '../../run/life/run-request.js';
import { type CallProblem, type Outcome, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { Settings } from '../../settings/environment/settings.js';
import { type Allowed, complaint, shapeComplaint } from '../requests/complaint.js';
import { MAX_CODE_CHARS } from './definition.js';
import { FILES, readInputFiles } from './input-files.js';
import { runPythonDefinition } from './run-python-definition.js';
import type { BridgeTool } from './tool.js';

/** Name of a session, as a person would choose it, and as the handle of a session is. */
const SESSION_NAME = /^[\p{L}\p{N}_][\p{L}\p{N} ._-]{0,63}$/u;

export function runPython(settings: Settings): BridgeTool<Outcome> {
  const { timeoutSeconds, maxTimeoutSeconds } = settings;
  const schema = argumentsWithin(settings);
  return {
    definition: runPythonDefinition(settings),
    outputMode: 'compact',
    call: (args, context, bridge) => {
      const input = parse(args, schema, maxTimeoutSeconds);
      return 'message' in input
        ? Promise.resolve(outcomeWithoutRun('validation_error', input, timeoutSeconds))
        : bridge.run(input, context);
    },
  };
}

/** Made once: making a schema costs more than using it. */
const argumentsWithin = ({ timeoutSeconds, maxTimeoutSeconds }: Settings) =>
  z.strictObject({
    code: z
      .string()
      .max(MAX_CODE_CHARS)
      .refine((code) => code.trim() !== ''),
    servers: z.array(z.string()).default([]),
    // Checked one by one, with sentences of their own.
    files: z.unknown().optional(),
    mode: z.enum(['plan']).optional(),
    timeout: z.int().min(1).max(maxTimeoutSeconds).default(timeoutSeconds),
    session: z.string().regex(SESSION_NAME).optional(),
    require_session: z.boolean().default(false),
  });

function parse(
  args: unknown,
  schema: ReturnType<typeof argumentsWithin>,
  maxTimeoutSeconds: number,
): RunInput | CallProblem {
  const parsed = schema.safeParse(args);
  if (!parsed.success) return shapeComplaint(parsed.error, args, allowedWithin(maxTimeoutSeconds));
  const { code, servers, timeout, mode, session: name, require_session: isRequired } = parsed.data;
  if (name === undefined && isRequired)
    return complaint('require_session: got true without session, expected it together with a session.');
  const files = readInputFiles(parsed.data.files, FILES);
  if ('complaint' in files) return complaint(files.complaint);
  const session = name === undefined ? {} : { session: { name, isRequired } };
  return {
    task: { type: 'cell', code },
    servers: [...new Set(servers)],
    files,
    timeoutSeconds: timeout,
    ...session,
    ...(mode === 'plan' ? { isPlan: true } : {}),
  };
}

const allowedWithin = (maxTimeoutSeconds: number): Allowed => ({
  fields: {
    code: `a non-empty string of at most ${MAX_CODE_CHARS} characters`,
    servers: 'a list of server names, such as ["github"]',
    files: 'a list of files',
    mode: '"plan", or nothing',
    timeout: `a whole number of seconds from 1 to ${maxTimeoutSeconds}`,
    session:
      'a name of letters, digits, spaces and ._- with at most 64 characters, or the handle of a session',
    require_session: 'true or false',
  },
  whole: 'an object with code, servers, files, mode, timeout, session and require_session',
});

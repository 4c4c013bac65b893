// The tool `run_python`: what it makes of its arguments, which are checked before anything is spent.

import { type ArgumentsOf, argumentsReader } from '../../code-exec/tool-arguments.js';
import type { RunInput } from '../../run/life/run-request.js';
import { type CallProblem, type Outcome, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { Settings } from '../../settings/environment/settings.js';
import { complaint } from '../requests/complaint.js';
import { type BridgeTool, runPythonArguments, runPythonDefinition } from './definitions.js';
import { FILES, readInputFiles } from './input-files.js';

export function runPython(settings: Settings): BridgeTool<Outcome> {
  // Made once: making a check costs more than using it.
  const read = argumentsReader(runPythonArguments(settings));
  return {
    definition: runPythonDefinition(settings),
    outputMode: 'compact',
    call: (args, context, bridge) => {
      const given = read(args);
      const input = 'problem' in given ? complaint(given.problem, given.remedy) : inputOf(given.values);
      return 'message' in input
        ? Promise.resolve(outcomeWithoutRun('validation_error', input, settings.timeoutSeconds))
        : bridge.run(input, context);
    },
  };
}

function inputOf(given: ArgumentsOf<ReturnType<typeof runPythonArguments>>): RunInput | CallProblem {
  const { code, servers, timeout, mode, session: name, require_session: isRequired } = given;
  if (name === undefined && isRequired)
    return complaint('require_session: got true without session, expected it together with a session.');
  const files = readInputFiles(given.files, FILES);
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

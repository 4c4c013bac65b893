// The tool `execute_code`: what the model is told about it. program-arguments.ts checks what
// it is called with.

import { type Outcome, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { Task } from '../../run/programs/task.js';
import { offeredLanguages } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import { isFileOf } from '../../settings/languages/language.js';
import { executeCodeDefinition } from './execute-code-definition.js';
import { programSchema, readProgram } from './program-arguments.js';
import type { BridgeTool } from './tool.js';

export function executeCode(settings: Settings): BridgeTool<Outcome> {
  const { timeoutSeconds } = settings;
  const offered = offeredLanguages(settings);
  const schema = programSchema(settings);
  return {
    definition: executeCodeDefinition(settings),
    outputMode: 'sections',
    call: async (args, context, bridge) => {
      const input = await readProgram(args, schema, { settings, offered, snippets: bridge.snippets });
      if ('message' in input) return outcomeWithoutRun('validation_error', input, timeoutSeconds);
      return noted(await bridge.run(input, context), input.task);
    },
  };
}

/** Notes a wrong ending of the file: where Go's compiler, for one, goes by it, the run may have failed for no other reason. */
function noted(outcome: Outcome, task: Task): Outcome {
  if (task.type !== 'program' || outcome.status !== 'error') return outcome;
  const { file, language } = task;
  if (isFileOf(language, file)) return outcome;
  const hint = `${language.title} files end in ${language.extensions.join(' or ')}; this one is named ${file}.`;
  return { ...outcome, note: outcome.note === undefined ? hint : `${outcome.note}\n${hint}` };
}

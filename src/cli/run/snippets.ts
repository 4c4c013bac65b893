// `snippets`: what execute_code and `exec --snippet` find in the operator's folder, and what lies there and is none.

import { clip } from '../../base/text/text.js';
import { Snippets } from '../../run/programs/snippets.js';
import { prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, visibleText } from '../terminal/output.js';
import { hangText, paragraph, widthOf } from '../terminal/wrap.js';

const MAX_DESCRIPTION_CHARS = 60;

const NO_FOLDER =
  'There is no folder of snippets. Name one in MCP_BRIDGE_SNIPPETS; each file in it, such as hello_world.py, is a snippet.';

export async function snippets({ json }: { readonly json?: true }): Promise<void> {
  const { settings } = prepare('error', 'ends');
  const { snippetsDir: folder } = settings;
  const survey = folder === undefined ? { snippets: [], skipped: [] } : await new Snippets(folder).survey();
  if (json) {
    const listed = survey.snippets.map((each) => ({ ...each, language: each.language.name }));
    printJson({ folder, snippets: listed, skipped: survey.skipped });
    return;
  }
  process.stdout.write(folder === undefined ? paragraph(NO_FOLDER) : snippetsText(folder, survey));
}

/** Text for people; ends with a newline. */
export function snippetsText(
  folder: string,
  { snippets, skipped }: Awaited<ReturnType<Snippets['survey']>>,
): string {
  const paint = coloursFor(process.stdout);
  const head = ['name', 'language', 'file', 'says'].map((word) => paint.dim(word));
  const rows = snippets.map(({ name, language, file, description }) => [
    paint.bold(visibleText(name)),
    language.name,
    visibleText(file),
    paint.dim(visibleText(clip(description, MAX_DESCRIPTION_CHARS))),
  ]);
  const others = skipped.map(({ file, reason }) => [paint.yellow('skipped'), '', visibleText(file), reason]);
  const all = [...rows, ...others];
  const width = widthOf(process.stdout);
  const fit = { width, wraps: [3], drops: [1] };
  const table = all.length === 0 ? '' : `${columns([head, ...all], fit)}\n`;
  return `${hangText(visibleText(folder), 2, width)}\n${table}${snippets.length} snippet${snippets.length === 1 ? '' : 's'}, ${skipped.length} skipped\n`;
}

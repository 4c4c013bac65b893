// What stands below the options of a help text: examples and paragraphs, in lines that fit the terminal.

import { shownWidth, widthOf, wrapped } from './terminal/wrap.js';

/** Between an example and what it does. */
const GAP = /(?<=\S) {2,}(?=\S)/;
const INDENT = '      ';

/** `text` in lines that fit standard output, when it is shown. A command is broken only where it is too long itself. */
export const helpText = (text: string) => (): string => {
  const width = widthOf(process.stdout);
  if (width === undefined || text.split('\n').every((line) => shownWidth(line) <= width)) return text;
  return paragraphs(text)
    .map((line) => folded(line, width))
    .join('\n');
};

/** Lines of one paragraph are one text; what is indented is a line of its own. */
function paragraphs(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const last = lines.at(-1);
    if (last !== undefined && /^\S/.test(last) && /^\S/.test(line))
      lines[lines.length - 1] = `${last} ${line}`;
    else lines.push(line);
  }
  return lines;
}

function folded(line: string, width: number): string {
  const words = line.trimStart();
  if (!words.startsWith('$ ')) {
    // A row of a table of names and what they are goes on below its second column.
    const [start = ''] = /^ *\S+ {2,}|^ */.exec(line) ?? [];
    const more = wrapped(line.slice(start.length), width - start.length);
    return start + more.map((part) => part.trimEnd()).join(`\n${' '.repeat(start.length)}`);
  }
  const gap = GAP.exec(words);
  const command = words.slice(0, gap?.index);
  const says = gap === null ? undefined : words.slice(gap.index + gap[0].length);
  const shown = wrapped(command, width - INDENT.length, 2 - INDENT.length);
  return `  ${[...shown.map((part) => part.trimEnd()), ...(says === undefined ? [] : wrapped(says, width - INDENT.length))].join(`\n${INDENT}`)}`;
}

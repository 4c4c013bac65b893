// What stands below the options of a help text: examples and paragraphs, in lines that fit the terminal.

import { shownWidth, widthOf, wrapped } from './wrap.js';

/** An example, and what it does, several spaces behind it. */
const EXAMPLE = /^( *\$ .*?\S)(?: {2,}(\S.*))?$/;
const INDENT = '      ';

/** `text` in lines that fit standard output, when it is shown. A command is broken only where it is too long itself. */
export const helpText = (text: string) => (): string => {
  const width = widthOf(process.stdout);
  if (width === undefined || text.split('\n').every((line) => shownWidth(line) <= width)) return text;
  // Lines of one paragraph are one text; what is indented is a line of its own.
  const lines = text.replace(/(?<=^\S.*)\n(?=\S)/gm, ' ').split('\n');
  return lines.map((line) => folded(line, width)).join('\n');
};

function folded(line: string, width: number): string {
  const example = EXAMPLE.exec(line);
  if (example === null) {
    // A row of a table of names and what they are goes on below its second column.
    const [start = ''] = /^ *\S+ {2,}|^ */.exec(line) ?? [];
    const more = wrapped(line.slice(start.length), width - start.length);
    return start + more.map((part) => part.trimEnd()).join(`\n${' '.repeat(start.length)}`);
  }
  const [, command = '', says] = example;
  const shown = wrapped(command.trimStart(), width - INDENT.length, 2 - INDENT.length);
  return `  ${[...shown.map((part) => part.trimEnd()), ...(says === undefined ? [] : wrapped(says, width - INDENT.length))].join(`\n${INDENT}`)}`;
}

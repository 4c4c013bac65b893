// Whether what was typed so far is a program, or goes on in the next line, as Python's own REPL has it: brackets, triple quotes
// and backslashes go on, and a block ends with an empty line. Only a look at the text; what is wrong with it Python says.

/** Statements that may have a block, and what stands ahead of a function. */
const BLOCK = /^(?:(?:if|while|for|try|with|def|class|async)\b|@)/;
const OPENING = '([{';
const CLOSING = ')]}';

/** `text` is all lines so far, with `\n` between them. */
export function needsMore(text: string): boolean {
  const { isOpen, isBlock } = scan(text);
  if (isOpen) return true;
  return isBlock && !/\n[ \t]*$/.test(text);
}

function scan(text: string): {
  /** The text ends within brackets, a text of three quotes, or behind a backslash. */
  readonly isOpen: boolean;
  /** Some statement of it has a block. */
  readonly isBlock: boolean;
} {
  let depth = 0;
  let isBlock = false;
  let isStart = true;
  /** The last character of the statement that is no space and in no comment. */
  let last = '';
  for (let at = 0; at < text.length; ) {
    const letter = text[at] ?? '';
    if (isStart && !/\s/.test(letter)) {
      isStart = false;
      isBlock ||= BLOCK.test(text.slice(at, at + 8));
    }
    if (letter === '#') {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
    } else if (letter === '"' || letter === "'") {
      const end = endOfText(text, at);
      if (end === 'goes on') return { isOpen: true, isBlock };
      // A mistake, which Python is to say now.
      if (end === 'broken') return { isOpen: false, isBlock: false };
      at = end;
      last = letter;
    } else if (letter === '\\') {
      if (at + 1 >= text.length) return { isOpen: true, isBlock };
      at += 2;
    } else {
      if (OPENING.includes(letter)) depth++;
      else if (CLOSING.includes(letter)) depth = Math.max(0, depth - 1);
      if (letter === '\n' && depth === 0) {
        isBlock ||= last === ':';
        isStart = true;
        last = '';
      } else if (!/\s/.test(letter)) last = letter;
      at++;
    }
  }
  return { isOpen: depth > 0, isBlock: isBlock || (depth === 0 && last === ':') };
}

/** Behind the closing quote; where there is none, the text goes on, or is broken by the end of its line. */
function endOfText(text: string, start: number): number | 'goes on' | 'broken' {
  const quote = text[start] ?? '';
  const isLong = text.startsWith(quote.repeat(3), start);
  const end = isLong ? quote.repeat(3) : quote;
  for (let at = start + end.length; at < text.length; ) {
    if (text[at] === '\\') at += 2;
    else if (text.startsWith(end, at)) return at + end.length;
    else if (!isLong && text[at] === '\n') return 'broken';
    else at++;
  }
  return isLong || endsInBackslash(text) ? 'goes on' : 'broken';
}

/** An odd number of them: the last one is not itself escaped. */
function endsInBackslash(text: string): boolean {
  let end = text.length;
  while (end > 0 && text[end - 1] === '\\') end--;
  return (text.length - end) % 2 === 1;
}

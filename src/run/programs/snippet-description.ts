// What a program says of itself at its head: the first line of its first comment or docstring, in whatever language.
// Reads text alone; knows how comments look, and no language's grammar.

import { clipHarmless, inOneLine } from '../../base/text/text.js';

const MAX_LINES = 40;
const MAX_LINE_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 160;

/** Lines for an interpreter or a compiler, and what a program may have to begin with. */
const FOR_MACHINES =
  /^(?:#!|#.*coding[:=]|#\s*frozen_string_literal|\/\/go:|\/\/\s*@ts-|['"]use strict|package\s)/;
const COMMENT = /^(?:#+|\/\/[/!]?|\/\*+!?|--|r?"""|r?''')/;
/** Matches the opening of a comment that goes on in the next line without a mark. */
const OPENS = /^(?:\/\*|r?"""|r?''')/;
const CLOSES = /(?:\*\/|"""|''')$/;

/** Empty where it says nothing. */
export function descriptionOf(head: string): string {
  let isInside = false;
  for (const line of head.split('\n', MAX_LINES)) {
    const text = line.slice(0, MAX_LINE_CHARS).trim();
    if (text === '' || FOR_MACHINES.test(text)) continue;
    if (!isInside && !COMMENT.test(text)) return '';
    const said = text
      .replace(isInside ? /^\*+(?!\/)/ : COMMENT, '')
      .replace(CLOSES, '')
      .trim();
    if (said !== '') return clipHarmless(inOneLine(said), MAX_DESCRIPTION_CHARS);
    isInside = isInside ? !CLOSES.test(text) : OPENS.test(text);
  }
  return '';
}

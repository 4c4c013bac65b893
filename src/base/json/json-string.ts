// A string in the text of JSON, found without parsing it. Linear, whatever the text is.

/** Index just past the string of JSON that opens at `start`; the text's length where it does not end. */
export function endOfString(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
}

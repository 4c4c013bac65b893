// The Markdown fence that a model may put around the whole of a program, as it does in a conversation. Pure. Python's is
// taken off by the harness, which parses the code (`harness/program.py`).

/** The first line: a language, or nothing. */
const OPENING = /^(`{3,})[ \t]*(?:(?:\{[\w.+#-]*\}?|[\w.+#-]+\}?|\})[ \t]*)?$/;

/** What stands in the fence around all of `code`; `code` itself where there is none. */
export function outOfFence(code: string): string {
  const lines = code.trim().split(/\r?\n/);
  const fence = OPENING.exec(lines[0] ?? '')?.[1];
  if (fence === undefined || lines.length < 3 || lines.at(-1)?.trim() !== fence) return code;
  return `${lines.slice(1, -1).join('\n')}\n`;
}

// Patterns over the names of servers and tools. `*` stands for any characters, none included; a backslash takes the next
// character for itself; nothing else is special, and case counts. No shell's glob: names are no paths, so dots, slashes,
// brackets and quotes mean themselves. Matching takes time in proportion to the name, since servers choose their names.

/** A longer one is a mistake: no name that it could match is as long. */
const MAX_PATTERN_CHARS = 300;

type Token = { readonly kind: 'text' | 'star' | 'dot'; readonly text: string };
type Matches = (name: string) => boolean;

/** What is wrong with it, as the end of a sentence; undefined where nothing is. */
export function patternTrouble(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (text.length > MAX_PATTERN_CHARS) return `has more than ${MAX_PATTERN_CHARS} characters`;
  if (/^(?:[^\\]|\\.)*\\$/s.test(text)) return 'ends with a backslash that escapes nothing';
  return undefined;
}

/** A pattern over names of one kind. */
export const namePattern = (text: string): Matches => matcher(tokensOf(text));

/** A pattern over tools, asked for an MCP method such as `resources/read`. */
export const requestPattern = (text: string): Matches => requestMatcher(tokensOf(text));

/** A pattern `server` or `server.tool`. */
export interface ServerPattern {
  readonly text: string;
  /** It means the whole server. */
  coversServer(server: string): boolean;
  /** It means the server or tools of it. */
  concernsServer(server: string): boolean;
  coversTool(server: string, tool: string): boolean;
  /** It means this MCP method of the server, such as `resources/read`. */
  coversRequest(server: string, method: string): boolean;
}

/**
 * Names may have dots of their own (`io.github.someone/server`), so a pattern is tried at each of its dots that is not
 * escaped. One with dots means a whole server only where it has no star and is that server's name.
 */
export function serverPattern(text: string): ServerPattern {
  const tokens = tokensOf(text);
  const dots = tokens.flatMap(({ kind }, index) => (kind === 'dot' ? [index] : []));
  const isExact = tokens.every(({ kind }) => kind !== 'star');
  const coversServer = dots.length === 0 || isExact ? matcher(tokens) : () => false;
  const splits = dots.map((at) => ({
    server: matcher(tokens.slice(0, at)),
    tool: matcher(tokens.slice(at + 1)),
    request: requestMatcher(tokens.slice(at + 1)),
  }));
  return {
    text,
    coversServer,
    concernsServer: (name) => coversServer(name) || splits.some(({ server }) => server(name)),
    coversTool: (name, tool) =>
      coversServer(name) || splits.some((split) => split.server(name) && split.tool(tool)),
    coversRequest: (name, method) =>
      coversServer(name) || splits.some((split) => split.server(name) && split.request(method)),
  };
}

/**
 * A pattern was written with tools in mind, and `*read` is not to let resources be read. So it means a method only where
 * it is `*` alone, or where it begins with the method's family in so many words, as `resources/*` does.
 */
function requestMatcher(tokens: readonly Token[]): Matches {
  const firstStar = tokens.findIndex(({ kind }) => kind === 'star');
  const spelledOut = (firstStar < 0 ? tokens : tokens.slice(0, firstStar)).map(({ text }) => text).join('');
  const isEverything = tokens.length > 0 && tokens.every(({ kind }) => kind === 'star');
  const matches = matcher(tokens);
  return (method) => {
    const family = method.slice(0, method.indexOf('/') + 1);
    return isEverything || (spelledOut.startsWith(family) && matches(method));
  };
}

function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(/\\(.)|(.)/gs)].map(([, escaped, plain = '']) => {
    if (escaped !== undefined) return { kind: 'text', text: escaped };
    return { kind: plain === '*' ? 'star' : plain === '.' ? 'dot' : 'text', text: plain };
  });
}

/** The texts between stars are looked for one after the other, each as early as it comes. */
function matcher(tokens: readonly Token[]): Matches {
  const texts = [''];
  for (const { kind, text } of tokens) {
    if (kind === 'star') texts.push('');
    else texts.push(`${texts.pop() ?? ''}${text}`);
  }
  const first = texts[0] ?? '';
  if (texts.length === 1) return (name) => name === first;
  const last = texts.at(-1) ?? '';
  const between = texts.slice(1, -1);
  return (name) => {
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const text of between) {
      const found = name.indexOf(text, at);
      if (found < 0) return false;
      at = found + text.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

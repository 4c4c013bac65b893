// Texts that are hostile to one regular expression, made of the expression itself: each part that repeats is repeated,
// after the shortest text that leads to it, and spoilt at the end so that every way of reading it has to be tried.

type Part = {
  /** A few texts that match it once. */
  readonly samples: readonly string[];
  readonly isRepeated: boolean;
  /** Alternatives that the part is made of, each a list of parts; empty for a single character. */
  readonly inner: ReadonlyArray<readonly Part[]>;
};

/** Characters that are tried for a class or an escape: those of them that match. */
const ALPHABET = 'a0 \n\t-_./:"\'\\,;=@#%&$+*(){}[]<>|!?`~^AzZx9é日\u001b\u0007\ufeff\0~';
const SPOILERS = ['\u0001', '\n', 'a'];
const MAX_SAMPLES = 3;

/** Each is what stands before, what is repeated, and what stands at the end. */
export function hostileTo(pattern: RegExp): ReadonlyArray<readonly [string, string, string]> {
  // A pattern that repeats nothing looks at no more characters from each place than it is long.
  // Escapes are taken out first, such as those of properties, which have braces.
  if (!/[*+{]/.test(pattern.source.replace(/\\[pPu]\{[^}]*\}|\\./g, ''))) return [];
  const found = new Map<string, readonly [string, string, string]>();
  const add = (before: string, pump: string) => {
    if (pump === '') return;
    for (const end of SPOILERS) found.set(JSON.stringify([before, pump, end]), [before, pump, end]);
  };
  const walk = (parts: readonly Part[], before: string) => {
    let led = before;
    for (const [at, part] of parts.entries()) {
      for (const sample of part.samples) {
        if (part.isRepeated) add(led, sample);
        // Repeat the start over and over: a search may begin anew at each.
        add('', led + sample);
        add('', sample);
        add('', led + sample.repeat(20));
        const next = parts[at + 1]?.samples[0];
        if (next !== undefined) add(led, sample + next);
      }
      for (const way of part.inner) walk(way, led);
      led += part.samples[0] ?? '';
    }
  };
  for (const way of parse(pattern)) walk(way, '');
  return [...found.values()];
}

/** The ways through a pattern, each a list of its parts. Reads what this project writes, not all of the language. */
function parse({ source, flags }: RegExp): Part[][] {
  let at = 0;
  const flagsOfPart = flags.replace(/[gy]/g, '');
  const matching = (atom: string): string[] => {
    const one = new RegExp(`^(?:${atom})$`, flagsOfPart);
    return [...ALPHABET].filter((char) => one.test(char)).slice(0, MAX_SAMPLES);
  };
  const alternatives = (): Part[][] => {
    const ways: Part[][] = [[]];
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at++;
        ways.push([]);
      } else ways.at(-1)?.push(part());
    }
    return ways;
  };
  const part = (): Part => {
    const atom = single();
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at))?.[0] ?? '';
    at += quantifier.length;
    const [, least = '1', most] = /^\{(\d+)(,\d*)?\}/.exec(quantifier) ?? [];
    const isRepeated = /^[*+]/.test(quantifier) || most === ',' || Number(most?.slice(1) ?? 0) > 8;
    const times = Math.min(Number(least), 40);
    return {
      ...atom,
      samples: times > 1 ? atom.samples.map((sample) => sample.repeat(times)) : atom.samples,
      isRepeated,
    };
  };
  const single = (): Part => {
    const group = /^\((?:\?(?:<(?![=!])\w+>|[:]|<?[=!]))?/.exec(source.slice(at))?.[0];
    if (group !== undefined) {
      at += group.length;
      const inner = alternatives();
      at++;
      const isLook = /[=!]$/.test(group);
      const samples = isLook
        ? ['']
        : inner.map((way) => way.map(({ samples: [first = ''] }) => first).join(''));
      return { samples: samples.slice(0, MAX_SAMPLES * 4), isRepeated: false, inner };
    }
    const atom =
      /^\[(?:\\.|[^\]\\])*\]/s.exec(source.slice(at))?.[0] ??
      /^\\(?:p\{\w+\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)/s.exec(source.slice(at))?.[0] ??
      String.fromCodePoint(source.codePointAt(at) ?? 0);
    at += atom.length;
    if (atom === '^' || atom === '$' || /^\\[bB]$/.test(atom))
      return { samples: [''], isRepeated: false, inner: [] };
    if (/^\\[1-9]$/.test(atom)) return { samples: ['a'], isRepeated: false, inner: [] };
    const samples = atom.length === 1 && atom !== '.' ? [atom] : matching(atom);
    return { samples: samples.length === 0 ? [literalOf(atom)] : samples, isRepeated: false, inner: [] };
  };
  return alternatives();
}

/** A character that matches an escape or a class whose characters are not in the alphabet. */
function literalOf(atom: string): string {
  const one = new RegExp(`^(?:${atom})$`, 'su');
  for (let code = 0; code < 0x3000; code++)
    if (one.test(String.fromCharCode(code))) return String.fromCharCode(code);
  return '';
}

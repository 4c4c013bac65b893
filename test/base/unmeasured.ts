// Regular expressions that test/base/patterns.test.ts cannot measure, since they are made of something that is only known
// later, each with the reason for which that does no harm.

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are lines of code
export const UNMEASURED: ReadonlyMap<string, string> = new Map([
  [
    "hosts/terms/expansions.ts new RegExp(`${bare.source}|\\\\$\\\\{([^{}]+)\\\\}`, 'g')",
    'three alternatives, none of which can read on where another one may begin',
  ],
  [
    'hosts/install/known-rules.ts new RegExp(`^(?:${matcher})`)',
    "the user's own pattern, which Claude Code takes so, on two names that are short",
  ],
  [
    'engine/images/apt-sources.ts new RegExp(`^(?:${codename}|stable)(|-updates|-security)$`)',
    "one word of the machine's own list of package sources, and nothing in it repeats",
  ],
  [
    'base/json/json-text.ts new RegExp(`"${nonce}:(\\\\d+)"`, \'g\')',
    'begins with a text of our own that is nowhere else, and goes on with digits',
  ],
  [
    "sandbox/limits/measure.ts new RegExp(`^${field}:\\\\s*(\\\\d+) kB$`, 'm')",
    "a field of the kernel's own text",
  ],
  [
    "cli/report/report.ts new RegExp(`(?<![\\\\w-])${word.replace(/[.*+?^${}()|[\\]\\\\]/g, '\\\\$&')}(?![\\\\w-])`, 'g')",
    'one word, in which nothing repeats',
  ],
]);
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above

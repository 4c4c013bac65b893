// Where this machine gets Debian packages from, so that an image is built from the same mirror, with the same keys
// and with security updates. Names no mirror itself. A machine that is not Debian gets undefined and leaves the choice
// to mmdebstrap.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Facts that are read of the host: /etc/os-release, and the files of /etc/apt by their paths. */
type AptFacts = { readonly osRelease: string; readonly files: Readonly<Record<string, string>> };

type AptSource = {
  readonly uris: string;
  readonly suites: readonly string[];
  readonly components: string;
  /** A keyring's path, or a key block with its continuation lines. */
  readonly signedBy: string | undefined;
};

/** Suites with one pocket only: no updates, no security archive. */
const ROLLING = new Set(['sid', 'unstable', 'testing']);

const APT_DIR = '/etc/apt';

/** The facts of this machine; what is absent is empty. */
export function readAptFacts(): AptFacts {
  const parts = join(APT_DIR, 'sources.list.d');
  const names = orElse([], () => readdirSync(parts)).filter((name) => /\.(list|sources)$/.test(name));
  const paths = [join(APT_DIR, 'sources.list'), ...names.map((name) => join(parts, name))];
  const read = (path: string) => orElse('', () => readFileSync(path, 'utf8'));
  return {
    osRelease: read('/etc/os-release'),
    files: Object.fromEntries(paths.map((path) => [path, read(path)])),
  };
}

function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch {
    // Absent or unreadable: a machine without apt, or sources that only root may see.
    return fallback;
  }
}

/** The host's Debian sources turned to `suite`, in deb822 form; undefined when there are none to go by. */
export function debianSources(suite: string, facts: AptFacts): string | undefined {
  if (!/^ID=debian$/m.test(facts.osRelease)) return undefined;
  const codename = /^VERSION_CODENAME=(\S+)$/m.exec(facts.osRelease)?.[1];
  if (codename === undefined) return undefined;
  const stanzas = Object.entries(facts.files)
    .flatMap(([path, text]) => (path.endsWith('.sources') ? parseDeb822(text) : parseOneLine(text)))
    .filter(isDebians)
    .flatMap((source) => retarget(source, codename, suite));
  return stanzas.length === 0 ? undefined : `${[...new Set(stanzas)].join('\n\n')}\n`;
}

function parseDeb822(text: string): AptSource[] {
  const withoutComments = text.replace(/^#.*\n?/gm, '');
  return withoutComments.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = new Map<string, string>();
    for (const [, name = '', value = ''] of stanza.matchAll(/^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)) {
      fields.set(name.toLowerCase(), value.trim());
    }
    const [types, uris, suites] = ['types', 'uris', 'suites'].map((name) => fields.get(name));
    if (types?.split(/\s+/).includes('deb') !== true || uris === undefined || suites === undefined) return [];
    if (fields.get('enabled') === 'no') return [];
    const components = fields.get('components') ?? '';
    return [{ uris, suites: suites.split(/\s+/), components, signedBy: fields.get('signed-by') }];
  });
}

function parseOneLine(text: string): AptSource[] {
  return [...text.matchAll(/^deb[ \t]+(?:\[([^\]]*)\][ \t]+)?(\S+)[ \t]+(\S+)[ \t]+([^#\n]+)/gm)].map(
    ([, options = '', uris = '', suite = '', components = '']) => ({
      uris,
      suites: [suite],
      components: components.trim(),
      signedBy: /signed-by=(\S+)/.exec(options)?.[1],
    }),
  );
}

/** Other archives use Debian's suite names too; theirs have keys of their own, or no `main`. */
function isDebians({ uris, components, signedBy }: AptSource): boolean {
  return (
    !uris.startsWith('cdrom:') &&
    components.split(/\s+/).includes('main') &&
    (signedBy === undefined || signedBy.includes('debian-archive'))
  );
}

function retarget(source: AptSource, codename: string, suite: string): string[] {
  const suites = source.suites.flatMap((name) => {
    const pocket = new RegExp(`^(?:${codename}|stable)(|-updates|-security)$`).exec(name)?.[1];
    if (pocket === undefined || (pocket !== '' && ROLLING.has(suite))) return [];
    return [`${suite}${pocket}`];
  });
  if (suites.length === 0) return [];
  const stanza = ['Types: deb', `URIs: ${source.uris}`, `Suites: ${suites.join(' ')}`, 'Components: main'];
  if (source.signedBy !== undefined) stanza.push(`Signed-By: ${source.signedBy}`);
  return [stanza.join('\n')];
}

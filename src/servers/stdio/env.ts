// The environment of a downstream server: a short allow-list of the host's variables, then the server's own. A list,
// not everything, because the bridge's environment may hold keys that are none of the server's business. Reads no
// process.env: the host's environment comes in as a value.

import { mergedVariables } from '../../base/process/environment.js';

/** Where programs live, who the user is, how text is encoded: what a server started from a shell would rely on. */
const ALLOWED_NAMES = new Set([
  // The MCP SDK's own default, on POSIX and on Windows.
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  ...[
    'APPDATA',
    'HOMEDRIVE',
    'HOMEPATH',
    'LOCALAPPDATA',
    'PROCESSOR_ARCHITECTURE',
    'SYSTEMDRIVE',
    'SYSTEMROOT',
  ],
  ...[
    'TEMP',
    'TMP',
    'USERNAME',
    'USERPROFILE',
    'PROGRAMFILES',
    'PROGRAMDATA',
    'COMSPEC',
    'PATHEXT',
    'WINDIR',
  ],
  // Variables that servers which work in a terminal are most often found to miss.
  ...['LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'NVM_DIR', 'VOLTA_HOME', 'PYENV_ROOT'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
]);
const ALLOWED_PREFIXES = ['LC_', 'XDG_', 'FNM_'];

/** Tells a bridge started by a server of ours how deep it is nested, so that the recursion ends. */
const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';

type ChildEnvOptions = {
  /** The nesting depth that the child is told. */
  readonly depth: number;
  /** Names that the operator allows on top of the list, in their exact spelling; on Windows case does not count. */
  readonly extraNames: readonly string[];
  readonly platform?: NodeJS.Platform;
};

// Windows spells names in any case, and proxies are found in both; so case does not count.
function isAllowed(name: string): boolean {
  const upper = name.toUpperCase();
  return ALLOWED_NAMES.has(upper) || ALLOWED_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

/** The child's environment: allowed variables of the host, overridden by `specEnv`; nobody overrides the depth. */
export function childEnv(
  hostEnv: Readonly<Record<string, string | undefined>>,
  specEnv: Readonly<Record<string, string>>,
  { depth, extraNames, platform = process.platform }: ChildEnvOptions,
): Record<string, string> {
  const spelt = (name: string) => (platform === 'win32' ? name.toUpperCase() : name);
  const extra = new Set(extraNames.map(spelt));
  const inherited = Object.entries(hostEnv).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      // An exported shell function: code in disguise (CVE-2014-6271).
      !entry[1].startsWith('()') &&
      (isAllowed(entry[0]) || extra.has(spelt(entry[0]))),
  );
  const own = mergedVariables(specEnv, { [DEPTH_VARIABLE]: String(depth) }, platform);
  return mergedVariables(Object.fromEntries(inherited), own, platform);
}

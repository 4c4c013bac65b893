// A cluster asked in the words of podman's command line, as far as tests ask an engine what is left of a bridge: the containers and the
// volumes with a label. Arguments: `ps` or `volume ls` as podman takes them; a format is the names, or names and labels.

import { execFileSync } from 'node:child_process';

const [verb = '', ...args] = process.argv.slice(2);
const valuesOf = (/** @type {string} */ flag) =>
  args.filter((arg) => arg.startsWith(`--${flag}=`)).map((arg) => arg.slice(flag.length + 3));

if (verb === 'ps') {
  const labels = valuesOf('filter')
    .filter((filter) => filter.startsWith('label='))
    .map((filter) => filter.slice('label='.length));
  const text = execFileSync('kubectl', ['get', 'pods', `--selector=${labels.join(',')}`, '--output=json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const withLabels = valuesOf('format').some((format) => format.includes('Labels'));
  const isWanted = (/** @type {{ phase?: string }} */ { phase }) =>
    !valuesOf('filter').includes('status=running') || phase === 'Running';
  for (const { metadata, status } of JSON.parse(text).items) {
    if (!isWanted(status)) continue;
    const pairs = Object.entries(metadata.labels ?? {}).map((pair) => pair.join(':'));
    console.log(withLabels ? `${metadata.name}\t${pairs.join(' ')}` : metadata.name);
  }
} else if (!(verb === 'volume' && args[0] === 'ls')) {
  console.error(`a cluster is not asked '${[verb, ...args].join(' ')}'; there is: ps, volume ls`);
  process.exitCode = 125;
}

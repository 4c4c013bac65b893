// Command lines for the client of an engine that runs elsewhere, for tests: of a sandbox with everything that one can have.

import { INSTANCE_LABEL, ownerLabelNames } from '../../src/base/process/owner.js';
import { runArgv } from '../../src/engine/client/argv.js';
import { dialectOf } from '../../src/engine/client/dialects.js';
import type { IdMapping } from '../../src/engine/engine.js';
import type { CliName } from '../../src/engine/machine/place.js';
import { sandboxSpec } from '../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from './plain-kind.js';

const SPEC = sandboxSpec({
  image: 'localhost/mcp-sandbox-bridge/python:1',
  harnessDir: '/state/ipc/abc',
  areInImage: true,
  fallbackDir: undefined,
  seccompFile: '/state/seccomp/abc/strict.json',
  name: 'mcp-sandbox-bridge-i-1',
  user: '65534:65534',
  kind: { ...PLAIN_KIND, cpus: 1.5 },
  enforcement: undefined,
  networkMode: 'default',
  cores: 2,
  maxTimeoutSeconds: 120,
  maxWaitSeconds: 0,
});

/** Every command line of the dialect, by what it is for. */
export function remoteArgvs(engine: CliName, ids: IdMapping): Readonly<Record<string, readonly string[]>> {
  const dialect = dialectOf(engine, 'remote');
  const spec = {
    ...SPEC,
    labels: { [INSTANCE_LABEL]: 'i' },
    volumes: [{ name: 'work', target: '/work', isKept: false }],
  };
  const ociRuntime = { name: 'runc', flags: ['debug'] };
  const facts = { ids, ociRuntime, cidFile: '/s/c', pidFile: '/s/p' } as const;
  return {
    run: runArgv(spec, dialect, facts),
    info: dialect.infoArgs,
    build: dialect.buildArgs('localhost/derived:1', '/folder'),
    list: dialect.listArgs(INSTANCE_LABEL, ownerLabelNames),
    remove: dialect.removeArgs(['abc']),
    'make volume': dialect.makeVolumeArgs('work', ['a=b']),
    'list volumes': dialect.listVolumesArgs(INSTANCE_LABEL, ownerLabelNames),
  };
}

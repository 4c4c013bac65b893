// A stand-in for the npm registry that knows one package: ours, as it would be published. Whatever else is asked for is
// not found, which is also the proof that nothing else is needed.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/**
 * Serves the archive `tarball` of the package whose manifest is `manifest`, on this machine only.
 * Returns { url, asked, close }: `asked` is the paths of the requests that were made so far.
 */
export async function startRegistry(tarball, manifest) {
  const archive = readFileSync(tarball);
  const { name, version } = manifest;
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    const base = `http://${request.headers.host}`;
    const path = `/${name}/-/${name}-${version}.tgz`;
    if (request.url === path) return response.end(archive);
    const isPackage = request.url === `/${name}`;
    response.statusCode = isPackage ? 200 : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isPackage ? packument(`${base}${path}`) : { error: 'not_found' }));
  });
  const packument = (address) => ({
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist: { tarball: address, integrity: integrityOf(archive) } } },
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const integrityOf = (bytes) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

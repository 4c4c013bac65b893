// A registry of container images over plain HTTP that has one image: an OCI folder, as `podman save --format oci-dir` writes
// it. Its layers are sent compressed, as registries have them.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/**
 * Serves the image of the folder `layout` on this machine only, under any name and tag.
 * @param {string} layout
 * @returns {Promise<{ address: string, asked: string[], close: () => void }>} the address, such as 127.0.0.1:5000, and the
 *   paths that were asked for so far
 */
export async function startImageRegistry(layout) {
  const { manifest, blobs } = compressed(layout);
  const manifestDigest = digestOf(manifest);
  /** @type {string[]} */
  const asked = [];
  const server = createServer(({ url = '', method }, response) => {
    asked.push(url);
    const send = (/** @type {Buffer} */ bytes, /** @type {string} */ type, /** @type {string} */ digest) => {
      response.writeHead(200, {
        'content-type': type,
        'content-length': bytes.length,
        'docker-content-digest': digest,
      });
      response.end(method === 'HEAD' ? undefined : bytes);
    };
    const digest = /^\/v2\/.+\/blobs\/(sha256:[0-9a-f]{64})$/.exec(url)?.[1] ?? '';
    const blob = blobs.get(digest);
    if (url === '/v2/') response.end('{}');
    else if (/^\/v2\/.+\/manifests\/[^/]+$/.test(url)) send(manifest, MANIFEST, manifestDigest);
    else if (blob !== undefined) send(blob, 'application/octet-stream', digest);
    else {
      response.statusCode = 404;
      response.end('{"errors":[{"code":"NOT_FOUND"}]}');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    address: `127.0.0.1:${port}`,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * The text of a registries.conf by which podman takes images without a registry's name, and those of docker.io, from
 * `address`.
 * @param {string} address
 */
export const registriesConf = (address) =>
  `unqualified-search-registries = ["docker.io"]\n\n[[registry]]\nprefix = "docker.io"\nlocation = "${address}"\ninsecure = true\n`;

/**
 * Writes that file below the existing folder `home`, where a rootless podman looks for it.
 * @param {string} home
 * @param {string} address
 */
export function useImageRegistry(home, address) {
  const folder = join(home, '.config/containers');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'registries.conf'), registriesConf(address));
}

/**
 * The image's manifest with layers that are compressed, and all blobs by their digests.
 * @param {string} layout
 */
function compressed(layout) {
  const blobAt = (/** @type {string} */ digest) =>
    readFileSync(join(layout, 'blobs', .../** @type {[string, string]} */ (digest.split(':'))));
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
  const manifest = JSON.parse(blobAt(index.manifests[0].digest).toString('utf8'));
  /** @type {Map<string, Buffer>} */
  const blobs = new Map([[manifest.config.digest, blobAt(manifest.config.digest)]]);
  manifest.layers = manifest.layers.map((/** @type {{ mediaType: string, digest: string }} */ layer) => {
    const bytes = blobAt(layer.digest);
    const gzipped = layer.mediaType.endsWith('+gzip') ? bytes : gzipSync(bytes);
    const digest = digestOf(gzipped);
    blobs.set(digest, gzipped);
    return { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: gzipped.length };
  });
  return { manifest: Buffer.from(JSON.stringify({ ...manifest, mediaType: MANIFEST })), blobs };
}

const digestOf = (/** @type {Buffer} */ bytes) =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

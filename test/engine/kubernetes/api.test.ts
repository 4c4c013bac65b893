// Connections of requests to the API, at a server that counts them: kept for the next request, and made anew where that is due.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Api } from '../../../src/engine/kubernetes/api.js';

const NEVER = new AbortController().signal;
let folder: string;
let server: Server;
/** What came, each with the number of its connection. */
let asked: string[];
/** Requests that end their connection without an answer. */
let unanswered: Set<number>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'api-test-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const what = ['-days', '2', '-subj', '/CN=cluster', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...kind, ...what, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  asked = [];
  unanswered = new Set();
  const connections: unknown[] = [];
  server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    if (!connections.includes(request.socket)) connections.push(request.socket);
    const number = connections.indexOf(request.socket) + 1;
    asked.push(`${number}: ${request.method} ${request.headers.authorization}`);
    if (unanswered.has(asked.length)) request.socket.destroy();
    else response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  login('one');
});

afterEach(() => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function login(token: string): void {
  const { port } = server.address() as AddressInfo;
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority': join(folder, 'cert.pem'),
  };
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
    clusters: [{ name: 'it', cluster }],
    users: [{ name: 'it', user: { token } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
  };
  writeFileSync(join(folder, 'config'), JSON.stringify(config));
  vi.stubEnv('KUBECONFIG', join(folder, 'config'));
}

it('a request goes over the connection of the one before', async () => {
  const api = new Api(undefined);
  for (const method of ['GET', 'POST', 'DELETE'] as const) await api.ask(method, '/version', NEVER);
  expect(asked).toEqual(['1: GET Bearer one', '1: POST Bearer one', '1: DELETE Bearer one']);
});

it('requests at the same time have each a connection', async () => {
  const api = new Api(undefined);
  await Promise.all([1, 2].map(() => api.ask('GET', '/version', NEVER)));
  expect(asked.sort()).toEqual(['1: GET Bearer one', '2: GET Bearer one']);
});

it('a request whose kept connection the server has closed is sent again', async () => {
  const api = new Api(undefined);
  await api.ask('GET', '/version', NEVER);
  unanswered.add(2);
  expect(await api.ask('GET', '/version', NEVER)).toEqual({});
  expect(asked).toEqual(['1: GET Bearer one', '1: GET Bearer one', '2: GET Bearer one']);
});

it('a server that ends each connection without an answer is told as one that does not answer', async () => {
  const api = new Api(undefined);
  await api.ask('GET', '/version', NEVER);
  for (const request of [2, 3]) unanswered.add(request);
  await expect(api.ask('GET', '/version', NEVER)).rejects.toThrow('the cluster does not answer at');
  expect(asked).toHaveLength(3);
});

it('another authority is asked over no connection that an earlier one vouched for', async () => {
  const api = new Api(undefined);
  await api.ask('GET', '/version', NEVER);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-key', key, '-days', '2', '-subj', '/CN=other', '-out', cert]);
  await expect(api.ask('GET', '/version', NEVER)).rejects.toThrow('the cluster does not answer at');
  expect(asked).toHaveLength(1);
});

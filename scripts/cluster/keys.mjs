// The keys of a cluster: a certificate authority of its own, a certificate for each of its programs, and the kubeconfigs in which
// they find them. Made anew for each cluster, so nothing of it opens another one.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTROL, DOOR, demand, KUBECONFIG, NODES, PKI } from './place.mjs';

const DAYS = '30';
const DNS = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];
const ADDRESSES = [CONTROL.address, DOOR.host, '10.96.0.1'];

/** Each program: its subject, the names of a server, and whether it has a kubeconfig. */
const PROGRAMS = [
  {
    name: 'apiserver',
    subject: '/CN=kube-apiserver',
    names: [...ADDRESSES.map((ip) => `IP:${ip}`), ...DNS.map((dns) => `DNS:${dns}`)],
  },
  { name: 'kubelet-client', subject: '/O=system:masters/CN=kube-apiserver-kubelet-client' },
  { name: 'admin', subject: '/O=system:masters/CN=admin', isUser: true },
  { name: 'controller-manager', subject: '/CN=system:kube-controller-manager', isUser: true },
  { name: 'scheduler', subject: '/CN=system:kube-scheduler', isUser: true },
  { name: 'proxy', subject: '/CN=system:kube-proxy', isUser: true },
  ...NODES.map(({ name, address }) => ({
    name,
    subject: `/O=system:nodes/CN=system:node:${name}`,
    names: [`IP:${address}`, `DNS:${name}`],
    isUser: true,
  })),
];

const file = (/** @type {string} */ name) => join(PKI, name);
export const kubeconfigOf = (/** @type {string} */ name) => file(`${name}.kubeconfig`);

/** Makes all of them. */
export function makeKeys() {
  mkdirSync(PKI, { recursive: true, mode: 0o700 });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  demand(
    ...['openssl', 'req', '-x509', ...newKey, '-keyout', file('ca.key'), '-out', file('ca.crt')],
    ...['-days', DAYS, '-subj', '/CN=mcp-sandbox-bridge-test-cluster'],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign,digitalSignature'],
  );
  for (const program of PROGRAMS) makeCertificate(program);
  demand('openssl', 'genrsa', '-out', file('sa.key'), '2048');
  demand('openssl', 'rsa', '-in', file('sa.key'), '-pubout', '-out', file('sa.pub'));
  for (const { name } of PROGRAMS.filter(({ isUser }) => isUser))
    writeKubeconfig(kubeconfigOf(name), name, `https://${CONTROL.address}:${CONTROL.port}`);
  writeKubeconfig(KUBECONFIG, 'admin', `https://${DOOR.host}:${DOOR.port}`);

  function makeCertificate(
    /** @type {{ name: string, subject: string, names?: string[] }} */ { name, subject, names = [] },
  ) {
    const request = file(`${name}.csr`);
    const wanted = file(`${name}.ext`);
    const lines = ['keyUsage=critical,digitalSignature', 'extendedKeyUsage=serverAuth,clientAuth'];
    writeFileSync(
      wanted,
      [...lines, ...(names.length > 0 ? [`subjectAltName=${names.join(',')}`] : [])].join('\n'),
    );
    demand('openssl', 'req', ...newKey, '-keyout', file(`${name}.key`), '-out', request, '-subj', subject);
    demand(
      ...['openssl', 'x509', '-req', '-in', request, '-CA', file('ca.crt'), '-CAkey', file('ca.key')],
      ...['-CAcreateserial', '-days', DAYS, '-extfile', wanted, '-out', file(`${name}.crt`)],
    );
  }
}

/** YAML takes JSON. */
function writeKubeconfig(
  /** @type {string} */ path,
  /** @type {string} */ name,
  /** @type {string} */ server,
) {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority': file('ca.crt') } }],
    users: [{ name, user: { 'client-certificate': file(`${name}.crt`), 'client-key': file(`${name}.key`) } }],
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: name, namespace: 'default' } }],
    'current-context': 'cluster',
  };
  writeFileSync(path, JSON.stringify(config, undefined, 2));
  chmodSync(path, 0o600);
}

// Breaks a running cluster, for tests.

import { startApiServer } from './control-plane.mjs';
import { end } from './processes.mjs';

/** Ends a node with all that runs on it, of which nobody is told. */
export const killNode = (/** @type {string} */ name) => end(name, 'SIGKILL');
export const killApiServer = () => end('kube-apiserver', 'SIGKILL');
/** Returns when it answers. */
export const restartApiServer = () => startApiServer(process.env['PATH'] ?? '');

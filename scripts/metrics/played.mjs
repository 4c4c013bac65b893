// A page of figures that have all happened: one of each event, again and again, for queries about what a machine without an engine
// cannot make happen.

import { createServer } from 'node:http';

const AGAIN_MS = 200;

const run = { run: 'r1' };
const called = { ...run, server: 'files', tool: 'read' };
const sent = { ...called, method: 'tools/call', target: 'read', transport: 'pipe', durationMs: 40 };
const EVENTS = [
  { type: 'call.ended', tool: 'run_python', transport: 'pipe', durationMs: 900, failed: false },
  { type: 'run.started', ...run, language: 'python' },
  { type: 'run.request', ...sent },
  { type: 'run.request', ...sent, error: 'tool_error' },
  { type: 'run.call', ...called, allowed: true, result: { bytes: 5_000 } },
  { type: 'run.call', ...called, allowed: false },
  { type: 'run.refused', ...called, code: 'E_DENIED' },
  { type: 'run.asked', ...called, answer: 'once', durationMs: 4_000 },
  { type: 'run.ended', ...run, status: 'success', durationMs: 700 },
  { type: 'run.ended', ...run, status: 'error', durationMs: 700 },
  { type: 'run.rejected', ...run },
  { type: 'downstream.ready', server: 'files' },
  { type: 'sandbox.started', durationMs: 300 },
  { type: 'http.request', method: 'POST', path: '/mcp', status: 200, durationMs: 20 },
  { type: 'http.session', open: 3 },
  { type: 'auth.refused', status: 401 },
  { type: 'bridge.fault' },
];

/**
 * Serves the page at a free port of this machine until it is closed.
 * @param {{ EventFigures: any, prometheusText: any }} built the bridge's own
 */
export async function playFigures({ EventFigures, prometheusText }) {
  const figures = new EventFigures();
  const play = () => {
    for (const event of EVENTS) figures.observe(event);
  };
  play();
  const playing = setInterval(play, AGAIN_MS);
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end(prometheusText(figures.read(), { 'service.name': 'played' }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    port,
    close: () => {
      clearInterval(playing);
      server.closeAllConnections();
      server.close();
    },
  };
}

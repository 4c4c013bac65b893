// The figures of this process, folded out of its events: an observer, and all instruments read at once. Names are those of the
// conventions for MCP where these have one; all others begin with `mcp_bridge`. What an agent, a guest or a server can choose
// freely is no attribute; of servers and their tools a number is kept apart, and all further ones are `other`.

import type { BridgeEvent } from '../../base/log/events.js';
import { shownName } from '../../base/text/shown-name.js';
import { type Attributes, Count, Durations, type InstrumentReading } from './instruments.js';

/** Pairs of a server and a tool that are told apart. */
const MAX_TOOLS = 200;
const MAX_NAME_CHARS = 80;
const OTHER = 'other';
const ROUTES: ReadonlySet<string> = new Set(['/mcp', '/metrics', '/healthz', '/readyz']);
const HTTP_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']);

export class EventFigures {
  readonly #startedAt = performance.now();
  readonly #tools = new Set<string>();
  /** Languages of the runs that are under way. */
  readonly #running = new Map<string, string>();
  readonly #serverCalls = new Durations({
    name: 'mcp.server.operation.duration',
    description: 'Calls of the tools of the bridge, by agents.',
  });
  readonly #clientCalls = new Durations({
    name: 'mcp.client.operation.duration',
    description: 'Requests to the MCP servers behind the bridge.',
  });
  readonly #runs = new Durations({
    name: 'mcp_bridge.run.duration',
    description: 'Runs of code and commands, from their turn to their end.',
  });
  readonly #active = new Count({
    name: 'mcp_bridge.run.active',
    unit: '{run}',
    description: 'Runs that are under way.',
    kind: 'gauge',
  });
  /** Runs that wait for their turn. */
  readonly #queued = new Set<string>();
  readonly #waiting = new Count({
    name: 'mcp_bridge.run.waiting',
    unit: '{run}',
    description: 'Runs that wait for their turn.',
    kind: 'gauge',
  });
  readonly #rejected = counter(
    'mcp_bridge.run.rejected',
    '{run}',
    'Runs that were refused before they began.',
  );
  readonly #calls = counter(
    'mcp_bridge.call.count',
    '{call}',
    'Calls by code of servers, by the verdict of the policy.',
  );
  readonly #refused = counter(
    'mcp_bridge.call.refused',
    '{call}',
    'Calls that reached no server, by policy or by a limit.',
  );
  readonly #results = counter(
    'mcp_bridge.call.result.size',
    'By',
    'Size of what servers answered to code; it does not pass through the context of a model.',
  );
  readonly #approvals = new Durations({
    name: 'mcp_bridge.approval.duration',
    description: 'Questions to a person about calls, by what came of them.',
  });
  readonly #starts = counter('mcp_bridge.server.starts', '{start}', 'Starts of MCP servers.');
  readonly #sandboxes = new Durations({
    name: 'mcp_bridge.sandbox.start.duration',
    description: 'Starts of sandboxes.',
  });
  readonly #http = new Durations({
    name: 'http.server.request.duration',
    description: 'Requests over HTTP.',
  });
  readonly #logins = counter('mcp_bridge.auth.refused', '{request}', 'Requests refused for who sent them.');
  readonly #openSessions = new Count({
    name: 'mcp_bridge.http.session.active',
    unit: '{session}',
    description: 'Sessions of clients over HTTP.',
    kind: 'gauge',
  });
  readonly #faults = counter('mcp_bridge.fault', '{fault}', 'Faults of the bridge itself.');
  readonly #memory = new Count({
    name: 'process.memory.usage',
    unit: 'By',
    description: 'Memory of the process of the bridge.',
    kind: 'gauge',
  });
  readonly #cpu = counter('process.cpu.time', 's', 'Processor time of the process of the bridge.');
  readonly #uptime = new Count({
    name: 'process.uptime',
    unit: 's',
    description: 'Seconds since figures are kept.',
    kind: 'gauge',
  });

  /** An observer. */
  readonly observe = (event: BridgeEvent): void => {
    switch (event.type) {
      case 'call.ended':
        return this.#serverCalls.add(event.durationMs, {
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': event.tool,
          'network.transport': event.transport,
          ...(event.failed ? { 'error.type': 'tool_error' } : {}),
        });
      case 'run.request':
        return this.#clientCalls.add(event.durationMs, {
          'mcp.method.name': event.method,
          ...this.#toolOf(event.server, event.method === 'tools/call' ? event.target : undefined),
          'network.transport': event.transport,
          ...(event.error === undefined ? {} : { 'error.type': event.error }),
        });
      case 'run.queued':
        this.#queued.add(event.run);
        return this.#waiting.add(1);
      case 'run.started':
        this.#waitNoMore(event.run);
        this.#running.set(event.run, event.language);
        return this.#active.add(1);
      case 'run.ended':
        return this.#end(event);
      case 'run.rejected':
        this.#waitNoMore(event.run);
        return this.#rejected.add(1);
      case 'run.call':
        this.#calls.add(1, { 'mcp_bridge.verdict': event.allowed ? 'allowed' : 'denied' });
        return this.#results.add(event.result?.bytes ?? 0);
      case 'run.refused':
        return this.#refused.add(1, { 'error.type': event.code });
      case 'run.asked':
        return this.#approvals.add(event.durationMs, { 'mcp_bridge.answer': event.answer });
      case 'downstream.ready':
        return this.#starts.add(1, { ...this.#toolOf(event.server), 'mcp_bridge.outcome': 'ready' });
      case 'downstream.failed':
        return this.#starts.add(1, { ...this.#toolOf(event.server), 'mcp_bridge.outcome': 'failed' });
      case 'sandbox.started':
        return this.#sandboxes.add(event.durationMs);
      case 'http.request':
        return this.#http.add(event.durationMs, httpAttributes(event));
      case 'http.session':
        return this.#openSessions.set(event.open);
      case 'auth.refused':
        return this.#logins.add(1, { 'http.response.status_code': event.status });
      case 'bridge.fault':
        return this.#faults.add(1);
    }
  };

  /** All of them, as they are now; what has not happened yet has no points. */
  read(): readonly InstrumentReading[] {
    this.#memory.set(process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    this.#cpu.set(user / 1e6, { 'cpu.mode': 'user' });
    this.#cpu.set(system / 1e6, { 'cpu.mode': 'system' });
    this.#uptime.set((performance.now() - this.#startedAt) / 1000);
    return [
      this.#serverCalls,
      this.#clientCalls,
      this.#runs,
      this.#active,
      this.#waiting,
      this.#rejected,
      this.#calls,
      this.#refused,
      this.#results,
      this.#approvals,
      this.#starts,
      this.#sandboxes,
      this.#http,
      this.#logins,
      this.#openSessions,
      this.#faults,
      this.#memory,
      this.#cpu,
      this.#uptime,
    ].map((instrument) => instrument.read());
  }

  #waitNoMore(run: string): void {
    if (this.#queued.delete(run)) this.#waiting.add(-1);
  }

  #end({ run, status, durationMs }: Extract<BridgeEvent, { type: 'run.ended' }>): void {
    this.#waitNoMore(run);
    const language = this.#running.get(run);
    if (this.#running.delete(run)) this.#active.add(-1);
    this.#runs.add(durationMs, {
      'mcp_bridge.language': language ?? OTHER,
      'mcp_bridge.status': status,
    });
  }

  #toolOf(server: string, tool?: string): Attributes {
    const key = JSON.stringify([server, tool]);
    const isKnown = this.#tools.has(key) || this.#tools.size < MAX_TOOLS;
    if (isKnown) this.#tools.add(key);
    const shown = (name: string) => (isKnown ? shownName(name, MAX_NAME_CHARS) : OTHER);
    return {
      'mcp_bridge.server.name': shown(server),
      ...(tool === undefined ? {} : { 'gen_ai.tool.name': shown(tool) }),
    };
  }
}

const counter = (name: string, unit: string, description: string): Count =>
  new Count({ name, unit, description, kind: 'counter' });

const httpAttributes = ({
  method,
  path,
  status,
}: Extract<BridgeEvent, { type: 'http.request' }>): Attributes => ({
  'http.request.method': HTTP_METHODS.has(method) ? method : '_OTHER',
  'http.route': ROUTES.has(path) ? path : OTHER,
  ...(status === undefined ? {} : { 'http.response.status_code': status }),
});

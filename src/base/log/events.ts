// Everything observable, as one union. Whoever does something emits an event; log, audit and metrics fold events
// and never reach into the doer. A new event that the log does not know about does not compile.

import type { Weight } from './weight.js';

export type RunStatus = 'success' | 'error' | 'timeout' | 'validation_error' | 'cancelled';

type PlainEvent =
  | {
      readonly type: 'config.problem';
      readonly file: string;
      readonly message: string;
      /** Position of the mistake in the file, line and column counted from 1; undefined when it has no single place. */
      readonly place?: { readonly line: number; readonly column: number } | undefined;
    }
  | { readonly type: 'settings.wrong'; readonly message: string }
  | { readonly type: 'config.discovered'; readonly ready: number; readonly skipped: number }
  | {
      readonly type: 'engine.command';
      readonly argv: readonly string[];
      readonly durationMs: number;
      readonly exitCode: number | undefined;
    }
  | { readonly type: 'engine.swept'; readonly removed: number }
  | { readonly type: 'engine.trouble'; readonly message: string }
  /** Sandboxes can be started no more, with the reason; or they can again. */
  | { readonly type: 'engine.health'; readonly isWell: boolean; readonly message: string }
  | {
      readonly type: 'setup.step';
      /** A step before the first sandbox can start, such as `looking for podman or docker`. */
      readonly step: string;
    }
  | { readonly type: 'image.progress'; readonly image: string; readonly message: string }
  /** Bytes of layers that a pull has brought so far, as they were sent. */
  | { readonly type: 'image.received'; readonly image: string; readonly bytes: number }
  | {
      /** Our own image is made, or was, since `instead` could not be pulled. */
      readonly type: 'image.building' | 'image.built';
      readonly image: string;
      readonly instead: string;
      /** Why not. */
      readonly why: string;
    }
  | {
      /** The content of the image of run_python has become known. */
      readonly type: 'image.known';
      readonly image: string;
      /** Major and minor number. */
      readonly python: string;
      /** Modules that the image's Python imports beyond the standard library; null where they are not known yet. */
      readonly modules: readonly string[] | null;
    }
  | {
      /** The image that imported settings name is not present: sandboxes start from our own, `by`. */
      readonly type: 'image.replaced';
      readonly image: string;
      /** The settings' `source`. */
      readonly namedIn: string;
      readonly by: string;
    }
  | {
      readonly type: 'walls.known';
      /** Engine, OCI runtime with its flags, mode, cgroups, seccomp profile, and which languages have a network. */
      readonly setup: string;
      /** Which OCI runtimes were tried, and what came of it. */
      readonly reason: string;
      /** The mechanism that enforces each limit, as seen. */
      readonly limits: string;
      /** The result of the last probe since this machine was started; undefined when there was none. */
      readonly probe:
        | {
            readonly at: string;
            readonly enforced: number;
            readonly watchdog: number;
            /** By how many megabytes it was late at most; null where none had to act. */
            readonly overshootMb: number | null;
            readonly unknown: number;
            readonly notEnforced: readonly string[];
          }
        | undefined;
    }
  | { readonly type: 'sandbox.started'; readonly container: string; readonly durationMs: number }
  | { readonly type: 'sandbox.ended'; readonly container: string; readonly reason: string }
  | {
      readonly type: 'sandbox.limit';
      readonly container: string;
      readonly limit: string;
      readonly allowed: number;
      readonly seen: number;
    }
  | { readonly type: 'sandbox.noise'; readonly container: string; readonly line: string }
  | {
      readonly type: 'sandbox.unloaded';
      readonly container: string;
      /** A module that MCP_BRIDGE_PREIMPORT names. */
      readonly module: string;
      readonly error: string;
    }
  | { readonly type: 'pool.resting'; readonly reason: string; readonly restMs: number }
  | { readonly type: 'downstream.connecting'; readonly server: string }
  | {
      readonly type: 'downstream.ready';
      readonly server: string;
      readonly tools: number;
      readonly durationMs: number;
    }
  | { readonly type: 'downstream.failed'; readonly server: string; readonly message: string }
  | {
      readonly type: 'downstream.changed';
      readonly server: string;
      /** Tools that are not as they were when they were first seen, each with what of it is different. */
      readonly tools: readonly string[];
    }
  | {
      readonly type: 'downstream.unusable';
      readonly server: string;
      /** Tools of the server's list that cannot be used, and why; each is the end of a sentence about the server. */
      readonly problems: readonly string[];
    }
  | {
      /** It says more unasked than is heard. */
      readonly type: 'downstream.flooding';
      readonly server: string;
      /** How many of its messages were left out since this was last told; 0 where it only had to wait until more was read. */
      readonly leftOut: number;
    }
  | { readonly type: 'downstream.closed'; readonly server: string; readonly reason: string }
  | {
      readonly type: 'downstream.asked';
      readonly server: string;
      /** The outcome of the server's question to the person; never what was asked or answered. */
      readonly answer: string;
      readonly durationMs: number;
    }
  | {
      readonly type: 'downstream.said';
      readonly server: string;
      /** The server's own word for it. */
      readonly level: string;
      readonly text: string;
    }
  | { readonly type: 'run.queued'; readonly run: string; readonly ahead: number }
  | {
      readonly type: 'run.started';
      /** Unique among all bridges. */
      readonly run: string;
      /** Name and version of the client that asked, as it reported them. */
      readonly client: string;
      readonly servers: readonly string[];
      readonly language: string;
      readonly code: Weight;
      /**
       * The beginning of a command's argument vector; undefined for other runs, and when the operator does not want it
       * kept.
       */
      readonly argumentsText?: string | undefined;
      readonly timeoutSeconds: number;
    }
  | {
      /** A tool call that has ended, refused ones included. */
      readonly type: 'run.call';
      readonly run: string;
      /** Counts within the run. */
      readonly call: number;
      readonly server: string;
      readonly tool: string;
      /** By policy, whose rule is named. */
      readonly allowed: boolean;
      readonly rule: string;
      /** Code of what it failed with. */
      readonly error: string | undefined;
      readonly durationMs: number;
      readonly failed: boolean;
      readonly arguments: Weight;
      readonly result: Weight | undefined;
      /** The beginning of it, where the operator wants it kept. */
      readonly argumentsText: string | undefined;
    }
  | {
      /** By policy: a call that reached no server, or whose answer was not handed on. */
      readonly type: 'run.refused';
      readonly run: string;
      readonly server: string;
      readonly tool: string;
      readonly code: string;
      /** Names the rule or the limit. */
      readonly message: string;
    }
  | {
      /** A question to a person about calls of a tool, which has ended. */
      readonly type: 'run.asked';
      readonly run: string;
      /** Its id. */
      readonly question: string;
      readonly server: string;
      readonly tool: string;
      /** The arguments of each call, as they would be sent. */
      readonly calls: readonly string[];
      /** Which rule asked. */
      readonly rule: string;
      /** The decision; else why there was none. */
      readonly answer:
        | 'once'
        | 'run'
        | 'session'
        | 'always'
        | 'no'
        | 'expired'
        | 'cancelled'
        | 'closed'
        | 'nobody';
      readonly word: string | undefined;
      /** By which way it was answered, and by whom, as far as known. */
      readonly by: string | undefined;
      readonly who: string | undefined;
      readonly durationMs: number;
    }
  | {
      readonly type: 'run.ended';
      readonly run: string;
      /** Servers that the run had in the end, or those that it named where it did not come so far. */
      readonly servers: readonly string[];
      readonly status: RunStatus;
      /** Why it failed; the message is the code's own words where the code has raised it. */
      readonly error?: { readonly kind: string; readonly message: string } | undefined;
      readonly durationMs: number;
      readonly calls: number;
    }
  | {
      /** The HTTP front takes requests from now on. */
      readonly type: 'http.listening';
      readonly address: string;
      /** Others can read along: there is no TLS, and no proxy is named that has it. */
      readonly isInClear: boolean;
    }
  | {
      /** An HTTP request that has ended. */
      readonly type: 'http.request';
      /** Its answer has it as X-Request-Id. */
      readonly request: string;
      /** Undefined where none was found, or before. */
      readonly principal: string | undefined;
      /** The client's address; undefined on a unix socket. */
      readonly address: string | undefined;
      readonly method: string;
      readonly path: string;
      /** Methods of MCP in its body. */
      readonly calls: readonly string[];
      /** Undefined where nothing was answered. */
      readonly status: number | undefined;
      /** The whole answer was sent; false where the client left before. */
      readonly isWhole: boolean;
      readonly durationMs: number;
    }
  | {
      readonly type: 'http.session';
      readonly principal: string;
      readonly is: 'opened' | 'ended';
      readonly why?: string | undefined;
      /** Sessions that are open now. */
      readonly open: number;
    }
  | { readonly type: 'http.trouble'; readonly principal: string; readonly message: string }
  /** Connections that were closed since there were too many, since this was last told. */
  | { readonly type: 'http.dropped'; readonly connections: number }
  /** The certificate was read anew; `kept` is the old one, since the new one cannot be used. */
  | { readonly type: 'http.tls'; readonly is: 'reloaded' | 'kept'; readonly message: string }
  | { readonly type: 'http.draining'; readonly requests: number; readonly withinMs: number }
  | { readonly type: 'kept.trouble'; readonly message: string }
  /** Trouble that keeps credentials from being checked, or the rules of principals from being read. */
  | { readonly type: 'auth.trouble'; readonly message: string }
  | {
      /** A request that was sent away because of who sent it; never with what it presented. */
      readonly type: 'auth.refused';
      /** The address of its sender. */
      readonly from: string;
      readonly method: string;
      /** Status of the HTTP answer. */
      readonly status: number;
      readonly message: string;
    }
  | { readonly type: 'audit.trouble'; readonly message: string }
  /** A question to a person cannot be put where it is looked for. */
  | { readonly type: 'inbox.trouble'; readonly message: string }
  /** An answer file that changes nothing; `message` is the end of a sentence about it. */
  | { readonly type: 'inbox.refused'; readonly question: string; readonly message: string }
  | { readonly type: 'bridge.fault'; readonly where: string; readonly message: string }
  | { readonly type: 'bridge.closing'; readonly reason: string }
  /** This window shares no bridge, though it may: it has one of its own. */
  | { readonly type: 'bridge.alone'; readonly reason: string }
  /** A window of a shared bridge has come. */
  | { readonly type: 'bridge.joined'; readonly window: number; readonly pid: number };

/**
 * `principal` is the id of the one that it concerns, where that is another than the user who started the bridge; `request` is
 * the HTTP request that began it.
 */
export type BridgeEvent = PlainEvent & { readonly principal?: string; readonly request?: string };

/** Receives every event, synchronously; it must not throw and must not block. */
export type Observer = (event: BridgeEvent) => void;

/** One observer that passes each event on to several. */
export function fanOut(...observers: readonly Observer[]): Observer {
  return (event) => {
    for (const observer of observers) observer(event);
  };
}

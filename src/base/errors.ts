// Every failure that a person or a model may read is a BridgeError: what happened, whose fault it is, and the
// next step. doctor, the tool result and the log print the same remedy, because it lives here with the error.

/** Stable names for what can go wrong. A new code needs a remedy at the place that throws it. */
export type ErrorCode =
  | 'E_SETTINGS'
  | 'E_CONFIG'
  | 'E_ARGUMENTS'
  | 'E_ENGINE_MISSING'
  | 'E_ENGINE_BROKEN'
  | 'E_ENGINE_UNSAFE'
  | 'E_OCI_RUNTIME'
  | 'E_UNENFORCED'
  | 'E_DATA'
  | 'E_NETWORK'
  | 'E_IMAGE_MISSING'
  | 'E_IMAGE_BUILD'
  | 'E_SETTING_UP'
  | 'E_SANDBOX_START'
  | 'E_SANDBOX_LOST'
  | 'E_PROTOCOL'
  | 'E_FRAME_TOO_LARGE'
  | 'E_TOO_MANY_CALLS'
  | 'E_TOO_MUCH_DATA'
  | 'E_SERVER_UNKNOWN'
  | 'E_SERVER_NOT_LOADED'
  | 'E_SERVER_UNAVAILABLE'
  | 'E_LOGIN'
  | 'E_TOOL_UNKNOWN'
  | 'E_TOOL_FAILED'
  | 'E_RESOURCE_FAILED'
  | 'E_PROMPT_FAILED'
  | 'E_DENIED'
  | 'E_LIMIT'
  | 'E_BUSY'
  | 'E_SESSION'
  | 'E_NO_CALL'
  | 'E_STATE'
  | 'E_PROCESS'
  | 'E_REPLACED'
  | 'E_CANCELLED'
  | 'E_SHUTDOWN'
  | 'E_INTERNAL';

export class BridgeError extends Error {
  override readonly name = 'BridgeError';
  readonly code: ErrorCode;
  /**
   * Who has to act: the agent (its arguments), the guest (its code), the operator (the set-up), a downstream server, the engine,
   * or we.
   */
  readonly fault: 'agent' | 'guest' | 'operator' | 'downstream' | 'engine' | 'bridge';
  readonly remedy: string | undefined;
  readonly waitedMs: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly fault: BridgeError['fault'];
      /** One sentence in the imperative: the command or change that fixes it. */
      readonly remedy?: string;
      readonly cause?: unknown;
      /** How long something was waited for that never came: it hangs. */
      readonly waitedMs?: number | undefined;
      /** When the same is worth another try, in seconds from now; the remedy says it too. */
      readonly retryAfterSeconds?: number | undefined;
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fault = options.fault;
    this.remedy = options.remedy;
    this.waitedMs = options.waitedMs;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** Message and remedy as one line, for a reader who sees nothing else. */
  get advice(): string {
    return this.remedy === undefined ? this.message : `${this.message} ${this.remedy}`;
  }
}

/** The message of anything that was thrown; errors that are not ours keep their own words. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof BridgeError) return thrown.advice;
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return String(thrown);
}

/** Turns anything thrown into a BridgeError; an unknown one is our own fault until shown otherwise. */
export function asBridgeError(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  return new BridgeError('E_INTERNAL', messageOf(thrown), { fault: 'bridge', cause: thrown });
}

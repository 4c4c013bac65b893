// What everything that stands between a guest's call and its answer has in common: the desk asks, the record and the door
// pass on, the handlers answer.

/** `text` is the call's own frame. Answers with a value for the reply, or throws a BridgeError for the refusal. */
export type Question<P> = (params: P, text: string, signal: AbortSignal) => unknown;

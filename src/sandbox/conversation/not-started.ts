// The error of a sandbox that did not start. What the engine or the image said is a fact of its own, so that nobody has to
// find it in the message again.

import { BridgeError, type BridgeErrorOptions } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';

export class NotStarted extends BridgeError {
  /** Why, in the words of the engine, of the image or of the bridge; without a full stop. */
  readonly detail: string;

  constructor(detail: string, options: Pick<BridgeErrorOptions, 'cause' | 'waitedMs'> = {}) {
    super('E_SANDBOX_START', `The sandbox did not start: ${detail}`, {
      fault: 'engine',
      remedy: `Run \`${ownCommand('doctor')}\`.`,
      ...options,
    });
    this.detail = detail;
  }
}

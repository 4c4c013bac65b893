// The name of the user whose process this is, for whoever asks later who has answered.

import { userInfo } from 'node:os';

/** A user without an entry, as in some containers, is named by its number. */
export function thisUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

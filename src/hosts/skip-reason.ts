// Why an entry of a configuration file is passed over, as a kind with its facts. Each is made where the fact is known.
// Holds no words: those for people stand in explain-skip.ts, and nothing may depend on them.

export type ServerSkipReason =
  | { readonly kind: 'this-bridge' }
  | { readonly kind: 'nested-bridge' }
  /** The server is used already, under this name, by an entry of this file. */
  | { readonly kind: 'same-server'; readonly name: string; readonly file: string }
  /** An entry of this file has the name. */
  | { readonly kind: 'shadowed'; readonly file: string }
  /** An administrator's file excludes all others of the host. */
  | { readonly kind: 'managed-only'; readonly host: string; readonly file: string }
  /** Nobody has approved the project's entry; `host` is the one where the user could, if there is such a host. */
  | { readonly kind: 'unapproved-project'; readonly host: string | undefined }
  | { readonly kind: 'refused-project'; readonly host: string }
  // The user, or the machine's administrator, has switched the entry off.
  | { readonly kind: 'disabled-in-file' }
  | { readonly kind: 'disabled-in-host'; readonly host: string }
  | { readonly kind: 'disabled-for-project'; readonly host: string }
  /** The settings in `file` do not enable the plugin. */
  | { readonly kind: 'plugin-not-enabled'; readonly host: string; readonly file: string; readonly id: string }
  | { readonly kind: 'folder-not-trusted'; readonly host: string }
  /** The list at `setting` names the entry. */
  | { readonly kind: 'excluded'; readonly host: string; readonly setting: string }
  /** The list at `setting` does not name the entry. */
  | { readonly kind: 'not-among-allowed'; readonly host: string; readonly setting: string }
  /** `file` says what is switched off, and cannot be read. */
  | { readonly kind: 'perhaps-disabled'; readonly host: string; readonly file: string }
  /** `rule` names the operator's rule in words. */
  | { readonly kind: 'denied'; readonly rule: string }
  // The entry stands for a part of its host, or needs the host itself.
  | { readonly kind: 'host-type'; readonly type: string }
  | { readonly kind: 'account-connector'; readonly host: string }
  | { readonly kind: 'host-sign-in'; readonly host: string; readonly provider: string }
  | { readonly kind: 'host-extension'; readonly host: string }
  | { readonly kind: 'hub-block'; readonly host: string }
  | { readonly kind: 'plugin-bundle'; readonly host: string }
  /** `type` is the host's word for a transport over WebSocket. */
  | { readonly kind: 'websocket'; readonly type: string }
  | { readonly kind: 'needs-plugin-options'; readonly options: readonly PluginOption[] }
  /** At least one of the two lists has an element. */
  | { readonly kind: 'unusable'; readonly needs: readonly Need[]; readonly mistakes: readonly Mistake[] };

/** An option of a plugin that has no value here. */
export type PluginOption = {
  readonly name: string;
  /** Whether the host keeps its value among credentials, which the bridge does not read. */
  readonly isSensitive: boolean;
};

/** A value that an entry refers to and that is not there. */
export type Need =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string }
  /** A value that only the host knows; `what` is the host's word for its kind, such as `input` or `secret`. */
  | { readonly kind: 'host-value'; readonly what: string; readonly name: string };

/** A mistake that the person who wrote an entry has to correct, in the entry or in a file that it names. */
export type Mistake =
  | { readonly kind: 'name-empty' }
  | { readonly kind: 'name-too-long'; readonly chars: number; readonly maxChars: number }
  | { readonly kind: 'name-unseen' }
  /** `found` is what stands there instead, such as `a number`. */
  | { readonly kind: 'not-an-object'; readonly found: string }
  | { readonly kind: 'unknown-type'; readonly found: string; readonly allowed: readonly string[] }
  /** `addresses` are the fields that could stand in for a command. */
  | { readonly kind: 'no-command'; readonly addresses: readonly string[] }
  | { readonly kind: 'command-and-address'; readonly host: string }
  | { readonly kind: 'not-https'; readonly setting: string }
  | { readonly kind: 'names-variable'; readonly setting: string }
  /** `trouble` is a phrase, often that of the library that checks the fields. */
  | { readonly kind: 'wrong-field'; readonly field: string; readonly trouble: string }
  | { readonly kind: 'wrong-header'; readonly header: string }
  | { readonly kind: 'nul-in-value' }
  /** A file that the entry names; `isUnsafe`: others may write it, and `trouble` names the command that fixes it. */
  | {
      readonly kind: 'wrong-file';
      readonly field: 'envFile' | 'file';
      readonly file: string;
      readonly trouble: string;
      readonly isUnsafe: boolean;
    };

/** The reason for an entry that holds one mistake. */
export const mistaken = (mistake: Mistake): ServerSkipReason => ({
  kind: 'unusable',
  needs: [],
  mistakes: [mistake],
});

// Edits of a configuration file as they are asked for, whatever the file's format. Types only.

/** Keys that lead from the root of the file to one member of a map. */
export type MemberPath = readonly string[];

export type MemberEdit =
  | {
      readonly kind: 'put';
      readonly path: MemberPath;
      readonly value: unknown;
      /** How the value was written before it was taken out; without it, it is written anew. */
      readonly raw?: string | undefined;
      /** Names of the members behind which it goes, where they are there; without it, it goes to the end. */
      readonly behind?: readonly string[] | undefined;
    }
  | {
      readonly kind: 'remove';
      readonly path: MemberPath;
      /** Only where nothing is in it. */
      readonly ifEmpty?: true | undefined;
    };

/** A member that was taken out: what puts it back as it was. */
export type TakenMember = { readonly raw: string; readonly behind: readonly string[] };

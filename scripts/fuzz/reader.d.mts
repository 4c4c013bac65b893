/** What a server has read of the arguments of a call, without what is not there; null where it would refuse it. */
export type Read = {
  readonly amount?: number;
  readonly limit?: number;
  readonly force?: boolean;
  readonly to?: string;
  readonly ids?: readonly string[];
  readonly order?: { readonly price?: number };
  readonly tags?: Readonly<Record<string, number>>;
  readonly max_size?: number;
} | null;

export function convertFields(text: string): Read;
export function checking(text: string): Read;

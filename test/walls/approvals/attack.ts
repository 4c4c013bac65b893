// What an attack on approvals is: data. Code, a server or a client tries to have a call sent that no person has allowed as it is
// sent, or to make a person believe something else. Its control is the same attempt where the wall does not stand in the way: it
// must get through, or the attack proves nothing.

export type Group =
  | 'frames of the code'
  | 'arguments of calls'
  | 'claims of servers'
  | 'words of the question'
  | 'answers'
  | 'the wire';

/** What got through, in a few words; undefined where it was held. */
export type Attempt = () => Promise<string | undefined>;

export type Attack = {
  readonly id: string;
  readonly group: Group;
  /** One sentence: what it tries. */
  readonly tries: string;
  /** What holds it. */
  readonly wall: string;
  readonly attempt: Attempt;
  readonly control: Attempt;
};

/** What reached the server of all that was tried; undefined where nothing did. */
export const through = (reached: readonly string[]): string | undefined =>
  reached.length === 0 ? undefined : reached.join('; ');

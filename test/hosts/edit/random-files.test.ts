// Files of random form: whatever stands in them, an entry goes in and out again, every comment stays, and the file means
// what it did before. A failure prints its seed.

import { expect, it } from 'vitest';
import { editedText } from '../../../src/hosts/edit/edited-text.js';
import { type Format, parseText } from '../../../src/settings/files/file-formats.js';

const FILES = 150;
const OURS = { command: 'npx', args: ['-y', 'x'], env: { A: 'b' } };

/** mulberry32. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Writer {
  readonly #next: () => number;
  readonly #eol: string;
  readonly comments: string[] = [];

  constructor(seed: number) {
    this.#next = random(seed);
    this.#eol = this.#chance(0.3) ? '\r\n' : '\n';
  }

  #chance(share: number): boolean {
    return this.#next() < share;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#next() * list.length)] as T;
  }

  #comment(): string {
    const text = `c${this.comments.length} , "}{]`;
    const whole = this.#chance(0.5) ? `// ${text}${this.#eol}` : `/* ${text} */`;
    this.comments.push(whole.trim());
    return whole;
  }

  #trivia(): string {
    const space = () => this.#pick(['', '', ' ', '\t', this.#eol, `${this.#eol}  `]);
    return this.#chance(0.15) ? space() + this.#comment() + space() : space();
  }

  jsonMap(names: readonly string[], value: () => string): string {
    const members = names.map(
      (name) =>
        `${this.#trivia()}${JSON.stringify(name)}${this.#trivia()}:${this.#trivia()}${value()}${this.#trivia()}`,
    );
    const comma = members.length > 0 && this.#chance(0.2) ? `,${this.#trivia()}` : '';
    return `{${members.join(',')}${comma}${members.length === 0 ? this.#trivia() : ''}}`;
  }

  json(): string {
    const server = () => this.jsonMap(['command'], () => this.#pick(['"// x"', '"a,b"', '"}"']));
    const servers = () => this.jsonMap(this.#names(), server);
    const root = [...(this.#chance(0.8) ? ['mcpServers'] : []), ...(this.#chance(0.5) ? ['z', 'list'] : [])];
    const order = this.#chance(0.5) ? root : root.reverse();
    let at = 0;
    const body = this.jsonMap(order, () => (order[at++] === 'mcpServers' ? servers() : '[1, {"a": 2}]'));
    return this.#trivia() + body + this.#trivia();
  }

  #names(): string[] {
    return ['a', 'b c', 'd.e'].slice(0, Math.floor(this.#next() * 4));
  }

  toml(): string {
    const lines: string[] = [];
    const note = () => {
      if (!this.#chance(0.3)) return '';
      const comment = `# c${this.comments.length} [mcp_servers.x] "`;
      this.comments.push(comment);
      return comment;
    };
    const add = (line: string) => lines.push(`${line} ${note()}`.trimEnd());
    if (this.#chance(0.5)) add('top = "[x]"');
    if (this.#chance(0.3)) lines.push('text = """', '[mcp_servers.z]', '"""');
    for (const name of this.#names()) {
      if (this.#chance(0.5)) lines.push('');
      if (this.#chance(0.3)) lines.push(note());
      add(`[mcp_servers.${JSON.stringify(name)}]`);
      add(`command = 'x'`);
      if (this.#chance(0.4)) lines.push('args = [', '  "[a]", # in', ']');
      if (this.#chance(0.4)) lines.push(`[mcp_servers.${JSON.stringify(name)}.env]`, 'K = "v"');
    }
    if (this.#chance(0.5)) lines.push('[[list]]', 'x = { y = 1 }');
    return lines.join(this.#eol) + (this.#chance(0.5) ? this.#eol : '');
  }
}

const meaning = (text: string, format: Format): Record<string, unknown> => {
  const parsed = parseText(text, format);
  if (!('value' in parsed)) throw new Error(JSON.stringify(parsed));
  return JSON.parse(JSON.stringify(parsed.value)) as Record<string, unknown>;
};

it.each<[Format, string]>([
  ['JSON', 'mcpServers'],
  ['TOML', 'mcp_servers'],
])('%s: an entry goes in and out, and nothing else moves', (format, key) => {
  for (let seed = 1; seed <= FILES; seed++) {
    const writer = new Writer(seed);
    const text = format === 'JSON' ? writer.json() : writer.toml();
    const why = `seed ${seed}:\n${text}`;
    const before = meaning(text, format);
    const put = editedText(text, format, [{ kind: 'put', path: [key, 'ours'], value: OURS }]);
    for (const comment of writer.comments) expect(put.text, why).toContain(comment);
    const back = editedText(put.text, format, put.undo);
    expect(meaning(back.text, format), why).toEqual(before);
    for (const comment of writer.comments) expect(back.text, why).toContain(comment);
    const servers = Object.keys((before[key] as object | undefined) ?? {});
    for (const name of servers) {
      const taken = editedText(text, format, [{ kind: 'remove', path: [key, name] }]);
      const restored = editedText(taken.text, format, taken.undo);
      expect(meaning(restored.text, format), why).toEqual(before);
    }
    const none = editedText(
      text,
      format,
      servers.map((name) => ({ kind: 'remove', path: [key, name] }) as const),
    );
    expect(meaning(editedText(none.text, format, none.undo).text, format), why).toEqual(before);
  }
});

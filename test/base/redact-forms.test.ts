// Every way in which a program writes a value that it quotes: the redactor has to know the value in all of them.

import { expect, it } from 'vitest';
import { Redactor } from '../../src/base/secrets/redact.js';

const SECRET = `it's "Zürich"/4+7\\n?1 & <b>=😀;$x`;
const PLAIN = 'ghp-AbC/123+x yz';

const bytes = (text: string) => [...Buffer.from(text)];
const base64 = (text: string) => Buffer.from(text).toString('base64');
const wrapped = (text: string, columns: number, by: string) =>
  text.match(new RegExp(`.{1,${columns}}`, 'g'))?.join(by) ?? '';
const each = (text: string, write: (char: string) => string) => [...text].map(write).join('');
const units = (text: string, write: (unit: number) => string) =>
  Array.from({ length: text.length }, (_, at) => write(text.charCodeAt(at))).join('');
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
const percent = (text: string) =>
  bytes(text)
    .map((byte) => `%${hex(byte, 2)}`)
    .join('');
const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' } as Record<
  string,
  string
>;
const padding = 'x'.repeat(50);

const FORMS: Record<string, (value: string) => string> = {
  'Python shlex.quote': (value) => `'${value.replaceAll("'", `'"'"'`)}'`,
  'shell, single quotes': (value) => `'${value.replaceAll("'", `'\\''`)}'`,
  'shell, double quotes': (value) => `"${value.replace(/["\\$`!]/g, '\\$&')}"`,
  'shell, backslashes': (value) => value.replace(/[^\w\u0080-\uffff]/g, '\\$&'),
  'Python repr': (value) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  'Python ascii': (value) =>
    each(value.replaceAll('\\', '\\\\'), (char) => {
      const point = char.codePointAt(0) ?? 0;
      if (point < 0x80) return char;
      return point < 0x100
        ? `\\x${hex(point, 2)}`
        : point < 0x10000
          ? `\\u${hex(point, 4)}`
          : `\\U${hex(point, 8)}`;
    }),
  'Python bytes': (value) =>
    bytes(value)
      .map((byte) => (byte === 92 ? '\\\\' : byte < 0x80 ? String.fromCharCode(byte) : `\\x${hex(byte, 2)}`))
      .join(''),
  JSON: (value) => JSON.stringify(value),
  'JSON with \\/': (value) => JSON.stringify(value).replaceAll('/', '\\/'),
  'JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)),
  'JSON in JSON in JSON': (value) => JSON.stringify(JSON.stringify(JSON.stringify(value))),
  'JSON, all escaped': (value) => units(value, (unit) => `\\u${hex(unit, 4)}`),
  'JSON, all escaped in capitals': (value) => units(value, (unit) => `\\u${hex(unit, 4).toUpperCase()}`),
  'JSON, some escaped': (value) =>
    JSON.stringify(value).replace(/[+<>&'/😀]/gu, (char) => units(char, (unit) => `\\u${hex(unit, 4)}`)),
  'JavaScript \\u{}': (value) => each(value, (char) => `\\u{${hex(char.codePointAt(0) ?? 0, 1)}}`),
  encodeURI: (value) => encodeURI(value),
  encodeURIComponent: (value) => encodeURIComponent(value),
  'encodeURIComponent in lower case': (value) =>
    encodeURIComponent(value).replace(/%../g, (triple) => triple.toLowerCase()),
  'Python quote': (value) => encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('!', '%21'),
  'Python quote_plus': (value) => encodeURIComponent(value).replaceAll('%20', '+').replaceAll("'", '%27'),
  'percent, all': percent,
  'percent, twice': (value) => encodeURIComponent(encodeURIComponent(value)),
  'a URL in JSON': (value) => JSON.stringify(encodeURI(value)),
  'HTML, named': (value) => each(value, (char) => named[char] ?? char),
  'HTML, decimal': (value) => each(value, (char) => `&#${char.codePointAt(0)};`),
  'HTML, hexadecimal': (value) => each(value, (char) => `&#x${hex(char.codePointAt(0) ?? 0, 2)};`),
  'HTML, hexadecimal in capitals': (value) =>
    each(value, (char) => `&#X${hex(char.codePointAt(0) ?? 0, 2).toUpperCase()};`),
  hexadecimal: (value) => Buffer.from(value).toString('hex'),
  'hexadecimal in capitals': (value) => Buffer.from(value).toString('hex').toUpperCase(),
  'hexadecimal with colons': (value) =>
    bytes(value)
      .map((byte) => hex(byte, 2))
      .join(':'),
  'hexadecimal with spaces': (value) =>
    bytes(value)
      .map((byte) => hex(byte, 2))
      .join(' '),
  'hexadecimal, wrapped': (value) => wrapped(Buffer.from(value).toString('hex'), 16, '\n'),
  base64,
  'base64 after 1': (value) => base64(`1${value}`),
  'base64 after 2': (value) => base64(`12${value}`),
  base64url: (value) => Buffer.from(`1${value}`).toString('base64url'),
  'base64 at 76 columns': (value) => wrapped(base64(padding + value + padding), 76, '\n'),
  'base64 at 64 columns': (value) => wrapped(base64(`${padding}1${value}${padding}`), 64, '\r\n'),
  'base64 at 76 columns in JSON': (value) => JSON.stringify(wrapped(base64(`1${padding}${value}`), 76, '\n')),
  'base64 at 20 columns in JSON': (value) => JSON.stringify(wrapped(base64(value), 20, '\r\n')),
  'base64 with \\/ in JSON': (value) => JSON.stringify(base64(value)).replaceAll('/', '\\/'),
  'base64 in a URL': (value) => encodeURIComponent(base64(value)),
};

/** Pieces of what programs write for `value` that are still to be seen. */
function leftOf(value: string, shown: string): string[] {
  const bare = shown.replace(/\\[nr]|[\r\n]/g, '');
  const cores = ['', '1', '12'].map((before) => base64(before + value).slice(4, -4));
  return [value, encodeURIComponent(value), ...cores]
    .flatMap((form) => form.match(/.{10}/gs) ?? [])
    .filter((piece) => bare.includes(piece));
}

const redactor = new Redactor();
redactor.addAll({ TOKEN: SECRET, OTHER: PLAIN });

it.each(Object.entries(FORMS))('%s', (_name, write) => {
  for (const [name, value] of [
    ['TOKEN', SECRET],
    ['OTHER', PLAIN],
  ] as const) {
    const shown = redactor.redact(`before ${write(value)} after`);
    expect(shown).toContain(`[${name}]`);
    expect(shown).toMatch(/^before .* after$/s);
    expect(leftOf(value, shown)).toEqual([]);
  }
});

it.each(Object.entries(FORMS))('%s, within JSON that stays JSON', (_name, write) => {
  const json = JSON.stringify({ isError: true, content: [{ type: 'text', text: `no: ${write(SECRET)}.` }] });
  const shown = JSON.parse(redactor.redactValues(json));
  expect(shown).toMatchObject({ isError: true, content: [{ type: 'text' }] });
  expect(shown.content[0].text).toMatch(/^no: .*\[TOKEN\].*\.$/s);
});

it('leaves alone what only looks like an escape', () => {
  for (const text of [
    '100%de \\u12 \\x &# &#x; &amp &lt;p&gt; %zz \\',
    'a'.repeat(100),
    `${SECRET.slice(0, -1)}%`,
  ])
    expect(redactor.redact(text)).toBe(text);
});

it('keeps JSON well-formed where a value begins inside an escape, or is a number', () => {
  const made = new Redactor();
  made.addAll({ 'A"B': 'n12345678', HALF: 'e9abcdefg', PIN: '9876543210', END: 'qwertyuiop"' });
  const texts = ['\n12345678', 'éabcdefg', 'x\\n12345678', 'qwertyuiop\\', 'qwertyuiop"'];
  const json = `{"pin":9876543210,"list":[1,-9876543210.5],"texts":${JSON.stringify(texts).replace('é', '\\u00e9')}}`;
  const shown = JSON.parse(made.redactValues(json));
  expect(shown.pin).toBe('[PIN]');
  expect(shown.list).toEqual([1, '[PIN]']);
  expect(shown.texts).toHaveLength(5);
  expect(shown.texts[2]).toBe('x[A"B]');
  expect(shown.texts[4]).toBe('[END]');
});

it('finds a value wherever a long text is cut to be read', () => {
  const text = `${'x'.repeat(99_991)} ${SECRET} `.repeat(30);
  const shown = redactor.redactValues(JSON.stringify(text));
  expect(shown.match(/\[TOKEN\]/g)).toHaveLength(30);
  expect(
    redactor.redact(`${'y'.repeat(65_530)}${encodeURIComponent(SECRET)}`.repeat(9)).match(/\[TOKEN\]/g),
  ).toHaveLength(9);
});

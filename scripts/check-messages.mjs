// Checks that nothing in src/ decides by the words of a message: words are for people and may change at any time, so a
// decision goes by a code or a kind. Judges syntax, not types, and follows words through the variables of one file only.
// Usage: node scripts/check-messages.mjs [FOLDER]

import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'rolldown/utils';

/**
 * Files that may ask what is in words, how often, and why. One question more is a complaint, and so is one fewer: the list
 * says exactly what there is.
 */
const ALLOWED = {
  // What other programs and libraries say, who have no code for it.
  'settings/files/file-formats.ts': [
    3,
    "mistakes of smol-toml and yaml quote the file below their first line; jsonc-parser's are in camel case",
  ],
  'hosts/entries/server-entry.ts': [1, 'zod puts a prefix ahead of what it expected'],
  'servers/connection/link.ts': [1, "the SDK's prefix ahead of a server's words"],
  'servers/login/oauth-fetch.ts': [1, 'the SDK quotes whole pages'],
  'run/hints/hint.ts': [1, "what Python and other languages say of the guest's mistakes"],
  'sandbox/python/python-name.ts': [2, 'what engines and Python say of a Python that is missing or old'],
  // Texts put together or laid out; nothing else depends on them.
  'cli/kept/read-audit.ts': [1, 'a message that begins with its class already does not get it twice'],
  'run/answer/pieces.ts': [1, 'lays lines out'],
  'run/answer/render.ts': [1, 'adds a full stop'],
  // Not words of a sentence.
  'engine/kubernetes/exec-streams.ts': [1, 'the reason of an object of a cluster is a kind'],
  'engine/kubernetes/pod-state.ts': [
    5,
    'the reason of an object of a cluster is a kind; a full quota and a missing right have one status; adds a full stop',
  ],
  'base/waiting/deadline.ts': [1, 'the reason of an AbortSignal is a kind'],
  'run/artifacts/artifacts.ts': [1, 'the reason of a frame is a kind'],
  'policy/rules/policy-book.ts': [1, 'tells the same trouble once'],
  'service/access/authenticator.ts': [1, 'tells the same trouble once'],
  'service/principals/principals-book.ts': [1, 'tells the same trouble once'],
};

/** Members that hold words, which variables of these names do as well. */
const MEMBERS = [
  'message',
  'advice',
  'remedy',
  'reason',
  'detail',
  'trouble',
  'problem',
  'objection',
  'why',
  'note',
];
/** The functions that give the words of what was thrown. */
const GIVERS = ['messageOf'];
/** Functions and methods whose result is the words that they are given, shorter or made harmless. */
const NETWORK_HELPERS = [
  'clip',
  'clipHarmless',
  'clipHarmlessLine',
  'harmless',
  'inOneLine',
  'redact',
  'String',
  'withoutPrefix',
];
/** Methods of a text that give the same words. */
const SAME_WORDS = ['slice', 'trim', 'trimEnd', 'trimStart', 'toLowerCase', 'toUpperCase', 'toWellFormed'];
/** Methods of a text that change it by what is in it, and give words again. */
const CHANGES = ['replace', 'replaceAll'];
/** Methods of a text that ask what is in it. */
const QUESTIONS = [
  ...CHANGES,
  'endsWith',
  'includes',
  'indexOf',
  'lastIndexOf',
  'localeCompare',
  'match',
  'matchAll',
  'search',
  'split',
  'startsWith',
];
/** Methods that ask what is in the text which they are given, or whether it is a known one. */
const QUESTIONERS = ['exec', 'get', 'has', 'includes', 'indexOf', 'test'];

const own = join(fileURLToPath(new URL('.', import.meta.url)), '..', 'src');
const root = process.argv[2] ?? own;
const complaints = [];
const files = sourceFiles(root);
for (const file of files) complaints.push(...complaintsAbout(file, readFileSync(join(root, file), 'utf8')));
for (const file of root === own ? Object.keys(ALLOWED) : []) {
  if (!files.includes(file)) complaints.push(`src/${file}: is gone; take it off the list`);
}

for (const complaint of complaints) console.error(complaint);
console.error(
  complaints.length === 0
    ? `messages: ${files.length} files, none decides by our words`
    : `messages: ${complaints.length} complaints; decide by a code or a kind, or see ALLOWED in scripts/check-messages.mjs`,
);
process.exitCode = complaints.length === 0 ? 0 : 1;

function sourceFiles(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => name.split(sep).join('/'))
    .filter((name) => name.endsWith('.ts'))
    .sort();
}

function complaintsAbout(file, text) {
  const questions = questionsIn(file, text);
  const [allowed] = ALLOWED[file] ?? [0];
  if (questions.length < allowed)
    return [`src/${file}: has ${questions.length} questions, and the list allows ${allowed}`];
  if (questions.length === allowed) return [];
  return questions.map(({ start, end }) => {
    const line = text.slice(0, start).split('\n').length;
    return `src/${file}:${line}: asks what is in words: ${text.slice(start, end).replace(/\s+/g, ' ')}`;
  });
}

/** The expressions that ask what is in words, as nodes of the syntax tree. */
function questionsIn(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const names = namesOfWords(program);
  const isWords = (node) => holdsWords(node, names);
  const found = [];
  new Visitor({
    BinaryExpression(node) {
      const { left, right, operator } = node;
      if (!/^[!=]==?$/.test(operator)) return;
      if ((isWords(left) && !isNothing(right)) || (isWords(right) && !isNothing(left))) found.push(node);
    },
    CallExpression(node) {
      const callee = bareNode(node.callee);
      if (callee.type !== 'MemberExpression' || callee.computed) return;
      const { name } = callee.property;
      const asks = QUESTIONS.includes(name) && isWords(callee.object);
      if (asks || (QUESTIONERS.includes(name) && node.arguments.some(isWords))) found.push(node);
    },
    MemberExpression(node) {
      if (node.computed && isWords(node.property)) found.push(node);
    },
    SwitchStatement({ discriminant }) {
      if (isWords(discriminant)) found.push(discriminant);
    },
  }).visit(program);
  return found.sort((one, other) => one.start - other.start);
}

/** The names under which words are known in a file, whatever function has the name. */
function namesOfWords(program) {
  const names = new Set(MEMBERS);
  const visitor = new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init !== null && holdsWords(init, names)) names.add(id.name);
    },
    ObjectPattern({ properties }) {
      for (const { type, key, value } of /** @type {any[]} */ (properties)) {
        if (type !== 'Property' || !MEMBERS.includes(key.name)) continue;
        const bound = value.type === 'AssignmentPattern' ? value.left : value;
        if (bound.type === 'Identifier') names.add(bound.name);
      }
    },
  });
  // A variable may be made of another one that stands further down.
  for (let known = 0; known < names.size; ) {
    known = names.size;
    visitor.visit(program);
  }
  return names;
}

function holdsWords(node, names) {
  const it = bareNode(node);
  switch (it.type) {
    case 'Identifier':
      return names.has(it.name);
    case 'MemberExpression':
      return !it.computed && MEMBERS.includes(it.property.name);
    case 'LogicalExpression':
      return holdsWords(it.left, names) || holdsWords(it.right, names);
    case 'ConditionalExpression':
      return holdsWords(it.consequent, names) || holdsWords(it.alternate, names);
    case 'TemplateLiteral':
      return it.expressions.some((part) => holdsWords(part, names));
    case 'CallExpression':
      return givesWords(it, names);
    default:
      return false;
  }
}

function givesWords({ callee, arguments: given }, names) {
  const called = bareNode(callee);
  const name = called.type === 'MemberExpression' ? called.property.name : called.name;
  if (GIVERS.includes(name)) return true;
  if (NETWORK_HELPERS.includes(name)) return given.some((one) => holdsWords(one, names));
  const keeps = SAME_WORDS.includes(name) || CHANGES.includes(name);
  return called.type === 'MemberExpression' && keeps && holdsWords(called.object, names);
}

/** The expression without `?.`, `!`, `await`, brackets and what only the type checker sees. */
function bareNode(node) {
  switch (node.type) {
    case 'AwaitExpression':
      return bareNode(node.argument);
    case 'ChainExpression':
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'TSSatisfiesExpression':
      return bareNode(node.expression);
    default:
      return node;
  }
}

/** Asking whether there are any words is no question about them. */
function isNothing(node) {
  const it = bareNode(node);
  if (it.type === 'Identifier') return it.name === 'undefined';
  return it.type === 'Literal' && (it.value === null || it.value === '');
}

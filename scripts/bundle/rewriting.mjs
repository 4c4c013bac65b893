// Turns constants of a module's text into functions that make their value when it is first read. Knows syntax and nothing
// of what the constants are, but for the name `z`: what calls it makes schemas.

import { parseAst } from 'rolldown/parseAst';

/** The function that gives the constant `name`. */
export const thunkOf = (name) => `${name}$later`;

export class Rewriting {
  #code;
  /** From where to where, by what. */
  #edits = [];
  /** Names of constants that are functions now. */
  #deferred = new Set();
  /** How often each name is declared; one that has two meanings stays as it is. */
  #declared = new Map();
  #removed = new Set();

  constructor(code, /** @type {'js' | 'ts'} */ lang = 'js') {
    this.#code = code;
    /** @type {any[]} */
    this.body = parseAst(code, { lang }).body;
    walk(this.body, (node) => {
      for (const name of declaredBy(node)) this.#declared.set(name, (this.#declared.get(name) ?? 0) + 1);
    });
  }

  textOf({ start, end }) {
    return this.#code.slice(start, end);
  }

  remove(node) {
    this.#removed.add(node);
    this.#edits.push([node.start, node.end, '']);
  }

  /** What of `known` the module imports from `specifier`, by the names that both sides use; those imports are gone. */
  deferImports(specifier, known) {
    const declaration = this.body.find(
      ({ type, source }) => type === 'ImportDeclaration' && source.value === specifier,
    );
    const isKnown = ({ imported, local }) =>
      known.has(imported.name) && imported.name === local.name && this.#declared.get(local.name) === 1;
    const rest = declaration.specifiers.filter((each) => !isKnown(each)).map((each) => this.textOf(each));
    this.remove(declaration);
    this.#edits.push([
      declaration.end,
      declaration.end,
      `import { ${rest.join(', ')} } from ${JSON.stringify(specifier)};`,
    ]);
    const names = declaration.specifiers.filter(isKnown).map(({ local }) => local.name);
    for (const name of names) this.#deferred.add(name);
    return names;
  }

  /** Defers every constant of `statements` that makes a schema, or that is made of one that is deferred. */
  deferConstants(statements) {
    const constants = statements
      .filter(
        ({ type, kind, declarations }) =>
          type === 'VariableDeclaration' && kind === 'const' && declarations.length === 1,
      )
      .filter(({ declarations: [{ id }] }) => id.type === 'Identifier' && this.#declared.get(id.name) === 1);
    const found = [];
    for (let before = -1; before < found.length; ) {
      before = found.length;
      for (const statement of constants) {
        const [{ id, init }] = statement.declarations;
        if (this.#deferred.has(id.name) || !this.#isMadeOfSchemas(init)) continue;
        this.#deferred.add(id.name);
        found.push(id.name);
        this.#edits.push([
          statement.start,
          init.start,
          `const ${thunkOf(id.name)} = /* @__PURE__ */ later$(() => (`,
        ]);
        this.#edits.push([init.end, statement.end, '));']);
      }
    }
    return found;
  }

  /** Defers the constants of a function, and the members of the object that it returns. */
  deferMembers({ body: { body } }) {
    this.deferConstants(body);
    const { argument } = body.at(-1);
    for (const { key, value, start, end } of argument.properties) {
      if (!this.#isMadeOfSchemas(value)) continue;
      const name = this.textOf(key);
      this.#edits.push([start, key.end, `get ${name}() { return this.${name}$made ??= (`]);
      if (value.start === key.start) this.#edits.push([end, end, `${thunkOf(name)}()`]);
      else this.#edits.push([key.end, value.start, '']);
      this.#edits.push([end, end, '); }']);
      if (value.start === key.start) this.#removed.add(value);
    }
  }

  /** The new text. Deferred constants that are exported are made at once, where anybody imports them. */
  finish() {
    const exported = [];
    walk(this.body, (node, parent, key) => {
      if (this.#removed.has(node)) return false;
      if (node.type === 'ExportSpecifier') {
        if (this.#deferred.has(node.local.name)) exported.push(node.local.name);
        return false;
      }
      if (node.type !== 'Identifier' || !this.#deferred.has(node.name) || !isReference(parent, key))
        return true;
      const isShort = parent.type === 'Property' && parent.shorthand;
      this.#edits.push([node.start, node.end, `${isShort ? `${node.name}: ` : ''}${thunkOf(node.name)}()`]);
      return true;
    });
    const made = exported.map((name) => `const ${name} = /* @__PURE__ */ ${thunkOf(name)}();\n`);
    return `${this.#edited()}\n${made.join('')}`;
  }

  /** Whether a schema is made, or a deferred constant read, as soon as the expression is evaluated. */
  #isMadeOfSchemas(expression) {
    let isMade = false;
    walk(expression, (node, parent, key) => {
      if (isFunction(node)) return false;
      const { type, callee } = node;
      if (type === 'CallExpression' && callee.type === 'MemberExpression' && callee.object.name === 'z')
        isMade = true;
      if (type === 'Identifier' && this.#deferred.has(node.name) && isReference(parent, key)) isMade = true;
      return !isMade;
    });
    return isMade;
  }

  #edited() {
    let text = '';
    let at = 0;
    const inOrder = this.#edits
      .map((edit, index) => [...edit, index])
      .sort((a, b) => a[0] - b[0] || a[3] - b[3]);
    for (const [start, end, by] of inOrder) {
      if (start < at) throw new Error(`two changes at once of: ${this.#code.slice(start, start + 80)}`);
      text += this.#code.slice(at, start) + by;
      at = end;
    }
    return text + this.#code.slice(at);
  }
}

const isFunction = ({ type }) => /Function(?:Expression|Declaration)$/.test(type);

/** Not a name of a member, nor what is declared. */
function isReference(parent, key) {
  if (parent === undefined) return true;
  if (parent.type === 'MemberExpression' && key === 'property') return parent.computed;
  if (/^(?:Property|MethodDefinition|PropertyDefinition)$/.test(parent.type) && key === 'key')
    return parent.computed;
  return !(parent.type === 'VariableDeclarator' && key === 'id');
}

/** Names that a node declares: constants, functions, classes, parameters, imports. */
function declaredBy({ type, id, params, local, param }) {
  const named = (pattern) => {
    const names = [];
    walk(pattern, (node, parent, key) => {
      if (node.type === 'Identifier' && isReference(parent, key)) names.push(node.name);
      return true;
    });
    return names;
  };
  const own = /^(?:VariableDeclarator|.*(?:Function|Class).*)$/.test(type) && id ? named(id) : [];
  const given = Array.isArray(params) ? params.flatMap(named) : [];
  const imported = /^Import.*Specifier$/.test(type) ? [local.name] : [];
  return [...own, ...given, ...imported, ...(type === 'CatchClause' && param ? named(param) : [])];
}

/** Calls `visit` for each node with its parent and the name of its place there; `false` leaves out what is below. */
function walk(node, visit, parent, key) {
  if (Array.isArray(node)) for (const each of node) walk(each, visit, parent, key);
  else if (typeof node?.type === 'string') {
    if (visit(node, parent, key) === false) return;
    for (const [name, below] of Object.entries(node))
      if (typeof below === 'object') walk(below, visit, node, name);
  }
}

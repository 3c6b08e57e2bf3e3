// SPDX-License-Identifier: Apache-2.0
// As much of JSON Schema as our descriptions use. A keyword that it does not know is an error, so
// that nothing goes unchecked. Stricter than the standard in one thing: a member that a schema with
// `properties` does not name is a fault unless `additionalProperties` says otherwise, so that what
// is answered is described.
const ignored = new Set(['$schema', '$id', 'title', 'description', 'default', 'examples', 'definitions', 'then', 'else']);
const formats = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
};

function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function isA(value, type) {
  return type === 'integer' ? Number.isInteger(value) : type === typeOf(value);
}

export class Schemas {
  constructor(root) { this.root = root; }

  // What is wrong with the value, each with its place; empty when it fits.
  faults(schema, value, at = '', root = this.root, strict = true) {
    const inner = schema.$id ? schema : root;  // a schema with an id of its own is its own root
    if (schema.$id) strict = false;            // and is published: it says itself what it allows
    const found = [];
    const fail = (text) => found.push(`${at || '/'}: ${text}`);
    const go = (sub, part = value, place = at) => this.faults(sub, part, place, inner, strict);
    const checks = {
      $ref: (ref) => found.push(...go(this.resolve(ref, inner))),
      type: (types) => { if (![types].flat().some((type) => isA(value, type))) fail(`${JSON.stringify(value)} is not of type ${types}`); },
      enum: (values) => { if (!values.includes(value)) fail(`${JSON.stringify(value)} is not one of ${values}`); },
      format: (name) => { if (typeof value === 'string' && !formats[name].test(value)) fail(`${value} is no ${name}`); },
      pattern: (text) => { if (typeof value === 'string' && !new RegExp(text, 'u').test(value)) fail(`${value} does not match ${text}`); },
      minimum: (least) => { if (typeof value === 'number' && value < least) fail(`${value} < ${least}`); },
      maximum: (most) => { if (typeof value === 'number' && value > most) fail(`${value} > ${most}`); },
      minLength: (least) => { if (typeof value === 'string' && [...value].length < least) fail('too short'); },
      maxLength: (most) => { if (typeof value === 'string' && [...value].length > most) fail('too long'); },
      minItems: (least) => { if (Array.isArray(value) && value.length < least) fail('too few'); },
      maxItems: (most) => { if (Array.isArray(value) && value.length > most) fail('too many'); },
      required: (names) => { for (const name of names) if (typeOf(value) === 'object' && !(name in value)) fail(`lacks ${name}`); },
      properties: (members) => {
        if (typeOf(value) !== 'object') return;
        for (const [name, part] of Object.entries(value)) {
          if (name in members) found.push(...go(members[name], part, `${at}/${name}`));
          else if (strict && schema.additionalProperties === undefined) fail(`${name} is not described`);
        }
      },
      additionalProperties: (rule) => {
        if (typeOf(value) !== 'object') return;
        for (const [name, part] of Object.entries(value)) {
          if (name in (schema.properties ?? {})) continue;
          if (rule === false) fail(`${name} is not allowed`);
          else if (rule !== true) found.push(...go(rule, part, `${at}/${name}`));
        }
      },
      items: (item) => { if (Array.isArray(value)) value.forEach((part, n) => found.push(...go(item, part, `${at}/${n}`))); },
      allOf: (all) => all.forEach((one) => found.push(...go(one))),
      anyOf: (any) => {
        const tried = any.map((one) => go(one));
        if (!tried.some((faults) => faults.length === 0)) fail(`fits none: ${tried.map((faults) => faults.join('; ')).join(' | ')}`);
      },
      oneOf: (choices) => {
        const tried = choices.map((one) => go(one));
        const fitting = tried.filter((faults) => faults.length === 0).length;
        if (fitting !== 1) fail(`fits ${fitting} instead of one: ${tried.map((faults) => faults.join('; ')).join(' | ')}`);
      },
      if: (condition) => {
        const branch = go(condition).length === 0 ? schema.then : schema.else;
        if (branch) found.push(...go(branch));
      },
    };
    for (const [keyword, rule] of Object.entries(schema)) {
      if (keyword in checks) checks[keyword](rule);
      else if (!ignored.has(keyword)) throw new Error(`${at}: no check for the keyword ${keyword}`);
    }
    return found;
  }

  resolve(ref, root) {
    if (!ref.startsWith('#/')) throw new Error(`cannot follow ${ref}`);
    return ref.slice(2).split('/').reduce((node, step) => {
      const next = node[step.replaceAll('~1', '/').replaceAll('~0', '~')];
      if (next === undefined) throw new Error(`${ref} leads nowhere`);
      return next;
    }, root);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Finds the places of a C++ source where one small wrong line can be planted, and plants it behind
// a switch: `a < b` becomes `(parley_mutant(17) ? (a <= b) : (a < b))`. Works on tokens, knows the
// style of this tree (braces always, spaces around binary operators) and no more of C++: a place
// that does not compile when planted is left out by whoever plants it. No line is added or removed,
// so that the compiler's messages name the lines of the original.
'use strict';

const operators = [
  '<<=', '>>=', '<=>', '...', '->*', '::', '->', '++', '--', '<<', '<=', '>=', '==', '!=', '&&',
  '||', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=',
];
const assignments = new Set(['=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=']);
const closing = { '(': ')', '[': ']', '{': '}' };
const keywords = new Set([
  'alignas', 'break', 'case', 'catch', 'class', 'const', 'constexpr', 'continue', 'default',
  'delete', 'do', 'else', 'enum', 'extern', 'for', 'friend', 'goto', 'if', 'inline', 'namespace',
  'new', 'operator', 'private', 'protected', 'public', 'return', 'sizeof', 'static',
  'static_assert', 'struct', 'switch', 'template', 'throw', 'try', 'typedef', 'typename', 'union',
  'using', 'virtual', 'while', 'co_return', 'co_await', 'co_yield', 'auto', 'goto',
]);
// Calls without a meaning that a test could see, and checks of our own mistakes.
const unseen = new Set(['CHECK', 'reserve', 'shrink_to_fit', 'assert', 'log']);

// The tokens of `text`: {kind, text, start, end, line}; kind is word, number, string or mark.
// Comments and preprocessor lines are none.
function tokenize(text) {
  const tokens = [];
  let at = 0;
  let line = 1;
  let fresh = true; // nothing but blanks on this line so far
  const skip = (end) => {
    for (; at < end; ++at) {
      if (text[at] === '\n') ++line;
    }
  };
  const take = (kind, end) => {
    tokens.push({ kind, text: text.slice(at, end), start: at, end, line });
    skip(end);
    fresh = false;
  };
  const ends = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text) === null ? at : pattern.lastIndex;
  };
  while (at < text.length) {
    const c = text[at];
    if (c === '\n') {
      fresh = true;
      skip(at + 1);
    } else if (/\s/.test(c)) {
      ++at;
    } else if (c === '#' && fresh) {
      skip(ends(/#(?:\\\n|[^\n])*/y));
    } else if (text.startsWith('//', at)) {
      skip(ends(/[^\n]*/y));
    } else if (text.startsWith('/*', at)) {
      skip(text.indexOf('*/', at) + 2);
    } else if (/[A-Za-z_]/.test(c)) {
      const raw = /(?:u8|[uUL])?R"([^(]*)\(/y;
      raw.lastIndex = at;
      const begin = raw.exec(text);
      if (begin !== null) {
        const end = `)${begin[1]}"`;
        take('string', text.indexOf(end, at) + end.length);
      } else {
        take('word', ends(/\w+/y));
      }
    } else if (/[0-9]/.test(c)) {
      take('number', ends(/(?:[eEpP][+-]|[\w.]|'\w)+/y));
    } else if (c === '"') {
      take('string', ends(/"(?:\\[^]|[^"\\])*"\w*/y));
    } else if (c === "'") {
      take('string', ends(/'(?:\\[^]|[^'\\])*'/y));
    } else {
      const mark = operators.find((o) => text.startsWith(o, at)) ?? c;
      take('mark', at + mark.length);
    }
  }
  return tokens;
}

// Gives each bracket its `partner`, and each token its `parent`: the index of the innermost open
// bracket around it, or -1.
function match(tokens) {
  const open = [];
  tokens.forEach((token, n) => {
    if (token.kind === 'mark' && [')', ']', '}'].includes(token.text)) {
      const from = open.pop();
      if (from === undefined || closing[tokens[from].text] !== token.text) {
        throw new Error(`line ${token.line}: an unmatched ${token.text}`);
      }
      token.partner = from;
      tokens[from].partner = n;
    }
    token.parent = open.length === 0 ? -1 : open[open.length - 1];
    if (token.kind === 'mark' && token.text in closing) {
      open.push(n);
    }
  });
}

// The index of the first token of the statement or declaration that leads up to `n`.
function head_of(tokens, n) {
  let at = n - 1;
  for (; at >= 0 && at > tokens[n].parent; --at) {
    if (tokens[at].partner !== undefined && tokens[at].partner < at) {
      if (tokens[at].text === '}' && tokens[at].role !== 'list') return at + 1;
      at = tokens[at].partner;
    } else if (tokens[at].text === ';') {
      return at + 1;
    }
  }
  return at + 1;
}

// What each `{` opens: a scope (namespace), a type, a body (function, lambda, block, and `fixed`
// when it may run in the compiler), or a list (an initialiser).
function give_roles(tokens) {
  tokens.forEach((token, n) => {
    if (token.text !== '{' || token.kind !== 'mark') return;
    const head = tokens.slice(head_of(tokens, n), n);
    const words = new Set(head.filter((t) => t.kind === 'word').map((t) => t.text));
    const last = tokens[n - 1] ?? { text: '' };
    const around = token.parent < 0 ? 'scope' : tokens[token.parent].role ?? 'body';
    const inside = token.parent >= 0 && inside_body(tokens, token.parent);
    const fixed = words.has('constexpr') || words.has('consteval');
    if (!inside && (words.has('namespace') || words.has('extern'))) {
      token.role = 'scope';
    } else if (words.has('enum')) {
      token.role = 'list';
    } else if (head.some((t) => ['class', 'struct', 'union'].includes(t.text)) &&
               !head.some((t) => t.text === ')' || t.text === '=')) {
      token.role = 'type';
    } else if (!inside) {
      const equals = head.findIndex((t) => t.text === '=' && t.parent === token.parent);
      token.role = around !== 'list' && equals < 0 && head.some((t) => t.text === '(') &&
                   (last.kind === 'word' || [')', '&', '>', '}', '*'].includes(last.text)) &&
                   !begins_member(head) ? 'body' : 'list';
    } else {
      const trailing = head.some((t, m) => t.text === '->' && head[m - 1]?.text === ')');
      token.role = [')', ']', ';', '{', '}', ':'].includes(last.text) ||
                   ['else', 'do', 'try', 'mutable', 'noexcept'].includes(last.text) || trailing
        ? 'body' : 'list';
    }
    token.fixed = fixed && token.role === 'body';
  });
}

// `: name_{` of a constructor's list of members: the head ends in a colon or comma and one name.
function begins_member(head) {
  const n = head.length;
  return n >= 2 && head[n - 1].kind === 'word' && [':', ','].includes(head[n - 2].text);
}

function inside_body(tokens, n) {
  for (let at = n; at >= 0; at = tokens[at].parent) {
    if (tokens[at].role === 'body') return true;
    if (tokens[at].role === 'type' || tokens[at].role === 'scope') return false;
  }
  return false;
}

function inside_fixed(tokens, n) {
  for (let at = n; at >= 0; at = tokens[at].parent) {
    if (tokens[at].fixed) return true;
  }
  return false;
}

// Statements in bodies: {first, last}, `last` is the index of the `;`.
function statements(tokens) {
  const found = [];
  tokens.forEach((token, n) => {
    if (token.text !== ';' || token.kind !== 'mark') return;
    if (token.parent < 0 || tokens[token.parent].role !== 'body') return;
    let first = head_of(tokens, n);
    // A label is no part of what follows it.
    for (let at = first; at < n; ++at) {
      if (tokens[at].text === ':' && ['case', 'default'].includes(tokens[first].text)) {
        first = at + 1;
      }
    }
    found.push({ first, last: n });
  });
  return found;
}

// Words that stand side by side, or a `&` or `*` after a word, make a declaration of what looks
// like an expression.
function is_chain(tokens, first, last) {
  for (let at = first; at < last; ++at) {
    const token = tokens[at];
    if (token.partner !== undefined && token.partner > at && token.text !== '{') {
      at = token.partner;
    } else if (token.kind === 'word') {
      if (keywords.has(token.text) || tokens[at + 1].kind === 'word') return false;
    } else if (!['.', '->', '::', '*'].includes(token.text) ||
               (token.text === '*' && at !== first)) {
      return false;
    }
  }
  return true;
}

// What an expression cannot reach beyond on its side of the token.
const bounds = new Set([',', ';', '?', ':', 'return', 'case', 'else', 'co_return', ...assignments]);

// The tokens from..to (both in) of the largest expression around `n` that nothing but a bracket, a
// comma, an assignment or the like ends.
function expression_around(tokens, n) {
  let from = n;
  while (from - 1 > tokens[n].parent && !bounds.has(tokens[from - 1].text)) {
    --from;
    if (tokens[from].partner !== undefined && tokens[from].partner < from) {
      if (tokens[from].text === '}' && tokens[from].role === undefined &&
          tokens[tokens[from].partner].role === 'body') return null;
      from = tokens[from].partner;
    }
  }
  let to = n;
  if (tokens[to].partner !== undefined && tokens[to].partner > to) to = tokens[to].partner;
  while (to + 1 < tokens.length && tokens[to + 1].partner === undefined ||
         tokens[to + 1]?.partner > to + 1) {
    if (bounds.has(tokens[to + 1].text)) break;
    ++to;
    if (tokens[to].partner !== undefined) to = tokens[to].partner;
  }
  return { from, to };
}

// A function of `random` picks one of a list.
function pick(list, random) {
  return list[Math.floor(random() * list.length)];
}

// The part of a source, as text, with blanks and comments made one blank: for people to read.
function shown(text) {
  return text.replace(/\/\/[^\n]*/g, '').replace(/\s+/g, ' ').trim();
}

// All places of one source. `known` has `enumerators` and `members`, as `survey` gives them.
// A place: {file, line, to_line, start, end, what, before, after, text}: `text` is what stands
// between start and end with `@` for the number of the mutant.
function places(file, text, known) {
  const tokens = tokenize(text);
  match(tokens);
  give_roles(tokens);
  const found = [];
  const spaced = (n) =>
    /\s/.test(text[tokens[n].start - 1]) && /\s/.test(text[tokens[n].end] ?? ' ');
  const add = (what, from, to, planted, before, after) => {
    if (text[tokens[from].start] === undefined) return;
    found.push({
      file, what, line: tokens[from].line,
      to_line: tokens[to].line + tokens[to].text.split('\n').length - 1,
      start: tokens[from].start, end: tokens[to].end, planted,
      within: function_around(tokens, from), before: shown(before), after: shown(after),
    });
  };
  const slice = (from, to) => text.slice(tokens[from].start, tokens[to].end);
  // Replaces token `n` (or n..m) by `other` in the expression around it.
  const replace = (what, n, m, other) => {
    const around = expression_around(tokens, n);
    if (around === null || around.to < m) return;
    const { from, to } = around;
    if (tokens[from].kind === 'mark' && !['(', '!', '*', '-', '[', '&', '++', '--', '~', '::']
      .includes(tokens[from].text)) return;
    const whole = slice(from, to);
    const wrong = text.slice(tokens[from].start, tokens[n].start) + other +
                  text.slice(tokens[m].end, tokens[to].end);
    add(what, from, to, `(parley_mutant(@) ? (${flat(wrong)}) : (${whole}))`, whole, wrong);
  };

  const usable = tokens.map((_, n) => inside_body(tokens, tokens[n].parent) &&
                                      !inside_fixed(tokens, tokens[n].parent));
  const skipped = new Set();
  for (const { first, last } of statements(tokens)) {
    const words = tokens.slice(first, last).filter((t) => t.kind === 'word').map((t) => t.text);
    const leading = words[0];
    if (words.some((w) => ['constexpr', 'static_assert', 'static', 'using'].includes(w)) ||
        unseen.has(leading) || unseen.has(words.findLast((w) => unseen.has(w)) ?? '')) {
      for (let n = first; n <= last; ++n) skipped.add(n);
      continue;
    }
    if (!usable[first]) continue;
    const whole = slice(first, last);
    const drop = (what, condition = '') => add(what, first, last,
      `if (!parley_mutant(@)) { ${whole} }`, condition + whole, '');
    const turn = (what, wrong) => add(what, first, last,
      `if (parley_mutant(@)) { ${flat(wrong)} } else { ${whole} }`, whole, wrong);
    if (leading === 'return' && tokens[first].kind === 'word') {
      if (!ends_function(tokens, last)) drop('dropped return', condition_of(tokens, last, text));
    } else if (['break', 'continue'].includes(leading) && last === first + 1) {
      if (!is_switch(tokens, tokens[last].parent)) {
        drop(`dropped ${leading}`, condition_of(tokens, last, text));
      }
    } else if (['++', '--'].includes(tokens[first].text)) {
      const other = tokens[first].text === '++' ? '--' : '++';
      drop('dropped step');
      turn('turned step', other + slice(first + 1, last));
    } else {
      let equals = first;
      while (equals < last && !(assignments.has(tokens[equals].text) &&
                                tokens[equals].parent === tokens[last].parent)) ++equals;
      if (equals < last) {
        if (is_chain(tokens, first, equals)) {
          drop('dropped assignment');
          const turned = { '+=': '-=', '-=': '+=', '|=': '&=', '&=': '|=' }[tokens[equals].text];
          if (turned !== undefined) {
            const wrong = slice(first, equals - 1) + ' ' + turned + ' ' + slice(equals + 1, last);
            turn('turned step', wrong);
          }
        }
      } else if (tokens[last - 1].text === ')' && is_chain(tokens, first, last)) {
        drop('dropped call');
      }
    }
  }

  tokens.forEach((token, n) => {
    if (!usable[n] || skipped.has(n)) return;
    if (inside_unseen(tokens, n)) return;
    const next = tokens[n + 1];
    const previous = tokens[n - 1];
    if (token.kind === 'mark') {
      const turned = { '<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='],
        '==': ['!='], '!=': ['=='] }[token.text];
      if (turned !== undefined && spaced(n)) {
        turned.forEach((other) => replace('turned comparison', n, n, other));
      }
      if (['&&', '||'].includes(token.text) && spaced(n)) {
        replace('and for or', n, n, token.text === '&&' ? '||' : '&&');
      }
      if (['+', '-'].includes(token.text) && spaced(n) && previous.kind !== 'string' &&
          next.kind !== 'string') {
        const around = expression_around(tokens, n);
        if (around !== null &&
            !tokens.slice(around.from, around.to).some((t) => t.kind === 'string')) {
          replace('turned sum', n, n, token.text === '+' ? '-' : '+');
        }
      }
      if (token.text === '?' && spaced(n)) {
        const around = expression_around(tokens, n - 1);
        if (around !== null && around.to === n - 1) {
          const whole = slice(around.from, around.to);
          add('swapped branch', around.from, around.to,
            `(parley_mutant(@) != static_cast<bool>(${whole}))`, `${whole} ?`, `!(${whole}) ?`);
        }
      }
      if (token.text === '(' && ['if', 'while'].includes(previous?.text)) {
        let from = n + 1;
        let simple = true;
        for (let at = from; at < token.partner; ++at) {
          if (tokens[at].parent !== n) continue;
          if (tokens[at].text === ';') from = at + 1;
        }
        for (let at = from; at < token.partner; ++at) {
          if (tokens[at].parent === n && tokens[at].text === '=') simple = false;
        }
        if (simple) {
          const whole = slice(from, token.partner - 1);
          if (whole !== 'true') {
            add('negated condition', from, token.partner - 1,
              `(parley_mutant(@) != static_cast<bool>(${whole}))`, whole, `!(${whole})`);
          }
        }
      }
    } else if (token.kind === 'number') {
      const value = Number(token.text.replaceAll("'", '').replace(/[uUlLzZ]+$/, ''));
      const is_argument = previous.text === '<' && !spaced(n - 1);
      if (Number.isInteger(value) && !is_argument && !is_label(tokens, n)) {
        replace('off by one', n, n, `${value + 1}`);
        if (value > 0) replace('off by one', n, n, `${value - 1}`);
      }
    } else if (token.text === 'true' || token.text === 'false') {
      replace('wrong constant', n, n, token.text === 'true' ? 'false' : 'true');
    } else if (token.kind === 'word' && previous?.text === '::' && next?.text !== '::' &&
               next?.text !== '(') {
      const others = known.enumerators.get(`${tokens[n - 2]?.text}::${token.text}`);
      if (others !== undefined && !is_label(tokens, n)) {
        known.picks(others).forEach((other) => replace('wrong constant', n, n, other));
      }
    } else if (token.kind === 'word' && ['.', '->'].includes(previous?.text) &&
               next?.text !== '(' && !begins_designator(tokens, n - 1)) {
      const others = known.members.get(token.text);
      if (others !== undefined) {
        known.picks(others).forEach((other) => replace('wrong member', n, n, other));
      }
    }
  });
  return found;
}

// `if (condition) ` of the block around the statement that ends at `last`, where it has one.
function condition_of(tokens, last, text) {
  const open = tokens[last].parent;
  const before = tokens[open - 1];
  if (before?.text !== ')' || tokens[before.partner - 1]?.text !== 'if') return '';
  return `${text.slice(tokens[before.partner - 1].start, before.end)} `;
}

// The name of the function that token `n` is in.
function function_around(tokens, n) {
  let open = -1;
  for (let at = tokens[n].parent; at >= 0; at = tokens[at].parent) {
    if (tokens[at].role === 'body') open = at;
    if (tokens[at].role === 'type' || tokens[at].role === 'scope') break;
  }
  const head = tokens.slice(head_of(tokens, open), open);
  const end = head.findIndex((t, m) => t.text === '(' && head[m - 1]?.kind === 'word' ||
                                       head[m - 1]?.text === 'operator');
  let from = end;
  while (from > 0 && (head[from - 1].kind === 'word' || head[from - 1].text === '::') &&
         (head[from - 1].text === '::' || from === end || head[from].text === '::')) --from;
  return head.slice(from, end).map((t) => t.text).join('');
}

// A planted copy takes no line of its own.
function flat(text) {
  return text.replace(/\/\/[^\n]*/g, '').replace(/\s*\n\s*/g, ' ');
}

// Whether the statement that ends at `last` is the last of a function or lambda.
function ends_function(tokens, last) {
  const open = tokens[last].parent;
  if (tokens[open].partner !== last + 1) {
    return false;
  }
  const before = tokens[open - 1];
  const head = head_of(tokens, open);
  const leading = tokens[head]?.text;
  if (['if', 'else', 'for', 'while', 'switch', 'do', 'case', 'default'].includes(leading) ||
      ['else', 'do', ':', ';', '{', '}'].includes(before?.text)) {
    return before?.text === ')' && is_lambda(tokens, open);
  }
  return true;
}

function is_lambda(tokens, open) {
  const before = tokens[open - 1];
  return before.text === ')' && tokens[before.partner - 1]?.text === ']';
}

function is_switch(tokens, open) {
  const before = tokens[open - 1];
  return before?.text === ')' && tokens[before.partner - 1]?.text === 'switch';
}

function is_label(tokens, n) {
  for (let at = n; at >= 0 && ![';', '{', '}'].includes(tokens[at].text); --at) {
    if (tokens[at].text === 'case') return true;
  }
  return false;
}

// `.name = value` of a list.
function begins_designator(tokens, dot) {
  return tokens[dot].text === '.' && ['{', ','].includes(tokens[dot - 1]?.text);
}

function inside_unseen(tokens, n) {
  for (let at = tokens[n].parent; at >= 0; at = tokens[at].parent) {
    if (tokens[at].text === '(' && unseen.has(tokens[at - 1]?.text)) return true;
  }
  return false;
}

// What may stand for what: the enumerators of each enum, and members that one type declares with
// one type. `texts` are all sources of the tree; `random` draws the few that are tried.
function survey(texts, random) {
  const enumerators = new Map();
  const members = new Map();
  for (const text of texts) {
    const tokens = tokenize(text);
    try {
      match(tokens);
    } catch {
      continue; // no source of ours; nothing is planted there either
    }
    give_roles(tokens);
    tokens.forEach((token, n) => {
      if (token.text !== '{' || token.kind !== 'mark') return;
      const head = tokens.slice(head_of(tokens, n), n).map((t) => t.text);
      if (head[0] === 'enum') {
        const name = head[head[1] === 'class' ? 2 : 1];
        const names = [];
        for (let at = n + 1; at < token.partner; ++at) {
          if (tokens[at].parent === n && tokens[at].kind === 'word' &&
              ['{', ','].includes(tokens[at - 1].text)) names.push(tokens[at].text);
        }
        names.forEach((own) => enumerators.set(`${name}::${own}`, names.filter((o) => o !== own)));
      } else if (token.role === 'type') {
        const by_type = new Map();
        for (let at = n + 1; at < token.partner; ++at) {
          if (tokens[at].text !== ';' || tokens[at].parent !== n) continue;
          const first = head_of(tokens, at);
          let name = at - 1;
          for (let m = first; m < at; ++m) {
            if ((tokens[m].text === '=' || tokens[m].text === '{') && tokens[m].parent === n) {
              name = m - 1;
              break;
            }
          }
          if (tokens[name].kind !== 'word' || name === first) continue;
          const type = text.slice(tokens[first].start, tokens[name].start).trim();
          by_type.set(type, [...(by_type.get(type) ?? []), tokens[name].text]);
        }
        for (const names of by_type.values()) {
          names.forEach((own) => {
            const others = names.filter((o) => o !== own);
            if (others.length > 0) {
              members.set(own, [...new Set([...(members.get(own) ?? []), ...others])]);
            }
          });
        }
      }
    });
  }
  const picks = (others) => (others.length <= 1 ? others : [pick(others, random)]);
  return { enumerators, members, picks };
}

// `text` with the chosen places planted; they do not overlap.
function plant(text, chosen) {
  let out = text;
  for (const place of [...chosen].sort((a, b) => b.start - a.start)) {
    const planted = place.planted.replaceAll('@', String(place.number));
    out = out.slice(0, place.start) + planted + out.slice(place.end);
  }
  return out;
}

module.exports = { tokenize, places, survey, plant, pick };

// SPDX-License-Identifier: Apache-2.0
// What `parley mcp` carries between standard input and /mcp, held against a server that is a script:
// headers, sessions, streams, cancelling, and every way in which a broker can be away.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { binary } from './harness.mjs';
import { initialize, legacy, modern, note, result, Scripted, Stdio } from './mcp_stdio.mjs';

// With a server and a client, which both end when the test does.
function over(script, run, env = {}) {
  return async () => {
    const server = await Scripted.start(script);
    const client = new Stdio(['--url', server.url], { PARLEY_TOKEN: 'prl_test', ...env });
    try {
      await run(client, server);
      assert.deepEqual(await client.end(), { code: 0, signal: null }, client.stderr);
      assert.deepEqual(client.lines, [], 'nothing but what the test expects is on standard output');
    } finally {
      client.process.kill('SIGKILL');
      await server.stop();
    }
  };
}

// A server of the older era; `answer` may say something else than an empty result.
function session(more = () => false) {
  let number = 0;
  const known = new Set();
  const script = (asked, answer) => {
    if (asked.body?.method === 'initialize') {
      const id = `session-${++number}`;
      known.add(id);
      return answer.json(result(asked.body.id, { protocolVersion: '2025-06-18', capabilities: {} }), { 'Mcp-Session-Id': id });
    }
    if (!known.has(asked.headers['mcp-session-id'])) return answer.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no session' } }, {}, 404);
    if (asked.verb === 'DELETE') return answer.status(200);
    if (more(asked, answer, known) !== false) return undefined;
    if (asked.verb === 'GET') return answer.status(405);
    if (asked.body.id === undefined || asked.body.method === undefined) return answer.status(202);
    return answer.json(result(asked.body.id));
  };
  return script;
}

describe('parley mcp, 2026-07-28', () => {
  it('says in headers what the body says', over((asked, answer) => answer.json(result(asked.body.id, { ok: 1 })),
    async (client, server) => {
      assert.deepEqual(await client.ask(modern('a', 'tools/call', { name: 'grüße', arguments: {} })), result('a', { ok: 1 }));
      assert.deepEqual(await client.ask(modern(2, 'resources/read', { uri: 'parley://inbox' })), result(2, { ok: 1 }));
      assert.deepEqual(await client.ask(modern(3, 'server/discover')), result(3, { ok: 1 }));
      const [call, read, discover] = server.asked;
      assert.equal(call.verb + call.path, 'POST/mcp');
      assert.equal(call.headers.authorization, 'Bearer prl_test');
      assert.equal(call.headers['content-type'], 'application/json');
      assert.match(call.headers.accept, /application\/json.*text\/event-stream/);
      assert.equal(call.headers['mcp-protocol-version'], '2026-07-28');
      assert.equal(call.headers['mcp-method'], 'tools/call');
      assert.equal(call.headers['mcp-name'], `=?base64?${Buffer.from('grüße').toString('base64')}?=`);
      assert.equal(read.headers['mcp-name'], 'parley://inbox');
      assert.equal(discover.headers['mcp-name'], undefined);
      assert.equal(discover.headers['mcp-session-id'], undefined);
    }));

  it('has many requests under way and gives each answer as it comes', over((() => {
    const streams = new Map();
    return (asked, answer) => {
      streams.set(asked.body.id, answer.events());
      if (streams.size < 3) return;
      streams.get(2).say(note('notifications/progress', { progressToken: 2, progress: 1 }));
      streams.get(2).raw(': keep alive\n\ndata: {"jsonrpc":"2.0","id":2,\r\ndata: "result":{"text":"two\\nlines"}}\n\n');
      streams.get(1).say(result(1));
      streams.get(3).say(result(3));
      for (const stream of streams.values()) stream.end();
    };
  })(), async (client) => {
    client.send(modern(1, 'tools/call'), modern(2, 'tools/call'), modern(3, 'tools/call'));
    const got = [await client.next(), await client.next(), await client.next(), await client.next()];
    assert.deepEqual(got.map(({ id, method }) => id ?? method).sort(), [1, 2, 3, 'notifications/progress']);
    assert.equal(got.find(({ id }) => id === 2).result.text, 'two\nlines');
    assert.ok(got.findIndex(({ method }) => method) < got.findIndex(({ id }) => id === 2));
  }));

  it('cancels by hanging up, and tells nobody of what is over', over((asked, answer) => {
    if (asked.body.id === 'long') answer.events(); else answer.json(result(asked.body.id));
  }, async (client, server) => {
    client.send(modern('long', 'subscriptions/listen'));
    const { closed } = await server.saw(({ body }) => body.id === 'long');
    client.send(note('notifications/cancelled', { requestId: 'long' }));
    await closed;
    client.send(note('notifications/cancelled', { requestId: 'unknown' }));
    assert.deepEqual(await client.ask(modern(2, 'tools/list')), result(2));
    assert.equal(server.asked.length, 2);
  }));

  it('passes errors of the protocol on, also those that do not say whose they are', over((asked, answer) => {
    const error = { code: -32020, message: 'headers' };
    if (asked.body.id === 1) answer.json({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'none' } }, {}, 404);
    else answer.json({ jsonrpc: '2.0', id: null, error }, {}, 400);
  }, async (client) => {
    assert.equal((await client.ask(modern(1, 'ping'))).error.code, -32601);
    assert.deepEqual(await client.ask(modern(2, 'x')), { jsonrpc: '2.0', id: 2, error: { code: -32020, message: 'headers' } });
  }));
});

describe('parley mcp, 2025-11-25 and older', () => {
  it('keeps the session and its version, and ends it', over(session(), async (client, server) => {
    // All at once: what follows waits for the session.
    client.send(initialize(0), note('notifications/initialized'), legacy('x', 'tools/list'));
    assert.equal((await client.next()).result.protocolVersion, '2025-06-18');
    assert.deepEqual(await client.next(), result('x'));
    await server.saw(({ verb }) => verb === 'GET');
    await client.end();
    const [begin, initialized] = server.asked;
    assert.equal(begin.headers['mcp-session-id'], undefined);
    assert.equal(initialized.body.method, 'notifications/initialized');
    for (const asked of server.asked.slice(1)) {
      assert.equal(asked.headers['mcp-session-id'], 'session-1');
      assert.equal(asked.headers['mcp-protocol-version'], '2025-06-18');
      assert.equal(asked.headers['mcp-method'], undefined);
    }
    assert.equal(server.asked.at(-1).verb, 'DELETE');
  }));

  it('carries requests of the server and the answers of the client', over((() => {
    let calling;
    return session((asked, answer) => {
      if (asked.verb === 'GET') {
        const stream = answer.events();
        stream.say(note('notifications/resources/list_changed'));
        return true;
      }
      if (asked.body.method === 'tools/call') {
        calling = answer.events();
        calling.say(legacy('q1', 'elicitation/create', { message: 'name?' }));
        return true;
      }
      if (asked.body.id === 'q1') {
        answer.status(202);
        calling.say(result(1, { said: asked.body.result.name }));
        calling.end();
        return true;
      }
      return false;
    });
  })(), async (client) => {
    client.send(initialize(0), note('notifications/initialized'));
    await client.next();
    assert.equal((await client.next()).method, 'notifications/resources/list_changed');
    const question = await client.ask(legacy(1, 'tools/call', { name: 't' }));
    assert.equal(question.method, 'elicitation/create');
    assert.deepEqual(await client.ask(result('q1', { name: 'Ada' })), result(1, { said: 'Ada' }));
  }));

  it('tells the server of a cancelled request, and relays what it says then', over((() => {
    let long;
    return session((asked, answer) => {
      if (asked.body?.id === 1) long = answer.events();
      else if (asked.body?.method === 'notifications/cancelled') { answer.status(202); long.end(); }
      else return false;
      return true;
    });
  })(), async (client, server) => {
    client.send(initialize(0), note('notifications/initialized'));
    await client.next();
    client.send(legacy(1, 'tools/call'));
    await server.saw(({ body }) => body?.id === 1);
    client.send(note('notifications/cancelled', { requestId: 1 }));
    await server.saw(({ body }) => body?.method === 'notifications/cancelled');
    assert.match((await client.next()).error.message, /without an answer/);
  }));

  it('goes on behind a stream that broke off in the middle', over(session((asked, answer) => {
    if (asked.body?.id === 1) {
      const stream = answer.events();
      stream.raw('id: e1\ndata:\n\n');
      stream.say(note('notifications/progress', { progressToken: 1, progress: 1 }), 'e2');
      stream.end();
    } else if (asked.headers['last-event-id'] === 'e2') {
      const stream = answer.events();
      stream.say(result(1, { whole: true }), 'e3');
      stream.end();
    } else {
      return false;
    }
    return true;
  }), async (client) => {
    client.send(initialize(0), note('notifications/initialized'), legacy(1, 'tools/call'));
    await client.next();
    assert.equal((await client.next()).method, 'notifications/progress');
    assert.deepEqual(await client.next(), result(1, { whole: true }));
  }));

  it('begins the session again when the broker forgot it, and asks again for what stands', over((() => {
    let forgot = false;
    const said = [];
    const script = session((asked, answer, known) => {
      if (asked.body?.method === 'forget') {
        known.clear();
        forgot = true;
      }
      if (forgot && asked.body) said.push(asked.body.method);
      if (asked.body?.method !== 'said') return false;
      answer.json(result(asked.body.id, { said }));
      return true;
    });
    return script;
  })(), async (client, server) => {
    client.send(initialize(0), note('notifications/initialized'));
    await client.next();
    await client.ask(legacy(1, 'resources/subscribe', { uri: 'parley://inbox' }));
    await client.ask(legacy(2, 'resources/subscribe', { uri: 'parley://agents' }));
    await client.ask(legacy(3, 'resources/unsubscribe', { uri: 'parley://agents' }));
    await client.ask(legacy(4, 'logging/setLevel', { level: 'info' }));
    await client.ask(legacy(5, 'forget'));
    client.send(legacy(6, 'x'), legacy(7, 'x'), legacy(8, 'x'));  // all find that it is gone
    // Nobody watched what it had subscribed to.
    assert.deepEqual(await client.next(), note('notifications/resources/updated', { uri: 'parley://inbox' }));
    const answers = [await client.next(), await client.next(), await client.next()];
    assert.deepEqual(answers.map(({ id }) => id).sort(), [6, 7, 8]);
    assert.ok(answers.every(({ error }) => !error));
    const { result: { said } } = await client.ask(legacy(9, 'said'));
    assert.deepEqual(said, ['forget', 'notifications/initialized', 'logging/setLevel', 'resources/subscribe', 'x', 'x', 'x', 'said']);
    assert.equal(server.asked.filter(({ body }) => body?.method === 'initialize').length, 2);
    assert.equal(server.asked.at(-1).headers['mcp-session-id'], 'session-2');
  }));

  it('asks again for what stands whenever its stream broke', over((() => {
    let streams = 0;
    return session((asked, answer) => {
      if (asked.verb !== 'GET') return false;
      if (++streams === 2) {
        answer.status(429);  // for now
        return true;
      }
      const stream = answer.events();
      if (streams === 1) stream.say(note('notifications/first'), 's1-1');
      return true;
    });
  })(), async (client, server) => {
    const times = () => server.asked.filter(({ body }) => body?.method === 'resources/subscribe').length;
    client.send(initialize(0), note('notifications/initialized'));
    await client.next();
    assert.equal((await client.next()).method, 'notifications/first');
    await client.ask(legacy(1, 'resources/subscribe', { uri: 'parley://inbox' }));
    assert.equal(times(), 1);
    const { port } = server;
    await server.stop();
    await server.listen(port);
    await server.saw(() => times() === 2);
    assert.deepEqual(server.asked.filter(({ verb }) => verb === 'GET').map(({ headers }) => headers['last-event-id']),
      [undefined, 's1-1', 's1-1']);
    assert.deepEqual(await client.ask(legacy(2, 'x')), result(2));
    assert.equal(server.asked.filter(({ body }) => body?.method === 'initialize').length, 1);
  }));

  it('sends an array as one and gives its answers', over(session((asked, answer) => {
    if (!Array.isArray(asked.body)) return false;
    answer.json(asked.body.map(({ id }) => result(id)));
    return true;
  }), async (client) => {
    client.send(initialize(0), note('notifications/initialized'), [legacy(1, 'a'), legacy(2, 'b')]);
    await client.next();
    assert.deepEqual(await client.next(), [result(1), result(2)]);
  }));
});

describe('parley mcp without a broker', () => {
  const asks = async (flags, env, wanted) => {
    const client = new Stdio(flags, env);
    for (const id of [1, 'two']) {
      const { id: of, error } = await client.ask(legacy(id, 'initialize'));
      assert.equal(of, id);
      assert.equal(error.code, -32603);
      assert.match(error.message, wanted);
    }
    assert.deepEqual(await client.end(), { code: 0, signal: null });
    assert.match(client.stderr, /^parley: .*\n$/, 'one line, once');
    assert.doesNotMatch(client.stderr, /prl_/);
  };

  it('says that none runs', () => asks(['--url', 'http://127.0.0.1:1'], { PARLEY_TOKEN: 'prl_x' }, /no broker answers.*parley serve/));
  // Also where another broker listens at the usual address: that one is never meant.
  it('says that none runs here', () => asks(['--data', '/nonexistent'], { PARLEY_TOKEN: 'prl_x' }, /no broker is running on \/nonexistent/));
  it('says that the token is empty', () => asks(['--url', 'http://127.0.0.1:1'], { PARLEY_TOKEN: '' }, /PARLEY_TOKEN is set but empty/));
  it('says that it has no token', () => asks(['--url', 'http://127.0.0.1:1'], {}, /--agent NAME.*PARLEY_TOKEN/));
  it('says that an agent has no token file', () => asks(['--agent', 'bo'], { HOME: '/nonexistent', XDG_CONFIG_HOME: '' }, /no token of bo/));

  it('says that the token is wrong', async () => {
    const server = await Scripted.start((asked, answer) => answer.status(401,
      JSON.stringify({ code: 'UNAUTHORIZED', detail: 'the token is not known' }), { 'Content-Type': 'application/problem+json' }));
    await asks(['--url', server.url], { PARLEY_TOKEN: 'prl_wrong' }, /the token is not known/);
    await server.stop();
  });

  it('works again when the broker is back, and fails what was under way', over((() => session((asked, answer) => {
    if (asked.body?.method !== 'hang') return false;
    answer.events();
    return true;
  }))(), async (client, server) => {
    client.send(initialize(0), note('notifications/initialized'));
    await client.next();
    client.send(legacy(1, 'hang'));
    await server.saw(({ body }) => body?.method === 'hang');
    await server.stop();
    assert.match((await client.next()).error.message, /was lost/);
    assert.match((await client.ask(legacy(2, 'x'))).error.message, /no broker answers/);
    await server.listen(server.port);
    assert.deepEqual(await client.ask(legacy(3, 'x')), result(3));
  }));
});

describe('parley mcp, its lines', () => {
  const echo = (asked, answer) => answer.json(result(asked.body.id));

  it('answers what is no message, and goes on', over(echo, async (client) => {
    for (const line of ['{', '[]', '7', '"x"', '{"jsonrpc":"2.0"}', 'x'.repeat(100)]) {
      assert.deepEqual([(await client.ask(line)).error.code], [-32700], line);
    }
    client.send('', '  \r');
    assert.deepEqual(await client.ask(modern(1, 'x')), result(1));
  }));

  it('refuses a line that is too long, and goes on with the next', over(echo, async (client) => {
    client.send(`{"a":"${'x'.repeat(9 << 20)}"}`);
    assert.equal((await client.next()).error.code, -32600);
    assert.deepEqual(await client.ask(modern(1, 'x')), result(1));
  }));

  it('carries a message of a megabyte both ways', over((asked, answer) => answer.json(result(1, { text: asked.body.params.text })),
    async (client) => {
      const text = 'é'.repeat(1 << 19);
      assert.ok((await client.ask(modern(1, 'x', { text }))).result.text === text);
    }));

  it('lets nothing but JSON-RPC through', over((asked, answer) => {
    const stream = answer.events();
    stream.raw('data: not json\n\nevent: endpoint\ndata: /mcp\n\ndata: {"hello":1}\n\n');
    stream.say(result(1));
    stream.end();
  }, async (client) => {
    assert.deepEqual(await client.ask(modern(1, 'x')), result(1));
  }));

  it('answers what was asked before standard input ended, also without a last line end', over(echo, async (client) => {
    client.process.stdin.end(JSON.stringify(modern(1, 'x')));
    assert.deepEqual(await client.next(), result(1));
  }));

  it('exits soon after the end, whatever is under way', over((asked, answer) => { answer.events(); }, async (client, server) => {
    client.send(modern(1, 'subscriptions/listen'), initialize(2));
    await server.saw(({ body }) => body.method === 'initialize');
    const from = Date.now();
    assert.deepEqual(await client.end(), { code: 0, signal: null });
    assert.ok(Date.now() - from < 10_000);
  }));

  it('ends when nobody reads its answers', over(echo, async (client) => {
    client.process.stdout.destroy();
    client.send(modern(1, 'x'));
    assert.equal((await client.exited).code, 0);
    client.lines = [];
  }));

  // Beside `--version`, so that a busy machine does not fail it.
  it('is up in less than 50 ms', async () => {
    const median = async (run) => {
      const times = [];
      for (let i = 0; i < 11; ++i) {
        const from = process.hrtime.bigint();
        await run();
        times.push(Number(process.hrtime.bigint() - from) / 1e6);
      }
      return times.sort((a, b) => a - b)[5];
    };
    const server = await Scripted.start(echo);
    const idle = await median(() => new Promise((done) => spawn(binary, ['--version'], { stdio: 'ignore' }).on('exit', done)));
    const first = await median(async () => {
      const client = new Stdio(['--url', server.url], { PARLEY_TOKEN: 'prl_test' });
      await client.ask(modern(1, 'server/discover'));
      client.process.kill();
    });
    await server.stop();
    assert.ok(first < Math.max(50, 4 * idle), `${first} ms to the first answer, ${idle} for --version`);
  });
});

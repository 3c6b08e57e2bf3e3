// SPDX-License-Identifier: Apache-2.0
// Who may call /mcp, and what of a session outlives what.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, fixtures, until } from '../e2e/harness.mjs';
import { initialize, legacy, note, Stdio } from '../e2e/mcp_stdio.mjs';

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const rpc = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) });
const hello = (version = '2025-11-25') => rpc('initialize',
  { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } });

async function begin(caller) {
  const { status, headers } = await caller.call('POST', '/mcp', { body: hello(), headers: json });
  assert.equal(status, 200);
  return { ...json, 'Mcp-Session-Id': headers.get('mcp-session-id') };
}

async function* events(body) {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).split('\n\n');
    text = parts.pop();
    for (const part of parts) {
      const event = Object.fromEntries(part.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? ['', '']));
      if ('data' in event) yield event;
    }
  }
}

describe('/mcp', () => {
  let broker, ana, bo;
  // The events of a stream of ana's that stays open.
  const open = async (headers) => {
    const response = await fetch(`${broker.url}/mcp`,
      { headers: { ...headers, Accept: 'text/event-stream', Authorization: `Bearer ${ana.token}` } });
    assert.equal(response.status, 200);
    return events(response.body);
  };
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('takes a token of the broker and nothing else', async () => {
    for (const token of [null, 'prl_wrong']) {
      const { status, headers } = await broker.call('POST', '/mcp', { token, body: hello(), headers: json });
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate'), /^Bearer/);
    }
  });

  it('answers 403 to the page of another site', async () => {
    const { status } = await ana.call('POST', '/mcp', { body: hello(), headers: { ...json, Origin: 'http://evil.example' } });
    assert.equal(status, 403);
  });

  it('has nothing at /.well-known for those who look how to log in', async () => {
    const { status } = await broker.call('GET', '/.well-known/oauth-protected-resource', { token: null });
    assert.equal(status, 404);
  });

  it('offers no fixtures', async () => {
    const session = await begin(ana);
    const { json: answer } = await ana.call('POST', '/mcp', { body: rpc('tools/list'), headers: session });
    assert.deepEqual(answer.result.tools.filter(({ name }) => /^test_|_test|greet/.test(name)), []);
  });

  it('gives a session to nobody but its principal', async () => {
    const session = await begin(ana);
    assert.equal((await ana.call('POST', '/mcp', { body: rpc('ping'), headers: session })).status, 200);
    assert.equal((await bo.call('POST', '/mcp', { body: rpc('ping'), headers: session })).status, 404);
    assert.equal((await broker.call('POST', '/mcp', { token: null, body: rpc('ping'), headers: session })).status, 401);
  });

  it('knows a session after a crash and a start anew, and not one that was ended', async () => {
    const kept = await begin(ana);
    const ended = await begin(ana);
    assert.equal((await ana.call('DELETE', '/mcp', { headers: ended })).status, 204);
    assert.equal((await ana.call('POST', '/mcp', { body: rpc('ping'), headers: ended })).status, 404);
    await broker.kill();
    await broker.run();
    assert.equal((await ana.call('POST', '/mcp', { body: rpc('ping'), headers: kept })).status, 200);
    assert.equal((await ana.call('POST', '/mcp', { body: rpc('ping'), headers: ended })).status, 404);
  });

  it('knows after a crash what a session had subscribed to, and that it may have changed', { timeout: 60_000 }, async () => {
    const session = await begin(ana);
    const subscribe = rpc('resources/subscribe', { uri: 'parley://inbox' });
    assert.equal((await ana.call('POST', '/mcp', { body: subscribe, headers: session })).status, 200);
    const first = await open(session);
    const { value: { id } } = await first.next();
    await broker.kill();
    await broker.run();
    const again = await open({ ...session, 'Last-Event-ID': id });
    assert.match((await again.next()).value.data, /resources.updated.*parley:..inbox/);
    await bo.send('ana', 'hello');
    assert.match((await again.next()).value.data, /resources.updated.*parley:..inbox/);
    await again.return();
  });

  it('is heard through `parley mcp` also when the broker was started anew', { timeout: 60_000 }, async () => {
    const client = new Stdio(['--data', broker.data], { PARLEY_TOKEN: bo.token });
    const updated = note('notifications/resources/updated', { uri: 'parley://inbox' });
    try {
      client.send(initialize(0), note('notifications/initialized'));
      await client.next();
      await client.ask(legacy(1, 'resources/subscribe', { uri: 'parley://inbox' }));
      await broker.kill();
      await broker.run();
      assert.deepEqual(await client.next(), updated);  // nobody watched meanwhile
      await ana.send('bo', 'hello');
      assert.deepEqual(await client.next(), updated);
    } finally {
      await client.end();
    }
  });

  it('has nothing behind an event that nobody kept, and keeps no stream for it', { timeout: 60_000 }, async () => {
    const session = await begin(ana);
    for (let n = 0; n < 100; ++n) {
      const { status } = await ana.call('GET', '/mcp', { headers: { ...session, 'Last-Event-ID': '999999-1' } });
      assert.equal(status, 410);
    }
    const { text } = await broker.call('GET', '/metrics');
    assert.match(text, /^parley_mcp_streams [0-5]$/m);
  });

  // The stream of the old transport carries calls: nothing else may take its place.
  it('lives on when an id of the old transport is used over the newer one', { timeout: 60_000 }, async () => {
    const old = await open(json);
    const { value: { data: endpoint } } = await old.next();
    const session = new URLSearchParams(endpoint.split('?')[1]).get('sessionId');
    const post = (body) => ana.call('POST', endpoint, { body, headers: json });
    assert.equal((await post(rpc('tools/call', { name: 'waitForMessage', arguments: { seconds: 1 } }, 5))).status, 202);
    for (const headers of [{}, { 'Last-Event-ID': '1-1' }]) {
      const { status } = await ana.call('GET', '/mcp', { headers: { ...json, 'Mcp-Session-Id': session, ...headers } });
      assert.equal(status, 404);
    }
    assert.equal(JSON.parse((await old.next()).value.data).id, 5);
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } };
    assert.equal((await post(cancelled)).status, 202);
    assert.equal((await post(rpc('ping', undefined, 6))).status, 202);
    assert.equal(JSON.parse((await old.next()).value.data).id, 6);
    await old.return();
  });

  it('ends with the agent', async () => {
    const cy = await broker.addAgent('cy');
    const session = await begin(cy);
    const stream = await fetch(`${broker.url}/mcp`, { headers: { ...session, Accept: 'text/event-stream', Authorization: `Bearer ${cy.token}` } });
    assert.equal(stream.status, 200);
    assert.equal((await broker.call('DELETE', '/v1/agents/cy')).status, 200);
    await stream.text();  // ends
    assert.equal((await cy.call('POST', '/mcp', { body: rpc('ping'), headers: session })).status, 401);
  });
});

describe('a call that waits for a human', () => {
  let broker, ana;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    assert.equal((await broker.call('POST', '/v1/humans', { body: { name: 'ada' } })).status, 201);
  });
  after(() => broker.remove());

  // It asks who is there first, and waits by a second request: that one is to end.
  it('waits no more when its client cancels it', async () => {
    const session = await begin(ana);
    const waiting = async () => Number(/^parley_calls_waiting (\d+)$/m.exec((await broker.call('GET', '/metrics')).text)[1]);
    const asked = fetch(`${broker.url}/mcp`, {
      method: 'POST', headers: { ...session, Authorization: `Bearer ${ana.token}` },
      body: JSON.stringify(rpc('tools/call', { name: 'askHuman', arguments: { question: 'May I?', to: 'ada' } }, 'ask')),
    }).then((answer) => answer.text());
    await until(waiting, (count) => count === 1);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'ask' } };
    assert.equal((await ana.call('POST', '/mcp', { headers: session, body: cancel })).status, 202);
    assert.ok(!(await asked).includes('"result"'));
    assert.equal(await waiting(), 0);
  });
});

describe('parley serve --mcp-fixtures', () => {
  it('is unknown to the program that is released', async () => {
    await assert.rejects(Broker.start({ flags: ['--mcp-fixtures'] }), /ended with 2: .*--mcp-fixtures/s);
  });

  it('is refused where others than this machine could connect', async () => {
    await assert.rejects(Broker.start({ program: fixtures, flags: ['--mcp-fixtures', '--insecure'], listen: '0.0.0.0:0' }), /loopback/);
  });

  // What answers by events ends its connection: the next request must not be lost on it.
  it('answers calls one after the other, whether by JSON or by events', async () => {
    const broker = await Broker.start({ program: fixtures, flags: ['--mcp-fixtures'] });
    try {
      const headers = (name) => ({ ...json, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name });
      const params = (name) => ({ name, _meta: { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {} } });
      for (let n = 0; n < 30; ++n) {
        const name = n % 2 ? 'test_simple_text' : 'test_tool_with_progress';
        const answer = await broker.call('POST', '/mcp', { token: null, headers: headers(name), body: rpc('tools/call', params(name), n) });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get('content-type'), n % 2 ? 'application/json' : 'text/event-stream');
        assert.ok(answer.text.includes(`"id":${n},"result"`), answer.text);
      }
    } finally {
      await broker.remove();
    }
  });

  it('takes calls without a token, and at /mcp only', async () => {
    const broker = await Broker.start({ program: fixtures, flags: ['--mcp-fixtures'] });
    try {
      assert.equal((await broker.call('POST', '/mcp', { token: null, body: hello(), headers: json })).status, 200);
      assert.equal((await broker.call('POST', '/mcp', { token: 'prl_wrong', body: hello(), headers: json })).status, 401);
      assert.equal((await broker.call('GET', '/v1/inbox', { token: null })).status, 401);
    } finally {
      await broker.remove();
    }
  });
});

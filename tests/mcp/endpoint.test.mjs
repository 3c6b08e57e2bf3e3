// SPDX-License-Identifier: Apache-2.0
// Who may call /mcp, and what of a session outlives what.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker } from '../e2e/harness.mjs';

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const rpc = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) });
const hello = (version = '2025-11-25') => rpc('initialize',
  { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } });

async function begin(caller) {
  const { status, headers } = await caller.call('POST', '/mcp', { body: hello(), headers: json });
  assert.equal(status, 200);
  return { ...json, 'Mcp-Session-Id': headers.get('mcp-session-id') };
}

describe('/mcp', () => {
  let broker, ana, bo;
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

describe('parley serve --mcp-fixtures', () => {
  it('is refused where others than this machine could connect', async () => {
    await assert.rejects(Broker.start({ flags: ['--mcp-fixtures', '--insecure'], listen: '0.0.0.0:0' }), /loopback/);
  });

  // What answers by events ends its connection: the next request must not be lost on it.
  it('answers calls one after the other, whether by JSON or by events', async () => {
    const broker = await Broker.start({ flags: ['--mcp-fixtures'] });
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
    const broker = await Broker.start({ flags: ['--mcp-fixtures'] });
    try {
      assert.equal((await broker.call('POST', '/mcp', { token: null, body: hello(), headers: json })).status, 200);
      assert.equal((await broker.call('POST', '/mcp', { token: 'prl_wrong', body: hello(), headers: json })).status, 401);
      assert.equal((await broker.call('GET', '/v1/inbox', { token: null })).status, 401);
    } finally {
      await broker.remove();
    }
  });
});

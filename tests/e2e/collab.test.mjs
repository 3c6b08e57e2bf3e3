// SPDX-License-Identifier: Apache-2.0
// Agents that speak collab against the real binary: among themselves, and with agents that speak
// flow. Each gets every message in its own dialect, with ids in its own form.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { randomUUID } from 'node:crypto';
import WebSocket from 'ws';
import { Broker, Changes, message, until } from './harness.mjs';

let made = 0;

// A whole collab message.
function collab(from, to, extra = {}) {
  return {
    id: `msg_${++made}`, version: '1.0', from, to, type: 'event', priority: 1,
    timestamp: new Date().toISOString(), action: 'note', payload: {}, ...extra,
  };
}

const post = (agent, body, query = '', headers = {}) =>
  agent.call('POST', `/v1/messages${query}`, { body, headers });

// The first message that waits for the agent, read and settled; without its trace, which each has.
async function next(agent) {
  const { json } = await agent.inbox('?wait=10s&limit=1');
  assert.equal(json.shown, 1, 'no mail within 10 s');
  const [listed] = json.notifications;
  const { status, json: { traceparent, ...found } } = await agent.read(encodeURIComponent(listed.id));
  assert.equal(status, 200);
  assert.match(traceparent, /^00-/);
  assert.equal((await agent.ack(encodeURIComponent(listed.id))).status, 200);
  return { listed, found };
}

// The next one of this action; what comes before it is settled as well.
function nextOf(agent, action) {
  return until(() => next(agent), ({ found }) => found.action === action);
}

async function addCollab(broker, id, extra = {}) {
  return broker.addAgent(id, { dialect: 'collab', role: 'worker', ...extra });
}

describe('collab agents', () => {
  let broker, boss, worker, flo;
  before(async () => {
    broker = await Broker.start();
    boss = await addCollab(broker, 'boss', { role: 'coordinator' });
    worker = await addCollab(broker, 'worker');
    flo = await broker.addAgent('flo');
    for (const [id, participant] of [['s-1', worker], ['s-2', flo]]) {
      const { status } = await boss.call('POST', '/v1/sessions', { body: { id, participants: [participant.id] } });
      assert.equal(status, 201);
      await next(participant);  // is told of it
    }
  });
  after(() => broker.remove());

  // CO-02: ids are any text, and every endpoint takes them.
  it('ask and answer in their own words', async () => {
    const command = collab('boss', 'worker', {
      type: 'command', action: 'analyze-document', priority: 2, payload: { documentId: 'doc_1' }, sessionId: 's-1',
      correlationId: 'corr-1', causationId: 'msg_0', 'x-team': 'blue',
    });
    const sent = await post(boss, command);
    assert.equal(sent.status, 202, sent.text);
    assert.equal(sent.json.id, command.id);
    const { listed, found } = await next(worker);
    assert.equal(listed.id, command.id);
    assert.equal(listed.type, 'command');
    assert.deepEqual(found, command);
    const response = collab('worker', 'boss', {
      type: 'response', action: 'analyze-document', correlationId: command.id, payload: { success: true, data: [1, 2] },
    });
    assert.equal((await post(worker, response)).status, 202);
    const answer = await next(boss);
    assert.deepEqual(answer.found, { ...response, sessionId: 's-1' });
    const delivery = await boss.delivery(command.id);
    assert.equal(delivery.json.id, command.id);
    assert.equal(delivery.json.deliveries[0].state, 'answered');
    assert.equal(delivery.json.request.state, 'answered');
    const outbox = await boss.call('GET', '/v1/outbox?limit=1');
    assert.equal(outbox.json.messages[0].id, command.id);
    // The broker's own form of the id does as well.
    const inFlow = await boss.call('GET', `/v1/messages/${command.id}?dialect=flow`);
    assert.equal((await boss.read(inFlow.json.id)).json.id, command.id);
  });

  // CO-02: the response goes to replyTo.
  it('send the response where replyTo says', async () => {
    const monitor = await addCollab(broker, 'monitor', { role: 'observer' });
    const command = collab('boss', 'worker', { type: 'command', replyTo: 'monitor' });
    assert.equal((await post(boss, command)).status, 202);
    await next(worker);
    const sent = await post(worker, collab('worker', 'boss', { type: 'response', correlationId: command.id }));
    assert.deepEqual(sent.json.recipients.map(({ receiver }) => receiver), ['monitor']);
    const { found } = await next(monitor);
    assert.equal(found.correlationId, command.id);
    assert.equal(found.to, 'monitor');
    assert.equal((await boss.inbox()).json.count, 0);
    // A flow agent that answers is followed there as well.
    const asked = collab('boss', 'flo', { type: 'query', replyTo: 'monitor' });
    assert.equal((await post(boss, asked)).status, 202);
    const { found: request } = await next(flo);
    assert.equal(request.metadata.foreign.reply_to, 'monitor');
    const answer = message('flo', 'boss', { ok: true }, { type: 'response', metadata: { in_reply_to: request.id } });
    assert.equal((await flo.call('POST', '/v1/messages', { body: answer })).status, 202);
    assert.equal((await next(monitor)).found.correlationId, asked.id);
  });

  // XD-04: what a sender claims that its message was in another dialect changes no field of it.
  it('are not spoken for through another dialect', async () => {
    const eve = await broker.addAgent('eve');
    const id = randomUUID();
    const extra = { '/from': 'boss', '/id': 'pay-42', '/action': 'cancel', '/sessionId': 's-1', '/replyTo': 'boss',
      '/type': 'event', '/priority': 3, '/fr\u006fm': 'boss' };
    const claim = message('eve', 'worker', 'pay', { id, type: 'request', metadata: { foreign: { dialect: 'collab', id, extra } } });
    assert.equal((await eve.call('POST', '/v1/messages', { body: claim })).status, 202);
    const { found } = await next(worker);
    assert.deepEqual([found.id, found.from, found.action, found.sessionId, found.replyTo, found.type, found.priority],
      [id, 'eve', 'request', undefined, undefined, 'command', 1]);
    const back = randomUUID();
    await post(worker, collab('worker', 'eve', { id: back,
      foreign: { dialect: 'flow', id: back, extra: { '/sender': 'boss', '/receiver': 'q', '/priority': 'critical' } } }));
    const { found: note } = await next(eve);
    assert.deepEqual([note.sender, note.receiver, note.priority], ['worker', 'eve', 'normal']);
  });

  // CO-02
  it('name someone in replyTo', async () => {
    const { status, json } = await post(boss, collab('boss', 'worker', { type: 'command', replyTo: 'nobody' }));
    assert.deepEqual([status, json.code, json.field], [404, 'RECEIVER_NOT_FOUND', '/replyTo']);
  });

  // CO-09: in the words of those who wait.
  it('are told of a circle by the ids that they gave', async () => {
    const [gus, hal] = [await addCollab(broker, 'gus'), await addCollab(broker, 'hal')];
    assert.equal((await post(gus, collab('gus', 'hal', { id: 'ask-1', type: 'command' }))).status, 202);
    const { status, json } = await post(hal, collab('hal', 'gus', { id: 'ask-2', type: 'command' }));
    assert.deepEqual([status, json.code], [409, 'DEADLOCK']);
    assert.match(json.detail, /"hal" waits for "gus" \(ask-2\)/);
    assert.match(json.detail, /"gus" waits for "hal" \(ask-1\)/);
  });

  // CO-03: one agent, a list, a topic, everyone.
  it('reach an agent, a list, a topic and everyone', async () => {
    const helper = await addCollab(broker, 'helper', { subscriptions: ['topic:findings'] });
    assert.equal((await flo.call('PUT', '/v1/topics/topic%3Afindings/subscription')).status, 400);
    await post(boss, collab('boss', ['worker', 'helper'], { payload: 1 }));
    assert.deepEqual((await next(worker)).found.to, ['worker', 'helper']);
    assert.equal((await next(helper)).found.payload, 1);
    await post(boss, collab('boss', 'topic:findings', { action: 'new-finding' }));
    assert.equal((await next(helper)).found.to, 'topic:findings');
    const shout = await post(boss, collab('boss', '*', { action: 'shutdown-warning', payload: { inSeconds: 60 } }));
    assert.equal(shout.status, 202);
    assert.ok(shout.json.recipients.every(({ not_persisted }) => not_persisted));
    assert.equal((await next(helper)).found.action, 'shutdown-warning');
    assert.equal((await next(worker)).found.to, '*');
    const heard = await next(flo);
    assert.equal(heard.found.type, 'broadcast');
    assert.equal(heard.found.receiver, '*');
    const monitor = await broker.call('DELETE', '/v1/agents/monitor');
    assert.equal(monitor.status, 200);
  });

  // XD-01, FL-04: a flow agent asks, a collab agent answers.
  it('answer a flow agent that waits', async () => {
    const request = message('flo', 'worker', { n: 1 }, {
      type: 'request', priority: 'critical', metadata: { correlation_id: 'release-9', ttl: '10m', foreign: { action: 'deploy' } },
    });
    const asked = flo.call('POST', '/v1/messages?wait=20s', { body: request });
    const { found } = await next(worker);
    assert.equal(found.id, request.id);
    assert.equal(found.type, 'command');
    assert.equal(found.priority, 3);
    assert.equal(found.action, 'deploy');
    assert.equal(found.correlationId, 'release-9');
    assert.equal(found.foreign.thread, request.conversation_id);
    assert.equal(found.expiresAt, new Date(Date.parse(request.metadata.timestamp) + 600_000).toISOString());
    await post(worker, { type: 'response', correlationId: found.id, payload: { success: false, why: 'red' } }, '?lenient=true');
    const { status, json } = await asked;
    assert.equal(status, 200);
    assert.equal(json.response.type, 'response');
    assert.equal(json.response.status, 'error');
    assert.equal(json.response.metadata.in_reply_to, request.id);
    assert.equal(json.response.metadata.correlation_id, 'release-9');
    assert.deepEqual(json.response.payload.body, { success: false, why: 'red' });
    assert.equal(json.provenance.dialect, 'collab');
    // What the flow agent sent is, read again, what it sent.
    const { traceparent, ...again } = (await flo.read(request.id)).json;
    assert.match(traceparent, /^00-/);
    assert.deepEqual(again, { ...request, on_timeout: 'fail',
      metadata: { ...request.metadata, requires_ack: true, sequence_number: 1 } });
  });

  // XD-01: a collab agent asks, a flow agent answers.
  it('get the answer of a flow agent', async () => {
    const query = collab('boss', 'flo', { type: 'query', action: 'get-status', payload: [1, 'two'], sessionId: 's-2' });
    const asked = post(boss, query, '?wait=20s');
    const { found } = await next(flo);
    assert.equal(found.type, 'query');
    assert.deepEqual(found.payload, { content_type: 'json', body: { value: [1, 'two'] } });
    assert.equal(found.metadata.foreign.action, 'get-status');
    assert.equal(found.metadata.foreign.id, query.id);
    assert.equal(found.metadata.foreign.session, 's-2');
    assert.match(found.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    const answer = message('flo', 'boss', 'all green', { type: 'response', status: 'partial', metadata: { in_reply_to: query.id } });
    const sent = await flo.call('POST', '/v1/messages', { body: answer });
    assert.equal(sent.status, 202, sent.text);
    const { status, json } = await asked;
    assert.equal(status, 200);
    assert.equal(json.id, query.id);
    assert.equal(json.response.type, 'response');
    assert.equal(json.response.correlationId, query.id);
    assert.equal(json.response.payload, 'all green');
    assert.equal(json.response.foreign.status, 'partial');
  });

  // XD-01: the same id of two senders is two messages; a receiver that means one of them says which.
  it('may use the same id, each for its own messages', async () => {
    const other = await addCollab(broker, 'other');
    const id = `same_${randomUUID()}`;
    assert.equal((await post(boss, collab('boss', 'worker', { id, type: 'command', payload: 'of boss' }))).status, 202);
    assert.equal((await post(other, collab('other', 'worker', { id, type: 'command', payload: 'of other' }))).status, 202);
    const again = await post(boss, collab('boss', 'worker', { id, type: 'command', payload: 'another' }));
    assert.equal(again.json.code, 'DUPLICATE_ID');
    assert.equal(again.json.field, '/id');
    const ambiguous = await worker.read(id);
    assert.equal(ambiguous.status, 409);
    assert.match(ambiguous.json.detail, /seq/);
    // A response says by `to` which of them it answers.
    const { json: { notifications } } = await worker.inbox();
    for (const { seq } of notifications) assert.equal((await worker.read(seq)).status, 200);
    assert.equal((await post(worker, collab('worker', 'other', { type: 'response', correlationId: id }))).status, 202);
    assert.equal((await other.delivery(id)).json.deliveries[0].state, 'answered');
    assert.equal((await boss.delivery(id)).json.deliveries[0].state, 'read');
    assert.equal((await worker.ack(id)).status, 200);
    assert.equal((await boss.delivery(id)).json.deliveries[0].state, 'acked');
    assert.equal((await next(other)).found.correlationId, id);
  });

  // CO-02: errors name the field, in the words of the dialect.
  it('hear what is wrong in their own words', async () => {
    const wrong = await post(boss, collab('boss', 'worker', { priority: 7 }));
    assert.equal(wrong.status, 422);
    assert.equal(wrong.json.field, '/priority');
    const lost = await post(boss, collab('boss', 'worker', { type: 'response', correlationId: 'never' }));
    assert.equal(lost.status, 404);
    assert.equal(lost.json.field, '/correlationId');
    const late = await post(boss, collab('boss', 'worker', { expiresAt: '2020-01-01T00:00:00Z' }));
    assert.equal(late.json.field, '/expiresAt');
    const far = await post(boss, collab('boss', 'worker', { expiresAt: '2090-01-01T00:00:00Z' }));
    assert.equal(far.json.field, '/expiresAt');
    const lie = await post(boss, collab('worker', 'boss'));
    assert.equal(lie.json.code, 'SENDER_MISMATCH');
    // Each malformed one left a notice; they are settled here.
    for (let n = 0; n < 4; ++n) await nextOf(boss, 'message_malformed');
  });

  // CO-15
  it('send 512 KB and no more', async () => {
    const size = (bytes) => {
      const empty = collab('boss', 'worker', { payload: '' });
      return { ...empty, payload: 'x'.repeat(bytes - JSON.stringify(empty).length) };
    };
    assert.equal((await post(boss, size(512 * 1024))).status, 202);
    await next(worker);
    const large = await post(boss, size(512 * 1024 + 1));
    assert.equal(large.status, 413);
    assert.equal(large.json.code, 'PAYLOAD_TOO_LARGE');
    await nextOf(boss, 'message_malformed');
    // Nor does it get more by its name, whoever sends it.
    const fromFlow = await flo.send('worker', { x: 'x'.repeat(600 * 1024) });
    assert.equal(fromFlow.status, 413);
    assert.match(fromFlow.json.detail, /"worker" speaks collab/);
  });

  // CO-11: 3 before 2 before 1 before 0, and first in, first out inside one, whoever sends.
  it('get what is urgent first', async () => {
    const late = await addCollab(broker, 'late');
    for (const [agent, priority, n] of [[boss, 0, 1], [worker, 1, 2], [boss, 3, 3], [worker, 2, 4], [boss, 1, 5], [worker, 3, 6]]) {
      assert.equal((await post(agent, collab(agent.id, 'late', { priority, payload: n }))).status, 202);
    }
    const order = [];
    for (let n = 0; n < 6; ++n) order.push((await next(late)).found.payload);
    assert.deepEqual(order, [3, 6, 4, 2, 5, 1]);
  });

  // CO-02: what expires is not delivered.
  it('do not get what has expired', async () => {
    const slow = await addCollab(broker, 'slow');
    const brief = collab('boss', 'slow', { expiresAt: new Date(Date.now() + 300).toISOString(), payload: 'brief' });
    assert.equal((await post(boss, brief)).status, 202);
    const told = await nextOf(boss, 'delivery_failed');
    assert.equal(told.found.from, 'parley');
    assert.equal(told.found.payload.reason, 'ttl_expired');
    assert.equal((await slow.inbox()).json.count, 0);
  });

  // XD-01: `?dialect=` and `Parley-Dialect:` say otherwise, each time.
  it('can speak and read another dialect', async () => {
    const flow = message('boss', 'worker', { n: 7 }, { type: 'notification' });
    const sent = await post(boss, flow, '', { 'Parley-Dialect': 'flow' });
    assert.equal(sent.status, 202, sent.text);
    const { json: { notifications: [{ id }] } } = await worker.inbox('?wait=10s');
    const inFlow = await worker.call('GET', `/v1/messages/${id}?dialect=flow`);
    assert.deepEqual(inFlow.json.payload.body, { n: 7 });
    const byHeader = await worker.call('GET', `/v1/messages/${id}`, { headers: { 'Parley-Dialect': 'flow' } });
    assert.deepEqual(byHeader.json, inFlow.json);
    const { json: found } = await worker.read(id);
    assert.deepEqual(found.payload, { n: 7 });
    assert.equal(found.foreign.dialect, 'flow');
    assert.equal((await worker.ack(id)).status, 200);
    const asFlow = await flo.call('POST', '/v1/messages', {
      body: collab('flo', 'worker', { type: 'command' }), headers: { 'Parley-Dialect': 'collab' },
    });
    assert.equal(asFlow.status, 202, asFlow.text);
    assert.match(asFlow.json.id, /^msg_/);
    await next(worker);
    const none = await worker.call('GET', `/v1/messages/${id}?dialect=smoke`);
    assert.equal(none.json.code, 'UNSUPPORTED_DIALECT');
  });
});

describe('a collab agent with a WebSocket', () => {
  let broker, boss, worker, flo;
  before(async () => {
    broker = await Broker.start();
    boss = await addCollab(broker, 'boss');
    worker = await addCollab(broker, 'worker');
    flo = await broker.addAgent('flo');
  });
  after(() => broker.remove());

  function open(agent, query = '') {
    const socket = new WebSocket(`${broker.url.replace(/^http/, 'ws')}/v1/ws${query}`,
      { headers: { Authorization: `Bearer ${agent.token}` } });
    const told = [];
    const changes = new Changes();
    socket.on('message', (data) => { told.push(JSON.parse(data)); changes.changed(); });
    const take = (wanted) => changes.until(() => {
      const at = told.findIndex(wanted);
      return at >= 0 && told.splice(at, 1)[0];
    });
    return new Promise((done) => socket.on('open', () => done({
      tell: (op) => socket.send(JSON.stringify(op)), take, close: () => socket.terminate(),
    })));
  }
  const isMail = ({ op }) => op === 'message';

  // XD-01, CO-02
  it('talks with an agent that speaks flow', async () => {
    const one = await open(boss);
    const two = await open(flo);
    const command = collab('boss', 'flo', { type: 'command', action: 'build' });
    one.tell({ op: 'send', message: command, ref: 1 });
    const sent = await one.take(({ ref }) => ref === 1);
    assert.equal(sent.id, command.id);
    const request = await two.take(isMail);
    assert.equal(request.message.type, 'request');
    assert.equal(request.message.metadata.foreign.action, 'build');
    assert.equal(request.provenance.dialect, 'collab');
    two.tell({ op: 'send', ref: 1, message: message('flo', 'boss', { done: true },
      { type: 'response', metadata: { in_reply_to: request.message.id } }) });
    const answer = await one.take(isMail);
    assert.equal(answer.message.correlationId, command.id);
    assert.deepEqual(answer.message.payload, { done: true });
    // An ack takes any form of the id.
    one.tell({ op: 'ack', id: answer.message.id, ref: 2 });
    assert.equal((await one.take(({ ref }) => ref === 2)).ok, true);
    one.close();
    two.close();
  });

  // XD-01
  it('acks by its own id, and reads another dialect if it asks for that', async () => {
    const one = await open(worker);
    const two = await open(worker, '?dialect=flow');
    await post(boss, collab('boss', 'worker', { id: 'a/b "c"', payload: 5 }));
    const mail = await Promise.race([one.take(isMail), two.take(isMail)]);
    const inFlow = 'sender' in mail.message;
    assert.equal(inFlow ? mail.message.payload.body.value : mail.message.payload, 5);
    one.tell({ op: 'ack', id: 'a/b "c"', ref: 'x' });
    assert.equal((await one.take(({ ref }) => ref === 'x')).ok, true);
    assert.equal((await boss.delivery(encodeURIComponent('a/b "c"'))).json.deliveries[0].state, 'acked');
    one.tell({ op: 'heartbeat', status: 'busy', ref: 'y' });
    const refused = await one.take(({ ref }) => ref === 'y');
    assert.equal(refused.error.field, '/status');
    one.close();
    two.close();
  });

  // XD-01: server-sent events are in the receiver's dialect too.
  it('gets events', async () => {
    const controller = new AbortController();
    const response = await fetch(`${broker.url}/v1/stream`,
      { headers: { Authorization: `Bearer ${boss.token}` }, signal: controller.signal });
    assert.equal((await flo.send('boss', 'hello', { priority: 'high' })).status, 202);
    let text = '';
    for await (const chunk of response.body) {
      text += Buffer.from(chunk).toString();
      if (text.includes('\n\n')) break;
    }
    const event = JSON.parse(/^data: (.*)$/m.exec(text)[1]);
    assert.equal(event.message.type, 'event');
    assert.equal(event.message.priority, 2);
    assert.equal(event.message.payload, 'hello');
    controller.abort();
  });
});

describe('the collab agent model', () => {
  let broker;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());

  // CO-01
  it('has roles, capabilities, actions, a status, a task, an inbox and an outbox', async () => {
    const boss = await broker.addAgent('boss', { dialect: 'collab', role: 'coordinator', name: 'The boss' });
    const analyst = await broker.addAgent('analyst', {
      dialect: 'collab', role: 'specialist', capabilities: ['analysis', 'sql'], supportedActions: ['analyze-document'],
    });
    for (const body of [{ role: 'orchestrator' }, { role: '' }, {}]) {
      const refused = await broker.call('POST', '/v1/agents', { body: { id: 'x', dialect: 'collab', ...body } });
      assert.equal(refused.status, 400);
      assert.equal(refused.json.field, '/role');
      assert.match(refused.json.detail, /coordinator, worker, specialist, observer/);
    }
    const beat = await analyst.call('POST', '/v1/agents/analyst/heartbeat', { body: { status: 'working', currentTask: 'doc_1' } });
    assert.equal(beat.status, 200);
    const wrong = await analyst.call('POST', '/v1/agents/analyst/heartbeat', { body: { status: 'busy' } });
    assert.equal(wrong.json.field, '/status');
    assert.match(wrong.json.detail, /idle, working, waiting, offline/);
    await post(boss, collab('boss', 'analyst', { type: 'command' }));
    await post(boss, collab('boss', 'analyst'));
    const shown = (await boss.call('GET', '/v1/agents/analyst')).json;
    assert.equal(shown.role, 'specialist');
    assert.deepEqual(shown.supportedActions, ['analyze-document']);
    assert.equal(shown.status, 'working');
    assert.equal(shown.currentTask, 'doc_1');
    assert.deepEqual(shown.inbox, { unsettled: 2 });
    assert.deepEqual(shown.outbox, { unsettled: 0 });
    assert.deepEqual((await boss.call('GET', '/v1/agents/boss')).json.outbox, { unsettled: 2 });
    const { json: { notifications } } = await analyst.inbox();
    await analyst.read(notifications[0].id);
    await analyst.ack(notifications[0].id);
    assert.deepEqual((await boss.call('GET', '/v1/agents/boss')).json.outbox, { unsettled: 1 });
    assert.equal((await boss.call('GET', '/v1/agents/boss')).json.name, 'The boss');
  });

  // CO-01: the registry can be asked.
  it('is found by capability, role, dialect and status', async () => {
    await broker.addAgent('flo', { capabilities: ['sql'] });
    const found = async (query) => (await broker.call('GET', `/v1/agents?${query}`)).json.agents.map(({ id }) => id);
    assert.deepEqual(await found('capability=sql'), ['analyst', 'flo']);
    assert.deepEqual(await found('capability=sql&dialect=collab'), ['analyst']);
    assert.deepEqual(await found('role=coordinator'), ['boss']);
    assert.deepEqual(await found('status=working'), ['analyst']);
    assert.deepEqual(await found('capability=nothing'), []);
    const wrong = await broker.call('GET', '/v1/agents?dialect=smoke');
    assert.equal(wrong.status, 400);
  });
});

describe('a collab command that is not answered', () => {
  let broker, boss, worker;
  before(async () => {
    broker = await Broker.start();
    const rules = { 'collab.timeout.command': '300ms', 'collab.timeout.query': '200ms', 'collab.timeout.broadcast': '100ms',
      'collab.retry_delays': '50ms,100ms,150ms' };
    const set = await broker.call('PATCH', '/v1/rules', { body: rules });
    assert.equal(set.status, 200, set.text);
    boss = await addCollab(broker, 'boss');
    worker = await addCollab(broker, 'worker');
  });
  after(() => broker.remove());

  // CO-04, CO-08: the receiver gets it four times; then the one who waits hears who did not answer, and how long.
  it('is sent again, and then fails with the receiver and the time', async () => {
    const command = collab('boss', 'worker', { type: 'command' });
    const asked = post(boss, command, '?wait=30s');
    let taken = 0;
    const mail = until(async () => {
      const { json } = await worker.inbox('?wait=2s');
      for (const { id } of json.notifications) {
        assert.equal(id, command.id);
        assert.equal((await worker.read(id)).status, 200);
        if ((await worker.ack(id)).status === 200) ++taken;
      }
      return json.count === 0;
    });
    const [{ status, json }] = await Promise.all([asked, mail]);
    assert.equal(status, 504);
    assert.equal(json.code, 'TIMEOUT');
    assert.match(json.detail, /worker did not answer msg_\d+ within 300ms, asked 4 times/);
    assert.equal(taken, 4);
    const { found } = await next(boss);
    assert.equal(found.action, 'request_timed_out');
    assert.equal(found.payload.receiver, 'worker');
    assert.equal(found.payload.timeout, '300ms');
    assert.equal(found.payload.retries, 3);
  });

  // CO-04
  it('tells a caller who waits less who did not answer so far', async () => {
    const { status, json } = await post(boss, collab('boss', 'worker', { type: 'query' }), '?wait=50ms');
    assert.equal(status, 504);
    assert.match(json.detail, /worker .*50ms/);
    await next(boss);
  });

  // CO-04: a broadcast waits one second by default, and is not repeated.
  it('is given up sooner when it goes to everyone', async () => {
    const { status, json } = await post(boss, collab('boss', '*', { type: 'query' }), '?wait=30s');
    assert.equal(status, 504);
    assert.match(json.detail, /within 100ms/);
    assert.doesNotMatch(json.detail, /asked/);
  });

  // CO-08: an answer to a later try counts.
  it('is answered on the second try', async () => {
    const command = collab('boss', 'worker', { type: 'command' });
    const asked = post(boss, command, '?wait=30s');
    for (let n = 0; n < 2;) {
      const { json } = await worker.inbox('?wait=5s');
      for (const { id } of json.notifications) {
        await worker.read(id);
        await worker.ack(id);
        n += id === command.id ? 1 : 0;
      }
    }
    await post(worker, collab('worker', 'boss', { type: 'response', correlationId: command.id, payload: 'late but there' }));
    const { status, json } = await asked;
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.response.payload, 'late but there');
  });
});

describe('collab requests that depend on each other', () => {
  let broker, ana, bo, cy, dee;
  const lenient = '?lenient=true';
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy, dee] = await Promise.all(['ana', 'bo', 'cy', 'dee'].map((id) => addCollab(broker, id)));
  });
  after(() => broker.remove());

  it('CO-05: a chain is answered by its last one to its first, who waits for that', async () => {
    const waiting = post(ana, { id: 'hop 1', type: 'command', to: 'bo', action: 'count', correlationId: 'chain', replyTo: 'ana' },
      `${lenient}&wait=20s`);
    const pass = async (from, to, id) => {
      const { found } = await next(from);
      const { foreign, traceparent, ...rest } = found;
      const { status } = await post(from, { ...rest, id, from: from.id, to: to.id, causationId: found.id });
      assert.equal(status, 202);
    };
    await pass(bo, cy, 'hop 2');
    await pass(cy, dee, 'hop 3');
    const { found } = await next(dee);
    assert.equal(found.causationId, 'hop 2');
    assert.equal((await post(dee, { type: 'response', to: 'ana', correlationId: 'chain', causationId: 'hop 3', payload: { n: 7 } }, lenient)).status, 202);
    const { status, json } = await waiting;
    assert.equal(status, 200);
    assert.deepEqual(json.response.payload, { n: 7 });
    for (const [agent, id] of [[ana, 'hop 1'], [bo, 'hop 2'], [cy, 'hop 3']]) {
      const delivery = await agent.call('GET', `/v1/messages/${encodeURIComponent(id)}/delivery`);
      assert.deepEqual(delivery.json.deliveries.map(({ state }) => state), ['answered'], id);
    }
  });

  it('CO-09: a question back names the request by whichever id; what is no open request excuses nothing', async () => {
    assert.equal((await post(ana, { id: 'ask 1', type: 'command', to: 'bo', action: 'do' }, lenient)).status, 202);
    assert.equal((await post(bo, { id: 'back 1', type: 'query', to: 'ana', action: 'how', causationId: 'ask 1' }, lenient)).status, 202);
    assert.equal((await post(ana, { id: 'news', type: 'event', to: 'dee', action: 'note' }, lenient)).status, 202);
    assert.equal((await post(ana, { id: 'ask 2', type: 'command', to: 'dee', action: 'do' }, lenient)).status, 202);
    const circle = await post(dee, { type: 'query', to: 'ana', action: 'how', causationId: 'news' }, lenient);
    assert.equal(circle.json.code, 'DEADLOCK');
    assert.deepEqual(circle.json.cycle, ['dee', 'ana', 'dee']);
  });
});

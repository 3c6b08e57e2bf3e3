// SPDX-License-Identifier: Apache-2.0
// SQ-01, SQ-02, SQ-03, SQ-04: the flows of the protocol's text over HTTP, at the real binary, which is killed and
// started again between each pair of steps; and what a main registers itself.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Agent, Broker, until } from './harness.mjs';

const main = 'agent:main:main';
const sub = 'agent:main:subagent:pricing';
let count = 0;

const draft = (from, to, type, subject, more = {}) => ({
  id: `MSG-20260201-050000-${String(++count).padStart(4, '0')}`, timestamp: '2026-02-01T05:00:00Z', from, to, type, priority: 'P1',
  subject, body: {}, ...more,
});

describe('a squad', () => {
  let broker, boss, worker;

  const again = async () => {
    await broker.kill();
    await broker.run();
  };
  const send = async (who, message) => {
    const { status, json, text } = await who.call('POST', '/v1/messages', { body: message });
    assert.equal(status, 202, text);
    assert.equal(json.id, message.id);
    await again();
    return message;
  };
  // The message as its receiver reads it, with the members that its sender wrote.
  const got = async (who, sent) => {
    const found = await until(async () => (await who.inbox('?limit=50')).json.notifications.find(({ id }) => id === sent.id));
    assert.equal(found.type, sent.type);
    const { json } = await who.read(sent.id);
    const written = Object.fromEntries(Object.keys(sent).map((key) => [key, json[key]]));
    assert.deepEqual(written, sent);
    await again();
    return json;
  };
  const refused = async (who, message, code) => {
    const { status, json } = await who.call('POST', '/v1/messages', { body: message });
    assert.equal(json.code, code, JSON.stringify(json));
    assert.ok(status >= 400);
    return json;
  };

  before(async () => {
    broker = await Broker.start();
    boss = await broker.addAgent(main, { dialect: 'squad' });
  });
  after(() => broker.remove());

  it('SQ-02: a main registers its own subagents, and others do not', async () => {
    const { status, json, text } = await boss.call('POST', '/v1/agents', { body: { id: sub } });
    assert.equal(status, 201, text);
    worker = new Agent(broker, sub, json.token);
    await again();
    const { json: shown } = await boss.call('GET', `/v1/agents/${encodeURIComponent(sub)}`);
    assert.deepEqual([shown.dialect, shown.role, shown.spawner], ['squad', 'subagent', main]);
    const add = async (who, body) => (await who.call('POST', '/v1/agents', { body })).json.code;
    assert.equal(await add(boss, { id: 'agent:main:main:2' }), 'BAD_REQUEST', 'a main has no spawner');
    assert.equal(await add(boss, { id: 'agent:main:main:2', spawner: null }), 'FORBIDDEN');
    assert.equal(await add(boss, { id: 'agent:other:subagent:x' }), 'BAD_REQUEST', 'another owner');
    assert.equal(await add(boss, { id: 'agent:main:subagent:x', dialect: 'flow' }), 'BAD_REQUEST', 'a spawner is for squad');
    assert.equal(await add(boss, { id: 'eve', dialect: 'flow', spawner: null }), 'FORBIDDEN');
    assert.equal(await add(boss, { id: 'agent:main:cron:x' }), 'FORBIDDEN');
    assert.equal(await add(worker, { id: 'agent:main:subagent:x' }), 'FORBIDDEN');
    assert.equal(await add(broker, { id: 'ed', dialect: 'squad' }), 'BAD_REQUEST', 'the form of a name');
    assert.equal(await add(broker, { id: 'agent:main:council:x', dialect: 'squad', role: 'main' }), 'BAD_REQUEST');
    assert.equal((await boss.call('POST', '/v1/humans', { body: { name: 'eve', rights: ['admin'] } })).status, 403);
    assert.equal((await worker.call('DELETE', `/v1/agents/${encodeURIComponent(main)}`)).status, 403);
  });

  it('SQ-04: a simple handoff', async () => {
    const thread_id = 'THREAD-data';
    const handoff = await send(boss, draft(main, sub, 'handoff', 'Analyze this data',
      { body: { task: 'Analyze this data', deadline: null, artifacts: ['data.csv'] }, thread_id, status: 'pending', ttl_hours: 24 }));
    await got(worker, handoff);
    const ack = await send(worker, draft(sub, main, 'ack', 'Received, starting', { reply_to: handoff.id, thread_id }));
    await got(boss, ack);
    const response = await send(worker, draft(sub, main, 'response', 'Analysis complete, found X',
      { reply_to: handoff.id, body: { result: 'completed', summary: 'found X' }, thread_id, status: 'completed' }));
    await got(boss, response);
    const { json } = await boss.delivery(handoff.id);
    assert.equal(json.deliveries[0].state, 'answered');
  });

  it('SQ-04, SQ-06: a handoff with a challenge', async () => {
    const handoff = await send(boss, draft(main, sub, 'handoff', 'Price this product at $50', { body: { task: 'Price this product at $50' } }));
    await got(worker, handoff);
    const vague = await refused(worker, draft(sub, main, 'challenge', 'CHALLENGE: $50',
      { reply_to: handoff.id, body: { claim_challenged: '$50', grounds: 'I do not like it' } }), 'VALIDATION_FAILED');
    assert.equal(vague.field, '/body/evidence');
    const challenge = await send(worker, draft(sub, main, 'challenge', 'CHALLENGE: $50', { reply_to: handoff.id,
      body: { claim_challenged: '$50', grounds: 'Margin too low', evidence: ['costs are $48'], requested_action: 'revise', severity: 'moderate' } }));
    await got(boss, challenge);
    const revised = await send(boss, draft(main, sub, 'response', 'Approved, revise to $65',
      { reply_to: challenge.id, body: { result: 'revise', summary: 'Approved, revise to $65' } }));
    await got(worker, revised);
    const done = await send(worker, draft(sub, main, 'response', 'Listed at $65, task complete',
      { reply_to: handoff.id, body: { result: 'completed', summary: 'Listed at $65' } }));
    await got(boss, done);
    assert.equal((await boss.delivery(handoff.id)).json.deliveries[0].state, 'answered');
  });

  it('SQ-02: a subagent hands nothing off', async () => {
    const handoff = await refused(worker, draft(sub, main, 'handoff', 'you do it'), 'ROLE_FORBIDDEN');
    assert.match(handoff.detail, /a subagent hands no work off/);
    await refused(worker, draft(sub, 'broadcast', 'response', 'hear me'), 'ROLE_FORBIDDEN');
    const sent = draft(sub, main, 'handoff', 'you do it');
    assert.equal((await refused(worker, { ...sent, id: 'MSG-001' }, 'VALIDATION_FAILED')).field, '/id');
    assert.equal((await refused(worker, { ...sent, from: main }, 'SENDER_MISMATCH')).field, '/from');
  });

  it('SQ-01: a wildcard stands for those who are registered', async () => {
    const second = 'agent:main:subagent:second';
    const { json } = await boss.call('POST', '/v1/agents', { body: { id: second } });
    const other = new Agent(broker, second, json.token);
    const sent = await send(boss, draft(main, 'agent:main:subagent:*', 'query', 'Who is free?'));
    await got(worker, sent);
    await got(other, sent);
    assert.equal((await boss.call('DELETE', `/v1/agents/${encodeURIComponent(second)}`)).status, 200);
    const nobody = await send(boss, draft(main, 'agent:main:council:*', 'query', 'Anyone?'));
    const { json: state } = await boss.delivery(nobody.id);
    assert.deepEqual(state.deliveries.map(({ receiver, state: how }) => [receiver, how]), [['agent:main:council:*', 'dead']]);
  });

  it('SQ-02: a cron does what was approved beforehand', async () => {
    const name = 'agent:main:cron:nightly';
    const cron = await broker.addAgent(name, { dialect: 'squad' });
    await refused(cron, draft(name, sub, 'query', 'all well?'), 'ROLE_FORBIDDEN');
    const scope = { to: ['agent:main:subagent:*'], types: ['query'] };
    assert.equal((await cron.call('POST', '/v1/agents', { body: { id: name, scope } })).status, 403);
    assert.equal((await boss.call('POST', '/v1/agents', { body: { id: name, scope } })).status, 200);
    await again();
    const { json } = await cron.call('GET', `/v1/agents/${encodeURIComponent(name)}`);
    assert.deepEqual(json.scope, scope);
    await got(worker, await send(cron, draft(name, sub, 'query', 'all well?')));
    await refused(cron, draft(name, main, 'query', 'all well?'), 'ROLE_FORBIDDEN');
    await refused(cron, draft(name, sub, 'handoff', 'clean up'), 'ROLE_FORBIDDEN');
    const wrong = await boss.call('POST', '/v1/agents', { body: { id: name, scope: { to: [], types: ['task'] } } });
    assert.equal(wrong.json.field, '/scope/types');
  });

  it('XD-01: other dialects hear it in their words, and are heard', async () => {
    const flo = await broker.addAgent('flo');
    const handoff = await send(boss, draft(main, 'flo', 'handoff', 'Look at it', { body: { task: 'Look at it', confidence: '65%' } }));
    const { json: notice } = await flo.inbox();
    const { json: read } = await flo.read(notice.notifications[0].id);
    assert.deepEqual([read.type, read.payload.body.task, read.metadata.foreign.subject], ['request', 'Look at it', 'Look at it']);
    assert.equal((await flo.send(main, 'it is good', { type: 'response', status: 'success', metadata: { in_reply_to: read.id } })).status, 202);
    await again();
    const found = await until(async () => (await boss.inbox('?limit=50')).json.notifications.find(({ from }) => from === 'flo'));
    assert.match(found.id, /^MSG-\d{8}-\d{6}-[0-9a-f-]{36}$/);
    const { json: answer } = await boss.read(found.id);
    assert.deepEqual([answer.type, answer.reply_to, answer.status, answer.body.summary], ['response', handoff.id, 'completed', 'it is good']);
    assert.equal((await boss.ack(found.id)).status, 200);
  });

  it('SQ-03: simple clients say little', async () => {
    const { json, text } = await worker.call('POST', '/v1/messages?lenient=true', { body: { type: 'query', to: main, body: { task: 'may I?' } } });
    assert.match(json.id ?? text, /^MSG-\d{8}-\d{6}-/);
    const { json: asked } = await boss.read(json.id);
    assert.deepEqual([asked.subject, asked.priority, asked.from], ['may I?', 'P2', sub]);
  });
});

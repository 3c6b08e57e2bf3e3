// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { after, before, describe, it } from 'node:test';
import { binary, Broker, message, until } from './harness.mjs';

describe('a broker', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('keeps the admin token readable by its owner only', async () => {
    const { mode } = await stat(`${broker.data}/admin.token`);
    assert.equal(mode & 0o777, 0o600);
  });

  // XD-09: the sender sees each state. FL-12: kept until acknowledged.
  it('delivers a message and tells its sender how it stands', async () => {
    const sent = await ana.send('bo', { text: 'hello' });
    assert.equal(sent.status, 202, sent.text);
    const { id } = sent.json;
    const state = async () => (await ana.delivery(id)).json.deliveries[0].state;
    assert.equal(await state(), 'queued');
    const box = await bo.inbox();
    assert.equal(box.json.count, 1);
    assert.equal(box.json.notifications[0].id, id);
    const read = await bo.read(id);
    assert.deepEqual(read.json.payload.body, { text: 'hello' });
    assert.equal(await state(), 'read');
    assert.equal((await bo.ack(id)).status, 200);
    assert.equal(await state(), 'acked');
    assert.equal((await bo.inbox()).json.count, 0);
  });

  // XD-12
  it('says with each message whom it comes from', async () => {
    const { json } = await ana.send('bo', { n: 1 });
    const read = await bo.read(json.id);
    const provenance = JSON.parse(read.headers.get('parley-provenance'));
    assert.equal(provenance.sender, 'ana');
    await bo.ack(json.id);
  });

  // XD-10: an idle agent is woken by a long poll.
  it('wakes who waits for mail', async () => {
    const waiting = bo.inbox('?wait=20s');
    const { json } = await ana.send('bo', { n: 2 });
    const woken = await waiting;
    assert.equal(woken.json.notifications[0].id, json.id);
    await bo.read(json.id);
    await bo.ack(json.id);
  });

  // FL-08: the caller blocks until the answer comes.
  it('gives a waiting caller the answer', async () => {
    const asking = ana.send('bo', { question: 1 }, { type: 'request' }, '?wait=20s');
    const box = await bo.inbox('?wait=20s');
    const { id } = box.json.notifications[0];
    await bo.read(id);
    const answer = await bo.send('ana', { answer: 42 },
      { type: 'response', status: 'success', metadata: { in_reply_to: id } });
    assert.equal(answer.status, 202, answer.text);
    const answered = await asking;
    assert.equal(answered.status, 200, answered.text);
    assert.deepEqual(answered.json.response.payload.body, { answer: 42 });
    assert.equal((await ana.delivery(id)).json.deliveries[0].state, 'answered');
    assert.equal((await ana.inbox()).json.count, 0);
  });

  it('tells a waiting caller when no answer comes', async () => {
    const asked = await ana.send('bo', {}, { type: 'request' }, '?wait=50ms');
    assert.equal(asked.status, 504);
    assert.equal(asked.json.code, 'TIMEOUT');
    const box = await bo.inbox();
    for (const { id } of box.json.notifications) { await bo.read(id); await bo.ack(id); }
  });

  // XD-04
  it('lets nobody speak for another', async () => {
    const forged = await ana.call('POST', '/v1/messages', { body: message('bo', 'ana', {}) });
    assert.equal(forged.status, 403);
    assert.equal(forged.json.code, 'SENDER_MISMATCH');
  });

  it('shows a message to nobody but its sender and receivers', async () => {
    const cy = await broker.addAgent('cy');
    const { json } = await ana.send('bo', { secret: true });
    for (const path of ['', '/delivery']) {
      const seen = await cy.call('GET', `/v1/messages/${json.id}${path}`);
      assert.equal(seen.status, 404);
    }
    assert.equal((await cy.ack(json.id)).status, 404);
    await bo.read(json.id);
    await bo.ack(json.id);
  });

  it('isolates workspaces', async () => {
    const made = await broker.call('POST', '/v1/workspaces', { body: { name: 'other' } });
    assert.equal(made.status, 201, made.text);
    const { json } = await broker.call('GET', '/v1/agents', { token: made.json.token });
    assert.deepEqual(json.agents.map((agent) => agent.id), ['admin']);
  });

  it('refuses a wrong token, a wrong path and a wrong method', async () => {
    assert.equal((await broker.call('GET', '/v1/inbox', { token: 'prl_wrong' })).json.code, 'UNAUTHORIZED');
    assert.equal((await broker.call('GET', '/v1/nothing')).json.code, 'NOT_FOUND');
    const wrong = await broker.call('PUT', '/v1/messages');
    assert.equal(wrong.json.code, 'METHOD_NOT_ALLOWED');
    assert.equal(wrong.headers.get('allow'), 'POST, GET');
  });

  it('answers to loopback names only', async () => {
    const { status, json } = await broker.call('GET', '/livez', { headers: { Origin: 'http://evil.example' } });
    assert.equal(status, 403);
    assert.equal(json.code, 'HOST_REFUSED');
  });

  // FL-02
  it('names the field that is wrong', async () => {
    const bad = await ana.send('bo', {}, { type: 'shout' });
    assert.equal(bad.status, 422);
    assert.equal(bad.json.field, '/type');
  });

  it('takes a batch and answers each part', async () => {
    const { status, json } = await ana.call('POST', '/v1/messages', {
      body: [message('ana', 'bo', { n: 1 }), message('ana', 'bo', {}, { type: 'shout' }), message('ana', 'bo', { n: 2 })],
    });
    assert.equal(status, 202);
    assert.deepEqual(json.results.map((result) => result.state ?? result.code), ['accepted', 'VALIDATION_FAILED', 'accepted']);
    for (const { id } of (await bo.inbox()).json.notifications) { await bo.read(id); await bo.ack(id); }
  });

  // FL-03
  it('delivers once what is sent twice with one key', async () => {
    const headers = { 'Idempotency-Key': 'k-1' };
    const first = await ana.call('POST', '/v1/messages', { body: message('ana', 'bo', { n: 1 }), headers });
    const second = await ana.call('POST', '/v1/messages', { body: message('ana', 'bo', { n: 1 }), headers });
    assert.equal(second.json.seq, first.json.seq);
    assert.equal(second.json.duplicate, true);
    assert.equal((await bo.inbox()).json.count, 1);
    await bo.read(first.json.id);
    await bo.ack(first.json.id);
  });

  // FL-13: late subscribers get what is retained.
  it('keeps a topic for late subscribers', async () => {
    const sent = await ana.send('task.done', { n: 1 }, { type: 'broadcast' });
    assert.equal(sent.status, 202, sent.text);
    assert.equal((await bo.call('PUT', '/v1/topics/task.done/subscription')).status, 200);
    const box = await bo.inbox();
    assert.equal(box.json.notifications[0]?.id, sent.json.id);
    const { json } = await bo.call('GET', '/v1/topics');
    assert.deepEqual(json.topics.find((topic) => topic.name === 'task.done').subscribers, ['bo']);
    await bo.read(sent.json.id);
    await bo.ack(sent.json.id);
  });

  // FL-22
  it('keeps what cannot be delivered as a dead letter that can be retried', async () => {
    const sent = await ana.send('nobody', { n: 1 });
    assert.equal(sent.json.recipients[0].state, 'dead');
    const list = await broker.call('GET', '/v1/dead-letters');
    const letter = list.json.dead_letters[0];
    assert.equal(letter.reason, 'receiver_not_found');
    assert.equal((await broker.call('POST', `/v1/dead-letters/${letter.id}/retry`)).json.code, 'RECEIVER_NOT_FOUND');
    const nobody = await broker.addAgent('nobody');
    assert.equal((await broker.call('POST', `/v1/dead-letters/${letter.id}/retry`)).status, 200);
    assert.equal((await nobody.inbox()).json.count, 1);
  });

  it('shows its rules and lets an admin change them', async () => {
    const changed = await broker.call('PATCH', '/v1/rules', { body: { attempts_max: 7 } });
    assert.equal(changed.status, 200, changed.text);
    const { json } = await broker.call('GET', '/v1/rules');
    assert.equal(json.rules.find((rule) => rule.name === 'attempts_max').value, '7');
    assert.equal((await ana.call('PATCH', '/v1/rules', { body: { attempts_max: 1 } })).status, 403);
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { attemts_max: 1 } })).json.code, 'UNKNOWN_RULE');
  });

  // XD-10: `parley wait` outlives a restart, also in its first question.
  it('wakes who waits on the command line, over a restart', async () => {
    const zoe = await broker.addAgent('zoe');
    const env = { ...process.env, PARLEY_TOKEN: zoe.token, PARLEY_DATA: broker.data };
    delete env.PARLEY_URL;
    const polls = async () => Number(/parley_connections (\d+)/.exec(
      (await broker.call('GET', '/metrics')).text)[1]);
    const before = await polls();
    const waiting = promisify(execFile)(binary, ['wait', '--timeout', '50s'], { env });
    await until(polls, (now) => now > before);  // it has connected
    await broker.kill();
    await broker.run();
    await bo.send('zoe', 'wake up');
    assert.match((await waiting).stdout, /wake up/);
  });

  it('stops cleanly on SIGTERM', async () => {
    assert.deepEqual(await broker.stop(), { code: 0, signal: null });
  });
});

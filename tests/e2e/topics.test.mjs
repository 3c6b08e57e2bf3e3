// SPDX-License-Identifier: Apache-2.0
// Topics against the real binary: what the broker publishes by itself, who owns the registry, and
// broadcasts.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, message, until } from './harness.mjs';

describe('topics', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  const subscription = (topic, agent) =>
    `/v1/topics/${topic}/subscription${agent === undefined ? '' : `?agent=${agent}`}`;
  const listed = async (agent, name) =>
    (await agent.call('GET', '/v1/topics')).json.topics.find((topic) => topic.name === name);

  // The next publication on a topic of the broker's, settled.
  async function news(agent, wanted) {
    return until(async () => {
      const { json } = await agent.inbox('?wait=10s');
      assert.ok(json.notifications.length > 0, 'no mail within 10 s');
      for (const { id } of json.notifications) {
        const { json: found } = await agent.read(id);
        await agent.ack(id);
        if (wanted(found.payload.body)) return found;
      }
      return undefined;
    });
  }

  // FL-09
  it('carries what the broker publishes by itself', async () => {
    for (const topic of ['agent.availability_changed', 'system.policy_updated', 'task.status_changed', 'audit.event_logged']) {
      assert.equal((await ana.call('PUT', subscription(topic))).status, 200);
    }
    await broker.addAgent('cy');
    const registered = await news(ana, ({ event, agent }) => event === 'agent.availability_changed' && agent === 'cy');
    assert.equal(registered.sender, 'parley');
    assert.equal(registered.receiver, 'agent.availability_changed');
    assert.equal(registered.payload.body.status, 'registered');

    const set = await broker.call('PATCH', '/v1/rules', { body: { queue_max: 4321 } });
    assert.equal(set.status, 200, set.text);
    const policy = await news(ana, ({ event }) => event === 'system.policy_updated');
    assert.deepEqual(policy.payload.body.rules, ['queue_max']);
    assert.deepEqual(policy.payload.body.old, ['10000']);
    assert.deepEqual(policy.payload.body.new, ['4321']);
    assert.equal(policy.payload.body.by, 'admin');

    const request = { ...message('ana', 'bo', { text: 'please' }), type: 'request' };
    assert.equal((await ana.call('POST', '/v1/messages', { body: request })).status, 202);
    const task = await news(ana, ({ event }) => event === 'task.status_changed');
    assert.equal(task.payload.body.task, request.id);
    assert.equal(task.payload.body.status, 'assigned');
    assert.equal(task.payload.body.receiver, 'bo');

    await broker.call('DELETE', '/v1/agents/cy');
    const gone = await news(ana, ({ event, action }) => event === 'audit.event_logged' && action === 'unregistered');
    assert.equal(gone.payload.body.subject, 'cy');
  });

  // FL-24
  it('lists the registry, and lets its owner manage what others subscribe to', async () => {
    const own = await listed(bo, 'workflow.phase_completed');
    assert.equal(own.publisher, 'parley');
    assert.deepEqual(own.subscribers, []);
    assert.equal((await bo.call('PUT', subscription('build.done', 'ana'))).json.code, 'FORBIDDEN');

    const boss = await broker.addAgent('zoe', { role: 'orchestrator' });
    assert.equal((await boss.call('PUT', subscription('build.done', 'bo'))).status, 200);
    assert.equal((await boss.call('PUT', subscription('build.done', 'ana'))).status, 200);
    assert.equal((await boss.call('PUT', subscription('build.done', 'nobody'))).json.code, 'NOT_FOUND');
    const seen = await listed(boss, 'build.done');
    assert.deepEqual(seen.subscribers, ['bo', 'ana']);
    assert.equal(seen.owner, 'zoe');
    assert.equal(seen.last_published, undefined);
    const others = await listed(bo, 'build.done');
    assert.deepEqual(others.subscribers, ['bo']);
    assert.equal(others.subscriber_count, 2);

    const sent = await ana.call('POST', '/v1/messages', { body: message('ana', 'build.done', 'green') });
    assert.equal(sent.json.recipient_count, 1);
    assert.ok((await listed(bo, 'build.done')).last_published);
    assert.equal((await boss.call('DELETE', subscription('build.done', 'bo'))).status, 200);
    assert.equal((await listed(boss, 'build.done')).subscriber_count, 1);
    // Removed at an explicit shutdown.
    await broker.call('DELETE', '/v1/agents/zoe');
    assert.equal((await listed(bo, 'build.done')).owner, 'admin');
  });

  // FL-13
  it('wants domain.event_type of a flow agent', async () => {
    const refused = await bo.call('PUT', subscription('news'));
    assert.equal(refused.json.code, 'BAD_REQUEST');
    assert.match(refused.json.detail, /domain\.event_type/);
    const start = await broker.call('POST', '/v1/agents', { body: { id: 'eve', subscriptions: ['news'] } });
    assert.equal(start.json.field, '/subscriptions');
  });

  // FL-14
  it('keeps a broadcast in memory for who is not offline, and says so', async () => {
    const dee = await broker.addAgent('dee');
    await dee.call('POST', '/v1/agents/dee/heartbeat', { body: { status: 'offline' } });
    const sent = await ana.call('POST', '/v1/messages', {
      body: { ...message('ana', 'broadcast', 'hello'), type: 'broadcast' },
    });
    assert.equal(sent.status, 202, sent.text);
    const receivers = sent.json.recipients.map(({ receiver }) => receiver);
    assert.ok(receivers.includes('bo'));
    assert.ok(!receivers.includes('dee'));
    const { json } = await ana.call('GET', `/v1/messages/${sent.json.id}/delivery`);
    assert.ok(json.deliveries.every((delivery) => delivery.not_persisted === true));
    const direct = await ana.call('POST', '/v1/messages', { body: message('ana', 'bo', 'hello') });
    assert.equal(direct.json.recipients[0].not_persisted, undefined);
  });
});

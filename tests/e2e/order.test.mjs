// SPDX-License-Identifier: Apache-2.0
// Notifications, priorities and order, against the real binary.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, message } from './harness.mjs';

describe('order', () => {
  let broker, ana, bo, cy;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'flow.ttl.critical=100ms', '--set', 'flow.ttl.low=1h'] });
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    cy = await broker.addAgent('cy');
  });
  after(() => broker.remove());

  const send = async (agent, name, to, body, priority = 'normal') => {
    const sent = await agent.call('POST', '/v1/messages', { body: { ...message(name, to, body), priority } });
    assert.equal(sent.status, 202, sent.text);
    return sent.json;
  };
  const taken = async (agent) => {
    const bodies = [];
    for (const { id } of (await agent.inbox()).json.notifications) {
      bodies.push((await agent.read(id)).json.payload.body.n);
      await agent.ack(id);
    }
    return bodies;
  };

  // FL-05
  it('sends a notification one way: nothing comes back and no one waits', async () => {
    const { id } = await send(ana, 'ana', 'bo', { n: 0 });
    assert.equal((await ana.delivery(id)).json.request, undefined);
    assert.deepEqual(await taken(bo), [0]);
    assert.equal((await ana.inbox()).json.count, 0);
    assert.equal((await ana.delivery(id)).json.deliveries[0].state, 'acked');
  });

  // FL-16
  it('serves the urgent channel first, and each channel in the order sent', async () => {
    await send(ana, 'ana', 'bo', { n: 1 }, 'low');
    await send(ana, 'ana', 'bo', { n: 2 }, 'normal');
    await send(cy, 'cy', 'bo', { n: 3 }, 'low');
    await send(cy, 'cy', 'bo', { n: 4 }, 'high');
    assert.deepEqual(await taken(bo), [3, 4, 1, 2]);
  });

  // FL-15
  it('gives each priority its own time to live', async () => {
    const urgent = await send(ana, 'ana', 'bo', { n: 5 }, 'critical');
    const slow = await send(ana, 'ana', 'bo', { n: 6 }, 'low');
    const notice = (await ana.inbox('?wait=10s')).json.notifications[0];
    const { payload } = (await ana.read(notice.id)).json;
    assert.equal(payload.body.reason, 'ttl_expired');
    assert.equal((await ana.delivery(urgent.id)).json.deliveries[0].state, 'expired');
    assert.equal((await ana.delivery(slow.id)).json.deliveries[0].state, 'queued');
  });
});

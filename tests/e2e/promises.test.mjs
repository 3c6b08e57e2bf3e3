// SPDX-License-Identifier: Apache-2.0
// What the protocols promise between agents of several dialects, against the real binary.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker } from './harness.mjs';

let made = 0;

describe('the promises of the protocols', () => {
  let broker, ana, bo, boss, sam;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    boss = await broker.addAgent('boss', { dialect: 'collab', role: 'coordinator' });
    sam = await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
  });
  after(() => broker.remove());

  // The first message that waits for the agent, read and settled.
  async function next(agent) {
    const { json } = await agent.inbox('?wait=20s&limit=1');
    assert.equal(json.shown, 1, 'no mail within 20 s');
    const { id } = json.notifications[0];
    const { json: found } = await agent.read(encodeURIComponent(id));
    await agent.ack(encodeURIComponent(id));
    return found;
  }

  it('FL-01: tell the sender that its message was acknowledged, or not in time', async () => {
    const wanted = { metadata: { requires_ack: true } };
    const sent = await ana.send('bo', { n: 1 }, { type: 'notification', ...wanted });
    assert.equal(sent.status, 202);
    assert.equal((await next(bo)).payload.body.n, 1);
    const told = await next(ana);
    assert.equal(told.payload.body.event, 'acknowledged');
    assert.deepEqual(told.payload.body.acknowledged, ['bo']);
    assert.equal(told.metadata.in_reply_to, sent.json.id);
    assert.equal(told.metadata.requires_ack, false);
    await ana.send('bo', { n: 2 }, { type: 'notification', response_timeout: '100ms', ...wanted });
    const late = (await next(ana)).payload.body;
    assert.deepEqual([late.event, late.missing], ['not_acknowledged', ['bo']]);
    assert.equal((await next(bo)).payload.body.n, 2);
    assert.equal((await ana.inbox()).json.shown, 0);  // nothing more is said of it
  });

  it('CO-08: try again after 1, 2 and 4 s what a receiver cannot take, and say how often', async () => {
    await bo.call('POST', '/v1/agents/bo/heartbeat', { body: { status: 'offline' } });
    const began = Date.now();
    const asked = await boss.call('POST', '/v1/messages?on_unavailable=fail&wait=20s', {
      body: {
        id: `msg_${++made}`, version: '1.0', from: 'boss', to: 'bo', type: 'command', priority: 1,
        timestamp: new Date().toISOString(), action: 'build', payload: {},
      },
    });
    assert.ok(Date.now() - began >= 6_900, 'it was given up before the last try');
    assert.ok(asked.status >= 400, JSON.stringify(asked.json));
    const { json: { dead_letters: letters } } = await broker.call('GET', '/v1/dead-letters');
    assert.deepEqual(letters.map((each) => [each.reason, each.receiver, each.system_retries, each.retry_count]),
      [['receiver_unavailable', 'bo', 3, 0]]);
    assert.equal((await next(boss)).action, 'delivery_failed');
  });

  it('IN-08: no one gets more by a topic than its dialect takes, and the publisher is told', async () => {
    for (const agent of [sam, boss]) {
      const { status } = await agent.call('PUT', '/v1/topics/team.news/subscription');
      assert.ok(status < 300);
    }
    const sent = await ana.send('team.news', { text: 'x'.repeat(10_200) }, { type: 'broadcast' });
    assert.equal(sent.status, 202);
    assert.equal((await next(boss)).payload.text.length, 10_200);
    const told = (await next(ana)).payload.body;
    assert.deepEqual([told.event, told.reason], ['delivery_failed', 'rejected']);
    assert.match(told.detail, /its receiver speaks inbox and takes fewer than 10240/);
    assert.equal((await sam.inbox()).json.shown, 0);
  });
});

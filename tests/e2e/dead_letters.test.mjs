// SPDX-License-Identifier: Apache-2.0
// Every reason for a dead letter, and what the broker does with them by itself.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, message, until } from './harness.mjs';

describe('dead letters', () => {
  let broker, ana, bo, boss;
  before(async () => {
    broker = await Broker.start({
      flags: ['--set', 'dead_letter_pass=1h', '--set', 'attempts_max=1'],
      raise: { dead_letter_alert: [0, 'more than ten die here, and the alert is tested below'] },
    });
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    boss = await broker.addAgent('boss', { role: 'orchestrator' });
  });
  after(() => broker.remove());

  const rules = async (body) => assert.equal((await broker.call('PATCH', '/v1/rules', { body })).status, 200);
  const show = async (id) => (await broker.call('GET', `/v1/dead-letters/${id}`)).json;
  // The newest dead letter with this reason, when `fits` it; polls until there is one.
  const letter = (reason, fits = () => true) => until(async () => {
    const { json } = await broker.call('GET', '/v1/dead-letters?limit=1000');
    return json.dead_letters.find((each) => each.reason === reason && fits(each));
  });
  // FL-22: all that the protocol's schema wants.
  async function whole(reason, body, handedOut = 0) {
    const { dead_letter: entry, original_message: original } = await show((await letter(reason)).id);
    assert.deepEqual(original.payload.body, body);
    assert.ok(Date.parse(entry.failed_at) > 0);
    assert.equal(entry.retry_count, handedOut);
    assert.ok(entry.last_error.length > 0);
    assert.equal(entry.resolution.status, 'pending');
    return entry;
  }

  it('FL-22: receiver_not_found', async () => {
    await ana.send('nobody', { n: 1 });
    assert.equal((await whole('receiver_not_found', { n: 1 })).receiver, 'nobody');
  });

  it('FL-22: receiver_unavailable, after as many lost or refused deliveries as the rules allow', async () => {
    const { id } = (await ana.send('bo', { n: 2 })).json;
    await bo.read(id);
    await bo.call('POST', `/v1/messages/${id}/nack`, { body: { reason: 'not now' } });
    assert.equal((await whole('receiver_unavailable', { n: 2 }, 1)).last_error, 'not now');
  });

  it('FL-22: ttl_expired', async () => {
    await ana.send('bo', { n: 3 }, { metadata: { ttl: '1ms' } });
    await whole('ttl_expired', { n: 3 });
  });

  it('FL-22: rejected', async () => {
    const { id } = (await ana.send('bo', { n: 4 })).json;
    await bo.read(id);
    await bo.call('POST', `/v1/messages/${id}/reject`, { body: { reason: 'nonsense' } });
    assert.equal((await whole('rejected', { n: 4 }, 1)).last_error, 'nonsense');
  });

  it('FL-22: malformed, which cannot be retried', async () => {
    assert.equal((await ana.send('bo', { n: 5 }, { type: 'nonsense' })).status, 422);
    const { id } = await letter('malformed');
    assert.match((await show(id)).original_message, /nonsense/);
    const retried = await broker.call('POST', `/v1/dead-letters/${id}/retry`);
    assert.deepEqual([retried.status, retried.json.code], [409, 'CONFLICT']);
  });

  it('FL-02: what only the broker can know to be malformed is kept within the same bound', async () => {
    const answer = (text) => ana.send('bo', { text }, {
      type: 'response', status: 'success',
      metadata: { in_reply_to: '00000000-0000-4000-8000-000000000000' },
    });
    assert.equal((await answer('short')).status, 404);
    const { id } = await letter('malformed', (each) => each.last_error.startsWith('in_reply_to'));
    assert.match((await show(id)).original_message, /short/);
    assert.equal((await answer('x'.repeat(5000))).status, 404);
    const large = await letter('malformed', (each) => each.id !== id && each.last_error.startsWith('in_reply_to'));
    assert.equal(large.original_kept, false);
    assert.equal((await show(large.id)).original_message, undefined);
  });

  it('FL-22: names the dead letter that is not there', async () => {
    for (const [method, path] of [['POST', '/v1/dead-letters/abc/retry'], ['GET', '/v1/dead-letters/abc']]) {
      const { status, json } = await broker.call(method, path);
      assert.equal(status, 404);
      assert.match(json.detail, /"abc"/);
    }
  });

  it('FL-22: queue_overflow', async () => {
    const cy = await broker.addAgent('cy', { subscriptions: ['build.done'] });
    await rules({ queue_max: 1 });
    await ana.send('build.done', { n: 6 });
    await ana.send('build.done', { n: 7 });
    assert.equal((await whole('queue_overflow', { n: 7 })).receiver, 'cy');
    await rules({ queue_max: 10000 });
    assert.equal((await cy.inbox()).json.count, 1);
  });

  it('FL-22: a retry puts the original back with a fresh time to live and no attempts', async () => {
    const { id } = await letter('receiver_unavailable');
    assert.equal((await broker.call('POST', `/v1/dead-letters/${id}/retry`)).status, 200);
    assert.deepEqual((await show(id)).dead_letter.resolution.status, 'retried');
    const { json } = await bo.inbox();
    const back = json.notifications.find((note) => note.preview === '{"n":2}');
    const [delivery] = (await ana.delivery(back.id)).json.deliveries;
    assert.deepEqual([delivery.state, delivery.attempts], ['queued', 0]);
    assert.equal((await broker.call('POST', `/v1/dead-letters/${id}/retry`)).status, 409);
  });

  it('FL-23: an escalation reaches a human, who can still retry', async () => {
    const { id } = await letter('rejected');
    assert.equal((await broker.call('POST', `/v1/dead-letters/${id}/escalate`)).status, 200);
    const { json } = await broker.call('GET', '/v1/escalations');
    assert.ok(json.escalations.some((each) => each.why.startsWith(`dead letter ${id}, rejected`)));
    assert.equal((await show(id)).dead_letter.resolution.status, 'escalated');
    assert.equal((await broker.call('POST', `/v1/dead-letters/${id}/retry`)).status, 200);
  });

  it('FL-23: by itself it tries again, escalates what is critical and discards what is old', async () => {
    await rules({ dead_letter_pass: '50ms', dead_letter_backoff: '1ms' });
    const { id } = (await ana.send('bo', { n: 8 })).json;
    for (let tries = 0; tries <= 3; ++tries) {
      await until(async () => (await ana.delivery(id)).json.deliveries[0].state === 'queued');
      await bo.read(id);
      await bo.call('POST', `/v1/messages/${id}/nack`, { body: { reason: `try ${tries}` } });
    }
    const last = await letter('receiver_unavailable', (each) => each.last_error === 'try 3');
    assert.equal(last.system_retries, 3);
    await ana.send('nobody', { n: 9 }, { priority: 'critical' });
    const critical = await letter('receiver_not_found', (each) => each.resolution.status === 'escalated');
    assert.equal(critical.resolution.resolved_by, 'system');
    await ana.send('nobody', { n: 10 }, { metadata: { ttl: '1ms' } });
    const old = await letter('receiver_not_found', (each) => each.resolution.status === 'discarded');
    assert.equal(old.resolution.resolved_by, 'system');
  });

  it('FL-23: many alert the orchestrator, in health, metrics and as a message', async () => {
    await rules({ dead_letter_alert: 10 });
    for (let n = 0; n < 10; ++n) await ana.send('nobody', { n });
    const alert = await until(async () => {
      const { json } = await boss.inbox('?wait=5s');
      for (const note of json.notifications) {
        const { json: message } = await boss.read(note.id);
        await boss.ack(note.id);
        if (message.payload.body.event === 'dead_letter_alert') return message;
      }
      return undefined;
    });
    assert.deepEqual([alert.sender, alert.payload.body.dead_letters, alert.payload.body.receiver_not_found], ['parley', 10, 10]);
    assert.equal((await broker.call('GET', '/v1/health')).json.status, 'degraded');
    const health = (await broker.call('GET', '/v1/health')).json.dead_letters;
    assert.equal(health.alerts, 1);
    assert.ok(health.alerted_at);
    assert.equal(health.newest.length, 10);
    assert.equal((await ana.call('GET', '/v1/health')).json.dead_letters.newest, undefined);
    assert.match((await broker.call('GET', '/metrics')).text, /^parley_dead_letter_alerts_total 1$/m);
  });
});

// Far more fail at once than the broker may owe to one agent.
describe('thousands that expire at once', () => {
  const reason = 'one agent sends thousands on purpose';
  let broker;
  before(async () => {
    broker = await Broker.start({
      flags: ['--set', 'errands_max=400'],
      raise: Object.fromEntries(['agent_in', 'agent_out', 'pair'].map((who) => [`flow.rate.${who}_per_min`, [0, reason]])),
    });
  });
  after(() => broker.remove());

  it('XD-09: are told to their sender one by one, and beyond its share in summaries', async () => {
    const count = 3_000;
    const ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
    const at = Date.now() + 3_000;
    for (let sent = 0; sent < count; sent += 100) {
      const drafts = Array.from({ length: 100 }, (_, n) =>
        message('ana', 'bo', { n: sent + n }, { metadata: { ttl: `${Math.max(at - Date.now(), 1)}ms` } }));
      assert.equal((await ana.call('POST', '/v1/messages', { body: drafts })).status, 202);
    }
    const told = { one: 0, summed: 0 };
    while (told.one + told.summed < count) {
      const { notifications } = (await ana.inbox('?limit=1000&wait=30s')).json;
      assert.ok(notifications.length > 0, `told of ${JSON.stringify(told)}`);
      for (const { id } of notifications) {
        const { event, delivery_failed: more } = (await ana.read(id)).json.payload.body;
        if (event === 'summary') told.summed += more;
        else if (event === 'delivery_failed') told.one += 1;
        await ana.ack(id);
      }
    }
    assert.equal(told.one + told.summed, count);
    assert.ok(told.one >= 50 && told.summed > 0, JSON.stringify(told));
    const { text } = await broker.call('GET', '/metrics');
    assert.match(text, /^parley_notices_unsent_total 0$/m);
    assert.match(text, /^parley_notices_owed 0$/m);
  });
});

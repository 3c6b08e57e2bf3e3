// SPDX-License-Identifier: Apache-2.0
// Topics against the real binary: what the broker publishes by itself, who owns the registry, and
// broadcasts.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, Raw, frame, message, until } from './harness.mjs';

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
        const read = await agent.read(id);
        await agent.ack(id);
        const found = { ...read.json, provenance: JSON.parse(read.headers.get('parley-provenance')) };
        if (wanted(found.payload.body)) return found;
      }
      return undefined;
    });
  }

  it('are listed in pages', async () => {
    const page = async (query) => (await ana.call('GET', `/v1/topics${query}`)).json;
    const { count, more, topics } = await page('');
    assert.deepEqual([count, more], [topics.length, false]);
    const found = [];
    for (let after = ''; ;) {
      const part = await page(`?limit=2&after=${after}`);
      assert.ok(part.topics.length <= 2);
      assert.equal(part.count, count - found.length);
      found.push(...part.topics);
      if (!part.more) break;
      after = part.topics.at(-1).name;
    }
    assert.deepEqual(found, topics);
    assert.equal((await ana.call('GET', '/v1/topics?limit=1001')).json.code, 'BAD_REQUEST');
  });

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

    // What was done to whom is for these two, and for those who look after the workspace.
    const ops = await broker.addAgent('ops', { role: 'orchestrator' });
    assert.equal((await ops.call('PUT', subscription('audit.event_logged'))).status, 200);
    await broker.call('DELETE', '/v1/agents/cy');
    const gone = await news(ops, ({ event, action }) => event === 'audit.event_logged' && action === 'unregistered');
    assert.equal(gone.payload.body.subject, 'cy');
    assert.equal((await broker.call('DELETE', '/v1/agents/ops')).status, 200);  // another owns the topics below
  });

  // FL-09: who sent a message says whose word it is, also on a topic of the broker's own.
  it('tells what an agent publishes on task.status_changed from what the broker says there', async () => {
    const own = await Broker.start();
    try {
      const [eve, fay, gus] = [await own.addAgent('eve'), await own.addAgent('fay'), await own.addAgent('gus', { role: 'orchestrator' })];
      assert.equal((await gus.call('PUT', subscription('task.status_changed'))).status, 200);
      // In the words that the broker would use, as one does who wants to be taken for it.
      const claim = { event: 'task.status_changed', task: 'none', status: 'completed', receiver: 'fay' };
      const sent = await eve.send('task.status_changed', claim, { type: 'broadcast' });
      assert.equal(sent.status, 202, sent.text);
      assert.equal(sent.json.recipient_count, 1);
      const request = (await eve.send('fay', 'please', { type: 'request' })).json;

      const said = await news(gus, ({ task }) => task === 'none');
      assert.equal(said.id, sent.json.id);
      assert.deepEqual([said.sender, said.receiver, said.provenance.sender_kind], ['eve', 'task.status_changed', 'agent']);
      assert.notEqual(said.provenance.via, 'broker');
      const told = await news(gus, ({ task }) => task === request.id);
      assert.deepEqual([told.sender, told.receiver, told.provenance.sender_kind, told.provenance.via],
        ['parley', 'task.status_changed', 'broker', 'broker']);
      // Nobody sends in the broker's name.
      const forged = message('parley', 'task.status_changed', claim, { type: 'broadcast' });
      const refused = await eve.call('POST', '/v1/messages', { body: forged });
      assert.equal(refused.json.code, 'SENDER_MISMATCH', refused.text);
    } finally {
      await own.remove();
    }
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

  // FL-24, XD-08: what comes with a registration is durable when it is answered, or refused with it.
  it('registers with all subscriptions or not at all', async () => {
    const body = { id: 'flo', subscriptions: ['deploy.done', 'deploy.failed'] };
    const limit = await broker.call('GET', '/v1/rules');
    await broker.call('PATCH', '/v1/rules', { body: { subscriptions_per_agent_max: 1 } });
    const refused = await broker.call('POST', '/v1/agents', { body });
    assert.equal(refused.json.code, 'LIMIT_REACHED', refused.text);
    assert.equal(refused.json.field, '/subscriptions');
    assert.equal((await broker.call('GET', '/v1/agents/flo')).status, 404);
    const usual = limit.json.rules.find(({ name }) => name === 'subscriptions_per_agent_max').value;
    await broker.call('PATCH', '/v1/rules', { body: { subscriptions_per_agent_max: usual } });
    await ana.send('deploy.done', 'green');
    const flo = await broker.addAgent('flo', { subscriptions: body.subscriptions });
    const { json } = await flo.inbox();
    assert.deepEqual(json.notifications.map(({ from }) => from), ['ana']);
    assert.deepEqual((await flo.call('GET', '/v1/agents/flo')).json.subscriptions, body.subscriptions);
  });

  // FL-13, FL-24: `*` is one part of a name.
  it('registers with a pattern, which is for what matches it and nothing else', async () => {
    const own = await Broker.start();
    try {
      const eve = await own.addAgent('eve');
      const pia = await own.addAgent('pia', { subscriptions: ['build.*'] });
      assert.deepEqual((await pia.call('GET', '/v1/agents/pia')).json.subscriptions, ['build.*']);
      const publish = (topic) => eve.send(topic, topic, { type: 'broadcast' });
      for (const topic of ['build.x.y', 'builds.done', 'deploy.done']) {
        const sent = await publish(topic);
        assert.equal(sent.status, 202, sent.text);
        assert.equal(sent.json.recipient_count, 0, topic);
      }
      const done = await publish('build.done');
      assert.equal(done.json.recipient_count, 1, done.text);
      // The last that was sent is there: what was to come before it would be there, too.
      const { json } = await pia.inbox('?wait=10s');
      assert.deepEqual(json.notifications.map(({ id }) => id), [done.json.id]);
      const { json: read } = await pia.read(done.json.id);
      assert.deepEqual([read.sender, read.receiver, read.payload.body], ['eve', 'build.done', 'build.done']);
    } finally {
      await own.remove();
    }
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

  // FL-14: nobody was promised more than the time to live, so nobody is told of its end.
  it('ends a broadcast in memory quietly, and counts it', async () => {
    const quiet = await Broker.start();
    try {
      const eve = await quiet.addAgent('eve');
      for (let n = 0; n < 12; ++n) await quiet.addAgent(`idle${n}`);
      const sent = await eve.send('*', 'hello', { type: 'broadcast', metadata: { ttl: '100ms' } });
      assert.equal(sent.status, 202, sent.text);
      assert.deepEqual(sent.json.states, { queued: 12 });
      assert.equal(sent.json.not_persisted, true);
      const { json } = await until(() => eve.delivery(sent.json.id), (answer) => answer.json.states.expired === 12);
      assert.equal(json.not_persisted, true);
      assert.equal(json.recipient_count, 12);
      assert.equal((await quiet.call('GET', '/v1/dead-letters')).json.dead_letters.length, 0);
      assert.equal((await eve.inbox()).json.count, 0);
      assert.equal((await quiet.call('GET', '/v1/health')).json.status, 'healthy');
      const metrics = (await quiet.call('GET', '/metrics')).text;
      assert.match(metrics, /^parley_broadcasts_unheard_total 12$/m);
    } finally {
      await quiet.remove();
    }
  });

  // FL-14, IN-08: nothing but the receipt tells of it.
  it('warns of those who cannot take a broadcast in memory', async () => {
    const own = await Broker.start();
    try {
      const eve = await own.addAgent('eve');
      await own.addAgent('fay');
      await own.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
      const sent = await eve.send('*', 'x'.repeat(20_000), { type: 'broadcast' });
      assert.deepEqual(sent.json.states, { queued: 1, rejected: 1 });
      assert.deepEqual(sent.json.warnings,
        ['1 of 2 receivers do not get it: it is larger than their dialect takes']);
      assert.deepEqual((await eve.send('*', 'short', { type: 'broadcast' })).json.warnings, []);
      const raw = await Raw.connect(own.url);
      assert.equal((await raw.upgrade('/v1/ws?window=0', eve.token)).status, 101);
      const told = async (body) => {
        await raw.send(frame(JSON.stringify({ op: 'send', ref: 1, message: message('eve', '*', body, { type: 'broadcast' }) })));
        return JSON.parse((await raw.frame()).payload).warnings;
      };
      assert.deepEqual(await told('x'.repeat(20_000)), sent.json.warnings);
      assert.deepEqual(await told('short'), []);
      raw.end();
      assert.equal((await eve.inbox()).json.count, 0);
    } finally {
      await own.remove();
    }
  });

  // FL-14, FL-06: a restart ends what was in memory, and nothing else.
  it('forgets a broadcast in memory with a restart, and keeps a roll call', async () => {
    const own = await Broker.start();
    try {
      const eve = await own.addAgent('eve');
      const fay = await own.addAgent('fay');
      const shout = await eve.send('*', 'gone soon', { type: 'broadcast' });
      const call = await eve.send('*', 'who is here?', { type: 'broadcast', metadata: { requires_ack: true } });
      assert.equal(call.status, 202, call.text);
      assert.equal((await fay.inbox()).json.count, 2);
      await own.stop();
      await own.run();
      const { json } = await fay.inbox();
      assert.deepEqual(json.notifications.map(({ preview }) => preview), ['who is here?']);
      assert.deepEqual((await eve.delivery(shout.json.id)).json.states, { expired: 1 });
      assert.equal((await own.call('GET', '/v1/dead-letters')).json.dead_letters.length, 0);
    } finally {
      await own.remove();
    }
  });

  // FL-09: the publisher does not know its subscribers, wherever it looks.
  it('names no subscriber to who publishes', async () => {
    const pat = await broker.addAgent('pat');
    const quinn = await broker.addAgent('quinn-who-listens');
    await quinn.call('PUT', subscription('secret.spoken'));
    // One who cannot take what is large: its publisher hears of that, too.
    const small = await broker.addAgent('quinn-who-takes-little', { dialect: 'inbox', role: 'specialist' });
    await small.call('PUT', subscription('secret.shouted'));
    const large = await pat.send('secret.shouted', 'x'.repeat(20_000), { type: 'broadcast' });
    assert.deepEqual(large.json.states, { rejected: 1 });
    const sent = await pat.send('secret.spoken', 'psst', { type: 'request', metadata: { ttl: '100ms' } });
    assert.equal(sent.status, 202, sent.text);
    assert.equal(sent.json.recipient_count, 1);
    assert.deepEqual(sent.json.recipients, []);
    const kept = await pat.send('secret.spoken', 'psst again');
    await quinn.read(kept.json.id);
    await quinn.ack(kept.json.id);
    const { json } = await until(() => pat.delivery(kept.json.id), (answer) => answer.json.states.acked === 1);
    assert.deepEqual(json.deliveries, []);
    const roll = await pat.send('secret.spoken', 'who listens?', { type: 'broadcast', metadata: { requires_ack: true } });
    await quinn.read(roll.json.id);
    await quinn.ack(roll.json.id);
    await until(() => pat.delivery(sent.json.id), (answer) => answer.json.states.expired === 1);
    const notices = await until(() => pat.inbox(), ({ json: { count } }) => count > 2);
    const told = [];
    for (const { id } of notices.json.notifications) told.push((await pat.read(id)).text);
    assert.match(told.join(), /secret\.spoken/);
    assert.match(told.join(), /its receiver speaks inbox/);
    assert.match(told.join(), /"acknowledged_count":1/);
    const looks = [told.join(), (await pat.call('GET', '/v1/outbox')).text, (await pat.call('GET', '/v1/messages')).text,
      (await pat.call('GET', `/v1/traces/${kept.json.id}`)).text, (await pat.call('GET', `/v1/traces/${large.json.id}`)).text,
      (await pat.delivery(large.json.id)).text, JSON.stringify(large.json), (await pat.call('GET', '/v1/topics')).text,
      (await pat.call('GET', '/v1/escalations')).text, (await pat.call('GET', `/v1/threads/${kept.json.thread}`)).text,
      JSON.stringify(sent.json), JSON.stringify(kept.json), JSON.stringify(json)];
    for (const look of looks) assert.doesNotMatch(look, /quinn/);
    for (const name of ['quinn-who-listens', 'quinn-who-takes-little', 'nobody']) {
      const found = await pat.call('GET', `/v1/messages?agent=${name}&limit=1`);
      assert.deepEqual(found.json, { count: 0, messages: [] });
    }
    assert.equal((await pat.call('GET', '/v1/agents/quinn-who-listens')).json.subscriptions, undefined);
    // Who looks after the topics may know.
    const seen = await broker.call('GET', `/v1/messages/${kept.json.seq}/delivery`);
    assert.deepEqual(seen.json.deliveries.map(({ receiver }) => receiver), ['quinn-who-listens']);
    assert.match((await broker.call('GET', '/v1/agents/quinn-who-listens')).text, /secret\.spoken/);
    const search = await broker.call('GET', '/v1/messages?agent=quinn-who-takes-little');
    assert.deepEqual(search.json.messages.map(({ id }) => id), [large.json.id]);
    for (const { id } of [quinn, small]) await broker.call('DELETE', `/v1/agents/${id}`);
  });
});

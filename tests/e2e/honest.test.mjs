// SPDX-License-Identifier: Apache-2.0
// What the broker tells of a message: to its sender, to its receiver, to those who look after it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Agent, Broker, Raw, message, until } from './harness.mjs';

describe('an honest broker', () => {
  let broker, ana, bo, cy;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    cy = await broker.addAgent('cy');
  });
  after(() => broker.remove());

  // Reads and settles what waits, oldest first.
  async function emptied(agent, query = '') {
    const bodies = [];
    for (const { id } of (await agent.inbox(query)).json.notifications) {
      const read = await agent.read(id);
      bodies.push({ ...read.json, provenance: JSON.parse(read.headers.get('parley-provenance')) });
      await agent.ack(id);
    }
    return bodies;
  }
  const letters = async () => (await broker.call('GET', '/v1/dead-letters')).json.dead_letters;

  // FL-02
  it('refuses what is no message, keeps it as a dead letter and tells its sender', async () => {
    const wrong = { ...message('ana', 'bo', {}), priority: 'urgent', password: 'hunter2' };
    const sent = await ana.call('POST', '/v1/messages', { body: wrong });
    assert.equal(sent.status, 422, sent.text);
    assert.equal(sent.json.field, '/priority');
    const [letter] = await letters();
    assert.equal(letter.reason, 'malformed');
    assert.equal(letter.sender, 'ana');
    const shown = await broker.call('GET', `/v1/dead-letters/${letter.id}`);
    assert.match(shown.json.original_message, /"priority":"urgent"/);
    assert.doesNotMatch(shown.text, /hunter2/);
    const [notice] = await emptied(ana, '?wait=10s');
    assert.equal(notice.sender, 'parley');
    assert.equal(notice.payload.body.event, 'message_malformed');
    assert.match(notice.payload.body.detail, /priority/);
    assert.equal(notice.payload.body.dead_letter, letter.id);
    assert.equal((await letters())[0].sender_told, true);
    const retried = await broker.call('POST', `/v1/dead-letters/${letter.id}/retry`);
    assert.equal(retried.status, 409);
    await broker.call('POST', `/v1/dead-letters/${letter.id}/discard`);
  });

  for (const field of ['id', 'conversation_id', 'type', 'sender', 'receiver', 'payload', 'metadata']) {
    it(`names ${field} when it is missing`, async () => {
      const { [field]: gone, ...rest } = message('ana', 'bo', {});
      const sent = await ana.call('POST', '/v1/messages', { body: rest });
      assert.equal(sent.status, 422, sent.text);
      assert.ok(sent.json.field.startsWith(`/${field}`), sent.text);
    });
  }

  it('fills in what a simple client leaves out, when asked to', async () => {
    await emptied(ana, '?wait=1s');
    const body = { type: 'notification', receiver: 'bo', payload: { content_type: 'text', body: 'hi' } };
    const sent = await ana.call('POST', '/v1/messages?lenient=true', { body });
    assert.equal(sent.status, 202, sent.text);
    assert.equal(sent.json.thread, sent.json.id);
    const { notifications } = (await bo.inbox()).json;
    assert.equal(notifications[0].preview, 'hi');
    const [got] = await emptied(bo);
    assert.equal(got.sender, 'ana');
    assert.equal(got.conversation_id, sent.json.id);
  });

  it('keeps no more malformed messages of one sender than the rule says', async () => {
    const set = (value) => broker.call('PATCH', '/v1/rules', { body: { malformed_per_min: value } });
    const before = (await letters()).length;
    const eve = await broker.addAgent('eve');
    await set(3);
    for (let n = 0; n < 10; ++n) {
      const sent = await eve.call('POST', '/v1/messages', { body: { id: n } });
      assert.equal(sent.status, 422);
    }
    assert.equal((await letters()).length - before, 3);
    await set(60);
  });

  it('keeps nothing of what is no JSON object, or has another sender', async () => {
    const before = (await letters()).length;
    for (const body of ['{"id":', '[1, "x"]', '7', '"text"']) {
      await ana.call('POST', '/v1/messages', { body });
    }
    const lie = await ana.call('POST', '/v1/messages', { body: message('bo', 'cy', {}) });
    assert.equal(lie.json.code, 'SENDER_MISMATCH');
    const stranger = await broker.call('POST', '/v1/messages', { token: 'prl_x', body: { id: 1 } });
    assert.equal(stranger.status, 401);
    assert.equal((await letters()).length, before);
  });

  it('keeps a response to nothing as malformed', async () => {
    const sent = await ana.send('bo', {},
      { type: 'response', status: 'success', metadata: { in_reply_to: crypto.randomUUID() } });
    assert.equal(sent.json.field, '/in_reply_to');
    const [letter] = await letters();
    assert.equal(letter.reason, 'malformed');
    await emptied(ana, '?wait=10s');
  });

  // XD-09: told of every final failure, in the conversation of the message, and once.
  it('tells the sender what became of a message that no one got', async () => {
    const sent = await ana.send('nobody', { n: 1 });
    assert.equal(sent.status, 202);
    assert.equal(sent.json.recipients[0].state, 'dead');
    const [notice] = await emptied(ana, '?wait=10s');
    assert.equal(notice.payload.body.event, 'delivery_failed');
    assert.equal(notice.payload.body.reason, 'receiver_not_found');
    assert.equal(notice.payload.body.receiver, 'nobody');
    assert.equal(notice.conversation_id, sent.json.thread);
    assert.equal(notice.metadata.in_reply_to, sent.json.id);
    assert.equal(notice.provenance.sender_kind, 'broker');
    const rejected = await ana.send('bo', { n: 2 });
    await bo.read(rejected.json.id);
    await bo.call('POST', `/v1/messages/${rejected.json.id}/reject`, { body: { reason: 'not mine' } });
    const [told] = await emptied(ana, '?wait=10s');
    assert.equal(told.payload.body.reason, 'rejected');
    assert.equal(told.payload.body.detail, 'not mine');
    await broker.stop();
    await broker.run();
    assert.equal((await ana.inbox()).json.count, 0);
  });

  // XD-12
  it('says who sent it, how, and on whose behalf', async () => {
    const human = await broker.call('POST', '/v1/humans', { body: { name: 'di' } });
    const di = new Agent(broker, 'human:di', human.json.token);
    const asked = await di.send('ana', { please: 1 }, { type: 'request' });
    assert.equal(asked.status, 202, asked.text);
    const [request] = await emptied(ana);
    assert.equal(request.provenance.sender, 'human:di');
    assert.equal(request.provenance.sender_kind, 'human');
    assert.equal(request.provenance.via, 'http');
    assert.equal(request.provenance.dialect, 'flow');
    assert.deepEqual(request.provenance.on_behalf_of, []);
    await ana.send('bo', {}, { metadata: { in_reply_to: asked.json.id } });
    const [work] = await emptied(bo);
    assert.equal(work.provenance.sender_kind, 'agent');
    assert.deepEqual(work.provenance.on_behalf_of, ['human:di']);
    await bo.send('cy', {}, { metadata: { in_reply_to: work.id } });
    const [more] = await emptied(cy);
    assert.deepEqual(more.provenance.on_behalf_of, ['human:di', 'ana']);
    // Naming a message that one never got lends no one's authority.
    await cy.send('bo', {}, { metadata: { in_reply_to: asked.json.id } });
    const [claimed] = await emptied(bo);
    assert.deepEqual(claimed.provenance.on_behalf_of, []);
  });

  // FL-01
  it('numbers messages by sender and channel', async () => {
    const numbers = [];
    for (const receiver of ['bo', 'bo', 'cy', 'bo']) {
      numbers.push((await eveSends(receiver)).json.sequence_number);
    }
    assert.deepEqual(numbers, [1, 2, 1, 3]);
    const got = await emptied(bo);
    assert.deepEqual(got.map((one) => one.metadata.sequence_number), [1, 2, 3]);
    await emptied(cy);
  });
  let fay;
  async function eveSends(receiver) {
    fay ??= await broker.addAgent('fay');
    return fay.send(receiver, {});
  }

  it('says until when a receiver may keep what it has in hand', async () => {
    const { id } = (await ana.send('cy', { n: 1 })).json;
    await cy.read(id);
    const [{ state, since, lease_ends: end }] = (await ana.delivery(id)).json.deliveries;
    assert.equal(state, 'read');
    assert.ok(Date.parse(end) > Date.parse(since), `${since} ${end}`);
    await cy.ack(id);
  });

  it('takes an agent\'s word on what it does', async () => {
    const beat = await ana.call('POST', '/v1/agents/ana/heartbeat',
      { body: { status: 'busy', currentTask: 'T-1' } });
    assert.equal(beat.status, 200, beat.text);
    const { json } = await bo.call('GET', '/v1/agents/ana');
    assert.equal(json.status, 'busy');
    assert.equal(json.currentTask, 'T-1');
    assert.ok(Date.parse(json.last_seen) >= Date.parse(json.registered));
    const lie = await bo.call('POST', '/v1/agents/ana/heartbeat', { body: { status: 'offline', currentTask: 'T-2' } });
    assert.equal(lie.status, 403, lie.text);
    // It changes neither the one it names nor the one who sent it.
    for (const [agent, task] of [[ana, 'T-1'], [bo, undefined]]) {
      assert.equal((await ana.call('GET', `/v1/agents/${agent.id}`)).json.currentTask, task, agent.id);
    }
  });

  it('keeps what an agent says of itself, and shows its webhook to itself and the admin', async () => {
    const gus = await broker.addAgent('gus', {
      name: 'Gus', supportedActions: ['review'], capabilities: ['c++'], webhook: 'https://example.org/x' });
    assert.equal((await gus.call('GET', '/v1/agents/gus')).json.webhook.url, 'https://example.org/x');
    assert.equal((await ana.call('GET', '/v1/agents/gus')).json.webhook, undefined);
    assert.equal((await ana.call('GET', '/v1/agents/gus')).json.name, 'Gus');
    await gus.call('POST', '/v1/agents', { body: { id: 'gus', name: 'Gustav' } });
    const { json } = await gus.call('GET', '/v1/agents/gus');
    assert.equal(json.name, 'Gustav');
    assert.deepEqual(json.supportedActions, ['review']);
    assert.deepEqual(json.capabilities, ['c++']);
    const bad = await gus.call('POST', '/v1/agents', { body: { id: 'gus', webhook: 'ftp://x' } });
    assert.equal(bad.json.field, '/webhook/url');
  });

  it('does not let the admin remove itself', async () => {
    assert.equal((await broker.call('DELETE', '/v1/agents/admin')).status, 409);
  });

  it('keeps the admin an admin, and names that can be told apart', async () => {
    assert.equal((await broker.call('POST', '/v1/agents', { body: { id: 'admin' } })).status, 409);
    for (const id of ['ana ', 'a\u0000b', '\u202eevil', 'Human:ada', 'topic:x', 'parley']) {
      assert.equal((await broker.call('POST', '/v1/agents', { body: { id } })).status, 400, id);
    }
  });

  it('ends old tokens when they are replaced, also on open connections', async () => {
    const old = await broker.addAgent('hob');
    const events = await fetch(`${broker.url}/v1/stream`,
      { headers: { Authorization: `Bearer ${old.token}` } });
    const fresh = await broker.call('POST', '/v1/agents', { body: { id: 'hob', rotate_token: true } });
    assert.equal(fresh.status, 201);
    assert.equal((await old.inbox()).status, 401);
    await ana.send('hob', { n: 1 });
    assert.equal(await events.text(), '');
    const now = new Agent(broker, 'hob', fresh.json.token);
    assert.equal((await now.inbox('?wait=10s')).json.count, 1);
  });

  // CO-01, IN-01, FL-24: what a registration does not name stays as it was, the role with it.
  it('changes an agent with a role, and gives it another token', async () => {
    const roles = { flow: 'orchestrator', collab: 'coordinator', inbox: 'specialist' };
    for (const [dialect, role] of Object.entries(roles)) {
      const id = `${dialect}-${role}-of-a-long-name`;
      const first = await broker.call('POST', '/v1/agents', { body: { id, dialect, role } });
      assert.equal(first.status, 201, first.text);
      const changed = await broker.call('POST', '/v1/agents', { body: { id, capabilities: ['review'] } });
      assert.equal(changed.status, 200, changed.text);
      const fresh = await broker.call('POST', '/v1/agents', { body: { id, rotate_token: true } });
      assert.equal(fresh.status, 201, fresh.text);
      const { json } = await new Agent(broker, id, fresh.json.token).call('GET', `/v1/agents/${id}`);
      assert.deepEqual([json.role, json.dialect, json.capabilities], [role, dialect, ['review']]);
      await broker.call('DELETE', `/v1/agents/${id}`);
    }
  });

  it('takes rights away from a human', async () => {
    const add = (body) => broker.call('POST', '/v1/humans', { body: { name: 'eve', ...body } });
    const { json } = await add({ rights: ['admin'] });
    assert.equal((await add({})).status, 200);
    const eve = new Agent(broker, 'human:eve', json.token);
    assert.equal((await eve.call('GET', '/v1/dead-letters')).status, 200);
    await add({ rights: [] });
    assert.equal((await eve.call('GET', '/v1/dead-letters')).status, 403);
  });

  it('says at once that there will be no answer, and finds one that came', async () => {
    const lost = await ana.send('nobody', {}, { type: 'request' }, '?wait=60s');
    assert.equal(lost.json.code, 'NOT_ANSWERED');
    const asking = ana.send('cy', { q: 1 }, { type: 'request' }, '?wait=60s');
    const refused = (await cy.inbox('?wait=10s')).json.notifications[0].id;
    await cy.read(refused);
    await cy.call('POST', `/v1/messages/${refused}/reject`, { body: { reason: 'no' } });
    assert.equal((await asking).json.code, 'NOT_ANSWERED');
    assert.equal((await ana.delivery(refused)).json.deliveries[0].last_error, 'no');
    const question = message('ana', 'cy', { q: 2 }, { type: 'request' });
    const post = (query = '') => ana.call('POST', `/v1/messages${query}`,
      { body: question, headers: { 'Idempotency-Key': 'k1' } });
    await post();
    await cy.read(question.id);
    await cy.send('ana', { a: 2 },
      { type: 'response', status: 'success', metadata: { in_reply_to: question.id } });
    const again = await post('?wait=60s');
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(again.json.response.payload.body, { a: 2 });
    assert.equal(again.json.provenance.sender, 'cy');
    await emptied(ana);
  });

  // Whoever answers chooses the receivers. One who asked and is none of them may not read the answer.
  it('shows an answer to another neither to one who blocks for it nor to one who asks again', async () => {
    const first = message('ana', 'bo', { q: 5 }, { type: 'request' });
    await ana.call('POST', '/v1/messages', { body: first });
    await bo.read(first.id);
    const second = message('bo', 'cy', { q: 6 }, { type: 'request', metadata: { in_reply_to: first.id } });
    const ask = () => bo.call('POST', '/v1/messages?wait=60s', { body: second });
    const asking = ask();
    await until(() => cy.inbox('?wait=10s'), ({ json }) => json.notifications.some(({ id }) => id === second.id));
    await cy.read(second.id);
    const answer = await cy.send('ana', { secret: 'for ana only' },
      { type: 'response', status: 'success', metadata: { in_reply_to: second.id } });
    assert.equal(answer.status, 202, answer.text);
    for (const { json, text } of [await asking, await ask()]) {
      assert.equal(json.code, 'NOT_ANSWERED', text);
      assert.equal(json.detail, `${second.id} was answered, but to another than you`);
      assert.doesNotMatch(text, /secret|ana/);
    }
    assert.deepEqual((await emptied(ana)).map(({ payload }) => payload.body), [{ secret: 'for ana only' }]);
    await bo.ack(first.id);
  });

  // The answer waits behind that to another request when the connection breaks: nobody ever saw it.
  it('keeps an answer that one blocked for and was never told', async () => {
    await emptied(ana);
    await bo.call('PUT', '/v1/locks/kept', { body: { lease: '60s' } });
    const question = message('ana', 'cy', { q: 3 }, { type: 'request' });
    const head = (method, path, body) => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`
      + `Authorization: Bearer ${ana.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const raw = await Raw.connect(broker.url);
    await raw.send(head('PUT', '/v1/locks/kept?wait=60s', '') + head('POST', '/v1/messages?wait=60s', JSON.stringify(question)));
    await until(() => cy.inbox('?wait=10s'), ({ json }) => json.notifications.some(({ id }) => id === question.id));
    await cy.read(question.id);
    const answer = await cy.send('ana', { a: 3 },
      { type: 'response', status: 'success', metadata: { in_reply_to: question.id } });
    const stands = async () => (await cy.delivery(answer.json.id)).json.deliveries[0].state;
    assert.equal(await until(stands, (state) => state !== 'queued'), 'read');
    assert.equal(raw.got.length, 0);
    raw.socket.destroy();
    const found = await until(() => ana.inbox(), ({ json }) => json.count > 0);
    assert.deepEqual(found.json.notifications.map(({ id }) => id), [answer.json.id]);
    assert.deepEqual((await emptied(ana))[0].payload.body, { a: 3 });
    assert.equal(await stands(), 'acked');
    await bo.call('DELETE', '/v1/locks/kept');
  });

  it('acknowledges an answer that one blocked for when it was told', async () => {
    const question = message('ana', 'cy', { q: 4 }, { type: 'request' });
    const asking = ana.call('POST', '/v1/messages?wait=60s', { body: question });
    await until(() => cy.inbox('?wait=10s'), ({ json }) => json.notifications.some(({ id }) => id === question.id));
    await cy.read(question.id);
    const answer = await cy.send('ana', { a: 4 },
      { type: 'response', status: 'success', metadata: { in_reply_to: question.id } });
    assert.deepEqual((await asking).json.response.payload.body, { a: 4 });
    assert.equal((await ana.inbox()).json.count, 0);
    await until(async () => (await cy.delivery(answer.json.id)).json.deliveries[0].state, (state) => state === 'acked');
  });

  // A client that lost its connection asks again; one that asks a thousand times holds up nobody.
  it('reads and acknowledges an answer once for all calls of its caller, of which 16 may block', async () => {
    await emptied(ana);
    const question = message('ana', 'cy', { q: 7 }, { type: 'request' });
    const ask = () => ana.call('POST', '/v1/messages?wait=60s', { body: question });
    const waiting = async () =>
      Number(/^parley_calls_waiting (\d+)$/m.exec((await broker.call('GET', '/metrics')).text)[1]);
    const seq = async () => (await broker.call('GET', '/v1/health')).json.seq;
    const calls = Array.from({ length: 16 }, ask);
    await until(waiting, (count) => count === 16);
    const beyond = await ask();
    assert.equal(beyond.json.code, 'LIMIT_REACHED', beyond.text);
    assert.match(beyond.json.detail, /16 of your calls wait/);
    await cy.read(question.id);
    const before = await seq();
    const answer = await cy.send('ana', { a: 7 },
      { type: 'response', status: 'success', metadata: { in_reply_to: question.id } });
    for (const { json, text } of await Promise.all(calls)) {
      assert.deepEqual(json.response?.payload.body, { a: 7 }, text);
    }
    await until(async () => (await cy.delivery(answer.json.id)).json.deliveries[0].state, (state) => state === 'acked');
    assert.equal(await seq() - before, 3, 'the answer, one reading, one acknowledgement');
    assert.equal((await ana.inbox()).json.count, 0);
  });

  it('refuses what it would else ignore', async () => {
    const one = message('ana', 'bo', {});
    const key = { 'Idempotency-Key': 'k2' };
    for (const [path, body, headers] of [
      ['/v1/messages', [one], key], ['/v1/messages?wait=1s', [one], {}],
      ['/v1/messages?lenient=yes', one, {}]]) {
      assert.equal((await ana.call('POST', path, { body, headers })).status, 400, path);
    }
    assert.equal((await ana.call('GET', '/v1/stream?window=0')).status, 400);
    assert.equal((await ana.call('GET', '/v1/stream?window=5000')).status, 400);
    assert.equal((await broker.call('GET', '/v1/dead-letters?state=old')).status, 400);
    const sub = await broker.call('POST', '/v1/agents', { body: { id: 'ida', subscriptions: [''] } });
    assert.equal(sub.json.field, '/subscriptions');
    const other = { ...one, metadata: { ...one.metadata, correlation_id: 'x' } };
    assert.equal((await ana.call('POST', '/v1/messages', { body: one })).status, 202);
    assert.equal((await ana.call('POST', '/v1/messages', { body: other })).json.code, 'DUPLICATE_ID');
  });
});

// SPDX-License-Identifier: Apache-2.0
// Who is away, who answers whom, and who waits for whom, against the real binary.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import { Broker, Raw, binary, message, until } from './harness.mjs';

const run = promisify(execFile);

const provenance = (response) => JSON.parse(response.headers.get('parley-provenance'));

async function asked(agent) {
  const { json } = await agent.inbox('?wait=10s');
  assert.equal(json.count, 1, JSON.stringify(json));
  return json.notifications[0];
}

describe('an agent that is away', () => {
  let broker, ana, away;
  const availability = async (id) => (await broker.call('GET', `/v1/agents/${id}`)).json.availability;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'collab.heartbeat=300ms'] });
    ana = await broker.addAgent('ana');
    away = await broker.addAgent('away', { capabilities: ['review', 'test'] });
  });
  after(() => broker.remove());

  it('CO-06: is offline after three missed heartbeats, is told of, and is back with the next call', async () => {
    const watcher = await broker.addAgent('watcher');
    await watcher.call('PUT', '/v1/topics/agent.availability_changed/subscription');
    const told = async (status) => {
      await until(async () => {
        const { json } = await watcher.inbox('?wait=10s&limit=1');
        assert.equal(json.shown, 1, 'no mail within 10 s');
        const { body } = (await watcher.read(json.notifications[0].id)).json.payload;
        await watcher.ack(json.notifications[0].id);
        return body;
      }, (body) => body.agent === 'away' && body.status === status);
    };
    assert.equal(await availability('away'), 'available');
    await away.call('POST', '/v1/agents/away/heartbeat', { body: { status: 'idle' } });
    await told('offline');
    assert.equal(await availability('away'), 'offline');
    const found = async (query) => (await broker.call('GET', `/v1/agents?${query}`)).json.agents.map(({ id, status }) => [id, status]);
    assert.deepEqual(await found('status=offline'), [['away', 'offline']]);
    assert.deepEqual(await found('status=idle'), []);
    assert.match((await run(binary, ['agent', 'list', '--url', broker.url, '--token', ana.token])).stdout, /away +agent +flow +- +offline +offline/);
    assert.equal((await broker.call('GET', '/v1/agents?dialect=collab&status=bogus')).status, 400);
    await away.inbox();
    await told('online');
    assert.equal(await availability('away'), 'available');
    // Who never sent one is not missed.
    assert.equal(await availability('ana'), 'available');
  });

  it('CO-06: stays there while it polls, or has a stream', async () => {
    const poller = await broker.addAgent('poller');
    await poller.call('POST', '/v1/agents/poller/heartbeat', { body: { status: 'idle' } });
    const polled = poller.inbox('?wait=3s');
    const seen = new Set();
    let done = false;
    polled.then(() => { done = true; });
    await until(async () => { seen.add(await availability('poller')); return done; }, Boolean);
    assert.deepEqual([...seen], ['available']);
    const socket = new WebSocket(`${broker.url.replace('http', 'ws')}/v1/ws`, { headers: { Authorization: `Bearer ${poller.token}` } });
    await once(socket, 'open');
    await until(() => availability('away'), (found) => found === 'offline');
    assert.equal(await availability('poller'), 'available');
    socket.close();
    await until(() => availability('poller'), (found) => found === 'offline');
  });

  it('CO-06: is seen with each call, also where nobody is missed', async () => {
    const calm = await Broker.start({ flags: ['--set', 'collab.heartbeats_missed=0', '--set', 'collab.heartbeat=1ms'] });
    try {
      const bo = await calm.addAgent('bo');
      const seen = async () => { await bo.inbox(); return (await calm.call('GET', '/v1/agents/bo')).json.last_seen; };
      const first = await until(seen);
      await until(seen, (last) => last > first);
    } finally {
      await calm.remove();
    }
  });

  it('CO-06: stays there while it waits for a lock', async () => {
    const waiter = await broker.addAgent('waiter');
    await ana.call('PUT', '/v1/locks/held', { body: { lease: '60s' } });
    await waiter.call('POST', '/v1/agents/waiter/heartbeat', { body: { status: 'waiting' } });
    const taken = waiter.call('PUT', '/v1/locks/held?wait=2s');
    const seen = new Set();
    let done = false;
    taken.then(() => { done = true; });
    await until(async () => { seen.add(await availability('waiter')); return done; }, Boolean);
    assert.deepEqual([...seen], ['available']);
    await ana.call('DELETE', '/v1/locks/held');
  });

  it('CO-01: keeps what it said of itself until it says something else', async () => {
    const ida = await broker.addAgent('ida', { dialect: 'collab', role: 'worker' });
    const said = async (body) => {
      assert.equal((await ida.call('POST', '/v1/agents/ida/heartbeat', { body })).status, 200);
      const { status, currentTask } = (await broker.call('GET', '/v1/agents/ida')).json;
      return [status, currentTask];
    };
    assert.deepEqual(await said({ status: 'working', currentTask: 't1' }), ['working', 't1']);
    assert.deepEqual(await said({}), ['working', 't1']);
    assert.deepEqual(await said({ status: 'idle' }), ['idle', 't1']);
    assert.deepEqual(await said({ currentTask: null }), ['idle', undefined]);
    assert.deepEqual(await said({ status: 'offline' }), ['offline', undefined]);
    assert.deepEqual(await said({}), [undefined, undefined]);
    const socket = new WebSocket(`${broker.url.replace('http', 'ws')}/v1/ws`, { headers: { Authorization: `Bearer ${ida.token}` } });
    await once(socket, 'open');
    for (const op of [{ status: 'working', currentTask: 't2' }, {}, { status: 'nonsense' }, { status: 5 }]) {
      socket.send(JSON.stringify({ op: 'heartbeat', ref: 1, ...op }));
      const [answer] = await once(socket, 'message');
      assert.equal(JSON.parse(answer).ok, !('status' in op) || op.status === 'working');
    }
    const { status, currentTask } = (await broker.call('GET', '/v1/agents/ida')).json;
    assert.deepEqual([status, currentTask], ['working', 't2']);
    socket.close();
  });

  it('CO-07: gets its messages later, or another does, or the sender is told at once', async () => {
    const abe = await broker.addAgent('abe', { capabilities: ['test', 'review'] });
    await broker.addAgent('half', { capabilities: ['review'] });
    await until(() => availability('away'), (found) => found === 'offline');
    assert.equal((await ana.send('away', { n: 1 })).json.recipients[0].receiver, 'away');

    const redirected = await ana.send('away', { n: 2 }, {}, '?on_unavailable=redirect');
    assert.equal(redirected.status, 202);
    assert.equal(redirected.json.recipients[0].receiver, 'abe');
    assert.equal(redirected.json.recipients[0].redirected_from, 'away');
    assert.match(redirected.json.warnings[0], /redirected/);
    const listed = await asked(abe);
    assert.equal(listed.redirected_from, 'away');
    const cli = async (...words) => (await run(binary, [...words, '--url', broker.url, '--token', abe.token])).stdout;
    assert.match(await cli('inbox'), /ana to away/);
    assert.match(await cli('read', listed.id), /meant for +away/);
    const read = await abe.read(listed.id);
    assert.equal(provenance(read).redirected_from, 'away');
    assert.equal(read.json.receiver, 'away');  // an address is never rewritten
    await broker.kill();
    await broker.run(broker.flags);
    assert.equal(provenance(await abe.read(read.json.id)).redirected_from, 'away');

    const socket = new WebSocket(`${broker.url.replace('http', 'ws')}/v1/ws?window=0`, { headers: { Authorization: `Bearer ${ana.token}` } });
    await once(socket, 'open');
    socket.send(JSON.stringify({ op: 'send', ref: 1, on_unavailable: 'redirect', message: message('ana', 'away', { n: 2 }) }));
    const [receipt] = await once(socket, 'message');
    const { receiver, redirected_from } = JSON.parse(receipt);
    assert.deepEqual([receiver, redirected_from], ['abe', 'away']);
    socket.close();

    const failed = await ana.send('away', { n: 3 }, {}, '?on_unavailable=fail');
    assert.equal(failed.status, 503);
    assert.equal(failed.json.code, 'RECEIVER_UNAVAILABLE');
    assert.match(failed.json.detail, /"away" is offline/);
    const letters = (await broker.call('GET', '/v1/dead-letters')).json.dead_letters;
    // CO-08: it says what was done, which is nothing.
    assert.deepEqual(letters.map(({ reason, receiver, system_retries }) => [reason, receiver, system_retries]),
      [['receiver_unavailable', 'away', 0]]);

    const wrong = await ana.send('away', { n: 4 }, {}, '?on_unavailable=banana');
    assert.equal(wrong.status, 400);
    assert.match(wrong.json.detail, /queue, redirect or fail/);
  });

  it('CO-06: is unavailable after what it did not answer in time, until it is heard of', async () => {
    const bo = await broker.addAgent('bo');
    // What leaves too little time says nothing of the receiver; here 50 ms are enough.
    await ana.send('bo', {}, { type: 'request', response_timeout: '50ms' }, '?wait=10s');
    assert.equal(await availability('bo'), 'available');
    const set = await broker.call('PATCH', '/v1/rules', { body: { answer_time_min: '50ms' } });
    assert.equal(set.status, 200);
    const late = await ana.send('bo', {}, { type: 'request', response_timeout: '50ms' }, '?wait=10s');
    assert.equal(late.json.code, 'TIMEOUT');
    assert.equal(await availability('bo'), 'unavailable');
    await bo.inbox();
    await until(() => availability('bo'), (found) => found === 'available');
  });
});

describe('answers', () => {
  let broker, ana, bo, cy;
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy] = [await broker.addAgent('ana'), await broker.addAgent('bo'), await broker.addAgent('cy')];
  });
  after(() => broker.remove());

  it('FL-04: reach the one who asked, and cannot be sent past it', async () => {
    const question = await ana.send('bo', {}, { type: 'request' });
    const answer = (receiver) => bo.send(receiver, { secret: true }, { type: 'response', status: 'success', metadata: { in_reply_to: question.json.id } });
    for (const receiver of ['cy', '*', 'some.topic', 'nobody']) {
      const { status, json } = await answer(receiver);
      assert.equal(status, 400, receiver);
      assert.match(json.detail, /"ana"/);
      assert.equal(json.field, '/receiver');
    }
    assert.equal((await cy.inbox()).json.count, 0);
    assert.equal((await answer('ana')).status, 202);
    assert.equal((await ana.delivery(question.json.id)).json.request.state, 'answered');
  });

  it('FL-04: are told apart by who asked, where two used the same id', async () => {
    const id = randomUUID();
    const waiting = cy.send('bo', { n: 1 }, { id, type: 'request' }, '?wait=10s');
    await until(() => bo.inbox('?wait=10s'), ({ json }) => json.notifications.some(({ from }) => from === 'cy'));
    assert.equal((await ana.send('bo', { n: 2 }, { id })).status, 202);
    await bo.send('cy', { n: 3 }, { type: 'response', status: 'success', metadata: { in_reply_to: id } });
    assert.equal((await waiting).json.response.payload.body.n, 3);
  });

  it('FL-03: a repeated id with other terms is another message', async () => {
    const id = randomUUID();
    const conversation_id = randomUUID();
    const send = (extra) => ana.send('bo', { n: 1 }, { id, conversation_id, type: 'request', ...extra });
    assert.equal((await send({ response_timeout: '20s' })).status, 202);
    assert.equal((await send({ response_timeout: '20s' })).json.duplicate, true);
    assert.equal((await send({ response_timeout: '40s' })).json.code, 'DUPLICATE_ID');
    assert.equal((await send({ response_timeout: '20s', on_timeout: 'escalate' })).json.code, 'DUPLICATE_ID');
  });

  it('FL-17: a stranger who knows the name of a thread may not fill it', async () => {
    const conversation_id = randomUUID();
    const path = `/v1/threads/${conversation_id}`;
    await ana.send('bo', {}, { conversation_id });
    const before = (await ana.call('GET', path)).json;
    assert.equal((await cy.call('GET', path)).status, 404);
    // More than a thread takes: they stand apart from it.
    for (let n = 0; n < 21; ++n) assert.equal((await cy.send('cy', { n }, { conversation_id })).status, 202);
    await broker.historyIsWhole();
    assert.deepEqual((await ana.call('GET', path)).json, before);
    const own = (await cy.call('GET', path)).json;
    assert.deepEqual([own.partial, own.message_count, own.owner, own.participants], [true, 21, undefined, undefined]);
    assert.ok(own.messages.every(({ sender }) => sender === 'cy'));
    assert.equal((await bo.send('ana', {}, { conversation_id })).status, 202);
  });

  it('FL-21: opens no breaker for what nobody had in hand', async () => {
    for (let n = 0; n < 12; ++n) {
      await cy.send('*', {}, { type: 'request', response_timeout: '1ms' });
      await cy.send('ana', {}, { type: 'request', response_timeout: '1ms' });
    }
    const last = await cy.send('ana', {}, { type: 'request', response_timeout: '1ms' }, '?wait=10s');
    assert.equal(last.json.code, 'TIMEOUT');
    const { json } = await broker.call('GET', '/v1/agents');
    assert.ok(json.agents.every(({ breaker }) => breaker === undefined || breaker.state === 'closed'));
  });
});

describe('circles of those who wait', () => {
  let broker, ana, bo, cy;
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy] = [await broker.addAgent('ana'), await broker.addAgent('bo'), await broker.addAgent('cy')];
  });
  after(() => broker.remove());

  it('CO-09: are refused when they close, with who waits for whom; the others go on', async () => {
    const first = ana.send('bo', { n: 1 }, { type: 'request' }, '?wait=20s');
    const one = await asked(bo);
    const second = bo.send('cy', { n: 2 }, { type: 'request' }, '?wait=20s');
    const two = await asked(cy);
    const third = await cy.send('ana', { n: 3 }, { type: 'request' }, '?wait=20s');
    assert.equal(third.status, 409);
    assert.equal(third.json.code, 'DEADLOCK');
    assert.deepEqual(third.json.cycle, ['cy', 'ana', 'bo', 'cy']);
    assert.match(third.json.detail, /"ana" waits for "bo"/);
    assert.equal((await ana.inbox()).json.count, 0);
    // What is not waited for is none, and a question back to the one who asked is none.
    assert.equal((await cy.send('ana', { n: 4 }, { type: 'request' })).status, 202);
    const back = bo.send('ana', { n: 5 }, { type: 'request', metadata: { in_reply_to: one.id } }, '?wait=20s');
    const question = await until(() => ana.inbox('?wait=10s').then(({ json }) => json.notifications.find(({ from }) => from === 'bo')), Boolean);
    const answer = (agent, to, id, n) => agent.send(to, { n }, { type: 'response', status: 'success', metadata: { in_reply_to: id } });
    assert.equal((await answer(ana, 'bo', question.id, 50)).status, 202);
    assert.equal((await back).json.response.payload.body.n, 50);
    assert.equal((await answer(cy, 'bo', two.id, 20)).status, 202);
    assert.equal((await second).json.response.payload.body.n, 20);
    assert.equal((await answer(bo, 'ana', one.id, 10)).status, 202);
    assert.equal((await first).json.response.payload.body.n, 10);
  });

  it('CO-09: whoever hangs up waits no more', async () => {
    const hangUp = new AbortController();
    const lost = fetch(`${broker.url}/v1/messages?wait=60s&lenient=true`, {
      method: 'POST', signal: hangUp.signal, headers: { Authorization: `Bearer ${ana.token}` },
      body: JSON.stringify({ type: 'request', receiver: 'cy', payload: { content_type: 'json', body: {} } }),
    }).catch(() => 'lost');
    await until(() => cy.inbox('?wait=10s'), ({ json }) => json.count > 0);
    const closing = () => cy.send('ana', {}, { type: 'request', response_timeout: '100ms' }, '?wait=1s');
    assert.equal((await closing()).json.code, 'DEADLOCK');
    hangUp.abort();
    assert.equal(await lost, 'lost');
    await until(closing, ({ json }) => json.code === 'TIMEOUT');
  });

  it('CO-09: whoever hangs up one of two calls for the same answer waits still', async () => {
    const question = message('ana', 'cy', {}, { type: 'request' });
    const body = JSON.stringify(question);
    const calls = [];
    const waiting = async () =>
      Number(/^parley_calls_waiting (\d+)$/m.exec((await broker.call('GET', '/metrics')).text)[1]);
    for (const count of [1, 2]) {
      calls.push(await Raw.connect(broker.url));
      await calls.at(-1).send(`POST /v1/messages?wait=100s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ana.token}\r\n`
        + `Content-Length: ${body.length}\r\n\r\n${body}`);
      await until(waiting, (found) => found === count);
    }
    const closing = () => cy.send('ana', {}, { type: 'request', response_timeout: '100ms' }, '?wait=1s');
    calls[0].socket.destroy();
    await until(waiting, (found) => found === 1);
    assert.equal((await closing()).json.code, 'DEADLOCK');
    calls[1].socket.destroy();
    await until(waiting, (found) => found === 0);
    assert.equal((await closing()).json.code, 'TIMEOUT');
  });
});

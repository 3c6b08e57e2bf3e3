// SPDX-License-Identifier: Apache-2.0
// What binds an agent that sends too much, against the real binary with its usual limits.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import { Broker, binary, message, until } from './harness.mjs';

const durationMs = (text) => {
  const [, value, unit] = /^(\d+)(us|ms|s|m|h)$/.exec(text);
  return Number(value) * { us: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5 }[unit];
};

// Takes and acknowledges until `count` have come; returns their bodies in order.
async function receive(agent, count) {
  const bodies = [];
  await until(async () => {
    const { json } = await agent.inbox('?wait=10s');
    for (const { id } of json.notifications) {
      bodies.push((await agent.read(id)).json.payload.body.n);
      await agent.ack(id);
    }
    return bodies.length;
  }, (got) => got >= count);
  return bodies;
}

// So many at the same moment, however busy the machine is.
async function burst(agent, receiver, count) {
  const body = Array.from({ length: count }, (_, n) => message(agent.id, receiver, { n }));
  return (await agent.call('POST', '/v1/messages', { body })).json.results;
}

describe('rate limits', () => {
  let broker;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());

  it('FL-19: queues what exceeds thirty a minute to one receiver, says so, and delivers it in order', async () => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const sent = await burst(ana, 'bo', 32);
    assert.ok(sent.slice(0, 30).every(({ state, delay }) => state === 'accepted' && delay === undefined));
    assert.deepEqual(sent.slice(30).map(({ state, delay }) => [state, delay]), [['queued', '2s'], ['queued', '4s']]);
    for (const { recipients: [{ state, since, not_before: end }], delay } of sent.slice(30)) {
      assert.equal(state, 'queued');
      assert.equal(Date.parse(end) - Date.parse(since), durationMs(delay));
    }
    assert.equal((await ana.call('GET', '/v1/agents/ana')).json.throttled, 2);
    const metrics = await broker.call('GET', '/metrics');
    assert.match(metrics.text, /^parley_throttled 2$/m);
    assert.deepEqual(await receive(bo, 32), Array.from({ length: 32 }, (_, n) => n));
    assert.equal((await ana.call('GET', '/v1/agents/ana')).json.throttled, 0);
  });

  it('FL-19: lets a critical message pass, with those before it', async () => {
    const cy = await broker.addAgent('cy');
    const di = await broker.addAgent('di');
    assert.ok((await burst(cy, 'di', 40)).slice(30).every(({ state }) => state === 'queued'));
    const alarm = await cy.send('di', { n: 40 }, { priority: 'critical' });
    assert.equal(alarm.json.state, 'accepted');
    const { json } = await di.inbox();
    assert.equal(json.count, 41);
    assert.deepEqual(await receive(di, 41), Array.from({ length: 41 }, (_, n) => n));
  });

  it('FL-19: says it over WebSocket too, and survives a restart', async () => {
    const eve = await broker.addAgent('eve');
    const flo = await broker.addAgent('flo');
    const socket = new WebSocket(`${broker.url.replace(/^http/, 'ws')}/v1/ws?window=0`,
      { headers: { Authorization: `Bearer ${eve.token}` } });
    await once(socket, 'open');
    const answers = [];
    const all = new Promise((done) => socket.on('message', (text) => {
      answers.push(JSON.parse(text));
      if (answers.length === 31) done();
    }));
    for (let n = 0; n < 31; ++n) socket.send(JSON.stringify({ op: 'send', ref: n, message: message('eve', 'flo', { n }) }));
    await all;
    assert.ok(answers.slice(0, 30).every(({ ok, state }) => ok && state === 'accepted'));
    assert.equal(answers[30].state, 'queued');
    assert.ok(durationMs(answers[30].delay) <= 2000);
    socket.close();
    await broker.kill();
    await broker.run();
    assert.deepEqual(await receive(flo, 31), Array.from({ length: 31 }, (_, n) => n));
  });

  it('FL-19: refuses with OVERLOADED what exceeds the bound of the queue', async () => {
    await broker.call('PATCH', '/v1/rules', { body: { 'flow.rate.throttled_max': 1, 'flow.rate.agent_out_per_min': 0 } });
    const gil = await broker.addAgent('gil');
    await broker.addAgent('hal');
    const refused = (await burst(gil, 'hal', 32)).at(-1);
    assert.deepEqual([refused.status, refused.code], [503, 'OVERLOADED']);
    assert.match(refused.detail, /flow\.rate\.throttled_max/);
    // The one that waits for the limit of 30 a minute to one receiver goes in two seconds.
    assert.equal(refused.retry_after, '2s');
    // Lifting the limits lets what waits go at once.
    await broker.call('PATCH', '/v1/rules', { body: { 'flow.rate.pair_per_min': 0 } });
    assert.equal((await gil.send('hal', { n: 31 })).json.state, 'accepted');
  });

  it('FL-19: does not bind the admin, and a benchmark says that it cannot run', async () => {
    const sent = [];
    await broker.addAgent('ida');
    for (let n = 0; n < 100; ++n) sent.push((await broker.call('POST', '/v1/messages', { body: message('admin', 'ida', { n }) })).json.state);
    assert.deepEqual([...new Set(sent)], ['accepted']);
    const run = await promisify(execFile)(binary, ['bench', '--case', 'publish-1x1'],
      { env: { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: broker.admin } }).catch((error) => error);
    assert.equal(run.code, 1);
    assert.match(run.stderr, /limits bind.*flow\.rate\.agent_in_per_min = 120.*\(RATE_LIMITED\)/);
  });
});

const rules = async (broker, body) => {
  const { status, text } = await broker.call('PATCH', '/v1/rules', { body });
  assert.equal(status, 200, text);
};
const cli = (broker, ...args) => promisify(execFile)(binary, args,
  { env: { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: broker.admin } });

describe('backpressure', () => {
  let broker;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());

  it('FL-20: tells the sender at 80 % of a limit, and when it is over', async () => {
    const ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
    const signal = async () => {
      const { json } = await ana.inbox('?wait=30s');
      assert.equal(json.count, 1, JSON.stringify(json));
      assert.equal(json.notifications[0].sender_kind, 'broker');
      const { payload } = (await ana.read(json.notifications[0].id)).json;
      await ana.ack(json.notifications[0].id);
      return payload.body;
    };
    await burst(ana, 'bo', 23);
    assert.equal((await ana.inbox()).json.count, 0);
    await burst(ana, 'bo', 26 - 23);
    const throttled = await signal();
    assert.deepEqual([throttled.event, throttled.status, throttled.queue_depth], ['backpressure', 'throttled', 0]);
    assert.equal(throttled.estimated_delay, '0s');
    const recovering = await signal();
    assert.deepEqual([recovering.event, recovering.status], ['backpressure', 'recovering']);
  });

  it('FL-20: says overloaded when most of what may wait does', async () => {
    await rules(broker, { 'flow.rate.throttled_max': 2 });
    const cy = await broker.addAgent('cy');
    await broker.addAgent('di');
    await burst(cy, 'di', 33);
    // One signal comes after the other: of the limit that is near, then of what waits.
    const bodies = new Map();
    const last = await until(async () => {
      for (const { id } of (await cy.inbox()).json.notifications) {
        if (!bodies.has(id)) bodies.set(id, (await cy.read(id)).json.payload.body);
      }
      return [...bodies.values()].at(-1);
    }, (body) => body?.status === 'overloaded');
    assert.equal(last.status, 'overloaded');
    assert.equal(last.queue_depth, 2);
    assert.match(last.estimated_delay, /^[1-9]\d*m?s$/);
  });
});

describe('circuit breakers', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  const fail = async (times) => {
    for (let n = 0; n < times; ++n) {
      const { json } = await bo.inbox('?wait=10s');
      await bo.read(json.notifications[0].id);
      const { status, text } = await bo.call('POST', `/v1/messages/${json.notifications[0].id}/nack`, { body: { reason: 'not now' } });
      assert.equal(status, 200, text);
    }
  };

  it('FL-21: ten failures in a row open it: CIRCUIT_OPEN with a time to try again', async () => {
    await rules(broker, { attempts_max: 100 });
    await ana.send('bo', { n: 0 });
    await fail(9);
    assert.equal((await ana.send('bo', { n: 1 })).status, 202);
    await fail(1);
    const refused = await ana.send('bo', { n: 2 });
    assert.equal(refused.status, 503);
    assert.equal(refused.json.code, 'CIRCUIT_OPEN');
    assert.match(refused.json.detail, /10 deliveries in a row have failed/);
    const after = Number(refused.headers.get('retry-after'));
    assert.ok(after > 50 && after <= 60, after);
    assert.ok(durationMs(refused.json.retry_after) <= 60_000);
    const { breaker } = (await ana.call('GET', '/v1/agents/bo')).json;
    assert.equal(breaker.state, 'open');
    assert.equal(breaker.reason, 'failures');
    assert.equal(breaker.failures, 10);
    assert.match((await broker.call('GET', '/metrics')).text, /^parley_breakers\{state="open"\} 1$/m);
    assert.match((await cli(broker, 'agent', 'show', 'bo')).stdout, /breaker\.state +open/);
    assert.equal((await ana.send('bo', { n: 3 }, { priority: 'critical' })).status, 202);
  });

  it('FL-21: after the pause one test message decides', async () => {
    await rules(broker, { 'breaker.pause': '300ms' });
    // That the pause is over shows while nothing happens that the journal would tell of.
    const state = async () => (await ana.call('GET', '/v1/agents/bo')).json.breaker.state;
    assert.equal(await until(state, (found) => found !== 'open'), 'half_open');
    const test = () => until(async () => {
      const sent = await ana.send('bo', { n: 4 });
      if (sent.status !== 202) assert.equal(sent.json.code, 'CIRCUIT_OPEN');
      return sent;
    }, ({ status }) => status === 202);
    await test();
    assert.equal((await ana.call('GET', '/v1/agents/bo')).json.breaker.state, 'half_open');
    await fail(1);
    assert.equal((await ana.send('bo', { n: 5 })).json.code, 'CIRCUIT_OPEN');
    await test();
    const { json } = await bo.inbox();
    await bo.read(json.notifications[0].id);
    await bo.ack(json.notifications[0].id);
    assert.equal((await ana.call('GET', '/v1/agents/bo')).json.breaker.state, 'closed');
    assert.equal((await ana.send('bo', { n: 6 })).status, 202);
  });

  it('FL-21: a nearly full inbox opens it, a restart keeps it, an admin resets it', async () => {
    await rules(broker, { 'breaker.pause': '60s', queue_max: 10 });
    const cy = await broker.addAgent('cy');
    for (let n = 0; n < 8; ++n) assert.equal((await ana.send('cy', { n })).status, 202);
    // One sender fills no inbox for all others.
    assert.equal((await ana.send('cy', { n: 8 })).json.code, 'QUEUE_FULL');
    assert.equal((await bo.send('cy', { n: 8 })).status, 202);
    const dan = await broker.addAgent('dan');
    assert.equal((await dan.send('cy', { n: 9 })).json.code, 'CIRCUIT_OPEN');
    await broker.kill();
    await broker.run();
    const { breaker } = (await cy.call('GET', '/v1/agents/cy')).json;
    assert.deepEqual([breaker.state, breaker.reason], ['open', 'queue']);
    assert.equal((await ana.call('POST', '/v1/agents/cy/reset')).status, 403);
    assert.match((await cli(broker, 'agent', 'reset', 'cy')).stdout, /begins anew/);
    assert.equal((await dan.send('cy', { n: 9 })).status, 202);
    // Full: what is critical becomes a dead letter, and its sender is told.
    const overflow = await ana.send('cy', { n: 10 }, { priority: 'critical' });
    assert.equal(overflow.status, 202);
    assert.equal(overflow.json.recipients[0].state, 'dead');
  });
});

describe('runaway guards', () => {
  let broker, ana, bo, hal;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    const { json } = await broker.call('POST', '/v1/humans', { body: { name: 'hal', rights: [] } });
    hal = { send: (to, body, extra) => broker.call('POST', '/v1/messages', { token: json.token, body: message('human:hal', to, body, extra) }) };
  });
  after(() => broker.remove());

  it('XD-11: ping-pong ends in PING_PONG, and a person lets it go on', async () => {
    await rules(broker, { 'guard.ping_pong_max': 4 });
    const conversation_id = 'thanks';
    for (let n = 0; n < 4; ++n) {
      const [from, to] = n % 2 ? [bo, 'ana'] : [ana, 'bo'];
      assert.equal((await from.send(to, { n }, { conversation_id })).status, 202);
    }
    const refused = await ana.send('bo', { n: 4 }, { conversation_id });
    assert.equal(refused.status, 429);
    assert.equal(refused.json.code, 'PING_PONG');
    assert.match(refused.json.detail, /4 times .*guard\.ping_pong_max.* person/);
    assert.ok(Number(refused.headers.get('retry-after')) > 3000);
    assert.equal((await hal.send('bo', { n: 5 }, { conversation_id })).status, 202);
    assert.equal((await ana.send('bo', { n: 4 }, { conversation_id })).status, 202);
  });

  it('XD-11: a fan-out storm ends in FAN_OUT_LIMIT', async () => {
    await rules(broker, { 'guard.fan_out_per_min': 3 });
    const cy = await broker.addAgent('cy');
    assert.equal((await cy.send('*', { n: 0 }, { type: 'broadcast' })).status, 202);
    const refused = await cy.send('*', { n: 1 }, { type: 'broadcast' });
    assert.equal(refused.status, 429);
    assert.equal(refused.json.code, 'FAN_OUT_LIMIT');
    assert.match(refused.json.detail, /goes to 2 receivers.*guard\.fan_out_per_min.*admin/);
    assert.ok(durationMs(refused.json.retry_after) > 0);
    // What can never pass has no time after which it would.
    await rules(broker, { 'guard.fan_out_per_min': 1 });
    const never = await cy.send('*', { n: 2 }, { type: 'broadcast' });
    assert.deepEqual([never.status, never.json.code], [429, 'FAN_OUT_LIMIT'], never.text);
    assert.match(never.json.detail, /can never pass/);
    assert.equal(never.json.retry_after, undefined);
    assert.equal(never.headers.get('retry-after'), null);
    await rules(broker, { 'guard.fan_out_per_min': 0 });
  });

  it('XD-11: budgets of messages and reported tokens end in BUDGET_EXCEEDED; an admin lifts it', async () => {
    const di = await broker.addAgent('di');
    const budget = async () => (await di.call('GET', '/v1/agents/di')).json.budget;
    await rules(broker, { 'guard.messages_per_day': 2 });
    for (let n = 0; n < 2; ++n) assert.equal((await di.send('bo', { n })).status, 202);
    const refused = await di.send('bo', { n: 2 });
    assert.equal(refused.status, 429);
    assert.equal(refused.json.code, 'BUDGET_EXCEEDED');
    assert.match(refused.json.detail, /sent 2 messages today.*guard\.messages_per_day.*admin/);
    assert.equal((await budget()).messages, 2);
    await rules(broker, { 'guard.messages_per_day': 0, 'guard.tokens_per_day': 1000 });
    const draft = message('di', 'bo', { n: 2 });
    draft.metadata.tokens_used = 600;
    assert.equal((await di.call('POST', '/v1/messages', { body: draft })).status, 202);
    assert.equal((await di.call('POST', '/v1/agents/di/heartbeat', { body: { status: 'busy', tokens: 400 } })).status, 200);
    assert.deepEqual([(await budget()).tokens, (await budget()).tokens_max], [1000, 1000]);
    assert.equal((await di.send('bo', { n: 3 })).json.code, 'BUDGET_EXCEEDED');
    assert.equal((await di.call('POST', '/v1/agents/di/heartbeat', { body: { tokens: 'many' } })).status, 400);
    await cli(broker, 'agent', 'reset', 'di');
    assert.equal((await di.send('bo', { n: 3 })).status, 202);
    assert.equal((await budget()).tokens, 0);
  });
});

// Who is over a limit is told so at the door: nothing is written, and nothing is synced.
describe('a flood of refused calls', () => {
  let broker, ana;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
    const rules = { 'guard.messages_per_day': 1 };
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: rules })).status, 200);
    assert.equal((await ana.send('bo', { n: 0 })).status, 202);
  });
  after(() => broker.remove());

  const count = async () => {
    const { text } = await broker.call('GET', '/metrics');
    const value = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
    return { written: value('parley_journal_written_bytes_total'), syncs: value('parley_journal_syncs_total'),
      refused: value('parley_messages_total\\{outcome="BUDGET_EXCEEDED"\\}') };
  };

  it('costs the journal nothing, and is counted', async () => {
    const before = await count();
    const padding = 'x'.repeat(10_000);
    for (let n = 0; n < 300; ++n) {
      const { status, json } = await ana.send('bo', { n, padding });
      assert.deepEqual([status, json.code], [429, 'BUDGET_EXCEEDED']);
    }
    for (let n = 0; n < 100; ++n) {
      assert.equal((await ana.ack(randomUUID())).json.code, 'NOT_FOUND');
    }
    const after = await count();
    assert.equal(after.syncs, before.syncs);
    assert.ok(after.written - before.written < padding.length, `${after.written - before.written} bytes`);
    assert.equal(after.refused - before.refused, 300);
  });
});

// SPDX-License-Identifier: Apache-2.0
// The `ws` client of npm against the real binary: a long conversation, all that RFC 6455 lets a
// client do, and clients that vanish, come back or do not read.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';
import { assertMemory, Broker, Changes, Raw, frame, message } from './harness.mjs';

// A WebSocket of an agent. Pushed messages gather in `mail`; answers go to who asked.
class Talk {
  constructor(agent, query = '') {
    this.agent = agent;
    this.mail = [];
    this.errors = [];
    this.asked = new Map();
    this.refs = 0;
    this.changes = new Changes();
    this.onMail = () => {};
    this.socket = new WebSocket(`${agent.broker.url.replace(/^http/, 'ws')}/v1/ws${query}`,
      { headers: { Authorization: `Bearer ${agent.token}` } });
    this.socket.on('message', (data, isBinary) => {
      assert.equal(isBinary, false);
      const told = JSON.parse(data);
      if (told.op === 'message') {
        this.mail.push(told);
        this.onMail(told);
      } else if (this.asked.has(told.ref)) {
        this.asked.get(told.ref)(told);
        this.asked.delete(told.ref);
      } else {
        this.errors.push(told);
      }
      this.changes.changed();
    });
    this.closed = new Promise((done) => this.socket.on('close', (code, reason) => {
      done({ code, reason: reason.toString() });
    }));
    this.socket.on('error', () => {});
  }
  static async open(agent, query = '') {
    const talk = new Talk(agent, query);
    await once(talk.socket, 'open');
    return talk;
  }
  tell(op) { this.socket.send(JSON.stringify(op)); }
  ask(op) {
    const ref = ++this.refs;
    const answer = new Promise((done) => this.asked.set(ref, done));
    this.tell({ ...op, ref });
    return answer;
  }
  send(receiver, body, extra) {
    return this.ask({ op: 'send', message: message(this.agent.id, receiver, body, extra) });
  }
  async until(condition) {
    await this.changes.until(condition);
  }
  vanish() {
    this.socket.terminate();
    return this.closed;
  }
  close() {
    this.socket.close(1000, 'done');
    return this.closed;
  }
}

const numbers = (mail) => mail.map((told) => told.message.payload.body.n);
const upTo = (count) => Array.from({ length: count }, (_, n) => n);

describe('a WebSocket', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start({ raise: {
      'flow.rate.agent_out_per_min': [0, 'two agents hold a conversation of 10,000 messages at once'],
      'flow.rate.agent_in_per_min': [0, 'the same, as they come'],
      'flow.rate.pair_per_min': [0, 'the same, between two'],
      'guard.ping_pong_max': [0, 'and they talk to nobody else'],
    } });
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('reads an operation as HTTP reads a body, and gives the same receipt', async () => {
    const talk = await Talk.open(ana, '?window=0');
    const told = await talk.send('bo', { n: 'told' });
    const posted = (await ana.send('bo', { n: 'posted' })).json;
    const same = Object.keys(posted).filter((key) => key !== 'recipients' && key !== 'thread');
    assert.deepEqual(Object.keys(told).filter((key) => !['ref', 'ok', 'count'].includes(key)).sort(), same.sort());
    assert.deepEqual([told.state, told.recipient_count, told.warnings, told.count], ['accepted', 1, [], 1]);
    for (const [op, members, field] of [
      ['nack', { reason: 5 }, '/reason'],
      ['nack', { failed: 'no' }, '/failed'],
      ['nack', { retry_after: 'soon' }, '/retry_after'],
      ['reject', { reason: [] }, '/reason'],
      ['extend', { lease: 7 }, '/lease'],
      ['subscribe', { topic: 5 }, '/topic'],
      ['send', { message: message('ana', 'bo', {}), traceparent: 5 }, '/traceparent'],
    ]) {
      const target = ['nack', 'reject', 'extend'].includes(op) ? { seq: told.seq } : {};
      const { ok, error } = await talk.ask({ op, ...target, ...members });
      assert.deepEqual([op, ok, error?.code, error?.field], [op, false, 'BAD_REQUEST', field]);
    }
    await talk.close();
    const held = await Talk.open(bo);
    await held.until(() => held.mail.length === 2);
    for (const { message: { id } } of held.mail) await held.ask({ op: 'ack', id });
    await held.close();
  });

  it('holds a long conversation in both directions', async () => {
    const count = 5000;
    const talks = [await Talk.open(ana, '?window=512'), await Talk.open(bo, '?window=512')];
    let pongs = 0;
    for (const talk of talks) {
      talk.socket.on('pong', (data) => { pongs += data.toString() === 'are you there' ? 1 : 0; });
      // One by one in the first half, then with one ack for all before.
      talk.onMail = ({ seq, message: { payload: { body } } }) => {
        if (body.n < count / 2) talk.tell({ op: 'ack', seq });
        else if (body.n % 100 === 99) talk.tell({ op: 'ack', upto: seq });
      };
    }
    const speak = async (talk, receiver) => {
      const places = [];
      for (let n = 0; n < count; n += 50) {
        talk.socket.ping('are you there');
        const answers = upTo(50).map((more) => talk.send(receiver, { n: n + more }));
        for (const answer of await Promise.all(answers)) {
          assert.equal(answer.ok, true, JSON.stringify(answer));
          places.push(answer.seq);
        }
      }
      return places;
    };
    const [fromAna, fromBo] = await Promise.all([speak(talks[0], 'bo'), speak(talks[1], 'ana')]);
    for (const talk of talks) await talk.until(() => talk.mail.length >= count);
    for (const [talk, places] of [[talks[1], fromAna], [talks[0], fromBo]]) {
      assert.deepEqual(numbers(talk.mail), upTo(count));
      assert.deepEqual(talk.mail.map((told) => told.seq), places);
      assert.ok(talk.mail.every((told) => told.attempt === 1));
      assert.deepEqual(talk.errors, []);
      assert.deepEqual(await talk.close(), { code: 1000, reason: '' });
    }
    assert.equal(pongs, 2 * count / 50);
    for (const agent of [ana, bo]) assert.equal((await agent.inbox()).json.count, 0);
  });

  it('takes messages in fragments, with control frames and characters across them', async () => {
    const talk = await Talk.open(ana, '?window=0');
    const receiver = await Talk.open(bo);
    const text = JSON.stringify({ op: 'send', ref: 1, message: message('ana', 'bo', { n: 'é€😀'.repeat(50) }) });
    const answer = new Promise((done) => talk.asked.set(1, done));
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) {
      const last = at + 7 >= bytes.length;
      talk.socket.send(bytes.subarray(at, at + 7), { binary: false, fin: last });
      if (at % 70 === 0) talk.socket.ping();
    }
    assert.equal((await answer).ok, true);
    await receiver.until(() => receiver.mail.length === 1);
    assert.equal(receiver.mail[0].message.payload.body.n, 'é€😀'.repeat(50));
    assert.equal((await receiver.ask({ op: 'ack', seq: receiver.mail[0].seq })).ok, true);
    await Promise.all([talk.close(), receiver.close()]);
  });

  it('takes binary messages and many operations in one', async () => {
    const talk = await Talk.open(ana, '?window=0');
    const ops = upTo(1000).map((n) => ({ op: 'send', ref: n, message: message('ana', 'bo', { n }) }));
    const answers = Promise.all(ops.map((op) => new Promise((done) => talk.asked.set(op.ref, done))));
    talk.socket.send(Buffer.from(JSON.stringify(ops)), { binary: true });
    assert.ok((await answers).every((answer) => answer.ok));
    const receiver = await Talk.open(bo, '?window=1000');
    await receiver.until(() => receiver.mail.length === 1000);
    assert.deepEqual(numbers(receiver.mail), upTo(1000));
    const { ok, count } = await receiver.ask({ op: 'ack', upto: receiver.mail.at(-1).seq });
    assert.deepEqual({ ok, count }, { ok: true, count: 1000 });
    await Promise.all([talk.close(), receiver.close()]);
  });

  // One frame is one turn: what it holds is bounded, and all of its answers fit into the output.
  it('takes 1,000 operations in one frame and 64 members in one operation', async () => {
    const raw = await Raw.connect(broker.url);
    await raw.upgrade('/v1/ws?window=0', ana.token);
    const id = '00000000-0000-4000-8000-000000000001';
    const many = (count) => JSON.stringify(upTo(count).map(() => ({ op: 'ack', id })));
    const told = async () => JSON.parse((await raw.frame()).payload);
    await raw.send(frame(many(1001)));
    for (let n = 0; n < 1000; ++n) assert.equal((await told()).error.code, 'NOT_FOUND');
    const { error } = await told();
    assert.equal(error.code, 'BAD_REQUEST');
    assert.match(error.detail, /at most 1000 operations/);
    const wide = (count) => `{"op":"heartbeat","ref":1${',"tokens":0'.repeat(count - 2)}}`;
    await raw.send(frame(wide(64)));
    assert.equal((await told()).ok, true);
    await raw.send(frame(wide(65)));
    assert.match((await told()).error.detail, /at most 64 members/);
    raw.end();
  });

  it('subscribes to a topic, and no more', async () => {
    const talk = await Talk.open(bo);
    const publish = (n) => ana.send('task.done', { n });
    assert.equal((await talk.ask({ op: 'subscribe', topic: 'task.done' })).ok, true);
    await publish(1);
    await talk.until(() => talk.mail.length === 1);
    assert.equal((await talk.ask({ op: 'ack', seq: talk.mail[0].seq })).ok, true);
    assert.equal((await talk.ask({ op: 'unsubscribe', topic: 'task.done' })).ok, true);
    await publish(2);
    await ana.send('bo', { n: 3 });
    await talk.until(() => talk.mail.length === 2);
    assert.deepEqual(numbers(talk.mail), [1, 3]);
    assert.equal((await talk.ask({ op: 'ack', seq: talk.mail[1].seq })).ok, true);
    await talk.close();
  });

  it('carries large messages both ways, and refuses larger ones', async () => {
    const talk = await Talk.open(ana);
    const body = { text: 'ß'.repeat(400_000) };
    const sent = await talk.send('ana', body);
    assert.equal(sent.ok, true, JSON.stringify(sent));
    await talk.until(() => talk.mail.length === 1);
    assert.deepEqual(talk.mail[0].message.payload.body, body);
    assert.equal((await talk.ask({ op: 'ack', seq: sent.seq })).ok, true);
    const refused = await talk.send('ana', { text: 'a'.repeat(1_400_000) });
    assert.equal(refused.error.code, 'PAYLOAD_TOO_LARGE');
    talk.socket.send('a'.repeat(2 * 1024 * 1024 + 1));
    assert.equal((await talk.closed).code, 1009);
  });

  // More than fits into the buffer of a connection, at once, and not one ack.
  it('pushes a whole window without an ack', async () => {
    const count = 4000;
    for (let first = 0; first < count; first += 500) {
      const messages = upTo(500).map((n) => message('ana', 'bo', { n: first + n, fill: 'x'.repeat(1000) }));
      const { json } = await ana.call('POST', '/v1/messages', { body: messages });
      assert.ok(json.results.every((result) => result.state === 'accepted'));
    }
    const receiver = await Talk.open(bo, '?window=4096');
    await receiver.until(() => receiver.mail.length === count);
    assert.deepEqual(numbers(receiver.mail), upTo(count));
    assert.equal((await receiver.ask({ op: 'ack', upto: receiver.mail.at(-1).seq })).count, count);
    await receiver.close();
  });

  it('gives a client that vanished its messages again', async () => {
    for (const n of upTo(10)) await ana.send('bo', { n });
    const first = await Talk.open(bo);
    await first.until(() => first.mail.length === 10);
    assert.equal((await first.ask({ op: 'ack', seq: first.mail[0].seq })).ok, true);
    await first.vanish();
    const second = await Talk.open(bo);
    await second.until(() => second.mail.length === 9);
    assert.deepEqual(numbers(second.mail), upTo(10).slice(1));
    assert.ok(second.mail.every((told) => told.attempt === 2));
    await second.vanish();
  });

  it('resumes behind the mark that a client names', async () => {
    const before = await Talk.open(bo);
    await before.until(() => before.mail.length === 9);
    const { mark } = before.mail[3];
    await before.vanish();
    const talk = await Talk.open(bo, `?after=${mark}`);
    await talk.until(() => talk.mail.length === 5);
    assert.deepEqual(numbers(talk.mail), [5, 6, 7, 8, 9]);
    // What it had before is still its own to acknowledge.
    for (const told of before.mail) {
      const answer = await talk.ask({ op: 'ack', seq: told.seq });
      assert.equal(answer.ok, true, JSON.stringify(answer));
    }
    assert.equal((await bo.inbox()).json.count, 0);
    // And what is new comes.
    await ana.send('bo', { n: 'new' });
    await talk.until(() => talk.mail.length === 6);
    assert.equal((await talk.ask({ op: 'ack', seq: talk.mail[5].seq })).ok, true);
    await talk.close();
  });

  it('answers a close with its code, and its own stop with 1001', async () => {
    const talk = await Talk.open(ana);
    talk.socket.close(4321, 'for a reason');
    assert.equal((await talk.closed).code, 4321);
    const other = await Broker.start();
    try {
      const waiting = await Talk.open(await other.addAgent('waiting'));
      const stopped = other.stop();
      assert.equal((await waiting.closed).code, 1001);
      assert.deepEqual(await stopped, { code: 0, signal: null });
    } finally {
      await other.remove();
    }
  });

  it('tells a client that is not let in why', async () => {
    for (const [path, token, status] of [['/v1/ws', 'prl_wrong', 401], ['/v1/wss', ana.token, 404], ['/v1/ws?window=x', ana.token, 400]]) {
      const socket = new WebSocket(broker.url.replace(/^http/, 'ws') + path, { headers: { Authorization: `Bearer ${token}` } });
      const [, response] = await once(socket, 'unexpected-response');
      assert.equal(response.statusCode, status, path);
      response.destroy();
    }
  });
});

describe('a client that does not read', () => {
  let broker, ana, slow;
  before(async () => {
    broker = await Broker.start({ raise: {
      'flow.rate.agent_out_per_min': [0, 'one agent sends 1,500 messages that others do not read'],
      'flow.rate.agent_in_per_min': [0, 'most of them to one'],
      'flow.rate.pair_per_min': [0, 'the same, from one'],
    } });
    ana = await broker.addAgent('ana');
    slow = await broker.addAgent('slow');
  });
  after(() => broker.remove());

  // The mark of its buffer (server.buffered_max, 1 MiB) may be passed by as much again; the rest is
  // the allocator's.
  const cost = 8 * 1024 * 1024;
  it('stalls nobody and costs little memory; then it gets all', async () => {
    const count = 500;
    const fill = 'x'.repeat(100_000);
    const quick = await Talk.open(ana, '?window=64');
    const send = async (receiver, first) => {
      for (let n = first; n < first + 10; ++n) assert.equal((await quick.send(receiver, { n, fill })).ok, true);
    };
    // What the broker holds anyway, of mail for one who is away: the newest records, tables, its
    // buffers.
    await broker.addAgent('away');
    for (let n = 0; n < 2 * count; n += 10) await send('away', n);
    await broker.historyIsWhole();  // what it has not written yet is in memory too
    const before = await broker.rss();
    const reader = await Talk.open(slow, '?window=4096');
    reader.socket.pause();
    for (let n = 0; n < count; n += 10) {
      await send('slow', n);
      // Another's mail comes meanwhile.
      await quick.send('ana', { n });
      await quick.until(() => quick.mail.at(-1)?.message.payload.body.n === n);
      quick.tell({ op: 'ack', seq: quick.mail.at(-1).seq });
    }
    await broker.historyIsWhole();
    assertMemory(await broker.rss() - before, cost, 'for 50 MB that nobody reads');
    assert.equal(reader.mail.length, 0);
    reader.socket.resume();
    await reader.until(() => reader.mail.length === count);
    assert.deepEqual(numbers(reader.mail), upTo(count));
    assert.equal((await reader.ask({ op: 'ack', upto: reader.mail.at(-1).seq })).count, count);
    await Promise.all([reader.close(), quick.close()]);
  });
});

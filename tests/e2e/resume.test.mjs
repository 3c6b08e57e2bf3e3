// SPDX-License-Identifier: Apache-2.0
// XD-10: a client that lost its stream comes back with a mark: it gets what it did not see, however
// old that is, and not again what it saw. Server-sent events and WebSocket against the real binary.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import WebSocket from 'ws';
import { Broker, Changes, Raw, until } from './harness.mjs';

// Both kinds of stream in one form: pushed frames gather in `mail`.
class Stream {
  constructor() {
    this.mail = [];
    this.marks = [];  // also those without a message
    this.changes = new Changes();
  }
  took(mark, frame) {
    this.marks.push(mark);
    if (frame) this.mail.push(frame);
    this.changes.changed();
  }
  until(count) { return this.changes.until(() => this.mail.length >= count); }
  get bodies() { return this.mail.map((frame) => frame.message.payload.body.n); }
}

class Events extends Stream {
  static path = '/v1/stream';
  static async open(agent, { query = '', headers = {} } = {}) {
    const events = new Events();
    events.abort = new AbortController();
    const response = await fetch(`${agent.broker.url}/v1/stream${query}`,
      { headers: { Authorization: `Bearer ${agent.token}`, ...headers }, signal: events.abort.signal });
    assert.equal(response.status, 200, response.status === 200 ? '' : await response.text());
    events.ended = events.read(response.body.pipeThrough(new TextDecoderStream())).catch(() => {});
    return events;
  }
  async read(body) {
    let text = '';
    for await (const part of body) {
      text += part;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n').map((line) => /^([^:]*): ?(.*)$/.exec(line));
        text = text.slice(end + 2);
        const data = lines.filter(([, name]) => name === 'data').map(([, , value]) => value).join('\n');
        this.took(lines.find(([, name]) => name === 'id')[2], data && JSON.parse(data));
      }
    }
  }
  static resume(agent, mark) { return Events.open(agent, { headers: { 'Last-Event-ID': mark } }); }
  async lose() {
    this.abort.abort();
    await this.ended;
  }
}

class Socket extends Stream {
  static path = '/v1/ws';
  static async open(agent, { query = '' } = {}) {
    const talk = new Socket();
    talk.asked = new Map();
    talk.socket = new WebSocket(`${agent.broker.url.replace(/^http/, 'ws')}/v1/ws${query}`,
      { headers: { Authorization: `Bearer ${agent.token}` } });
    talk.socket.on('error', () => {});
    talk.closed = new Promise((done) => talk.socket.on('close', (code, reason) => done({ code, reason: String(reason) })));
    talk.socket.on('message', (data) => {
      const told = JSON.parse(data);
      if (told.op) talk.took(told.mark, told.op === 'message' && told);
      else talk.asked.get(told.ref)(told);
    });
    await once(talk.socket, 'open');
    return talk;
  }
  ask(op) {
    const ref = this.asked.size + 1;
    const answer = new Promise((done) => this.asked.set(ref, done));
    this.socket.send(JSON.stringify({ ...op, ref }));
    return answer;
  }
  static resume(agent, mark) { return Socket.open(agent, { query: `?after=${mark}` }); }
  async lose() {
    this.socket.terminate();
    await this.closed;
  }
}

// The status and the problem of a request for a stream that is refused.
async function refused(agent, path, headers = {}) {
  const raw = await Raw.connect(agent.broker.url);
  const upgrade = path.startsWith('/v1/ws');
  const answer = upgrade ? await raw.upgrade(path, agent.token) : await (async () => {
    const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('');
    await raw.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${agent.token}\r\n${more}\r\n`);
    return raw.response();
  })();
  raw.end();
  return answer;
}

let broker, ana, cy, bo, agents = 0;
before(async () => { broker = await Broker.start(); });
after(() => broker.remove());
beforeEach(async () => {
  ++agents;
  [ana, cy, bo] = await Promise.all(['ana', 'cy', 'bo'].map((name) => broker.addAgent(`${name}${agents}`)));
});

// Three old ones, and a newer that is pushed first.
async function urgentLast() {
  for (const n of ['m1', 'm2', 'm3']) await ana.send(bo.id, { n });
  await cy.send(bo.id, { n: 'k' }, { priority: 'critical' });
}

for (const Kind of [Events, Socket]) {
  describe(`resuming ${Kind.path}`, () => {
    it('brings what was not seen, also what is older than what was', async () => {
      await urgentLast();
      const first = await Kind.open(bo);
      await first.until(4);
      assert.deepEqual(first.bodies, ['k', 'm1', 'm2', 'm3']);
      await first.lose();
      // It says that it saw k alone, as if the rest had been lost on the way.
      const second = await Kind.resume(bo, first.mail[0].mark);
      await second.until(3);
      assert.deepEqual(second.bodies, ['m1', 'm2', 'm3']);
      assert.deepEqual(second.mail.map(({ attempt }) => attempt), [2, 2, 2]);
      // What it had before is its own to acknowledge, as is the rest.
      for (const { seq } of [first.mail[0], ...second.mail]) assert.equal((await bo.ack(seq)).status, 200);
      assert.equal((await bo.inbox()).json.count, 0);
      await second.lose();
    });

    // The broker may have pushed a new first mark that never got there.
    it('by the same mark again and again brings nothing twice', async () => {
      for (const n of [1, 2, 3]) await ana.send(bo.id, { n });
      const first = await Kind.open(bo);
      await first.until(3);
      await first.lose();
      for (let n = 0; n < 6; ++n) {  // more often than attempts_max
        await (await Kind.resume(bo, first.mail[2].mark)).lose();
      }
      const last = await Kind.resume(bo, first.mail[2].mark);
      await ana.send(bo.id, { n: 4 });
      await last.until(1);
      assert.deepEqual(last.bodies, [4]);
      for (const { seq } of first.mail) {
        assert.equal((await ana.delivery(seq)).json.deliveries[0].attempts, 1);
        assert.equal((await bo.ack(seq)).status, 200);
      }
      await last.lose();
    });

    it('again and again forgets nothing', async () => {
      await urgentLast();
      let stream = await Kind.open(bo);
      await stream.until(4);
      const seen = [stream.bodies[0]];
      let mark = stream.mail[0].mark;
      for (let n = 0; n < 3; ++n) {
        await stream.lose();
        // One that is lost before anything new came does no harm: its first mark covers what was seen.
        stream = await Kind.resume(bo, mark);
        await stream.until(1);
        await stream.lose();
        stream = await Kind.resume(bo, stream.marks[0]);
        await stream.until(3 - n);
        seen.push(stream.bodies[0]);
        ({ mark } = stream.mail[0]);
      }
      assert.deepEqual(seen, ['k', 'm1', 'm2', 'm3']);
      await stream.lose();
    });

    it('brings again what the client gives back', async () => {
      await ana.send(bo.id, { n: 1 });
      await ana.send(bo.id, { n: 2 });
      const first = await Kind.open(bo);
      await first.until(2);
      await first.lose();
      const second = await Kind.resume(bo, first.mail[1].mark);
      assert.equal((await bo.call('POST', `/v1/messages/${first.mail[0].seq}/nack`, { body: {} })).status, 200);
      await second.until(1);
      assert.deepEqual(second.bodies, [1]);
      await second.lose();
    });

    it('after a crash of the broker', async () => {
      const own = await Broker.start();
      try {
        const [from, to] = [await own.addAgent('from'), await own.addAgent('to')];
        for (const n of [1, 2, 3]) await from.send('to', { n });
        const first = await Kind.open(to);
        await first.until(3);
        await own.kill();
        await own.run();
        const second = await Kind.resume(to, first.mail[0].mark);
        await second.until(2);
        assert.deepEqual(second.bodies, [2, 3]);
        await second.lose();
      } finally {
        await own.remove();
      }
    });

    it('takes the place of a connection that only the client knows to be lost', async () => {
      await ana.send(bo.id, { n: 1 });
      await ana.send(bo.id, { n: 2 });
      const first = await Kind.open(bo);
      await first.until(2);
      const second = await Kind.resume(bo, first.mail[0].mark);
      await second.until(1);
      assert.deepEqual(second.bodies, [2]);
      if (first.closed) assert.deepEqual(await first.closed, { code: 1001, reason: 'another connection resumed this stream' });
      else await first.ended;
      await second.lose();
    });

    it('with a mark of another agent, or of no stream, skips nothing', async () => {
      await ana.send(cy.id, { n: 0 });
      await ana.send(bo.id, { n: 1 });
      const other = await Kind.open(cy);
      await other.until(1);
      for (const mark of [other.mail[0].mark, '4294967295-4294967295']) {
        const stream = await Kind.resume(bo, mark);
        await stream.until(1);
        assert.deepEqual(stream.bodies, [1]);
        await stream.lose();
      }
      await other.lose();
    });

    it('by a seq, or by what is no mark, is refused', async () => {
      for (const after of ['', '17', '1-', '-1', '1-2-3', '0-1', '1-4294967296', 'x-1', '1.5-2']) {
        const { status, json } = await refused(bo, `${Kind.path}?after=${after}`);
        assert.equal(status, 400, after);
        assert.equal(json.code, 'BAD_REQUEST');
        assert.match(json.detail, /after must be a mark, such as 12-5/);
      }
    });
  });
}

describe('server-sent events', () => {
  it('of a browser with a Last-Event-ID of another time begin anew', async () => {
    await ana.send(bo.id, { n: 1 });
    const stream = await Events.open(bo, { headers: { 'Last-Event-ID': '1731' } });
    await stream.until(1);
    assert.deepEqual(stream.bodies, [1]);
    await stream.lose();
  });

  it('of a browser that comes back by itself go by its header, not by the URL that it began with', async () => {
    await ana.send(bo.id, { n: 1 });
    await ana.send(bo.id, { n: 2 });
    const first = await Events.open(bo);
    await first.until(2);
    await first.lose();
    const query = `?after=${first.mail[0].mark}`;
    const second = await Events.open(bo, { query });
    await second.until(1);
    assert.deepEqual(second.bodies, [2]);
    await second.lose();
    await ana.send(bo.id, { n: 3 });
    const third = await Events.open(bo, { query, headers: { 'Last-Event-ID': second.marks.at(-1) } });
    await third.until(1);
    assert.deepEqual(third.bodies, [3]);
    await third.lose();
  });
});

describe('a stream that is not allowed', () => {
  before(async () => {
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { streams_max: 1 } })).status, 200);
  });
  after(async () => {
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { streams_max: 100000 } })).status, 200);
  });
  // Those of the test before are closed when the broker has noticed.
  beforeEach(() => until(async () => (await broker.call('GET', '/metrics')).text, (text) => /^parley_streams 0$/m.test(text)));

  for (const Kind of [Events, Socket]) {
    it(`is refused by its status, not opened and ended: ${Kind.path}`, async () => {
      const held = await Kind.open(bo);
      const { status, head, json } = await refused(cy, Kind.path);
      assert.equal(json?.code, 'LIMIT_REACHED', head);
      assert.equal(status, json.status);
      assert.match(head, /content-type: application\/problem\+json/i);
      // The one in whose place it comes makes room.
      await ana.send(bo.id, { n: 1 });
      await held.until(1);
      const next = await Kind.resume(bo, held.mail[0].mark);
      await next.lose();
    });
  }

  it('leaves the connection to other requests', async () => {
    const held = await Events.open(bo);
    const raw = await Raw.connect(broker.url);
    const ask = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${cy.token}\r\n\r\n`;
    await raw.send(ask('/v1/stream') + ask('/v1/stream') + ask('/v1/inbox'));
    assert.equal((await raw.response()).json.code, 'LIMIT_REACHED');
    assert.ok((await raw.response()).status >= 400);
    assert.equal((await raw.response()).status, 200);
    raw.end();
    await held.lose();
  });

  it('has its window above what the rules allow', async () => {
    for (const path of ['/v1/ws?window=5000', '/v1/stream?window=5000']) {
      const { status, json } = await refused(bo, path);
      assert.equal(status, 400, path);
      assert.match(json.detail, /window/);
    }
  });
});

describe('ack upto', () => {
  it('acknowledges in order of delivery, not of the log', async () => {
    await urgentLast();
    const talk = await Socket.open(bo);
    await talk.until(4);
    const [k, m1, m2] = talk.mail;
    assert.equal((await talk.ask({ op: 'ack', upto: k.seq })).count, 1);
    assert.equal((await ana.delivery(m1.seq)).json.deliveries[0].state, 'offered');
    const told = await talk.ask({ op: 'ack', upto: m1.mark });
    assert.deepEqual([told.ok, told.count, told.seq], [true, 1, m1.seq]);
    assert.equal((await talk.ask({ op: 'ack', upto: m1.mark })).count, 0);
    assert.equal((await ana.delivery(m2.seq)).json.deliveries[0].state, 'offered');
    // One that is settled has no place on the stream any more.
    const gone = await talk.ask({ op: 'ack', upto: k.seq });
    assert.equal(gone.error.code, 'NOT_DELIVERED');
    await talk.lose();
  });

  it('takes marks of its own stream, and what it was resumed with', async () => {
    for (const n of [1, 2, 3]) await ana.send(bo.id, { n });
    const first = await Socket.open(bo);
    await first.until(3);
    await first.lose();
    const talk = await Socket.resume(bo, first.mail[1].mark);
    await talk.until(1);
    for (const upto of [first.mail[0].mark, first.mail[2].mark, talk.mail[0].mark.replace(/\d+$/, '9')]) {
      assert.equal((await talk.ask({ op: 'ack', upto })).error.code, 'NOT_DELIVERED', upto);
    }
    for (const upto of ['x', '7', 1.5, null, {}]) {
      assert.equal((await talk.ask({ op: 'ack', upto })).error.code, 'BAD_REQUEST', String(upto));
    }
    // What came on the lost connection has one place on this one: a seq cannot name a part of it.
    for (const { seq } of first.mail.slice(0, 2)) {
      const { error } = await talk.ask({ op: 'ack', upto: seq });
      assert.deepEqual([error.code, error.detail.includes('by its id')], ['NOT_DELIVERED', true]);
      assert.equal((await ana.delivery(seq)).json.deliveries[0].state, 'offered');
    }
    assert.equal((await talk.ask({ op: 'ack', upto: first.mail[1].mark })).count, 2);
    assert.equal((await ana.delivery(talk.mail[0].seq)).json.deliveries[0].state, 'offered');
    assert.equal((await talk.ask({ op: 'ack', upto: talk.mail[0].mark })).count, 1);
    await talk.lose();
    const blind = await Socket.open(bo, { query: '?window=0' });
    assert.equal((await blind.ask({ op: 'ack', upto: '1-1' })).error.code, 'NOT_DELIVERED');
    await blind.lose();
  });

  it('means all that was seen before, also where the window is smaller', async () => {
    for (let n = 0; n < 10; ++n) await ana.send(bo.id, { n });
    const first = await Socket.open(bo, { query: '?window=10' });
    await first.until(10);
    await first.lose();
    await cy.send(bo.id, { n: 'k' }, { priority: 'critical' });
    const { mark } = first.mail[9];
    const talk = await Socket.open(bo, { query: `?window=5&after=${mark}` });
    assert.equal((await talk.ask({ op: 'ack', upto: mark })).count, 10);
    await talk.until(1);
    assert.deepEqual(talk.bodies, ['k']);
    assert.equal((await talk.ask({ op: 'ack', upto: talk.mail[0].mark })).count, 1);
    assert.equal((await bo.inbox()).json.count, 0);
    await talk.lose();
  });

  it('does not take the seq of what was pushed twice for the second time', async () => {
    const talk = await Socket.open(bo);
    await ana.send(bo.id, { n: 1 });
    await ana.send(bo.id, { n: 2 });
    await talk.until(2);
    const [m1, m2] = talk.mail;
    assert.equal((await talk.ask({ op: 'nack', seq: m1.seq, failed: false })).ok, true);
    await talk.until(3);
    assert.equal(talk.mail[2].seq, m1.seq);
    // As one says who has read only the first.
    const { error } = await talk.ask({ op: 'ack', upto: m1.seq });
    assert.deepEqual([error?.code, error?.detail.includes('handed out before')], ['NOT_DELIVERED', true]);
    assert.equal((await ana.delivery(m2.seq)).json.deliveries[0].state, 'offered');
    assert.equal((await talk.ask({ op: 'ack', upto: m1.mark })).count, 0);
    assert.equal((await talk.ask({ op: 'ack', upto: m2.seq })).count, 1);
    assert.equal((await talk.ask({ op: 'ack', upto: talk.mail[2].mark })).count, 1);
    await talk.lose();
  });

  it('does not take the seq of what came on another connection for its push on this one', async () => {
    const first = await Socket.open(bo, { query: '?window=2' });
    const [{ json: sent }] = [await ana.send(bo.id, { n: 1 }), await ana.send(bo.id, { n: 2 }), await ana.send(bo.id, { n: 3 })];
    await first.until(2);
    await first.lose();
    await until(() => ana.delivery(sent.id), ({ json }) => json.deliveries[0].state === 'queued');
    // It names no mark, so all of it comes again. It still knows the second from before, and asks
    // for that when it has seen only the first of the new ones.
    const talk = await Socket.open(bo);
    await talk.until(3);
    const [m1, m2, m3] = talk.mail;
    for (const { seq } of [m1, m2]) {
      const { error } = await talk.ask({ op: 'ack', upto: seq });
      assert.deepEqual([error?.code, error?.detail.includes('handed out before')], ['NOT_DELIVERED', true]);
    }
    assert.equal((await ana.delivery(m1.seq)).json.deliveries[0].state, 'offered');
    // Who resumes by a mark says what it has not seen: there a seq has one meaning.
    await talk.lose();
    const resumed = await Socket.open(bo, { query: `?after=${m2.mark}` });
    await resumed.until(1);
    assert.equal(resumed.mail[0].seq, m3.seq);
    assert.equal((await resumed.ask({ op: 'ack', upto: m3.seq })).count, 3);
    await resumed.lose();
  });

  it('never covers what a slow reader has not been sent', async () => {
    const slow = await Broker.start({ raise: {
      'flow.rate.agent_out_per_min': [0, 'one agent sends 200 messages at once'],
      'flow.rate.agent_in_per_min': [0, 'all of them to one'],
      'flow.rate.pair_per_min': [0, 'the same, from one'],
    } });
    try {
      const [from, to] = [await slow.addAgent('from'), await slow.addAgent('to')];
      const talk = await Socket.open(to, { query: '?window=4096' });
      talk.socket.pause();
      const count = 200;
      let last;
      for (let n = 0; n < count; ++n) last = await from.send('to', { n, fill: 'x'.repeat(100_000) });
      assert.equal((await from.delivery(last.json.seq)).json.deliveries[0].state, 'offered');
      const told = talk.ask({ op: 'ack', upto: last.json.seq });
      // The next call is read behind the operation.
      assert.equal((await from.delivery(last.json.seq)).json.deliveries[0].state, 'offered');
      // What is settled elsewhere while it waits is not sent any more.
      assert.equal((await to.ack(last.json.seq)).status, 200);
      talk.socket.resume();
      assert.equal((await told).error.code, 'NOT_DELIVERED');
      await from.send('to', { n: count });
      await talk.until(count);
      assert.deepEqual(talk.bodies.slice(-2), [count - 2, count]);
      assert.equal((await talk.ask({ op: 'ack', upto: talk.mail.at(-1).mark })).count, count);
      await talk.lose();
    } finally {
      await slow.remove();
    }
  });
});

describe('a pushed message', () => {
  // IN-02: the text that was made for one reader must not serve another.
  it('names the one who has it now: a task that was given to another', async () => {
    const add = (id, role) => broker.addAgent(`${id}${agents}`, { dialect: 'inbox', role });
    const [dan, sam, sue] = [await add('dan', 'director'), await add('sam', 'specialist'), await add('sue', 'specialist')];
    const first = await Events.open(sam);
    const second = await Events.open(sue);
    const content = JSON.stringify({ taskId: 't-1', title: 'Do it', description: 'All of it' });
    const given = await dan.call('POST', '/v1/messages', { body: { to: sam.id, type: 'task', content } });
    assert.equal(given.status, 202, given.text);
    await first.until(1);
    assert.equal(first.mail[0].message.to, sam.id);
    const moved = await dan.call('POST', '/v1/tasks/t-1/reassign', { body: { to: sue.id } });
    assert.equal(moved.status, 200, moved.text);
    await second.until(1);
    assert.equal(second.mail[0].seq, first.mail[0].seq);
    assert.equal(second.mail[0].message.to, sue.id);
    assert.equal(second.mail[0].provenance.redirected_from, sam.id);
    await Promise.all([first.lose(), second.lose()]);
  });
});

describe('a request for a WebSocket without an upgrade', () => {
  it('is counted as answered', async () => {
    const key = 'parley_requests_total{method="GET",route="/v1/ws",status="426"}';
    const { status, json } = await bo.call('GET', '/v1/ws');
    assert.equal(status, 426);
    assert.equal(json.code, 'UPGRADE_REQUIRED');
    assert.ok((await broker.call('GET', '/metrics')).text.split('\n').includes(`${key} 1`));
  });
});

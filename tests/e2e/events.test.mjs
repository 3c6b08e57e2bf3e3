// SPDX-License-Identifier: Apache-2.0
// GET /v1/stream: server-sent events as a reader of them sees them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, Changes, message } from './harness.mjs';

// Reads events by the rules of the HTML standard: lines end with CR LF, LF or CR; `data` lines are
// joined with LF; an empty line ends an event.
class Events {
  static async open(agent, query = '') {
    const events = new Events();
    events.abort = new AbortController();
    events.response = await fetch(`${agent.broker.url}/v1/stream${query}`,
      { headers: { Authorization: `Bearer ${agent.token}` }, signal: events.abort.signal });
    events.text = '';
    events.ended = false;
    events.changes = new Changes();
    events.readAll();
    return events;
  }
  // By itself, so that who waits for an event gives up in time when nothing comes.
  async readAll() {
    try {
      for await (const text of this.response.body.pipeThrough(new TextDecoderStream())) {
        this.text += text;
        this.changes.changed();
      }
    } catch {
      // A reset is an end like any other here, and so is `close`.
    }
    this.ended = true;
    this.changes.changed();
  }
  async next() {
    const end = await this.changes.until(() => /(\r\n|\n|\r){2}/.exec(this.text) ?? this.ended);
    if (end === true) return undefined;
    const lines = this.text.slice(0, end.index).split(/\r\n|\n|\r/);
    this.text = this.text.slice(end.index + end[0].length);
    const event = { data: [] };
    for (const line of lines) {
      const [, name, value] = /^([^:]*): ?(.*)$/.exec(line);
      if (name === 'data') event.data.push(value); else event[name] = value;
    }
    return { ...event, json: JSON.parse(event.data.join('\n')) };
  }
  close() { this.abort.abort(); }
}

describe('server-sent events', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('push a message with its mark', async () => {
    const events = await Events.open(bo);
    assert.equal(events.response.headers.get('content-type'), 'text/event-stream');
    const sent = await ana.send('bo', { n: 1 });
    const event = await events.next();
    assert.equal(event.event, 'message');
    assert.match(event.id, /^\d+-1$/);
    assert.equal(event.json.mark, event.id);
    assert.equal(event.json.seq, sent.json.seq);
    assert.deepEqual(event.json.message.payload.body, { n: 1 });
    assert.equal((await bo.ack(sent.json.id)).status, 200);
    events.close();
  });

  // White space of a body is kept as it came: its line ends must not end the event.
  for (const [name, end] of [['LF', '\n'], ['CR LF', '\r\n'], ['CR', '\r'], ['empty lines', '\n\n'], ['all of them', '\r\n\n\r\r\n']]) {
    it(`are whole when the message has ${name} between its tokens`, async () => {
      const events = await Events.open(bo);
      const spaced = JSON.stringify(message('ana', 'bo', { MARK: [1, 'a\nb\r'] }))
        .replace('{"MARK":', `{${end}"n":${end}`).replace('[1,', `[1,${end}${end}`);
      const sent = await ana.call('POST', '/v1/messages', { body: spaced });
      assert.equal(sent.status, 202, sent.text);
      const event = await events.next();
      assert.equal(event.json.seq, sent.json.seq);
      assert.deepEqual(event.json.message.payload.body, { n: [1, 'a\nb\r'] });
      assert.equal(event.json.op, 'message');
      assert.equal((await bo.ack(sent.json.id)).status, 200);
      events.close();
    });
  }
});

// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, Raw, message } from './harness.mjs';

describe('a stream', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  // More in one turn than is rendered ahead: what waited must follow when the rest has left.
  it('pushes all of a batch that is larger than its buffer', async () => {
    const stream = await fetch(`${broker.url}/v1/stream?window=64`, {
      headers: { Authorization: `Bearer ${bo.token}` },
    });
    assert.equal(stream.status, 200);
    const count = 30;
    const batch = Array.from({ length: count }, () => message('ana', 'bo', 'x'.repeat(60_000)));
    const sent = await ana.call('POST', '/v1/messages', { body: batch });
    assert.equal(sent.status, 202, sent.text);
    const reader = stream.body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    let events = 0;
    const timer = setTimeout(() => reader.cancel(), 20_000);
    while (events < count) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      const parts = text.split('\n\n');
      text = parts.pop();
      events += parts.length;
    }
    clearTimeout(timer);
    await reader.cancel();
    assert.equal(events, count);
  });

  it('takes a window that is allowed where none is named', async () => {
    const own = await Broker.start();
    try {
      const eve = await own.addAgent('eve');
      assert.equal((await own.call('PATCH', '/v1/rules', { body: { window_max: 8 } })).status, 200);
      for (const [query, status] of [['', 101], ['?window=8', 101], ['?window=9', 400]]) {
        const raw = await Raw.connect(own.url);
        assert.equal((await raw.upgrade(`/v1/ws${query}`, eve.token)).status, status, query);
        raw.end();
      }
    } finally {
      await own.remove();
    }
  });
});

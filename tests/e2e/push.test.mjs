// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
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

  it('leaves out what the broker cannot read any more, and pushes the rest', async () => {
    const own = await Broker.start();
    try {
      const [eve, fay, gus] = [await own.addAgent('eve'), await own.addAgent('fay'), await own.addAgent('gus')];
      const spoilt = (await eve.send('fay', 'words that the disk will lose')).json;
      // So much after it that it is no longer in memory: the broker keeps the newest 32 MiB.
      for (let n = 0; n < 40; ++n) {
        const { status, text } = await eve.send('gus', 'x'.repeat(900_000));
        assert.equal(status, 202, text);
      }
      const whole = (await gus.send('fay', 'words that stay')).json;  // in a channel of its own
      const journal = join(own.data, 'journal');
      const [name] = (await readdir(journal)).filter((each) => each.startsWith('log-'));
      const file = await open(join(journal, name), 'r+');
      const at = (await file.readFile()).indexOf('words that the disk will lose');
      assert.ok(at > 0);
      await file.write('X', at);
      await file.close();
      const raw = await Raw.connect(own.url);
      assert.equal((await raw.upgrade('/v1/ws', fay.token)).status, 101);
      const pushed = [];
      while (!pushed.includes(whole.seq)) {
        const got = await raw.frame();
        assert.ok(got, 'the connection ended');
        const told = got.opcode === 1 ? JSON.parse(got.payload) : {};
        if (told.op === 'message') pushed.push(told.seq);
      }
      assert.ok(!pushed.includes(spoilt.seq), String(pushed));
      assert.equal((await own.call('GET', '/v1/health')).status, 200);
      raw.end();
    } finally {
      await own.remove();
    }
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

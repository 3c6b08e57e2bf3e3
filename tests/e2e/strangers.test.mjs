// SPDX-License-Identifier: Apache-2.0
// What the broker holds for those who have shown no token. CONNECTIONS says how many there are:
// 9900 with the default limits is all that fit beside those of the test itself.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { assertMemory, Broker, frame, Raw, slowness, until } from './harness.mjs';

const megabyte = 1024 * 1024;
const count = Number(process.env.CONNECTIONS ?? 300);
const body = Buffer.alloc(2 * megabyte, 'x');
const post = `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n`;

// Many connections at once, each doing `act`.
async function strangers(url, act) {
  const clients = [];
  while (clients.length < count) {
    const next = Array.from({ length: Math.min(100, count - clients.length) }, () => Raw.connect(url));
    clients.push(...await Promise.all(next));
  }
  const came = await Promise.all(clients.map(act));
  return { clients, came };
}

describe('those who have shown no token', () => {
  let broker, ana;
  // The most that it ever held.
  const peak = async () => {
    const status = await readFile(`/proc/${broker.process.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
  };
  // Others are served meanwhile, and all of it stays within what a flood may cost.
  const check = async (clients, what) => {
    assert.equal((await ana.send('bo', { what })).status, 202);
    for (const client of clients) client.end();
    const held = await peak();
    console.log(`${what}: ${count} connections, at most ${Math.round(held / megabyte)} MB`);
    assertMemory(held, 200 * megabyte, what);
  };
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('are told so after the head, and cost no memory with their bodies', async () => {
    const { clients, came } = await strangers(broker.url, async (client) => {
      client.socket.write(`${post}\r\n`);
      client.socket.write(body);
      return client.response();
    });
    for (const { status, head } of came) {
      assert.equal(status, 401);
      assert.match(head, /^Connection: close\r$/m);
    }
    await check(clients, 'bodies without a token');
  });

  it('are refused a body for which they ask first', async () => {
    const client = await Raw.connect(broker.url);
    await client.send(`${post}Expect: 100-continue\r\n\r\n`);
    assert.equal((await client.response()).status, 401);
    assert.equal(await client.toEnd(), '');
    const known = await Raw.connect(broker.url);
    await known.send(`${post.replace(/\d+\r\n$/, '2\r\n')}Authorization: Bearer ${ana.token}\r\nExpect: 100-continue\r\n\r\n`);
    assert.equal((await known.response()).status, 100);
    await known.send('{}');
    assert.equal((await known.response()).status, 422);
    known.end();
  });

  // Not strangers: but their bodies have a limit too, and last no longer than the token.
  it('and an agent whose bodies do not end: 16 MB of them are held', async () => {
    const eve = await broker.addAgent('eve');
    const head = `${post}Authorization: Bearer ${eve.token}\r\n\r\n`;
    const { clients } = await strangers(broker.url, (client) => {
      client.socket.write(head);
      client.socket.write(body.subarray(1));
    });
    const answers = [];
    await new Promise((done) => {
      for (const client of clients) {
        client.response().then((answer) => answers.push(answer) === count - 8 && done());
      }
    });
    // One that still wrote may be cut off before it reads.
    const told = answers.filter((answer) => answer !== undefined);
    assert.ok(told.length > 0);
    for (const { status, head } of told) {
      assert.equal(status, 429);
      assert.match(head, /^Retry-After: 1\r$/m);
    }
    await check(clients, 'bodies without an end');
  });

  it('and an agent that was removed: its unfinished requests are answered 401', async () => {
    const eve = await broker.addAgent('mallory');
    const client = await Raw.connect(broker.url);
    await client.send(`${post}Authorization: Bearer ${eve.token}\r\n\r\n{`);
    assert.equal((await broker.call('DELETE', '/v1/agents/mallory')).status, 200);
    const { status, head } = await client.response();
    assert.equal(status, 401);
    assert.match(head, /^WWW-Authenticate: Bearer\r$/m);
    client.end();
  });

  it('cost no memory with heads that do not end', async () => {
    const { clients } = await strangers(broker.url, (client) => client.send(`${post}X-Long: ${'x'.repeat(15_000)}`));
    await check(clients, 'heads without an end');
  });

  it('cost no memory with answers that they do not read', async () => {
    const { clients } = await strangers(broker.url, (client) => {
      client.socket.pause();
      return client.send('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(50));
    });
    await check(clients, 'answers that nobody reads');
  });
});

// One after the other, so that the broker writes one answer at a time. Then each begins a request that
// it does not end: nothing of what it asked and got is kept for it.
for (const [what, request] of [
  ['large answers', 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['heads of many fields', `GET /livez HTTP/1.1\r\nHost: localhost\r\n${'a:\r\n'.repeat(3_900)}\r\n`],
]) {
  it(`those who have shown no token cost no memory after ${what}`, async () => {
    const broker = await Broker.start();
    const before = await broker.rss();
    const clients = [];
    for (let n = 0; n < count; ++n) {
      const client = await Raw.connect(broker.url);
      clients.push(client);
      await client.send(request);
      assert.equal((await client.response()).status, 200);
      client.socket.write('G');
    }
    const grown = await broker.rss() - before;
    console.log(`after ${what}: ${count} connections, ${Math.round(grown / megabyte)} MB more`);
    for (const client of clients) client.end();
    await broker.remove();
    assertMemory(grown, count * 24 * 1024, `after ${what}`);
  });
}

// What was large and is over takes no room, though the connection goes on: with the token of one agent
// 600 sockets held 1.1 GB that way.
describe('connections of an agent that stay in use', () => {
  const connections = 60;
  const most = 20 * megabyte;
  const each = async (broker, begin) => {
    const before = await broker.rss();
    const clients = [];
    for (let n = 0; n < connections; ++n) clients.push(await begin());
    return { clients, grown: async () => await broker.rss() - before };
  };

  it('keep no room for a large text that a WebSocket had', async () => {
    const broker = await Broker.start();
    const { token } = await broker.addAgent('ana');
    const text = frame(JSON.stringify({ op: 'heartbeat', ref: 1, pad: 'x'.repeat(1_900_000) }));
    const { clients, grown } = await each(broker, async () => {
      const client = await Raw.connect(broker.url);
      assert.equal((await client.upgrade('/v1/ws?window=0', token)).status, 101);
      await client.send(text);
      while (JSON.parse((await client.frame()).payload).ref !== 1);
      await client.send(frame('', { opcode: 9 }));
      assert.equal((await client.frame()).opcode, 10);
      return client;
    });
    const held = await grown();
    for (const client of clients) client.end();
    await broker.remove();
    assertMemory(held, most, `${connections} sockets after a text of 1.9 MB`);
  });

  it('keep no room for a large answer', async () => {
    const broker = await Broker.start();
    const { token } = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const { json } = await bo.send('ana', { text: 'x'.repeat(900_000) });
    const request = `GET /v1/messages/${json.id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const { clients, grown } = await each(broker, async () => {
      const client = await Raw.connect(broker.url);
      await client.send(request);
      assert.equal((await client.response()).status, 200);
      return client;
    });
    // An empty line before a request is allowed, and means nothing. Of a sanitized binary memory says nothing.
    await until(async () => {
      await Promise.all(clients.map((client) => client.send('\r\n')));
      return await grown();
    }, (held) => slowness > 1 || held < most);
    for (const client of clients) client.end();
    await broker.remove();
  });
});

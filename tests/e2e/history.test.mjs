// SPDX-License-Identifier: Apache-2.0
// The history: messages are found after they left the engine, by those who sent or received them,
// whatever happened to the process or to the database in between.
import assert from 'node:assert/strict';
import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Agent, Broker } from './harness.mjs';

async function settle(receiver, id) {
  assert.equal((await receiver.read(id)).status, 200);
  assert.equal((await receiver.ack(id)).status, 200);
}

// All pages of a list.
async function pages(caller, path) {
  const found = [];
  for (let cursor = ''; ;) {
    const page = await caller.call('GET', `${path}${path.includes('?') ? '&' : '?'}${cursor}`);
    assert.equal(page.status, 200, page.text);
    assert.equal(page.json.count, page.json.messages.length);
    found.push(...page.json.messages);
    if (page.json.next === undefined) return found;
    cursor = `cursor=${page.json.next}`;
  }
}

describe('the history', () => {
  let broker, ana, bo, cy, old;
  const thread = 'the-old-thread';
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy] = [await broker.addAgent('ana'), await broker.addAgent('bo'), await broker.addAgent('cy')];
    const rules = { settled_max: 1 };
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: rules })).status, 200);
    old = (await ana.send('bo', { n: 'old' }, { conversation_id: thread })).json;
    await settle(bo, old.id);
    for (let n = 0; n < 5; ++n) await settle(bo, (await ana.send('bo', { n })).json.id);
    await broker.historyIsWhole();
  });
  after(() => broker.remove());

  it('shows a message that the engine has forgotten to its sender, its receiver and those who see all', async () => {
    assert.ok((await broker.call('GET', '/v1/health')).json.messages < 6, 'the engine has forgotten some');
    for (const caller of [ana, bo, new Agent(broker, 'admin', broker.admin)]) {
      for (const name of [old.id, old.seq]) {
        const read = await caller.read(name);
        assert.equal(read.status, 200, read.text);
        assert.equal(read.json.id, old.id);
        assert.deepEqual(read.json.payload.body, { n: 'old' });
        assert.equal(JSON.parse(read.headers.get('parley-provenance')).sender, 'ana');
      }
    }
    for (const name of [old.id, old.seq]) assert.equal((await cy.read(name)).json.code, 'NOT_FOUND');
    assert.equal((await bo.read(`${old.id}?dialect=flow`)).status, 200);
    assert.equal((await bo.read(`${old.id}?dialect=nonsense`)).json.code, 'UNSUPPORTED_DIALECT');
  });

  it('tells how it ended to its sender and to maintainers', async () => {
    const [mine, admins] = [await ana.delivery(old.id), await broker.call('GET', `/v1/messages/${old.seq}/delivery`)];
    assert.equal(mine.status, 200, mine.text);
    assert.equal(mine.json.id, old.id);
    assert.equal(mine.json.deliveries.length, 1);
    assert.equal(mine.json.deliveries[0].receiver, 'bo');
    assert.equal(mine.json.deliveries[0].state, 'acked');
    assert.deepEqual(admins.json, mine.json);
    for (const other of [bo, cy]) assert.equal((await other.delivery(old.id)).json.code, 'NOT_FOUND');
  });

  it('lists what one sent, newest first, with live and with final states', async () => {
    const { json } = await ana.send('bo', { n: 'new' });
    const box = await ana.call('GET', '/v1/outbox');
    assert.equal(box.status, 200, box.text);
    assert.equal(box.json.count, 7);
    assert.equal(box.json.messages[0].id, json.id);
    assert.deepEqual(box.json.messages[0].to, ['bo']);
    assert.equal(box.json.messages[0].open, 1);
    assert.equal(box.json.messages[0].deliveries[0].state, 'queued');
    assert.equal(box.json.messages[6].id, old.id);
    assert.equal(box.json.messages[6].open, 0);
    assert.equal(box.json.messages[6].deliveries[0].state, 'acked');
    assert.deepEqual((await pages(ana, '/v1/outbox?limit=2')).map((m) => m.id), box.json.messages.map((m) => m.id));
    const since = box.json.messages[1].timestamp;
    const recent = await pages(ana, `/v1/outbox?since=${since}`);
    assert.ok(recent.length >= 2 && recent.length < 7 && recent.every((m) => m.timestamp >= since));
    assert.equal((await pages(ana, `/v1/outbox?until=2020-01-01T00:00:00Z`)).length, 0);
    assert.equal((await pages(bo, '/v1/outbox')).length, 0);
    await settle(bo, json.id);
  });

  it('looks messages up by thread, by the other agent and by time', async () => {
    const answer = await bo.send('ana', { n: 'answer' }, { conversation_id: thread });
    await cy.send('bo', { n: 'other' });
    await broker.historyIsWhole();
    const ids = async (caller, query) => (await pages(caller, `/v1/messages?${query}`)).map((m) => m.id);
    for (const caller of [ana, bo, broker]) {
      assert.deepEqual(await ids(caller, `thread=${thread}`), [answer.json.id, old.id]);
    }
    assert.deepEqual(await ids(cy, `thread=${thread}`), []);
    assert.equal((await ids(bo, 'agent=ana')).length, 8);
    assert.equal((await ids(bo, 'agent=cy')).length, 1);
    assert.equal((await ids(bo, '')).length, 9);
    assert.equal((await ids(cy, 'agent=ana')).length, 0);
    assert.equal((await ids(broker, 'agent=cy')).length, 1);
    assert.equal((await ids(broker, '')).length, 9);
    assert.equal((await ids(broker, `to=${new Date(0).toISOString()}`)).length, 0);
    assert.equal((await ids(broker, `from=${new Date(0).toISOString()}&limit=3`)).length, 9);
    // Where it stands with each receiver is not for the receivers.
    const [seen] = await pages(bo, '/v1/messages?agent=cy');
    assert.equal(seen.from, 'cy');
    assert.equal(seen.deliveries, undefined);
  });

  // XD-03: more of them than a list of receivers names.
  it('shows what was said to each of many, and to nobody else', async () => {
    const crowd = await Promise.all(Array.from({ length: 25 }, (_, n) => broker.addAgent(`crowd-${n}`)));
    for (const each of crowd) {
      assert.equal((await each.call('PUT', '/v1/topics/news.all/subscription')).status, 200);
    }
    const said = (await ana.send('news.all', { n: 'to many' }, { conversation_id: 'the-crowd' })).json;
    const answer = (await crowd[0].send('ana', { n: 'fine' }, { conversation_id: 'the-crowd' })).json;
    for (const each of crowd) await settle(each, said.id);
    await settle(ana, answer.id);
    for (let n = 0; n < 3; ++n) await settle(bo, (await cy.send('bo', { n })).json.id);
    await broker.historyIsWhole();
    const heard = async (caller) => {
      const { json } = await caller.call('GET', '/v1/threads/the-crowd');
      return json.messages.map(({ preview }) => /"n":"[a-z ]*"/.exec(preview ?? '')?.[0]);
    };
    assert.deepEqual(await heard(ana), ['"n":"to many"', '"n":"fine"']);
    assert.deepEqual(await heard(crowd[0]), ['"n":"to many"', '"n":"fine"']);
    assert.deepEqual(await heard(crowd[24]), ['"n":"to many"']);
    assert.equal((await cy.call('GET', '/v1/threads/the-crowd')).json.code, 'NOT_FOUND');
  });

  it('refuses parameters that make no sense', async () => {
    for (const query of ['limit=x', 'limit=501', 'cursor=-1', 'from=yesterday', 'to=2026-13-01T00:00:00Z']) {
      assert.equal((await ana.call('GET', `/v1/messages?${query}`)).json.code, 'BAD_REQUEST', query);
    }
  });

  it('keeps workspaces apart', async () => {
    const other = (await broker.call('POST', '/v1/workspaces', { body: { name: 'other' } })).json;
    const admin = new Agent(broker, 'admin', other.token);
    assert.equal((await pages(admin, '/v1/messages')).length, 0);
    assert.equal((await admin.delivery(old.seq)).json.code, 'NOT_FOUND');
  });
});

describe('the history of a broker that is killed', () => {
  let broker, tokens;
  const again = (name) => new Agent(broker, name, tokens[name]);
  before(async () => {
    broker = await Broker.start();
    tokens = { ana: (await broker.addAgent('ana')).token, bo: (await broker.addAgent('bo')).token };
  });
  after(() => broker.remove());

  const outbox = async () => (await pages(again('ana'), '/v1/outbox?limit=100')).map((m) => m.id);

  it('is complete after the restart', async () => {
    const sent = [];
    for (let life = 0; life < 3; ++life) {
      for (let n = 0; n < 20; ++n) {
        const { json } = await again('ana').call('POST', '/v1/messages?lenient=true', {
          body: Array.from({ length: 10 }, () => ({ type: 'notification', receiver: 'bo',
            payload: { content_type: 'json', body: { n } } })) });
        sent.push(...json.results.map((result) => result.id));
      }
      await broker.kill();
      await broker.run();
      assert.deepEqual(await outbox(), [...sent].reverse());
    }
  });

  it('is made anew when its database is gone', async () => {
    const sent = await outbox();
    await broker.kill();
    for (const suffix of ['', '-wal', '-shm']) await rm(join(broker.data, `history.db${suffix}`), { force: true });
    broker.stderr = '';
    await broker.run();
    assert.match(broker.stderr, /there is no history at .*made anew/);
    assert.deepEqual(await outbox(), sent);
    assert.equal((await again('ana').send('bo', {})).status, 202);
  });

  it('is set aside and made anew when its database is damaged', async () => {
    const sent = await outbox();
    await broker.stop();
    await writeFile(join(broker.data, 'history.db'), 'this is no database, whatever it says'.repeat(200));
    broker.stderr = '';
    await broker.run();
    assert.match(broker.stderr, /could not be used and is now .*history\.db\.aside-1/);
    assert.ok((await readdir(broker.data)).includes('history.db.aside-1'));
    assert.deepEqual(await outbox(), sent);
  });

  it('is not answered from when its database is damaged under a broker that runs', async () => {
    assert.equal((await again('ana').send('bo', {})).status, 202);
    await broker.historyIsWhole();
    for (const suffix of ['', '-wal']) {
      const file = await open(join(broker.data, `history.db${suffix}`), 'r+');
      await file.write(Buffer.alloc((await file.stat()).size, 'x'), 0);
      await file.close();
    }
    const found = await again('ana').call('GET', '/v1/outbox');
    assert.deepEqual([found.status, found.json.code], [500, 'STORAGE_FAILED'], found.text);
    assert.equal((await broker.call('GET', '/v1/health')).status, 200);
  });

  it('does without one when it cannot be opened at all', async () => {
    await broker.stop();
    const data = join(broker.data, 'history.db');
    for (const suffix of ['', '-wal', '-shm']) await rm(data + suffix, { force: true });
    // A directory cannot be opened as a database, nor does it look like a damaged one.
    await mkdir(data);
    broker.stderr = '';
    await broker.run();
    assert.match(broker.stderr, /cannot open the history/);
    assert.equal((await again('ana').send('bo', {})).status, 202);
    assert.equal((await again('ana').call('GET', '/v1/outbox')).json.code, 'UNAVAILABLE');
    await broker.stop();
    await rm(data, { recursive: true });
    await broker.run();
    assert.ok((await outbox()).length > 0);
  });
});

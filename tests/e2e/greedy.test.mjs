// SPDX-License-Identifier: Apache-2.0
// What one caller may hold of the broker: connections, calls that wait, questions to the history. And
// that who asks for more than that is refused, and nobody else.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Broker, Raw, until } from './harness.mjs';

const get = (path, token) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}\r\n`;

// Asks on one connection for as many as there are, all at once; returns the answers.
async function pipelined(broker, request, count) {
  const client = await Raw.connect(broker.url);
  await client.send(request.repeat(count));
  const answers = [];
  for (let n = 0; n < count; ++n) answers.push(await client.response());
  client.end();
  return answers;
}
const refused = (answers) => answers.filter(({ status }) => status === 429);
const connections = async (broker) =>
  Number(/^parley_connections (\d+)$/m.exec((await broker.call('GET', '/metrics')).text)[1]);

describe('an agent that waits', () => {
  let broker, eve, bo;
  before(async () => {
    broker = await Broker.start();
    eve = await broker.addAgent('eve');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());
  const held = async () => (await broker.call('GET', '/v1/agents/eve')).json.holds;

  it('does so 64 times on a connection', async () => {
    const answers = await pipelined(broker, get('/v1/inbox?wait=300ms', eve.token), 70);
    const over = refused(answers);
    assert.equal(over.length, 6);
    for (const { head, json } of over) {
      assert.equal(json.code, 'RATE_LIMITED');
      assert.match(json.detail, /^64 calls on this connection wait already \(server\.waits_per_connection_max\)/);
      assert.match(head, /^Retry-After: 1\r$/m);
    }
    assert.equal(answers.filter(({ status }) => status === 200).length, 64);
    assert.equal((await held()).waits, 0);
  });

  it('does so 256 times in all, and can be seen to', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => Raw.connect(broker.url)));
    for (const client of clients) await client.send(get('/v1/inbox?wait=60s', eve.token).repeat(64));
    await until(held, ({ waits, connections: open }) => waits === 256 && open === 4);
    for (const path of ['/v1/inbox?wait=60s', '/v1/messages?wait=60s&lenient=true', '/v1/locks/l?wait=60s']) {
      const method = path.includes('inbox') ? 'GET' : path.includes('locks') ? 'PUT' : 'POST';
      const { status, json } = await eve.call(method, path, method === 'POST' ? { body: { to: 'bo', text: 'x' } } : {});
      assert.equal(status, 429, path);
      assert.match(json.detail, /server\.waits_per_principal_max/, path);
    }
    // A call that does not wait, and another agent's that does, are not refused.
    assert.equal((await eve.inbox()).status, 200);
    const waiting = bo.inbox('?wait=60s');
    assert.equal((await eve.send('bo', { n: 1 })).status, 202);
    assert.equal((await waiting).json.count, 1);
    // One message wakes all of them.
    assert.equal((await bo.send('eve', { n: 2 })).status, 202);
    for (const client of clients) {
      for (let n = 0; n < 64; ++n) assert.equal((await client.response()).json.count, 1);
      client.end();
    }
    await until(held, ({ waits, connections: open }) => waits === 0 && open === 0);
  });

  it('is known to be gone although nothing more is read of it', async () => {
    const before = await connections(broker);
    const cy = await broker.addAgent('cy');
    const client = await Raw.connect(broker.url);
    await client.send(get('/v1/inbox?wait=60s', cy.token).repeat(1100));
    await until(async () => (await broker.call('GET', '/v1/agents/cy')).json.holds.waits, (waits) => waits === 64);
    client.end();
    await until(() => connections(broker), (open) => open <= before);
    assert.equal((await broker.call('GET', '/v1/agents/cy')).json.holds.waits, 0);
  });

  it('shows what it holds to itself and to those who look after all', async () => {
    assert.deepEqual(Object.keys((await eve.call('GET', '/v1/agents/eve')).json.holds), ['connections', 'waits', 'unfinished_bytes', 'unread_bytes']);
    assert.equal((await bo.call('GET', '/v1/agents/eve')).json.holds, undefined);
  });
});

describe('connections', () => {
  it('of those who have shown no token make room for others', async () => {
    const broker = await Broker.start({ flags: ['--set', 'server.connections_max=20'] });
    const ana = await broker.addAgent('ana');
    const known = await Raw.connect(broker.url);
    await known.send(get('/v1/inbox', ana.token));
    assert.equal((await known.response()).status, 200);
    const strangers = [];
    for (let n = 0; n < 40; ++n) strangers.push(await Raw.connect(broker.url));
    // The first ones lost their places, and who comes now is served.
    for (const stranger of strangers.slice(0, 20)) await stranger.toEnd();
    for (let n = 0; n < 5; ++n) {
      const client = await Raw.connect(broker.url);
      await client.send(get('/v1/inbox', ana.token));
      assert.equal((await client.response()).status, 200);
    }
    await known.send(get('/v1/inbox', ana.token));
    assert.equal((await known.response()).status, 200);
    for (const client of [known, ...strangers]) client.end();
    await broker.remove();
  });

  it('of one agent have a limit', async () => {
    const broker = await Broker.start({ flags: ['--set', 'server.connections_per_principal_max=3'] });
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const ask = async (client, { token }) => {
      await client.send(get('/v1/inbox', token));
      return client.response();
    };
    const clients = await Promise.all(Array.from({ length: 3 }, () => Raw.connect(broker.url)));
    for (const client of clients) assert.equal((await ask(client, ana)).status, 200);
    const over = await Raw.connect(broker.url);
    const { status, json } = await ask(over, ana);
    assert.equal(status, 429);
    assert.match(json.detail, /server\.connections_per_principal_max/);
    assert.equal(await over.toEnd(), '');
    const other = await Raw.connect(broker.url);
    assert.equal((await ask(other, bo)).status, 200);
    for (const client of clients) assert.equal((await ask(client, ana)).status, 200);
    for (const client of [...clients, over, other]) client.end();
    await broker.remove();
  });
});

it('questions of one agent to the history have a limit', async () => {
  const broker = await Broker.start({ flags: ['--set', 'history.questions_per_principal_max=1'] });
  const eve = await broker.addAgent('eve');
  const answers = await pipelined(broker, get('/v1/messages?limit=1', eve.token), 50);
  assert.equal(answers[0].status, 200);
  const over = refused(answers);
  assert.ok(over.length > 0);
  assert.match(over[0].json.detail, /history\.questions_per_principal_max/);
  assert.equal((await eve.call('GET', '/v1/messages?limit=1')).status, 200);
  await broker.remove();
});

describe('a data directory', () => {
  it('that others can write is refused', async () => {
    for (const mode of [0o720, 0o702, 0o777]) {
      const data = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
      await chmod(data, mode);
      await assert.rejects(Broker.start({ data }), /can be written by other users; run `chmod go-w /);
      await chmod(data, 0o755);
      const broker = await Broker.start({ data });
      await broker.remove();
    }
  });

  it('with a link in it does not lead the token elsewhere', async () => {
    const data = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
    const elsewhere = join(await mkdtemp(join(tmpdir(), 'parley-e2e-')), 'stolen');
    await writeFile(elsewhere, 'nothing', { mode: 0o644 });
    await symlink(elsewhere, join(data, 'admin.token.new'));
    const broker = await Broker.start({ data });
    assert.equal(await readFile(elsewhere, 'utf8'), 'nothing');
    assert.equal((await stat(join(data, 'admin.token'))).mode & 0o777, 0o600);
    await broker.remove();
    await rm(join(elsewhere, '..'), { recursive: true });
  });
});

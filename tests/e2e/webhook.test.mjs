// SPDX-License-Identifier: Apache-2.0
// XD-10: an agent that is not there is woken by a signed webhook. The receiver here is a small one of
// our own, which checks the signatures with Node's crypto.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, Changes, until } from './harness.mjs';

const execute = promisify(execFile);

// Takes what it is sent; `answers` says how, one after the other, then 204.
class Receiver {
  static async start({ answers = [], tls, port = 0 } = {}) {
    const receiver = new Receiver();
    receiver.requests = [];
    receiver.answers = answers;
    receiver.changes = new Changes();
    const take = async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const status = receiver.answers.shift() ?? 204;
      receiver.requests.push({ method: request.method, path: request.url, headers: request.headers, text, json: JSON.parse(text), status, at: Date.now() });
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {});
      response.end();
      receiver.changes.changed();
    };
    receiver.server = tls ? https.createServer(tls, take) : http.createServer(take);
    receiver.server.listen(port, '127.0.0.1');
    await once(receiver.server, 'listening');
    receiver.port = receiver.server.address().port;
    receiver.url = `${tls ? 'https' : 'http'}://127.0.0.1:${receiver.port}/wake?agent=bo`;
    return receiver;
  }
  async until(count) {
    return this.changes.until(() => this.requests[count - 1]);
  }
  stop() { this.server.closeAllConnections(); this.server.close(); }
}

// As Standard Webhooks says: HMAC-SHA256 over id.timestamp.body with what the secret has in base64.
function signature({ headers, text }, secret) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`).digest('base64')}`;
}

const loopback = ['--set', 'webhook.allowed_networks=127.0.0.0/8', '--set', 'webhook.retry_first=20ms'];

describe('webhooks', () => {
  const running = [];
  after(async () => { for (const each of running) await (each.remove?.() ?? each.stop()); });
  // A broker with ana, who writes, and bo, who has a webhook at the receiver.
  const begin = async ({ answers, tls, flags = loopback, url } = {}) => {
    const receiver = await Receiver.start({ answers, tls });
    const broker = await Broker.start({ flags });
    running.push(broker, receiver);
    const ana = await broker.addAgent('ana');
    const { status, json } = await broker.call('POST', '/v1/agents', { body: { id: 'bo', webhook: { url: url?.(receiver) ?? receiver.url } } });
    assert.equal(status, 201, JSON.stringify(json));
    const bo = { id: 'bo', token: json.token, call: (method, path, options = {}) => broker.call(method, path, { token: json.token, ...options }) };
    return { receiver, broker, ana, bo, secret: json.webhook_secret };
  };
  const shown = async ({ bo }) => (await bo.call('GET', '/v1/agents/bo')).json.webhook;
  const settle = async ({ bo }, id) => { await bo.call('GET', `/v1/messages/${id}`); await bo.call('POST', `/v1/messages/${id}/ack`); };
  const untilShown = async (world, done) => {
    return until(() => shown(world), done);
  };

  it('XD-10: tells an agent that mail waits, signed, and never what it says', async () => {
    const world = await begin();
    const { receiver, broker, ana, bo, secret } = world;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    await ana.send('bo', 'tell-no-one');
    const request = await receiver.until(1);
    assert.deepEqual([request.method, request.path], ['POST', '/wake?agent=bo']);
    assert.equal(request.headers['content-type'], 'application/cloudevents+json; charset=utf-8');
    assert.equal(request.headers['webhook-signature'], signature(request, secret));
    assert.ok(Math.abs(Date.now() / 1000 - Number(request.headers['webhook-timestamp'])) < 60);
    const { time, ...event } = request.json;
    assert.ok(Date.parse(time));
    assert.deepEqual(event, { specversion: '1.0', id: request.headers['webhook-id'], source: 'urn:parley:workspace:0',
      type: 'parley.mail.waiting', subject: 'bo', datacontenttype: 'application/json',
      data: { agent: 'bo', workspace: event.data.workspace, unsettled: 1 } });
    assert.doesNotMatch(request.text, /tell-no-one|ana/);
    assert.equal(request.headers.authorization, undefined);

    const webhook = await untilShown(world, ({ last_success: success }) => success);
    assert.deepEqual({ ...webhook, last_success: 0, last_attempt: 0, secret_since: 0 },
      { url: receiver.url, state: 'ready', failures: 0, last_success: 0, last_attempt: 0, secret_since: 0 });
    assert.equal((await ana.call('GET', '/v1/agents/bo')).json.webhook, undefined);
    assert.match((await broker.call('GET', '/metrics')).text, /^parley_webhook_sent_total 1$/m);

    // The secret is shown once, and nowhere else.
    const bare = secret.slice(6);
    for (const path of ['/v1/agents', '/v1/agents/bo', '/v1/messages', '/metrics']) {
      assert.ok(!(await broker.call('GET', path)).text.includes(bare), path);
    }
    assert.equal((await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: receiver.url } })).json.webhook_secret, undefined);
    const table = await execute(binary, ['agent', 'show', 'bo', '--data', broker.data]);
    assert.match(table.stdout, /webhook\.state +ready/);
    await broker.stop();
    const dump = await execute(binary, ['journal', 'dump', '--data', broker.data]);
    assert.match(dump.stdout, /webhook="http.*" webhook_secret=\(not shown\)/);
    assert.ok(!(dump.stdout + table.stdout + broker.stderr).includes(bare));
  });

  it('SP-08: tells a person that there is something to decide, at the webhook that the person set', async () => {
    const { receiver, broker, ana } = await begin();
    const { json: mia } = await broker.call('POST', '/v1/humans', { body: { name: 'mia', rights: ['approver'] } });
    const { status, json } = await broker.call('POST', '/v1/humans', { token: mia.token, body: { name: 'mia', webhook: receiver.url } });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal((await broker.call('POST', '/v1/humans', { token: mia.token, body: { name: 'mia', rights: ['admin'] } })).status, 403);
    const asked = await ana.call('POST', '/v1/approvals', { body: { summary: 'close it', action: { close: 'tell-no-one' } } });
    assert.equal(asked.status, 202, JSON.stringify(asked.json));
    const request = await receiver.until(1);
    assert.equal(request.headers['webhook-signature'], signature(request, json.webhook_secret));
    assert.deepEqual([request.json.subject, request.json.data.unsettled], ['human:mia', 1]);
    assert.doesNotMatch(request.text, /tell-no-one|close|ana/);
    const decided = await broker.call('POST', `/v1/approvals/${asked.json.id}/decision`, { token: mia.token, body: { decision: 'approve', digest: asked.json.digest } });
    assert.equal(decided.status, 200, JSON.stringify(decided.json));
  });

  it('XD-10: tells once of much mail, and again when the agent has looked', async () => {
    const world = await begin();
    const { receiver, ana } = world;
    const ids = [];
    for (let n = 0; n < 20; ++n) ids.push((await ana.send('bo', { n })).json.id);
    await receiver.until(1);
    await untilShown(world, ({ last_success: success }) => success);
    assert.equal(receiver.requests.length, 1);
    for (const id of ids) await settle(world, id);
    const told = receiver.requests.length;  // more where that took seconds: it has looked, and there was mail
    await ana.send('bo', 'more');
    await receiver.until(told + 1);
    receiver.requests.slice(1).forEach(({ at, headers }, n) => {
      assert.ok(at - receiver.requests[n].at >= 900, 'not within a second');
      assert.notEqual(headers['webhook-id'], receiver.requests[n].headers['webhook-id']);
    });
  });

  it('XD-10: leaves who has a stream or polls alone', async () => {
    const world = await begin();
    const { receiver, broker, ana, bo } = world;
    const poll = bo.call('GET', '/v1/inbox?wait=30s');
    await until(() => broker.call('GET', '/v1/agents/bo'), ({ json }) => json.last_seen !== undefined);  // it has begun
    const first = (await ana.send('bo', 'one')).json;
    assert.equal((await poll).json.count, 1);
    await settle(world, first.id);
    const events = await fetch(`${broker.url}/v1/stream`, { headers: { Authorization: `Bearer ${bo.token}` } });
    await until(() => broker.call('GET', '/v1/agents/bo'), ({ json }) => json.connected);
    await ana.send('bo', 'two');
    const reader = events.body.getReader();
    assert.match(Buffer.from((await reader.read()).value).toString(), /two/);
    assert.equal(receiver.requests.length, 0);
    await reader.cancel();  // it goes and leaves mail behind
    await receiver.until(1);
  });

  it('XD-10: tries again with the same id, and says how it goes', async () => {
    const world = await begin({ answers: [500, 503] });
    const { receiver, broker, ana, secret } = world;
    await ana.send('bo', {});
    const third = await receiver.until(3);
    assert.deepEqual(receiver.requests.map(({ status }) => status), [500, 503, 204]);
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.equal(third.headers['webhook-signature'], signature(third, secret));
    await untilShown(world, ({ state, last_error: error }) => state === 'ready' && error === undefined);
    assert.match((await broker.call('GET', '/metrics')).text, /^parley_webhook_failures_total 2$/m);
  });

  it('XD-10: rests after too many failures until the agent is heard of', async () => {
    const world = await begin({ answers: [500, 500, 500], flags: [...loopback, '--set', 'webhook.failures_max=3'] });
    const { receiver, broker, ana } = world;
    const { id } = (await ana.send('bo', {})).json;
    const webhook = await untilShown(world, ({ state }) => state === 'disabled');
    assert.deepEqual([webhook.failures, webhook.last_error], [3, 'HTTP 500']);
    assert.match((await broker.call('GET', '/metrics')).text, /^parley_webhooks_disabled 1$/m);
    await settle(world, id);
    await ana.send('bo', 'again');
    await receiver.until(4);
    await untilShown(world, ({ state }) => state === 'ready');
  });

  it('XD-10: a receiver that hangs holds up nobody else, and is told with a fresh proof', async () => {
    const hanging = http.createServer(() => {});  // takes requests and never answers
    hanging.listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    running.push({ stop() { hanging.closeAllConnections(); hanging.close(); } });
    const world = await begin({ flags: [...loopback, '--set', 'webhook.timeout=30s'] });
    const { receiver, broker, ana } = world;
    const url = `http://127.0.0.1:${hanging.address().port}/`;
    for (let n = 0; n < 6; ++n) {
      await broker.call('POST', '/v1/agents', { body: { id: `stuck${n}`, webhook: { url } } });
    }
    for (let n = 0; n < 6; ++n) await ana.send(`stuck${n}`, {});
    await once(hanging, 'request');
    const begun = Date.now();
    await ana.send('bo', {});
    const told = await receiver.until(1);
    assert.ok(told.at - begun < 10_000, `after ${told.at - begun} ms`);  // 30 s is how long the others hang
    assert.equal(told.headers['webhook-signature'], signature(told, world.secret));
  });

  it('XD-10: follows no redirect, and stops when the receiver is gone for good', async () => {
    const world = await begin({ answers: [302, 410] });
    const { receiver, broker, ana } = world;
    const { id } = (await ana.send('bo', {})).json;
    await untilShown(world, ({ state }) => state === 'disabled');
    assert.deepEqual(receiver.requests.map(({ path }) => path), ['/wake?agent=bo', '/wake?agent=bo']);
    assert.equal((await shown(world)).last_error, 'HTTP 410');
    assert.match(broker.stderr, /the webhook of bo fails and is tried again: HTTP 302\n.*wants no more \(HTTP 410\)/);
    // Neither being heard of nor more mail changes that.
    await settle(world, id);
    await ana.send('bo', 'more');
    assert.equal((await shown(world)).state, 'disabled');
    assert.equal(receiver.requests.length, 2);
    // Setting it again begins anew.
    const { status } = await world.bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: receiver.url } });
    assert.equal(status, 200);
    await receiver.until(3);
  });

  it('XD-10: wakes for mail that waited over a restart', async () => {
    const world = await begin();
    const { receiver, broker, ana } = world;
    receiver.stop();
    await ana.send('bo', {});
    await untilShown(world, ({ failures }) => failures > 0);
    await broker.kill();
    const back = await Receiver.start({ port: receiver.port });
    running.push(back);
    await broker.run(loopback);
    const request = await back.until(1);
    assert.equal(request.headers['webhook-signature'], signature(request, world.secret));
  });

  it('XD-10: signs with the old and the new secret while one replaces the other', async () => {
    const world = await begin();
    const { receiver, broker, ana, bo, secret } = world;
    const rotated = await execute(binary, ['agent', 'webhook', 'bo', '--rotate', '--url', broker.url, '--token', bo.token]);
    const fresh = rotated.stdout.trim();
    assert.match(fresh, /^whsec_/);
    assert.notEqual(fresh, secret);
    await ana.send('bo', {});
    const request = await receiver.until(1);
    assert.deepEqual(request.headers['webhook-signature'].split(' '), [signature(request, fresh), signature(request, secret)]);
    // Another path of the same host keeps it; another host gets one that the former never had.
    const moved = await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: receiver.url.replace('wake', 'wake2') } });
    assert.equal(moved.json.webhook_secret, undefined);
    const other = await Receiver.start();
    running.push(other);
    const { json } = await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: other.url } });
    assert.match(json.webhook_secret, /^whsec_/);
    assert.notEqual(json.webhook_secret, fresh);
    const elsewhere = await other.until(1);
    assert.equal(elsewhere.headers['webhook-signature'].split(' ')[0], signature(elsewhere, json.webhook_secret));
    const removed = await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: null } });
    assert.equal(removed.status, 200);
    assert.equal(await shown(world), undefined);
  });

  it('XD-10: speaks TLS, with those whom it trusts only', async () => {
    const files = await mkdtemp(join(tmpdir(), 'parley-webhook-'));
    const [key, certificate] = [join(files, 'key.pem'), join(files, 'certificate.pem')];
    await execute('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
      '-subj', '/CN=receiver', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate]);
    const tls = { key: await readFile(key), cert: await readFile(certificate) };
    const trusting = await begin({ tls, flags: [...loopback, '--set', `webhook.ca=${certificate}`] });
    await trusting.ana.send('bo', {});
    await trusting.receiver.until(1);
    const wary = await begin({ tls });
    await wary.ana.send('bo', {});
    const { last_error: error } = await untilShown(wary, ({ failures }) => failures > 0);
    assert.match(error, /cannot be reached/);
    assert.match((await wary.broker.call('GET', '/v1/agents/bo')).json.webhook.last_error, /no TLS/);
    assert.equal(wary.receiver.requests.length, 0);
    await rm(files, { recursive: true });
  });

  it('XD-10: reaches nothing that is not public unless it is allowed', async () => {
    const broker = await Broker.start({ flags: ['--set', 'webhook.retry_first=20ms'] });
    running.push(broker);
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    for (const url of ['http://127.0.0.1/', 'https://127.0.0.1/', 'https://localhost/', 'https://[::1]:8443/x', 'https://10.0.0.1/',
      'https://192.168.1.1/', 'https://169.254.169.254/latest/meta-data', 'https://[fd00:ec2::254]/', 'https://[::ffff:10.0.0.1]/',
      'http://example.org/', 'ftp://example.org/', 'https://user:word@example.org/', 'https://example.org/#x', 'https://', 'https://example.org:0/',
      'https://example.org:99999/', 'https://example.org/a b', 'https://example.org/a\r\nX-Evil: 1', 'https://example.org/\u00e9']) {
      const { status, json } = await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: { url } } });
      assert.deepEqual([status, json.code, json.field], [400, 'BAD_REQUEST', '/webhook/url'], url);
    }
    assert.equal((await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: 7 } })).json.field, '/webhook');
    // What only the resolver knows is refused when it is connected to: these are 127.0.0.1 as well.
    const receiver = await Receiver.start();
    running.push(receiver);
    for (const host of ['0x7f.1', '2130706433']) {
      const { status } = await bo.call('POST', '/v1/agents', { body: { id: 'bo', webhook: { url: `https://${host}:${receiver.port}/` } } });
      assert.equal(status, 200);
      const { id } = (await ana.send('bo', {})).json;
      const webhook = await untilShown({ bo }, ({ failures }) => failures > 0);
      assert.match(webhook.last_error, /cannot be reached/);  // what a name stands for is for admins
      assert.doesNotMatch(webhook.last_error, /127/);
      const { last_error: error } = (await broker.call('GET', '/v1/agents/bo')).json.webhook;
      assert.match(error, /is at 127\.0\.0\.1, which may not be reached from here/);
      await settle({ bo }, id);
    }
    assert.equal(receiver.requests.length, 0);
  });

  it('XD-10: is set by the command line, which prints the secret once', async () => {
    const receiver = await Receiver.start();
    const broker = await Broker.start({ flags: loopback });
    running.push(receiver, broker);
    const added = await execute(binary, ['agent', 'add', 'bo', '--webhook', receiver.url, '--data', broker.data]);
    assert.match(added.stdout, /^prl_\S+\n$/);
    assert.match(added.stderr, /shown only this once:\n {2}whsec_/);
    const refused = await execute(binary, ['agent', 'webhook', 'bo', 'http://10.0.0.1/', '--data', broker.data]).catch((error) => error);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /http is for loopback only/);
    await execute(binary, ['agent', 'webhook', 'bo', '--remove', '--data', broker.data]);
    assert.equal((await broker.call('GET', '/v1/agents/bo')).json.webhook, undefined);
    const config = await execute(binary, ['serve', '--data', '/nonexistent', '--set', 'webhook.allowed_networks=ten']).catch((error) => error);
    assert.match(config.stderr, /webhook\.allowed_networks takes networks/);
  });
});

// SPDX-License-Identifier: Apache-2.0
// Where and to whom the broker answers: TLS, names, and how many connections it can afford.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import { Broker, Changes, message, Raw } from './harness.mjs';

const get = (path, host = 'localhost', fields = '') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;

describe('a broker with a certificate', () => {
  let files, ca, broker, token;
  before(async () => {
    files = await mkdtemp(join(tmpdir(), 'parley-tls-'));
    await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
      '-nodes', '-days', '1', '-subj', '/CN=parley test', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost',
      '-keyout', join(files, 'key.pem'), '-out', join(files, 'certificate.pem')]);
    ca = await readFile(join(files, 'certificate.pem'));
    broker = await Broker.start({ flags: ['--tls-certificate', join(files, 'certificate.pem'), '--tls-key', join(files, 'key.pem'),
      '--set', 'server.request_timeout=1s', '--set', 'server.connections_max=20'],
    raise: {
      'flow.rate.agent_out_per_min': [0, 'a WebSocket carries 300 messages of growing size at once'],
      'flow.rate.agent_in_per_min': [0, 'they come back to their sender'],
      'flow.rate.pair_per_min': [0, 'the same'],
    } });
    assert.match(broker.url, /^https:/);
    token = (await ask('POST', '/v1/agents', JSON.stringify({ id: 'ana', dialect: 'flow' }), broker.admin)).json.token;
  });
  after(async () => {
    await broker.remove();
    await rm(files, { recursive: true });
  });
  const plain = () => broker.url.replace('https:', 'http:');

  async function ask(method, path, body = '', bearer = token) {
    const client = await Raw.connect(broker.url, { ca });
    await client.send(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bearer}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    const answer = await client.response();
    client.end();
    return answer;
  }

  it('serves HTTPS', async () => {
    const sent = await ask('POST', '/v1/messages', JSON.stringify(message('ana', 'ana', { text: 'x'.repeat(500_000) })));
    assert.equal(sent.status, 202, sent.text);
    const read = await ask('GET', `/v1/messages/${sent.json.id}`);
    assert.equal(read.json.payload.body.text.length, 500_000);
    assert.equal((await ask('POST', `/v1/messages/${sent.json.id}/ack`)).status, 200);
  });

  it('serves pipelined requests in one record and one request in many', async () => {
    const client = await Raw.connect(broker.url, { ca });
    await client.send(get('/livez') + get('/readyz'));
    assert.equal((await client.response()).json.status, 'alive');
    assert.equal((await client.response()).json.status, 'ready');
    for (const byte of get('/livez')) await client.send(byte);
    assert.equal((await client.response()).json.status, 'alive');
    client.end();
  });

  it('serves WebSockets', async () => {
    const socket = new WebSocket(`${broker.url.replace('https', 'wss')}/v1/ws`, { ca, headers: { Authorization: `Bearer ${token}` } });
    await once(socket, 'open');
    const got = [];
    const changes = new Changes();
    socket.on('message', (data) => {
      const told = JSON.parse(data);
      if (told.op === 'message') {
        got.push(told.message.payload.body.n);
        socket.send(JSON.stringify({ op: 'ack', seq: told.seq }));
        changes.changed();
      }
    });
    for (let n = 0; n < 300; ++n) socket.send(JSON.stringify({ op: 'send', message: message('ana', 'ana', { n, fill: 'x'.repeat(n * 100) }) }));
    await changes.until(() => got.length >= 300);
    assert.deepEqual(got, Array.from({ length: 300 }, (_, n) => n));
    socket.close(1000);
    assert.equal((await once(socket, 'close'))[0], 1000);
  });

  it('is not taken for another', async () => {
    await assert.rejects(Raw.connect(broker.url), /self-signed certificate/);
    await assert.rejects(Raw.connect(broker.url, { ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
  });

  it('takes of TLS 1.2 only what keeps old traffic secret, and has no padding', async () => {
    const old = { ca, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' };
    for (const ciphers of ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA384']) {
      await assert.rejects(Raw.connect(broker.url, { ...old, ciphers }), /handshake failure/, ciphers);
    }
    const client = await Raw.connect(broker.url, { ...old, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' });
    client.end();
  });

  it('ends plain HTTP without an answer to it', async () => {
    const client = await Raw.connect(plain());
    await client.send(get('/livez'));
    assert.doesNotMatch(await client.toEnd(), /HTTP/);
    client.end();
    assert.equal((await ask('GET', '/v1/inbox')).status, 200);
  });

  it('cuts off handshakes that stall, and serves others meanwhile', async () => {
    // The start of a ClientHello, then nothing.
    const stalled = await Promise.all(Array.from({ length: 15 }, () => Raw.connect(plain())));
    for (const client of stalled) await client.send(Buffer.from('1603010200010001fc0303', 'hex'));
    assert.equal((await ask('GET', '/v1/inbox')).status, 200);
    await Promise.all(stalled.map((client) => client.toEnd()));
    for (const client of stalled) client.end();
    assert.equal((await ask('GET', '/v1/inbox')).status, 200);
  });
});

describe('a broker on all addresses', () => {
  let broker;
  before(async () => {
    broker = await Broker.start({ listen: '0.0.0.0:0', flags: ['--insecure', '--allowed-hosts', 'broker.example,192.0.2.7'] });
  });
  after(() => broker.remove());

  it('answers to loopback names and to those that were allowed', async () => {
    const client = await Raw.connect(broker.url);
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:7455', '[::1]', 'broker.example', 'Broker.Example:7455', '192.0.2.7:80', '0.0.0.0']) {
      await client.send(get('/livez', host));
      assert.equal((await client.response()).status, 200, host);
      await client.send(get('/livez', 'localhost', `Origin: http://${host}\r\n`));
      assert.equal((await client.response()).status, 200, host);
    }
    client.end();
  });

  it('answers to no other, so that no page of another site reaches it', async () => {
    const client = await Raw.connect(broker.url);
    for (const host of ['evil.example', 'broker.example.evil.example', 'evilbroker.example', '192.0.2.8', 'localhost.evil.example', 'localhost:x@evil.example',
      'localhost:1x', '[::1', '']) {
      await client.send(get('/livez', host));
      const answer = await client.response();
      assert.deepEqual([answer.status, answer.json.code], [403, 'HOST_REFUSED'], host);
      assert.match(answer.json.detail, /allowed_hosts/);
    }
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'http://localhost@evil.example',
      'http://localhost:x@evil.example', 'http://localhost:80@evil.example', 'localhost', 'ftp://localhost', 'http://[::1', 'http://localhost:1x']) {
      await client.send(get('/livez', 'localhost', `Origin: ${origin}\r\n`));
      assert.equal((await client.response()).json.code, 'HOST_REFUSED', origin);
    }
    client.end();
  });
});

describe('a broker with few descriptors', () => {
  let broker;
  before(async () => { broker = await Broker.start({ under: ['prlimit', '--nofile=256:256'] }); });
  after(() => broker.remove());

  it('keeps enough of them for its journal, and answers 503', async () => {
    const ana = await broker.addAgent('ana');
    // One after the other, so that each is known when the next comes: strangers would make room.
    const [clients, answers] = [[], []];
    for (let n = 0; n < 100; ++n) {
      const client = await Raw.connect(broker.url);
      clients.push(client);
      await client.send(get('/v1/inbox', 'localhost', `Authorization: Bearer ${ana.token}\r\n`));
      answers.push(await client.response());
    }
    const statuses = answers.map((answer) => answer?.status);
    assert.ok(statuses.filter((status) => status === 200).length >= 50, String(statuses));
    assert.ok(statuses.includes(503), String(statuses));
    assert.equal(broker.stderr, '');
    // One that is in goes on and is served from the journal.
    const client = clients[statuses.indexOf(200)];
    const body = JSON.stringify(message('ana', 'ana', { n: 1 }));
    await client.send(`POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ana.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.equal((await client.response()).status, 202);
    for (const each of clients) each.end();
  });
});

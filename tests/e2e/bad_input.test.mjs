// SPDX-License-Identifier: Apache-2.0
// Bad input of every kind gets its documented error, and leaves state and memory as they were.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertMemory, Broker, frame, message, Raw, until } from './harness.mjs';

const megabyte = 1024 * 1024;

let broker, ana, bo, eve;
before(async () => {
  broker = await Broker.start({
    raise: { dead_letter_alert: [0, 'each malformed message is a dead letter, and the alert would be a trace of them all'] },
    flags: ['--set', 'server.request_timeout=1s', '--set', 'server.idle_timeout=2s', '--set', 'server.ping_interval=1s'],
  });
  ana = await broker.addAgent('ana');
  bo = await broker.addAgent('bo');
  eve = await broker.addAgent('eve');
  // One of each that bad input might change.
  const dan = await broker.addAgent('dan', { dialect: 'inbox', role: 'director' });
  await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
  const content = JSON.stringify({ taskId: 't1', title: 'Do', description: 'All of it' });
  const conversation_id = randomUUID();
  for (const { status, text } of [
    await ana.send('bo', { n: 'before' }),
    await ana.send('bo', { n: 'what?' }, { type: 'request', conversation_id }),
    await dan.call('POST', '/v1/messages', { body: { from: 'dan', to: 'sam', type: 'task', content } }),
  ]) assert.equal(status, 202, text);
  assert.equal((await ana.call('POST', '/v1/sessions', { body: { id: 's1', participants: ['bo'], task: 'x' } })).status, 201);
  assert.equal((await ana.call('PUT', '/v1/locks/build', { body: { lease: '1h' } })).status, 200);
  assert.equal((await bo.call('PUT', '/v1/topics/build.done/subscription')).status, 200);
  await until(() => bo.inbox(), ({ json }) => json.count === 3);  // with the broker's word of the session
});
after(() => broker.remove());

// All that bad input might change, as the admin sees it and as each agent does. A message that does
// not fit its schema leaves a dead letter, and a notice to its sender: these are counted.
const seen = ['topics', 'sessions', 'sessions/s1', 'locks', 'tasks', 'threads', 'rules', 'escalations'];
async function state() {
  const look = async (path) => {
    const answer = await broker.call('GET', path);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.json;
  };
  const { status, agents: count, streams } = await look('/v1/health');
  const found = { status, count, streams, letters: (await look('/v1/dead-letters?limit=1000')).dead_letters.length, notices: 0 };
  for (const what of seen) found[what] = await look(`/v1/${what}`);
  const { agents } = await look('/v1/agents');
  found.agents = agents.map(({ last_seen, queue_depth, inbox, budget: { bytes, ...budget }, ...rest }) => ({ ...rest, budget }));  // notices are mail
  found.written = agents.reduce((sum, { budget: { bytes } }) => sum + bytes, 0);
  for (const agent of [ana, bo, eve]) {
    const { notifications } = (await agent.inbox('?limit=1000')).json;
    const isNotice = ({ from }) => from === 'parley';
    found[agent.id] = notifications.filter((each) => !isNotice(each));
    found.notices += notifications.filter(isNotice).length;
  }
  return found;
}

const letterBytesMax = 8 * 1024;  // malformed_bytes_max, its names and reason
// Runs `work` and holds it to leaving no trace but so many dead letters, of which the sender is told.
async function unchanged(work, letters = 0) {
  const begun = Date.now();
  const before = await state();
  await work();
  const count = typeof letters === 'function' ? letters((await state()).letters - before.letters) : letters;
  // The notice follows a little later.
  const now = await until(state, ({ notices }) => notices >= before.notices + count);
  const wanted = { ...before, letters: before.letters + count, notices: before.notices + count, written: now.written };
  for (const what of Object.keys(wanted)) assert.deepEqual(now[what], wanted[what], what);
  // What is written down is that they were there (64 bytes each time, at most once a second), and dead letters.
  const seconds = Math.ceil((Date.now() - begun) / 1000) + 1;
  assert.ok(now.written - before.written <= 3 * 64 * seconds + count * letterBytesMax, `${now.written - before.written} bytes for ${count}`);
}

function head(method, path, token, fields = '') {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n` +
    (token ? `Authorization: Bearer ${token}\r\n` : '') + fields;
}

function post(body, token = ana.token, path = '/v1/messages') {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(head('POST', path, token, `Content-Length: ${bytes.length}\r\n\r\n`)), bytes]);
}

// Sends it, checks the error, and that the connection serves the next request.
async function refused(client, bytes, status, code, field) {
  await client.send(bytes);
  const answer = await client.response();
  assert.ok(answer, 'the connection ended without an answer');
  assert.equal(answer.json?.code, code, answer.text);
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.status, status);
  assert.match(answer.head, /^content-type: application\/problem\+json\r$/mi);
  assert.ok(answer.json.detail.length > 0);
  if (field !== undefined) assert.equal(answer.json.field, field);
}

async function goesOn(client) {
  await client.send(head('GET', '/livez', undefined, '\r\n'));
  assert.equal((await client.response())?.status, 200);
}

const good = () => JSON.stringify(message('ana', 'bo', { n: 1 }));
const body = (text) => good().replace('{"n":1}', text);

// name: [text, status, code, field]
const badTexts = {
  'nothing': ['', 400, 'BAD_REQUEST'],
  'half a message': [() => good().slice(0, -5), 400, 'BAD_REQUEST'],
  'half a name': [() => good().slice(0, 40), 400, 'BAD_REQUEST'],
  'two messages': [() => good() + good(), 400, 'BAD_REQUEST'],
  'a comment': [() => `/* x */${good()}`, 400, 'BAD_REQUEST'],
  'a byte order mark': [() => `\ufeff${good()}`, 400, 'BAD_REQUEST'],
  'a number': ['1', 400, 'BAD_REQUEST'],
  'a string': ['"x"', 400, 'BAD_REQUEST'],
  'null': ['null', 400, 'BAD_REQUEST'],
  'a number for a type': [() => JSON.stringify(message('ana', 'bo', {}, { type: 5 })), 422, 'VALIDATION_FAILED', '/type'],
  'a number for a receiver': [() => JSON.stringify(message('ana', 7, {})), 422, 'VALIDATION_FAILED', '/receiver'],
  'an array for a payload': [() => JSON.stringify({ ...message('ana', 'bo', {}), payload: [] }), 422, 'VALIDATION_FAILED', '/payload'],
  'a number for a time': [() => JSON.stringify(message('ana', 'bo', {}, { metadata: { ttl: 1e300 } })), 422, 'VALIDATION_FAILED', '/metadata/ttl'],
  'a member twice': [() => good().replace('{"id"', '{"id":"x","id"'), 422, 'VALIDATION_FAILED', '/id'],
  'arrays in arrays': ['['.repeat(500_000), 400, 'BAD_REQUEST'],
  'objects in objects': ['{"a":'.repeat(100_000), 400, 'BAD_REQUEST'],
  'very many objects in objects': ['{"a":'.repeat(200_000), 413, 'PAYLOAD_TOO_LARGE'],
  'very many values': [`[1${',1'.repeat(500_000)}]`, 413, 'PAYLOAD_TOO_LARGE'],
  'a deep body': [() => body('['.repeat(1000) + ']'.repeat(1000)), 400, 'BAD_REQUEST'],
  'a number with a huge exponent': [() => body('{"n":1e999999}'), 400, 'BAD_REQUEST'],
  'a number of many digits': [() => body(`{"n":${'9'.repeat(100_000)}}`), 400, 'BAD_REQUEST'],
  'NaN': [() => body('{"n":NaN}'), 400, 'BAD_REQUEST'],
  'a byte that is no UTF-8': [() => Buffer.from(body('{"n":"\u00ff"}'), 'latin1'), 400, 'BAD_REQUEST'],
  'an overlong form': [() => Buffer.from(body('{"n":"\u00c0\u0080"}'), 'latin1'), 400, 'BAD_REQUEST'],
  'half a surrogate pair': [() => body('{"n":"\\ud800"}'), 400, 'BAD_REQUEST'],
  'a control character': [() => body('{"n":"\u0000"}'), 400, 'BAD_REQUEST'],
  'a payload that is too large': [() => body(JSON.stringify('x'.repeat(1_500_000))), 413, 'PAYLOAD_TOO_LARGE'],
};
// What is no message at all, or was not read as one, leaves no dead letter.
const isUnread = (name, code) => code === 'BAD_REQUEST' || name.startsWith('very many');
const textOf = (text) => (typeof text === 'function' ? text() : text);

// XD-08
describe('a bad message over HTTP', () => {
  for (const [name, [text, status, code, field]] of Object.entries(badTexts)) {
    it(`with ${name} is refused`, () => unchanged(async () => {
      const client = await Raw.connect(broker.url);
      await refused(client, post(textOf(text)), status, code, field);
      await goesOn(client);
      client.end();
    }, isUnread(name, code) ? 0 : 1));
  }

  it('refuses a part of a batch alone', () => unchanged(async () => {
    const wrong = JSON.stringify([{ ...message('ana', 'bo', {}), type: 'shout' }, 7, null]);
    const { status, json } = await ana.call('POST', '/v1/messages', { body: wrong });
    assert.equal(status, 202);
    assert.deepEqual(json.results.map((result) => result.code), ['VALIDATION_FAILED', 'BAD_REQUEST', 'BAD_REQUEST']);
  }, 1));

  it('refuses batches of none and of too many', () => unchanged(async () => {
    for (const batch of ['[]', JSON.stringify(new Array(1001).fill({}))]) {
      assert.equal((await ana.call('POST', '/v1/messages', { body: batch })).json.code, 'BAD_REQUEST');
    }
  }));
});

describe('a bad request', () => {
  const cases = {
    'a wrong method': [() => head('PUT', '/v1/messages', ana.token, '\r\n'), 405, 'METHOD_NOT_ALLOWED'],
    'a method that nobody knows': [() => head('BREW', '/v1/inbox', ana.token, '\r\n'), 405, 'METHOD_NOT_ALLOWED'],
    'a wrong path': [() => head('GET', '/v1/../v1/inbox', ana.token, '\r\n'), 404, 'NOT_FOUND'],
    'a path that is no UTF-8': [() => head('PUT', '/v1/topics/%ff%fe/subscription', ana.token, '\r\n'), 404, 'NOT_FOUND'],
    'a path with a bad escape': [() => head('PUT', '/v1/topics/%zz/subscription', ana.token, '\r\n'), 404, 'NOT_FOUND'],
    'no token': [() => head('GET', '/v1/inbox', undefined, '\r\n'), 401, 'UNAUTHORIZED'],
    'a wrong token': [() => head('GET', '/v1/inbox', 'prl_wrong', '\r\n'), 401, 'UNAUTHORIZED'],
    'half a token': [() => head('GET', '/v1/inbox', ana.token.slice(0, -1), '\r\n'), 401, 'UNAUTHORIZED'],
    'another way to authenticate': [() => head('GET', '/v1/inbox', undefined, 'Authorization: Basic YTpi\r\n\r\n'), 401, 'UNAUTHORIZED'],
    'a name of another site': [() => 'GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n', 403, 'HOST_REFUSED'],
    'a target of another site': [() => 'GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n', 403, 'HOST_REFUSED'],
    'an origin of another site': [() => head('GET', '/livez', undefined, 'Origin: https://evil.example\r\n\r\n'), 403, 'HOST_REFUSED'],
    'a huge number': [() => head('GET', '/v1/inbox?limit=99999999999999999999', ana.token, '\r\n'), 400, 'BAD_REQUEST'],
    'a huge time': [() => head('GET', '/v1/inbox?wait=99999999999999999h', ana.token, '\r\n'), 400, 'BAD_REQUEST'],
    'a negative time': [() => head('GET', '/v1/inbox?wait=-1s', ana.token, '\r\n'), 400, 'BAD_REQUEST'],
    'an id that is none': [() => head('POST', '/v1/messages/x/ack', ana.token, '\r\n'), 404, 'NOT_FOUND'],
    'an id of the far future': [() => head('POST', '/v1/messages/18446744073709551615/ack', ana.token, '\r\n'), 404, 'NOT_FOUND'],
    'a dialect that is none': [() => Buffer.from(`${head('POST', '/v1/messages', ana.token)}Parley-Dialect: \xff"\r\nContent-Length: 2\r\n\r\n{}`, 'latin1'), 400, 'UNSUPPORTED_DIALECT'],
    'no WebSocket where one is wanted': [() => head('GET', '/v1/ws', ana.token, '\r\n'), 426, 'UPGRADE_REQUIRED'],
    'rules of one who may not set them': [() => head('PATCH', '/v1/rules', ana.token, 'Content-Length: 18\r\n\r\n{"attempts_max":1}'), 403, 'FORBIDDEN'],
  };
  for (const [name, [bytes, status, code]] of Object.entries(cases)) {
    it(`with ${name} is refused`, () => unchanged(async () => {
      const client = await Raw.connect(broker.url);
      await refused(client, bytes(), status, code);
      await goesOn(client);
      client.end();
    }));
  }

  it('with a member of another type is refused, and says which', () => unchanged(async () => {
    const { id } = (await bo.inbox()).json.notifications[0];
    for (const [agent, path, body, field] of [
      [bo, `/v1/messages/${id}/nack`, { retry_after: 'soon' }, '/retry_after'],
      [bo, `/v1/messages/${id}/nack`, { reason: 5 }, '/reason'],
      [bo, `/v1/messages/${id}/nack`, { failed: 'no' }, '/failed'],
      [bo, `/v1/messages/${id}/reject`, { reason: 5 }, '/reason'],
      [ana, '/v1/sessions', { id: 's2', participants: 'bo' }, '/participants'],
      [ana, '/v1/sessions', { id: 's2', participants: ['bo', 5] }, '/participants'],
      [ana, '/v1/sessions', { id: 's2', participants: ['bo', ''] }, '/participants'],
    ]) {
      const { status, json } = await agent.call('POST', path, { body });
      assert.deepEqual([path, status, json.code, json.field], [path, 400, 'BAD_REQUEST', field], JSON.stringify(body));
    }
  }));

  it('with the id of another is not found', () => unchanged(async () => {
    const { id } = (await bo.inbox()).json.notifications[0];
    for (const [method, path] of [['GET', ''], ['GET', '/delivery'], ['POST', '/ack'], ['POST', '/nack'], ['POST', '/reject'], ['POST', '/extend']]) {
      const { status, json } = await eve.call(method, `/v1/messages/${id}${path}`, method === 'POST' ? { body: {} } : {});
      assert.deepEqual([path, status, json.code], [path, 404, 'NOT_FOUND']);
    }
  }));

  it('with the name of another as its sender is refused', () => unchanged(async () => {
    const { status, json } = await eve.call('POST', '/v1/messages', { body: message('ana', 'bo', {}) });
    assert.deepEqual([status, json.code], [403, 'SENDER_MISMATCH']);
  }));
});

// What is no HTTP is answered and the connection closed: nobody knows where the next request begins.
describe('bytes that are no HTTP', () => {
  const start = 'POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n';
  // A body is looked at only of those who have shown a token.
  const chunked = (size) => head('POST', '/v1/messages', ana.token, `Transfer-Encoding: chunked\r\n\r\n${size}\r\n`);
  const cases = {
    'TLS on a plain port': [Buffer.from('160301020001000100', 'hex'), 400, 'BAD_REQUEST'],
    'no method': [' / HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    'no version': ['GET /livez\r\n\r\n', 400, 'BAD_REQUEST'],
    'another version': ['GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n', 505, 'VERSION_NOT_SUPPORTED'],
    'no host': ['GET /livez HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    'two hosts': ['GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n', 400, 'BAD_REQUEST'],
    'two tokens': [() => head('GET', '/v1/inbox', ana.token, 'Authorization: Bearer x\r\n\r\n'), 400, 'BAD_REQUEST'],
    'two origins': [() => head('GET', '/livez', undefined, 'Origin: http://localhost\r\nOrigin: http://localhost\r\n\r\n'), 400, 'BAD_REQUEST'],
    'bare line feeds': ['GET /livez HTTP/1.1\nHost: localhost\n\n', 400, 'BAD_REQUEST'],
    'a folded field': ['GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n', 400, 'BAD_REQUEST'],
    'two lengths': [`${start}Content-Length: 4\r\nContent-Length: 5\r\n\r\n`, 400, 'BAD_REQUEST'],
    'a length and chunks': [`${start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n`, 400, 'BAD_REQUEST'],
    'a negative length': [`${start}Content-Length: -1\r\n\r\n`, 400, 'BAD_REQUEST'],
    'a length of many digits': [`${start}Content-Length: ${'9'.repeat(40)}\r\n\r\n`, 400, 'BAD_REQUEST'],
    'an encoding that is none': [`${start}Transfer-Encoding: gzip\r\n\r\n`, 400, 'BAD_REQUEST'],
    'a chunk without a size': [() => chunked('x'), 400, 'BAD_REQUEST'],
    'a chunk of a huge size': [() => chunked('fffffffffffffff'), 413, 'PAYLOAD_TOO_LARGE'],
    'a huge header': [`GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}`, 431, 'HEADER_TOO_LARGE'],
    'many fields': [`GET /livez HTTP/1.1\r\nHost: localhost\r\n${'X: y\r\n'.repeat(10_000)}`, 431, 'HEADER_TOO_LARGE'],
    'a huge target': [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n`, 431, 'HEADER_TOO_LARGE'],
    'a WebSocket of another version': ['GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n', 426, 'UPGRADE_REQUIRED'],
    'a WebSocket with a bad key': ['GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n', 400, 'BAD_REQUEST'],
  };
  for (const [name, [bytes, status, code]] of Object.entries(cases)) {
    it(`as ${name} are refused`, () => unchanged(async () => {
      const client = await Raw.connect(broker.url);
      await refused(client, typeof bytes === 'function' ? bytes() : bytes, status, code);
      assert.equal(await client.toEnd(), '');
      client.end();
    }));
  }

  it('do not hide the answers before them', async () => {
    const client = await Raw.connect(broker.url);
    await client.send(`${head('GET', '/livez', undefined, '\r\n')}${head('GET', '/readyz', undefined, '\r\n')}\x01`);
    assert.equal((await client.response()).json.status, 'alive');
    assert.equal((await client.response()).json.status, 'ready');
    assert.equal((await client.response()).json.code, 'BAD_REQUEST');
    assert.equal(await client.toEnd(), '');
    client.end();
  });
});

describe('a body of 100 MB', () => {
  async function pour(fields, part) {
    const before = await broker.rss();
    const client = await Raw.connect(broker.url);
    await client.send(head('POST', '/v1/messages', ana.token, fields));
    for (let sent = 0; sent < 100 * megabyte && !client.ended; sent += part.length) await client.send(part);
    const answer = await client.response();
    assert.deepEqual([answer?.status, answer?.json.code], [413, 'PAYLOAD_TOO_LARGE']);
    client.end();
    assertMemory(await broker.rss() - before, 8 * megabyte, 'for what was refused');
  }
  it('is refused by its length', () => unchanged(
    () => pour(`Content-Length: ${100 * megabyte}\r\n\r\n`, Buffer.alloc(megabyte, 'x'))));
  it('is refused when it comes in chunks', () => unchanged(
    () => pour('Transfer-Encoding: chunked\r\n\r\n', Buffer.from(`10000\r\n${'x'.repeat(65536)}\r\n`))));
  it('is refused before it is sent', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    await refused(client, head('POST', '/v1/messages', ana.token, `Expect: 100-continue\r\nContent-Length: ${100 * megabyte}\r\n\r\n`), 413, 'PAYLOAD_TOO_LARGE');
    client.end();
  }));
  it('is refused as one WebSocket message', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws?window=0', ana.token)).status, 101);
    const before = await broker.rss();
    await client.send(Buffer.from('81ff0000000006400000', 'hex'));
    const { opcode, payload } = await client.frame();
    assert.deepEqual([opcode, payload.readUInt16BE(0)], [8, 1009]);
    assertMemory(await broker.rss() - before, 8 * megabyte, 'for what was refused');
    client.end();
  }));
  it('is refused as many fragments', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws?window=0', ana.token)).status, 101);
    const before = await broker.rss();
    const part = frame('x'.repeat(65536), { opcode: 0, fin: false });
    await client.send(frame('x', { fin: false }));
    for (let sent = 0; sent < 100 * megabyte && !client.ended && client.got.length === 0; sent += part.length) await client.send(part);
    const { opcode, payload } = await client.frame();
    assert.deepEqual([opcode, payload.readUInt16BE(0)], [8, 1009]);
    assertMemory(await broker.rss() - before, 8 * megabyte, 'for what was refused');
    client.end();
  }));
});

describe('a client that is too slow', () => {
  // Goes on sending byte by byte, each a while after the other, until the broker ends it.
  async function drip(client, bytes) {
    let at = 0;
    const timer = setInterval(() => { if (at < bytes.length) client.socket.write(bytes.subarray(at, ++at)); }, 100);
    const answer = await client.response();
    clearInterval(timer);
    assert.ok(at < bytes.length, 'all of it was taken');
    return answer;
  }
  it('with its header is cut off', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    const answer = await drip(client, Buffer.from(`GET /livez HTTP/1.1\r\nX: ${'x'.repeat(1000)}`));
    assert.deepEqual([answer.status, answer.json.code], [408, 'REQUEST_TIMEOUT']);
    assert.equal(await client.toEnd(), '');
    client.end();
  }));
  it('with its body is cut off', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    await client.send(head('POST', '/v1/messages', ana.token, 'Content-Length: 1000\r\n\r\n'));
    const answer = await drip(client, Buffer.alloc(1000, 'x'));
    assert.deepEqual([answer.status, answer.json.code], [408, 'REQUEST_TIMEOUT']);
    client.end();
  }));
  it('with a WebSocket message is cut off', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws?window=0', ana.token)).status, 101);
    await client.send(frame('{', { fin: false }));
    const timer = setInterval(() => client.socket.write(Buffer.concat([frame('', { opcode: 10 }), frame(' ', { opcode: 0, fin: false })])), 100);
    let last;
    do { last = await client.frame(); } while (last?.opcode === 9);
    clearInterval(timer);
    assert.deepEqual([last?.opcode, last?.payload.readUInt16BE(0)], [8, 1008]);
    client.end();
  }));
  it('with half a frame is cut off', () => unchanged(async () => {
    const client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws?window=0', ana.token)).status, 101);
    await client.send(frame('hello').subarray(0, 3));
    await client.toEnd();
    client.end();
  }));
  it('to say anything is cut off, however many they are', () => unchanged(async () => {
    const clients = await Promise.all(Array.from({ length: 200 }, () => Raw.connect(broker.url)));
    await clients[0].send('G');
    await Promise.all(clients.map((client) => client.toEnd()));
    assert.match(clients[0].got.toString(), /REQUEST_TIMEOUT/);
    assert.equal(clients[1].got.length, 0);
    for (const client of clients) client.end();
  }));
});

describe('bad WebSocket frames', () => {
  const cases = {
    'a reserved bit': [frame('{}', { reserved: 4 }), 1002],
    'a reserved opcode': [frame('{}', { opcode: 3 }), 1002],
    'no mask': [frame('{}', { masked: false }), 1002],
    'a control frame in fragments': [frame('', { opcode: 9, fin: false }), 1002],
    'a control frame of 126 bytes': [frame('x'.repeat(126), { opcode: 9 }), 1002],
    'a length in a longer form': [frame('{}', { lengthBytes: 8 }), 1002],
    'a continuation of nothing': [frame('{}', { opcode: 0 }), 1002],
    'a message within a message': [Buffer.concat([frame('{', { fin: false }), frame('{}')]), 1002],
    'text that is no UTF-8': [frame(Buffer.from([0xff, 0xfe])), 1007],
    'half a character at the end': [frame(Buffer.from([0x22, 0xe2, 0x82])), 1007],
    'a close code that is none': [frame(Buffer.from([3, 0xed]), { opcode: 8 }), 1002],
    'half a close code': [frame(Buffer.from([3]), { opcode: 8 }), 1002],
    'a close reason that is no UTF-8': [frame(Buffer.from([3, 0xe8, 0xff]), { opcode: 8 }), 1007],
  };
  for (const [name, [bytes, code]] of Object.entries(cases)) {
    it(`with ${name} end it with ${code}`, () => unchanged(async () => {
      const client = await Raw.connect(broker.url);
      assert.equal((await client.upgrade('/v1/ws?window=0', ana.token)).status, 101);
      // What comes behind is not looked at.
      await client.send(Buffer.concat([bytes, frame(JSON.stringify({ op: 'send', message: message('ana', 'bo', {}) }))]));
      const { opcode, payload } = await client.frame();
      assert.deepEqual([opcode, payload.readUInt16BE(0)], [8, code]);
      assert.equal(await client.frame(), undefined);
      client.end();
    }));
  }
});

describe('bad operations of a WebSocket', () => {
  let client;
  before(async () => {
    client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws?window=0', eve.token)).status, 101);
  });
  after(() => client.end());

  async function answer(bytes) {
    await client.send(bytes);
    let got;
    do {
      got = await client.frame();
      if (got?.opcode === 9) await client.send(frame(got.payload, { opcode: 10 }));
    } while (got?.opcode === 9);
    return JSON.parse(got.payload);
  }
  const op = (value) => frame(JSON.stringify(value));
  const cases = {
    'nothing': [() => frame(''), 'BAD_REQUEST'],
    'half of one': [() => frame('{"op":"se'), 'BAD_REQUEST'],
    'a number': [() => frame('1'), 'BAD_REQUEST'],
    'arrays in arrays': [() => frame('['.repeat(500_000)), 'BAD_REQUEST'],
    'a huge number': [() => frame('{"op":"ack","seq":1e999999}'), 'BAD_REQUEST'],
    'bytes that are no UTF-8': [() => frame(Buffer.from([0x22, 0xff, 0x22]), { opcode: 2 }), 'BAD_REQUEST'],
    'no name': [() => op({}), 'BAD_REQUEST'],
    'a name that is none': [() => op({ op: 'shout' }), 'BAD_REQUEST'],
    'a number for a name': [() => op({ op: 5 }), 'BAD_REQUEST'],
    'no message': [() => op({ op: 'send' }), 'BAD_REQUEST'],
    'a number for a message': [() => op({ op: 'send', message: 5 }), 'BAD_REQUEST'],
    'a wrong message': [() => op({ op: 'send', message: message('eve', 'bo', {}, { type: 'shout' }) }), 'VALIDATION_FAILED'],
    'the name of another': [() => op({ op: 'send', message: message('ana', 'bo', {}) }), 'SENDER_MISMATCH'],
    'a session that is no text': [() => op({ op: 'send', message: message('eve', 'bo', {}), session: 5 }), 'BAD_REQUEST'],
    'a key that is no text': [() => op({ op: 'send', message: message('eve', 'bo', {}), idempotency_key: 5 }), 'BAD_REQUEST'],
    'a number for a flag': [() => op({ op: 'send', message: message('eve', 'bo', {}), lenient: 1 }), 'BAD_REQUEST'],
    'an ack of nothing': [() => op({ op: 'ack' }), 'BAD_REQUEST'],
    'an ack of a negative place': [() => op({ op: 'ack', seq: -1 }), 'BAD_REQUEST'],
    'an ack of a place that is a text': [() => op({ op: 'ack', seq: '1' }), 'BAD_REQUEST'],
    'an ack of a message and of all before': [() => op({ op: 'ack', seq: 1, upto: '1-1' }), 'BAD_REQUEST'],
    'an ack of what does not exist': [() => op({ op: 'ack', seq: 999_999_999 }), 'NOT_FOUND'],
    'a wrong time': [() => op({ op: 'nack', seq: 1, retry_after: 'soon' }), 'BAD_REQUEST'],
    'no topic': [() => op({ op: 'subscribe', topic: '' }), 'BAD_REQUEST'],
  };
  for (const [name, [bytes, code]] of Object.entries(cases)) {
    it(`with ${name} are refused, and the connection goes on`, () => unchanged(async () => {
      const told = await answer(bytes());
      assert.deepEqual([told.ok, told.error.code], [false, code]);
      const next = await answer(op({ op: 'unsubscribe', topic: 'no.such', ref: 'next' }));
      assert.equal(next.ref, 'next');
    }, code === 'VALIDATION_FAILED' ? 1 : 0));
  }
  it('with the id of another are refused', () => unchanged(async () => {
    const { id } = (await bo.inbox()).json.notifications[0];
    for (const name of ['ack', 'nack', 'reject', 'extend']) {
      const told = await answer(op({ op: name, id, ref: name }));
      assert.deepEqual([told.ref, told.ok, told.error.code], [name, false, 'NOT_FOUND']);
    }
  }));
});

describe('much bad input', () => {
  let begun;
  it('costs no memory', () => unchanged(async () => {
    begun = Date.now();
    const round = async (times) => {
      for (let count = 0; count < times; ++count) {
        const client = await Raw.connect(broker.url);
        for (const [, [text, status, code]] of Object.entries(badTexts)) {
          const bytes = Buffer.from(textOf(text));
          if (bytes.length < megabyte) await refused(client, post(bytes), status, code);
        }
        client.end();
        const broken = await Raw.connect(broker.url);
        await broken.send('GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhal');
        broken.end();
        const socket = await Raw.connect(broker.url);
        await socket.upgrade('/v1/ws?window=0', ana.token);
        await socket.send(frame('x'.repeat(1000)).subarray(0, 500));
        socket.end();
      }
    };
    await round(20);
    const before = await broker.rss();
    await round(100);
    assertMemory(await broker.rss() - before, 4 * megabyte, 'for much bad input');
  }, (letters) => {  // malformed_per_min: as many at once, and one a second
    const seconds = Math.ceil((Date.now() - begun) / 1000);
    assert.ok(letters > 0 && letters <= 60 + seconds, `${letters} in ${seconds} s`);
    return letters;
  }));
});

describe('connections over the limit', () => {
  let small, eve;
  before(async () => {
    small = await Broker.start({ flags: ['--set', 'server.connections_max=5'] });
    // Not with fetch, which would keep a connection and with it a place.
    const body = JSON.stringify({ id: 'eve' });
    const client = await Raw.connect(small.url);
    await client.send(head('POST', '/v1/agents', small.admin, `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
    eve = (await client.response()).json;
    assert.equal(await client.toEnd(), '');
    client.end();
  });
  after(() => small.remove());

  // Callers that are known: those who are not make room for others.
  const goesOn = async (client) => {
    await client.send(head('GET', '/v1/inbox', eve.token, '\r\n'));
    assert.equal((await client.response()).status, 200);
  };

  it('are answered 503, and the others served', async () => {
    const clients = [];
    for (let count = 0; count < 5; ++count) {
      clients.push(await Raw.connect(small.url));
      await goesOn(clients.at(-1));
    }
    const over = await Raw.connect(small.url);
    const answer = await over.response();
    assert.deepEqual([answer.status, answer.json.code], [503, 'OVERLOADED']);
    assert.equal(await over.toEnd(), '');
    for (const client of clients) await goesOn(client);
    clients[0].end();
    // Its place is free as soon as the broker has seen the end.
    await until(async () => {
      const again = await Raw.connect(small.url);
      await again.send(head('GET', '/livez', undefined, '\r\n'));
      const { status } = await again.response();
      again.end();
      if (status !== 200) assert.equal(status, 503);
      return status;
    }, (status) => status === 200);
    for (const client of clients) client.end();
  });
});

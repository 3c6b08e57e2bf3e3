// SPDX-License-Identifier: Apache-2.0
// Traces: W3C context in and out, the tree of spans with its times, and what the terminal shows.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import { binary, Broker, message, until } from './harness.mjs';

const run = promisify(execFile);
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = `00-${traceId}-00f067aa0ba902b7-01`;
const parts = (traceparent) => {
  const found = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/.exec(traceparent);
  assert.ok(found, traceparent);
  return { trace: found[1], span: found[2], flags: found[3] };
};

describe('traces', () => {
  let broker, ana, bo, cy, di;
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy, di] = await Promise.all(['ana', 'bo', 'cy', 'di'].map((name) => broker.addAgent(name)));
  });
  after(() => broker.remove());

  // A trace has all that the one who asks did; what others did last may be on its way to the history.
  const trace = (who, id) => who.call('GET', `/v1/traces/${id}`);
  const spanOf = (tree, operation) => tree.spans.find((each) => each.operation === operation);
  const receives = async (who, id) => {
    const got = await who.read(id);
    assert.equal(got.status, 200, got.text);
    return got;
  };

  // CO-12
  it('begins with a message that brings none, and is a tree with the queue time', async () => {
    const sent = (await ana.send('bo', { n: 1 })).json;
    const got = await receives(bo, sent.id);
    await bo.ack(sent.id);
    const own = parts(got.headers.get('traceparent'));
    assert.equal(own.trace, sent.id.replaceAll('-', ''));
    assert.equal(got.json.traceparent, got.headers.get('traceparent'));
    const { status, json } = await trace(bo, sent.id);
    assert.equal(status, 200);
    assert.equal(json.traceId, own.trace);
    assert.deepEqual(json.spans.map(({ operation, depth }) => [operation, depth]),
      [['send bo', 0], ['queue bo', 1], ['process bo', 1]]);
    const [root, queue, work] = json.spans;
    assert.equal(root.spanId, own.span);
    assert.ok(!('parentSpanId' in root));
    assert.deepEqual(root.children, [queue.spanId, work.spanId]);
    assert.equal(queue.parentSpanId, root.spanId);
    assert.equal(queue.startTime, root.startTime);
    assert.equal(queue.endTime, work.startTime);
    assert.equal(work.endTime, root.endTime);
    assert.equal(queue.duration_us + work.duration_us, root.duration_us);
    assert.deepEqual([json.startTime, json.endTime, json.duration_us], [root.startTime, root.endTime, root.duration_us]);
    assert.deepEqual(json.spans.map((span) => span.status), ['ok', 'ok', 'ok']);
    assert.deepEqual(root.tags, {
      'messaging.system': 'parley', 'messaging.operation.name': 'send', 'messaging.operation.type': 'send',
      'messaging.destination.name': 'bo', 'messaging.message.id': sent.id,
      'messaging.message.conversation_id': sent.thread, 'messaging.message.body.size': '7',
      'messaging.client.id': 'ana', 'parley.type': 'notification', 'parley.priority': 'normal',
      'parley.seq': String(sent.seq), 'parley.receivers': '1' });
    assert.deepEqual(root.logs.map((log) => log.event), ['accepted']);
    assert.deepEqual(work.logs.map((log) => log.event), ['acked']);
    // By its own id, by its place and by the message's id it is the same.
    assert.deepEqual((await trace(bo, json.traceId)).json, json);
    assert.deepEqual((await trace(bo, String(sent.seq))).json, json);
  });

  it('goes on from a header, a member of the message, and a member of the operation', async () => {
    const header = await ana.call('POST', '/v1/messages', {
      body: message('ana', 'bo', { n: 1 }), headers: { traceparent: parent, tracestate: 'vendor=x' } });
    const member = await ana.call('POST', '/v1/messages', {
      body: { ...message('ana', 'bo', { n: 2 }), traceparent: parent, tracestate: 'vendor=x' },
      headers: { traceparent: '00-11111111111111111111111111111111-2222222222222222-01' } });
    for (const { json } of [header, member]) {
      const got = await receives(bo, json.id);
      const own = parts(got.headers.get('traceparent'));
      assert.equal(own.trace, traceId);
      assert.notEqual(own.span, parts(parent).span);
      assert.equal(got.headers.get('tracestate'), 'vendor=x');
      assert.equal(got.json.traceparent, got.headers.get('traceparent'));
      assert.equal(got.json.tracestate, 'vendor=x');
      const provenance = JSON.parse(got.headers.get('parley-provenance'));
      assert.equal(provenance.traceparent, got.headers.get('traceparent'));
      const { json: tree } = await trace(ana, json.id);
      const span = tree.spans.find((each) => each.spanId === own.span);
      assert.equal(span.parentSpanId, '00f067aa0ba902b7');
      await bo.ack(json.id);
    }
    const socket = new WebSocket(`${broker.url.replace(/^http/, 'ws')}/v1/ws`, { headers: { Authorization: `Bearer ${ana.token}` } });
    await once(socket, 'open');
    const body = message('ana', 'bo', { n: 3 });
    socket.send(JSON.stringify({ op: 'send', ref: 1, message: body, traceparent: parent, tracestate: 'vendor=y' }));
    const answer = JSON.parse((await once(socket, 'message'))[0]);
    assert.equal(answer.ok, true);
    socket.close();
    const got = await receives(bo, body.id);
    assert.equal(parts(got.headers.get('traceparent')).trace, traceId);
    assert.equal(got.headers.get('tracestate'), 'vendor=y');
  });

  it('CO-12: says that a request was not answered in time, and that an answer failed', async () => {
    const late = await ana.send('bo', 'in time?', { type: 'request', response_timeout: '50ms', on_timeout: 'retry' });
    await receives(bo, late.json.id);
    const spans = async (id) => {
      const { json } = await trace(ana, id);
      return { ...json, of: (kind) => json.spans.find((span) => span.kind === kind && span.tags['messaging.message.id'] === id) };
    };
    const timedOut = await until(() => spans(late.json.id), ({ status }) => status !== 'ok');
    for (const kind of ['message', 'process']) {
      assert.equal(timedOut.of(kind).status, 'error', kind);
      assert.equal(timedOut.of(kind).tags['error.type'], 'TIMEOUT');
      assert.ok(timedOut.of(kind).endTime);
      assert.equal(timedOut.of(kind).logs.at(-1).event, 'timed out');
      assert.match(timedOut.of(kind).logs.at(-1).detail, /asked \d times/);
    }
    await bo.ack(late.json.id);
    const asked = await ana.send('bo', 'can you?', { type: 'request' });
    await receives(bo, asked.json.id);
    await bo.send('ana', 'no', { type: 'response', status: 'error', metadata: { in_reply_to: asked.json.id } });
    const failed = await until(() => spans(asked.json.id), ({ status }) => status !== 'ok');
    assert.deepEqual(['message', 'queue', 'process'].map((kind) => failed.of(kind).status), ['error', 'ok', 'error']);
    assert.equal(failed.of('process').tags['error.type'], 'error');
    for (const { id } of (await ana.inbox('?limit=100')).json.notifications) { await ana.read(id); await ana.ack(id); }
  });

  it('CO-12: has one name for a topic', async () => {
    const cal = await broker.addAgent('cal', { dialect: 'collab', role: 'worker' });
    const inCollab = await cal.call('POST', '/v1/messages?lenient=true', { body: { type: 'event', to: 'topic:build.done', action: 'done' } });
    const inFlow = await ana.send('build.done', {}, { type: 'broadcast' });
    for (const [who, sent] of [[cal, inCollab], [ana, inFlow]]) {
      const { json } = await trace(who, sent.json.id);
      assert.equal(json.spans[0].operation, 'publish build.done');
      assert.equal(json.spans[0].tags['messaging.destination.name'], 'build.done');
    }
  });

  it('is not begun by what is no trace, and repeats in another span are the same message', async () => {
    const bad = await ana.call('POST', '/v1/messages', { body: message('ana', 'bo', {}), headers: { traceparent: 'nonsense' } });
    assert.equal(bad.status, 202);
    assert.equal(parts((await receives(bo, bad.json.id)).headers.get('traceparent')).trace, bad.json.id.replaceAll('-', ''));
    const body = message('ana', 'bo', { n: 3 });
    const first = await ana.call('POST', '/v1/messages', { body: { ...body, traceparent: parent } });
    const again = await ana.call('POST', '/v1/messages', { body: { ...body, traceparent: parent.replace('00f067', '11f067') } });
    assert.equal(again.status, 202, again.text);
    assert.equal(again.json.duplicate, true);
    assert.equal(again.json.seq, first.json.seq);
  });

  // CO-05
  it('follows a chain over several hops, which is drawn from its end', async () => {
    const first = (await ana.send('bo', { hop: 1 }, { type: 'request' })).json;
    let cause = first;
    for (const [who, next, extra] of [[bo, 'cy', { type: 'request' }], [cy, 'di', { type: 'request' }], [di, 'ana', {}]]) {
      await receives(who, cause.id);
      const sent = await who.send(next, { hop: next }, { ...extra, in_reply_to: cause.id });
      assert.equal(sent.status, 202, sent.text);
      cause = sent.json;
    }
    await until(() => trace(broker, cause.id), (found) => found.json.messages === 4);
    const { json } = await trace(broker, cause.id);
    const hops = json.spans.filter((span) => span.kind === 'message');
    assert.deepEqual(hops.map(({ operation, depth }) => [operation, depth]),
      [['send bo', 0], ['send cy', 1], ['send di', 2], ['send ana', 3]]);
    hops.slice(1).forEach((span, n) => assert.equal(span.parentSpanId, hops[n].spanId));
    assert.ok(new Set(hops.map((span) => span.traceId)).size === 1);
    const shown = await run(binary, ['trace', cause.id, '--data', broker.data]);
    assert.match(shown.stdout, /^trace [0-9a-f]{32}: 4 messages, still going on, ok\n/);
    assert.match(shown.stdout, /\n {3}│? *└─ send di|└─ send di/);
    assert.doesNotMatch(shown.stdout, /\x1b/);
    const lines = shown.stdout.split('\n');
    const column = lines[1].indexOf('START');
    assert.ok(lines.slice(2, -1).every((line) => [...line].slice(0, column).join('').endsWith('  ')), shown.stdout);
    const raw = JSON.parse((await run(binary, ['trace', cause.id, '--json', '--data', broker.data])).stdout);
    assert.deepEqual(raw, json);
    // One of them sees its own part, and that there is something before it.
    const part = (await trace(di, cause.id)).json;
    assert.deepEqual(part.spans.filter((span) => span.kind === 'message').map(({ operation, depth }) => [operation, depth]),
      [['send di', 0], ['send ana', 1]]);
    assert.deepEqual(part.spans[0].links, [{ traceId: json.traceId, spanId: hops[1].spanId }]);
    assert.ok(!JSON.stringify(part).includes('"bo"'), 'it names one who neither wrote to di nor was written to');
  });

  // CO-05, in the words of collab: correlationId is kept, causationId names what caused it.
  it('follows a chain of collab agents by causationId, in their own ids', async () => {
    const [eve, fay, gil] = await Promise.all(['eve', 'fay', 'gil'].map((name) => broker.addAgent(name, { dialect: 'collab', role: 'worker' })));
    const send = async (who, to, id, extra) => {
      const sent = await who.call('POST', '/v1/messages', { body: {
        id, version: '1.0', from: who.id, to, type: 'event', priority: 1, timestamp: new Date().toISOString(), action: 'hop', payload: {}, ...extra } });
      assert.equal(sent.status, 202, sent.text);
      return sent.json;
    };
    await send(eve, 'fay', 'msg_1', { correlationId: 'job-7' });
    const first = await receives(fay, 'msg_1');
    await send(fay, 'gil', 'msg_2', { causationId: 'msg_1' });
    const second = await receives(gil, 'msg_2');
    assert.equal(second.json.correlationId, 'job-7');
    assert.equal(second.json.causationId, 'msg_1');
    await send(gil, 'eve', 'msg_3', { causationId: 'msg_2' });
    const own = [first, second].map((got) => parts(got.headers.get('traceparent')));
    assert.equal(own[0].trace, own[1].trace);
    const { json: { messages: seen } } = await trace(gil, 'msg_3');
    assert.equal(seen, 2);
    const { json } = await until(() => trace(broker, own[0].trace), (found) => found.json.messages === 3);
    const hops = json.spans.filter((span) => span.kind === 'message');
    assert.deepEqual(hops.map(({ operation, depth }) => [operation, depth]), [['send fay', 0], ['send gil', 1], ['send eve', 2]]);
    assert.equal(hops[1].parentSpanId, own[0].span);
    assert.ok(hops.every((span) => span.tags['parley.correlation_id'] === 'job-7'));
  });

  it('says what failed, and has what the broker said of it', async () => {
    const sent = (await ana.send('bo', { n: 4 })).json;
    await receives(bo, sent.id);
    await bo.call('POST', `/v1/messages/${sent.id}/reject`, { body: { reason: 'not mine' } });
    const { json } = await until(() => trace(ana, sent.id), (found) => found.json.messages === 2);  // with the notice to ana
    assert.equal(json.status, 'error');
    assert.equal(spanOf(json, 'send bo').status, 'error');
    const work = spanOf(json, 'process bo');
    assert.equal(work.status, 'error');
    assert.equal(work.tags['error.type'], 'rejected');
    assert.deepEqual(work.logs.map(({ event, detail }) => [event, detail]), [['rejected', 'not mine']]);
    assert.equal(spanOf(json, 'send ana').parentSpanId, spanOf(json, 'send bo').spanId);
    assert.equal(spanOf(json, 'send ana').tags['messaging.client.id'], 'parley');
  });

  // The id of a trace is in each message of it, and may be written into any other.
  it('opens nothing to one who goes on with it uninvited', async () => {
    const eva = await broker.addAgent('eva');
    const asked = (await ana.send('bo', 'between us', { type: 'request', metadata: { correlation_id: 'quiet-17' } })).json;
    await receives(bo, asked.id);
    await bo.call('POST', `/v1/messages/${asked.id}/reject`, { body: { reason: 'a private reason' } });
    const own = (await until(() => trace(ana, asked.id), (found) => found.json.messages === 2)).json;
    const traceparent = `00-${own.traceId}-${own.spans[0].spanId}-01`;
    const borrowed = await eva.call('POST', '/v1/messages', { body: message('eva', 'eva', {}), headers: { traceparent } });
    assert.equal(borrowed.status, 202, borrowed.text);
    const { json, text } = await trace(eva, own.traceId);
    assert.deepEqual(json.spans.map((span) => span.operation), ['send eva', 'queue eva']);
    for (const word of ['ana', '"bo"', 'quiet-17', 'a private reason', asked.thread, asked.id]) {
      assert.ok(!text.includes(word), `${word} in ${text}`);
    }
    assert.equal((await trace(ana, own.traceId)).json.messages, 2);
  });

  it('is pushed with each message, to a stream', async () => {
    const stop = new AbortController();
    const events = await fetch(`${broker.url}/v1/stream`, { headers: { Authorization: `Bearer ${cy.token}` }, signal: stop.signal });
    const sent = (await ana.call('POST', '/v1/messages', { body: message('ana', 'cy', { push: 1 }), headers: { traceparent: parent } })).json;
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of events.body) {
      text += decoder.decode(chunk);
      if (text.includes(sent.id) && text.endsWith('\n\n')) break;
    }
    stop.abort();
    const frames = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
    const frame = frames.find((each) => each.message.id === sent.id);
    assert.equal(parts(frame.provenance.traceparent).trace, traceId);
    assert.ok(!('traceparent' in frame.message));
  });

  it('is for those who take part; to others there is none', async () => {
    const sent = (await ana.send('bo', { n: 5 })).json;
    for (const who of [ana, bo, broker]) assert.equal((await trace(who, sent.id)).status, 200);  // ana waits for what ana did
    for (const id of [sent.id, sent.id.replaceAll('-', ''), String(sent.seq), randomUUID()]) {
      const { status, json } = await trace(cy, id);
      assert.equal(status, 404);
      assert.equal(json.code, 'NOT_FOUND');
    }
    assert.equal((await trace(cy, 'nonsense!')).status, 404);
  });
});

// SPDX-License-Identifier: Apache-2.0
// Spans go to a collector as OTLP/HTTP JSON: CO-12. The collector here is a small one of our own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, Changes, message, until } from './harness.mjs';

const run = promisify(execFile);
const secret = 'Bearer tell-no-one';

// Takes what it is sent; `answers` says how, one status after the other, then 200.
class Collector {
  static async start(answers = [], tls) {
    const collector = new Collector();
    collector.requests = [];
    collector.changes = new Changes();
    const take = async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      collector.asked?.();
      await collector.free;
      const status = answers.shift() ?? 200;
      collector.requests.push({ method: request.method, path: request.url, headers: request.headers, status, json: JSON.parse(text) });
      response.writeHead(status, { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '0' } : {}) });
      response.end('{}');
      collector.changes.changed();
    };
    collector.server = tls ? https.createServer(tls, take) : http.createServer(take);
    collector.server.listen(0, '127.0.0.1');
    await once(collector.server, 'listening');
    collector.url = `${tls ? 'https' : 'http'}://127.0.0.1:${collector.server.address().port}`;
    return collector;
  }
  stop() { this.server.closeAllConnections(); this.server.close(); }
  taken() {
    return this.requests.filter(({ status }) => status === 200)
      .flatMap(({ json }) => json.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans)));
  }
  async until(done) {
    await this.changes.until(() => done(this.taken()));
    return this.taken();
  }
}

const attributes = (list) => Object.fromEntries(list.map(({ key, value }) => [key, value]));
const text = (stringValue) => ({ stringValue });
const number = (value) => ({ intValue: String(value) });

describe('OTLP export', () => {
  const running = [];
  after(async () => { for (const each of running) await each.remove?.() ?? each.stop?.(); });
  const start = async (collector, ...flags) => {
    const broker = await Broker.start({ flags: ['--otlp-endpoint', collector.url, '--set', 'otlp.interval=20ms', ...flags] });
    running.push(collector, broker);
    return broker;
  };
  const metric = async (broker, name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await broker.call('GET', '/metrics')).text)[1]);

  it('brings each span of a settled message, field by field', async () => {
    const collector = await Collector.start();
    const broker = await start(collector, '--set', `otlp.headers=Authorization=${secret},X-Team=blue`);
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    const sent = (await ana.call('POST', '/v1/messages', {
      body: message('ana', 'bo', { n: 1 }, { type: 'request' }),
      headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'vendor=x' },
    })).json;
    await bo.read(sent.id);
    await bo.ack(sent.id);
    const spans = (await collector.until((all) => all.length >= 3)).sort((a, b) => a.kind - b.kind);
    const [{ method, path, headers, json }] = collector.requests;
    assert.deepEqual([method, path], ['POST', '/v1/traces']);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers.authorization, secret);
    assert.equal(headers['x-team'], 'blue');
    assert.deepEqual(attributes(json.resourceSpans[0].resource.attributes)['service.name'], text('parley'));
    assert.equal(json.resourceSpans[0].scopeSpans[0].scope.name, 'parley');

    const { json: tree } = await ana.call('GET', `/v1/traces/${sent.id}`);
    const [queue, producer, consumer] = spans;
    assert.deepEqual(spans.map(({ kind }) => kind), [1, 4, 5]);
    assert.deepEqual(spans.map(({ name }) => name), ['queue bo', 'send bo', 'process bo']);
    for (const span of spans) {
      const drawn = tree.spans.find(({ spanId }) => spanId === span.spanId);
      assert.equal(span.traceId, '4bf92f3577b34da6a3ce929d0e0e4736');
      assert.equal(span.parentSpanId, drawn.parentSpanId);
      assert.equal(span.traceState, 'vendor=x');
      assert.equal(span.flags, 1);
      assert.deepEqual(span.status, {});
      assert.match(span.startTimeUnixNano, /^\d{19}$/);
      assert.equal(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano), BigInt(drawn.duration_us) * 1000n);
      assert.equal(new Date(Number(BigInt(span.startTimeUnixNano) / 1000000n)).toISOString(), drawn.startTime);
    }
    assert.equal(producer.parentSpanId, '00f067aa0ba902b7');
    assert.equal(queue.parentSpanId, producer.spanId);
    assert.equal(consumer.parentSpanId, producer.spanId);
    assert.equal(queue.endTimeUnixNano, consumer.startTimeUnixNano);
    assert.deepEqual(attributes(producer.attributes), {
      'messaging.system': text('parley'), 'messaging.operation.name': text('send'), 'messaging.operation.type': text('send'),
      'messaging.destination.name': text('bo'), 'messaging.message.id': text(sent.id),
      'messaging.message.conversation_id': text(sent.thread), 'messaging.message.body.size': number(7),
      'messaging.client.id': text('ana'), 'parley.type': text('request'), 'parley.priority': text('normal'),
      'parley.seq': number(sent.seq), 'parley.receivers': number(1) });
    assert.deepEqual(attributes(consumer.attributes), {
      'messaging.system': text('parley'), 'messaging.operation.name': text('process'), 'messaging.operation.type': text('process'),
      'messaging.destination.name': text('bo'), 'messaging.message.id': text(sent.id), 'messaging.client.id': text('bo'),
      'parley.state': text('acked'), 'parley.attempts': number(1) });
    assert.deepEqual(consumer.events.map(({ name, timeUnixNano }) => [name, timeUnixNano]), [['acked', consumer.endTimeUnixNano]]);

    await until(() => metric(broker, 'parley_otlp_spans_total'), (count) => count >= 3);  // counted when the answer is there
    const shown = await run(binary, ['config', 'show', '--data', broker.data, '--set', `otlp.headers=Authorization=${secret}`]);
    assert.doesNotMatch(shown.stdout + broker.stderr, /tell-no-one/);
  });

  it('says what failed, and leaves out what is not to be recorded', async () => {
    const collector = await Collector.start();
    const broker = await start(collector);
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    const quiet = (await ana.call('POST', '/v1/messages', {
      body: message('ana', 'bo', { n: 1 }), headers: { traceparent: '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-00' } })).json;
    await bo.read(quiet.id);
    await bo.ack(quiet.id);
    const sent = (await ana.send('bo', { n: 2 })).json;
    await bo.read(sent.id);
    await bo.call('POST', `/v1/messages/${sent.id}/reject`, { body: { reason: 'not mine' } });
    const spans = await collector.until((all) => all.some(({ name }) => name === 'process bo'));
    const failed = spans.find(({ name }) => name === 'process bo');
    assert.deepEqual(failed.status, { code: 2, message: 'not mine' });
    assert.deepEqual(attributes(failed.attributes)['error.type'], text('rejected'));
    assert.ok(spans.every(({ traceId }) => traceId !== 'a'.repeat(32)));
  });

  it('tries again what the collector cannot take now, and no more what it refuses', async () => {
    const collector = await Collector.start([429, 503, 400]);
    const broker = await start(collector);
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    const settle = async () => {
      const { id } = (await ana.send('bo', {})).json;
      await bo.read(id);
      await bo.ack(id);
      return id;
    };
    await settle();  // 429, 503, then refused for good
    await until(() => metric(broker, 'parley_otlp_dropped_total'), (count) => count >= 1);
    assert.equal(await metric(broker, 'parley_otlp_failures_total'), 3);
    assert.equal(collector.taken().length, 0);
    const id = await settle();
    const spans = await collector.until((all) => all.length >= 3);
    assert.ok(spans.every((span) => attributes(span.attributes)['messaging.message.id'].stringValue === id));
  });

  it('never holds a message up: without a collector spans are dropped and counted', async () => {
    const collector = await Collector.start();
    collector.server.close();
    const broker = await start(collector, '--set', 'otlp.queue_max=1', '--set', 'otlp.batch_spans=1');
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    for (let n = 0; n < 20; ++n) {
      const { status, json } = await ana.send('bo', { n });
      assert.equal(status, 202);
      await bo.read(json.id);
      await bo.ack(json.id);
    }
    await until(() => metric(broker, 'parley_otlp_dropped_total'), (count) => count >= 10);
    assert.equal((await broker.call('GET', '/readyz', { token: null })).status, 200);
  });

  it('brings no more at once than a batch, and the message that fills it', async () => {
    const collector = await Collector.start();
    const asked = new Promise((done) => { collector.asked = done; });
    let answer;
    collector.free = new Promise((done) => { answer = done; });
    const broker = await start(collector, '--set', 'otlp.batch_spans=4');
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    const settle = async () => {
      const { id } = (await ana.send('bo', {})).json;
      await bo.read(id);
      await bo.ack(id);
    };
    await settle();
    await asked;  // what comes now waits for the collector's answer
    for (let n = 0; n < 9; ++n) await settle();
    await broker.historyIsWhole();
    answer();
    await collector.until((all) => all.length >= 30);
    for (const { json } of collector.requests) {
      const { length } = json.resourceSpans[0].scopeSpans[0].spans;
      assert.ok(length <= 6, `${length} spans at once`);
    }
  });

  it('brings what it has when the broker stops', async () => {
    const collector = await Collector.start();
    const broker = await start(collector, '--set', 'otlp.interval=1h');
    const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
    const { id } = (await ana.send('bo', {})).json;
    await bo.read(id);
    await bo.ack(id);
    await broker.historyIsWhole();
    assert.equal(collector.requests.length, 0);
    await broker.stop();
    assert.equal(collector.taken().length, 3);
  });

  it('speaks TLS, with those whom it trusts only', async () => {
    const files = await mkdtemp(join(tmpdir(), 'parley-otlp-'));
    const [key, certificate] = [join(files, 'key.pem'), join(files, 'certificate.pem')];
    await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
      '-subj', '/CN=collector', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate]);
    const tls = { key: await readFile(key), cert: await readFile(certificate) };
    for (const trusted of [true, false]) {
      const collector = await Collector.start([], tls);
      const broker = await start(collector, ...(trusted ? ['--set', `otlp.ca=${certificate}`] : []));
      const [ana, bo] = [await broker.addAgent('ana'), await broker.addAgent('bo')];
      const { id } = (await ana.send('bo', {})).json;
      await bo.read(id);
      await bo.ack(id);
      if (trusted) {
        await collector.until((all) => all.length >= 3);
      } else {
        await until(() => metric(broker, 'parley_otlp_failures_total'), (count) => count >= 1);
        assert.equal(collector.requests.length, 0);
      }
    }
    await rm(files, { recursive: true });
  });

  it('refuses an endpoint or headers that are none, without telling the headers', async () => {
    for (const [flag, says] of [['otlp.endpoint=ftp://x', /otlp\.endpoint takes a URL/], ['otlp.headers=tell-no-one', /otlp\.headers takes a list of NAME=VALUE/]]) {
      const failed = await run(binary, ['serve', '--data', '/nonexistent', '--set', flag]).catch((error) => error);
      assert.equal(failed.code, 1);
      assert.match(failed.stderr, says);
      assert.doesNotMatch(failed.stderr, /tell-no-one/);
    }
  });
});

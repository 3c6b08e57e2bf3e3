// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, Broker, Raw, until } from './harness.mjs';

// The text format of Prometheus, strictly: families are whole and have help and type, each sample
// is there once, buckets grow up to the count.
function parse(text) {
  assert.ok(text.endsWith('\n'));
  const families = new Map();
  const samples = new Map();
  let family;
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-z_]+) (\S.*)$/.exec(line);
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line);
    if (help) {
      assert.ok(!families.has(help[1]), `${help[1]} begins twice`);
      family = { name: help[1], help: help[2] };
      families.set(family.name, family);
    } else if (type) {
      assert.equal(type[1], family.name, line);
      assert.ok(!family.type, line);
      family.type = type[2];
    } else {
      const found = /^([a-z_]+)(?:\{([^}]*\}?[^}]*)\})? (-?[0-9.e+-]+)$/.exec(line);
      assert.ok(found, `not a sample: ${line}`);
      const [, name, labels = '', value] = found;
      const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      assert.ok(suffixes.some((suffix) => name === family.name + suffix), `${line} is not of ${family.name}`);
      if (family.type === 'counter') assert.ok(name.endsWith('_total'), name);
      for (const label of labels ? labels.split(',') : []) assert.match(label, /^[a-z]+="[A-Za-z0-9_+./{}-]+"$/, line);
      const key = labels ? `${name}{${labels}}` : name;
      assert.ok(!samples.has(key), `${key} twice`);
      assert.ok(Number.isFinite(Number(value)), line);
      samples.set(key, Number(value));
    }
  }
  for (const [key, value] of samples) {
    const infinite = /^(.*)_bucket\{(.*?),?le="\+Inf"\}$/.exec(key);
    if (!infinite) continue;
    const [, name, labels] = infinite;
    assert.equal(samples.get(labels ? `${name}_count{${labels}}` : `${name}_count`), value, key);
    const buckets = [...samples].filter(([other]) => other.startsWith(`${name}_bucket{${labels ? `${labels},` : ''}le=`));
    buckets.reduce((before, [other, count]) => { assert.ok(count >= before, other); return count; }, 0);
  }
  return { families, samples };
}

describe('/metrics', () => {
  let broker, ana, bo;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(() => broker.remove());

  const metrics = async () => {
    const { status, text, headers } = await broker.call('GET', '/metrics');
    assert.equal(status, 200, text);
    assert.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
    return parse(text);
  };

  it('is for those who look after the broker', async () => {
    assert.equal((await broker.call('GET', '/metrics', { token: null })).status, 401);
    assert.equal((await ana.call('GET', '/metrics')).status, 403);
    const other = (await broker.call('POST', '/v1/workspaces', { body: { name: 'other' } })).json;
    assert.equal((await new Agent(broker, 'admin', other.token).call('GET', '/metrics')).status, 403);
    const human = (await broker.call('POST', '/v1/humans', { body: { name: 'ada', rights: ['maintainer'] } })).json;
    assert.equal((await new Agent(broker, human.id, human.token).call('GET', '/metrics')).status, 200);
  });

  it('moves when messages flow', async () => {
    const { samples: old } = await metrics();
    const sent = await ana.send('bo', { n: 1 });
    await ana.send('bo', { n: 2 });
    await ana.send('nobody', { n: 3 });
    await bo.read(sent.json.id);
    await bo.ack(sent.json.id);
    await ana.call('POST', '/v1/messages', { body: '{"type":"nonsense"}' });
    await ana.call('GET', '/v1/nothing');
    // The notices of the dead letter and of the malformed message are there.
    await until(() => ana.inbox('?wait=10s'), ({ json }) => json.count >= 2);
    const { samples: now } = await metrics();
    const grew = (key) => (now.get(key) ?? 0) - (old.get(key) ?? 0);
    assert.equal(grew('parley_messages_total{outcome="accepted"}'), 3);
    assert.equal(grew('parley_deliveries_total{state="acked"}'), 1);
    assert.equal(grew('parley_deliveries_total{state="dead"}'), 1);
    assert.equal(grew('parley_dead_letters_total{reason="receiver_not_found"}'), 1);
    assert.equal(grew('parley_dead_letters_pending'), 2);
    assert.equal(grew('parley_dead_letters_total{reason="malformed"}'), 1);
    assert.equal(grew('parley_notices_total'), 2);
    assert.equal(grew('parley_queue_depth'), 3);
    assert.ok(now.get('parley_queue_oldest_seconds') > 0);
    assert.equal(grew('parley_errors_total{code="NOT_FOUND"}'), 1);
    assert.equal(grew('parley_requests_total{method="POST",route="/v1/messages",status="202"}'), 3);
    assert.equal(grew('parley_requests_total{method="other",route="other",status="404"}'), 1);
    assert.equal(grew('parley_request_seconds_count{method="POST",route="/v1/messages/{}/ack"}'), 1);
    assert.ok(grew('parley_seq') >= 5);
    assert.ok(grew('parley_step_entries_sum') >= 5);
    assert.ok(now.get('parley_journal_bytes') > 0);
    assert.ok(now.get('process_resident_memory_bytes') > 1e6);
    assert.ok(Math.abs(now.get('process_start_time_seconds') - Date.now() / 1000) < 300);
    assert.equal(now.get('parley_history_trouble'), 0);
  });

  it('counts what the server itself refuses, once', async () => {
    const { samples: old } = await metrics();
    const raw = await Raw.connect(broker.url);
    await raw.send('nonsense\r\n\r\n');
    assert.equal((await raw.response()).status, 400);
    assert.equal((await ana.call('GET', '/v1/ws')).status, 426);
    const { samples: now } = await metrics();
    const grew = (key) => (now.get(key) ?? 0) - (old.get(key) ?? 0);
    for (const code of ['BAD_REQUEST', 'UPGRADE_REQUIRED']) assert.equal(grew(`parley_errors_total{code="${code}"}`), 1, code);
    assert.equal(grew('parley_requests_total{method="GET",route="/v1/ws",status="426"}'), 1);
  });

  it('counts streams and what is pushed to them', async () => {
    const stop = new AbortController();
    const events = await fetch(`${broker.url}/v1/stream`, { headers: { Authorization: `Bearer ${bo.token}` }, signal: stop.signal });
    await events.body.getReader().read();  // the message that waits for bo
    const { samples } = await metrics();
    assert.equal(samples.get('parley_streams'), 1);
    assert.ok(samples.get('parley_connections') >= 2);
    assert.ok(samples.get('parley_deliveries_offered_total') >= 1);
    assert.equal(samples.get('parley_requests_total{method="GET",route="/v1/stream",status="200"}'), 1);
    stop.abort();
  });

  // CO-13
  it('has the metrics of the collab protocol, by type and priority', async () => {
    const { samples: old } = await metrics();
    const sent = await ana.send('bo', { n: 1 }, { type: 'request', priority: 'high' });
    await bo.read(sent.json.id);
    await bo.ack(sent.json.id);
    await bo.ack(randomUUID());
    assert.equal((await ana.send('bo', {}, { type: 'request', response_timeout: '20ms' }, '?wait=10s')).json.code, 'TIMEOUT');
    assert.equal((await ana.send('bo', {}, { type: 'nonsense' })).json.code, 'VALIDATION_FAILED');
    assert.equal((await ana.send('bo', {}, { sender: 'bo' })).json.code, 'SENDER_MISMATCH');
    await ana.call('POST', '/v1/sessions', { body: { id: 'counted' } });
    await ana.call('PUT', '/v1/locks/counted');
    const { families, samples: now } = await metrics();
    const grew = (key) => (now.get(key) ?? 0) - (old.get(key) ?? 0);
    assert.equal(grew('messages_sent_total{priority="high",type="request"}'), 1);
    assert.equal(grew('messages_received_total{type="request"}'), 1);
    assert.equal(grew('errors_total{agent="bo",type="NOT_FOUND"}'), 1);
    for (const type of ['TIMEOUT', 'VALIDATION_FAILED', 'SENDER_MISMATCH']) assert.equal(grew(`errors_total{agent="ana",type="${type}"}`), 1, type);
    assert.equal(now.get('parley_sessions'), 1);
    assert.equal(now.get('parley_locks'), 1);
    assert.equal(now.get('parley_waits'), 0);
    assert.ok(now.get('errors_total{agent="ana",type="receiver_not_found"}') >= 1);
    for (const name of ['message_latency_ms', 'parley_message_latency_seconds']) assert.equal(grew(`${name}_count{type="request"}`), 1);
    for (const name of ['queue_time_ms', 'parley_queue_time_seconds']) assert.equal(grew(`${name}_count{priority="high"}`), 1);
    const [ms, seconds] = ['message_latency_ms', 'parley_message_latency_seconds'].map((name) => now.get(`${name}_sum{type="request"}`));
    assert.ok(ms > 0 && Math.abs(ms / 1000 - seconds) < 1e-6);
    assert.equal(now.get('active_agents'), 2);
    const depth = ['low', 'normal', 'high', 'critical'].map((priority) => now.get(`queue_depth{priority="${priority}"}`));
    assert.equal(depth.reduce((a, b) => a + b), now.get('parley_queue_depth'));
    assert.match([...now.keys()].find((key) => key.startsWith('parley_build_info')), /\{version="\d+\.\d+\.\d+"\}/);
    assert.equal(families.get('message_latency_ms').type, 'histogram');
  });

  // CO-13: agents are named in one place, and not without an end.
  it('names so many agents and no more', async () => {
    const other = await Broker.start();
    try {
      const agents = await Promise.all(Array.from({ length: 110 }, (_, n) => other.addAgent(`agent-${n}`)));
      for (const agent of agents) await agent.ack(randomUUID());
      const { samples } = parse((await other.call('GET', '/metrics')).text);
      const named = [...samples].filter(([key]) => key.startsWith('errors_total{') && key.includes('NOT_FOUND'));
      assert.equal(named.length, 101);
      assert.equal(samples.get('errors_total{agent="other",type="NOT_FOUND"}'), 10);
    } finally {
      await other.remove();
    }
  });

  it('passes promtool, but for the two names that the protocol has in milliseconds', async () => {
    const { text } = await broker.call('GET', '/metrics');
    const path = `${fileURLToPath(new URL('../../.cache/bin', import.meta.url))}:${process.env.PATH}`;
    const tool = spawn('promtool', ['check', 'metrics'], { env: { ...process.env, PATH: path } });
    const said = new Promise((done, fail) => {
      let out = '';
      tool.stdout.on('data', (part) => { out += part; });
      tool.stderr.on('data', (part) => { out += part; });
      tool.on('error', () => fail(new Error('promtool is not there: run tools/setup')));
      tool.on('close', () => done(out));
    });
    tool.stdin.end(text);
    const findings = (await said).trim().split('\n').sort();
    assert.deepEqual(findings.map((line) => line.split(' ')[0]), ['message_latency_ms', 'queue_time_ms'], findings.join('\n'));
  });

  it('counts the calls of MCP tools, by tool and outcome', async () => {
    const call = (name) => ana.call('POST', '/mcp', {
      headers: { 'Content-Type': 'application/json', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } },
    });
    await call('status');
    await call('status');
    await call('readMessage');
    await call('ana');
    const { samples } = await metrics();
    const count = (tool, outcome) => samples.get(`parley_mcp_calls_total{outcome="${outcome}",tool="${tool}"}`);
    assert.equal(count('status', 'done'), 2);
    assert.equal(count('readMessage', 'failed'), 1);
    assert.equal([...samples.keys()].filter((key) => key.startsWith('parley_mcp_calls_total')).length, 2);
  });

  it('has the names that the page has, with the same types, and no names of users', async () => {
    const { families, samples } = await metrics();
    const page = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const documented = new Map([...page.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|/gm)].map(([, name, type]) => [name, type]));
    assert.deepEqual(new Map([...families].map(([name, { type }]) => [name, type]).sort()), new Map([...documented].sort()));
    for (const key of samples.keys()) if (!key.startsWith('errors_total{')) assert.doesNotMatch(key, /"(ana|bo|nobody)"/);
  });
});

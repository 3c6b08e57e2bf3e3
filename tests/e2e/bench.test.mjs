// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertMemory, Broker, binary } from './harness.mjs';

function bench(flags, env = {}) {
  return new Promise((done) => {
    const child = execFile(binary, ['bench', ...flags], { env: { ...process.env, ...env } },
      (_, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }));
  });
}

// A benchmark is load, and refuses to run where these bind (limits.test.mjs).
const unlimited = Object.fromEntries([
  'flow.rate.agent_in_per_min', 'flow.rate.agent_out_per_min', 'flow.rate.broadcast_per_min',
  'flow.rate.pair_per_min', 'flow.rate.topic_per_min', 'guard.bytes_per_day',
  'guard.bytes_per_min', 'guard.fan_out_per_min',
  'guard.messages_per_day', 'guard.ping_pong_max',
].map((rule) => [rule, [0, 'a benchmark is load']]));

describe('parley bench', () => {
  const names = [
    'publish-1x1', 'publish-1x64', 'publish-1x1024', 'publish-8x1', 'publish-8x64',
    'publish-8x1024', 'end-to-end-1:1', 'end-to-end-8:8', 'request-1', 'request-64', 'fan-out-100',
  ];

  it('measures every case on a broker of its own and leaves nothing behind', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
    const run = await bench(['--self', '--seconds', '0.1', '--json', '--dir', dir]);
    assert.equal(run.code, 0, run.stderr);
    const report = JSON.parse(run.stdout);
    assert.deepEqual(report.cases.map(({ bytes, case: name }) => `${bytes} ${name}`),
      [256, 1024].flatMap((bytes) => names.map((name) => `${bytes} ${name}`)));
    for (const row of report.cases) {
      const where = JSON.stringify(row);
      assert.ok(row.count > 0 && row.rate > 0, where);
      assert.ok(row.p50_us > 0 && row.p99_us >= row.p50_us && row.p50_us < 60e6, where);
      assert.ok(row.log_rate > 0 && row.log_ratio > 0, where);
      assert.ok(row.sync_p50_us > 0 && row.echo_p50_us > 0 && row.time_ratio > 0, where);
      assert.ok(row.cpu_us > 0, where);
      assert.equal(row.log_batch, row.window, where);
    }
    assert.ok(report.idle_rss_bytes > 1e6, report.idle_rss_bytes);
    assertMemory(report.idle_rss_bytes, 20e6, 'of a broker that does nothing');
    assert.match(run.stderr, /\[22\/22\] fan-out-100, 1024 bytes/);
    assert.deepEqual(await readdir(dir), []);
    await rm(dir, { recursive: true });
  });

  it('removes its agents from a broker that stays', async (t) => {
    const broker = await Broker.start({ raise: { ...unlimited, thread_messages_max: [1_000_000_000, 'each pair has one thread'] } });
    t.after(() => broker.remove());
    const env = { PARLEY_URL: broker.url, PARLEY_TOKEN: broker.admin };
    const flags = ['--case', 'end-to-end-8', '--size', '100', '--seconds', '0.05'];
    const run = await bench(flags, env);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /^end-to-end-8:8 +100 /m);
    const { json } = await broker.call('GET', '/v1/agents');
    assert.deepEqual(json.agents.map(({ id }) => id).filter((id) => id.startsWith('parley-bench')),
      []);
    assert.deepEqual((await broker.call('GET', '/v1/dead-letters')).json.dead_letters, []);
  });

  it('says what stops it, and removes its agents then too', async () => {
    const broker = await Broker.start({ raise: { ...unlimited, 'breaker.queue_percent': [0, 'the full inbox itself is to stop it'] } });
    const agents = (await broker.call('GET', '/v1/agents')).json.agents.length;
    const set = await broker.call('PATCH', '/v1/rules', { body: { queue_max: 10 } });
    assert.equal(set.status, 200, set.text);
    const env = { PARLEY_URL: broker.url, PARLEY_TOKEN: broker.admin };
    const run = await bench(['--case', 'end-to-end-1', '--seconds', '0.5'], env);
    assert.equal(run.code, 1);
    assert.match(run.stderr, /the broker stopped the benchmark: .*queue_max.*\(QUEUE_FULL\)/);
    assert.equal((await broker.call('GET', '/v1/agents')).json.agents.length, agents);
    await broker.remove();
  });

  it('takes a whole name for that case alone', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
    const run = await bench(['--self', '--case', 'publish-1x1', '--case', 'request', '--size', '10',
      '--seconds', '0.02', '--json', '--dir', dir]);
    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(JSON.parse(run.stdout).cases.map((row) => row.case),
      ['publish-1x1', 'request-1', 'request-64']);
    await rm(dir, { recursive: true });
  });

  it('refuses a case that there is not', async () => {
    const run = await bench(['--self', '--case', 'sprint']);
    assert.equal(run.code, 2);
    assert.match(run.stderr, /no case begins with "sprint"/);
  });
});

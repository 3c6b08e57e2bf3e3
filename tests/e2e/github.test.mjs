// SPDX-License-Identifier: Apache-2.0
// SP-13: a signed webhook of GitHub becomes a delegation for a worker, once.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile, mkdtemp, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, Raw, until } from './harness.mjs';

const secret = 'a-secret-that-nobody-must-see-4711';
const payload = (name) => readFile(new URL(`../github/${name}.json`, import.meta.url), 'utf8');
const sign = (body, key = secret) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

describe('events of GitHub', () => {
  let broker, triage, lifecycle;
  before(async () => {
    const data = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
    await writeFile(join(data, 'hook.secret'), `${secret}\n`, { mode: 0o600 });
    await chmod(data, 0o700);
    await writeFile(join(data, 'parley.toml'), `
[github]
secret_file = "${join(data, 'hook.secret')}"

[[github.route]]
event = "issues.opened"
worker = "triage"
priority = "high"
requires_hitl = true
confidence_threshold = 0.5
timeout = "10m"

[[schedule]]
at = "${new Date(Date.now() - 7_200_000).toISOString().slice(11, 16)}"
worker = "lifecycle"
description = "Look for issues without an answer"
repository = "octo-org/widgets"
`);
    broker = await Broker.start({ data });
    triage = await broker.addAgent('triage', { dialect: 'superprompt', role: 'worker' });
    lifecycle = await broker.addAgent('lifecycle', { dialect: 'superprompt', role: 'worker' });
  });
  after(() => broker.remove());

  const hook = (event, body, { delivery = 'd-1', signature = sign(body), headers = {} } = {}) => broker.call('POST', '/hooks/github', {
    token: null,
    body,
    headers: { 'Content-Type': 'application/json', 'X-GitHub-Event': event, 'X-GitHub-Delivery': delivery,
      ...(signature === null ? {} : { 'X-Hub-Signature-256': signature }), ...headers },
  });
  const count = async (agent) => (await agent.inbox()).json.count;

  it('SP-13: says what to do while its supervisor is not there', async () => {
    const { status, json } = await hook('issues', await payload('issues'));
    assert.equal(status, 503, JSON.stringify(json));
    assert.match(json.detail, /parley agent add orchestrator --dialect superprompt/);
    assert.match(broker.stderr, /issues\.opened d-1 of GitHub is not delegated/);
    await broker.addAgent('orchestrator', { dialect: 'superprompt', role: 'orchestrator' });
  });

  it('SP-13: delivers a signed hook to the worker of its route, and a redelivery not again', async () => {
    const body = await payload('issues');
    const first = await hook('issues', body);
    assert.equal(first.status, 202, first.text);
    assert.equal(first.json.recipients[0].receiver, 'triage');
    assert.equal(await count(triage), 1);
    const again = await hook('issues', body);
    assert.equal(again.status, 202, again.text);
    assert.equal(again.json.id, first.json.id);
    assert.equal(again.json.seq, first.json.seq);
    assert.equal(again.json.duplicate, true);
    assert.equal(await count(triage), 1);
    const { status, json: got } = await triage.read(first.json.id);
    assert.equal(status, 200);
    const wanted = JSON.parse(await payload('issues.delegation'));
    assert.equal(got.message_type, 'task_delegation');
    assert.equal(got.message_id, first.json.id);
    assert.equal(got.from_agent, 'orchestrator');
    assert.equal(got.to_agent, 'triage');
    assert.deepEqual(got.event_context, { ...wanted.event_context, event_id: 'd-1' });
    assert.deepEqual(got.task, { ...wanted.task, priority: 'high', requires_hitl: true, confidence_threshold: 0.5, timeout_seconds: 600 });
    assert.deepEqual(got.context, wanted.context);
  });

  it('SP-13: delivers nothing again after a restart', async () => {
    await broker.kill();
    await broker.run();
    const again = await hook('issues', await payload('issues'));
    assert.equal(again.status, 202, again.text);
    assert.equal(again.json.duplicate, true);
  });

  it('SP-13: refuses a bad signature in one way, and keeps nothing of it', async () => {
    const body = await payload('issues');
    const before = (await broker.call('GET', '/v1/health')).json.seq;
    const answers = [];
    for (const signature of [null, '', 'sha256=', sign(body, 'another'), sign(`${body} `), sign(body).toUpperCase()]) {
      const { status, headers, text } = await hook('issues', body, { delivery: 'd-bad', signature });
      assert.equal(status, 401, text);
      assert.equal(headers.get('content-type'), 'application/problem+json');
      answers.push(text);
    }
    assert.equal(new Set(answers).size, 1);
    assert.equal((await broker.call('GET', '/v1/health')).json.seq, before);
  });

  it('SP-13: answers a ping, and says why it ignores what it does not delegate', async () => {
    assert.equal((await hook('ping', await payload('ping'))).status, 200);
    for (const [event, body, reason] of [
      ['push', '{"ref":"refs/heads/main"}', /only issues\.opened/],
      ['issue_comment', await payload('issue_comment'), /no \[\[github\.route\]\] fits issue_comment\.created/],
    ]) {
      const { status, json } = await hook(event, body, { delivery: `d-${event}` });
      assert.equal(status, 202);
      assert.equal(json.state, 'ignored');
      assert.match(json.reason, reason);
    }
  });

  it('SP-13: reads no body beyond its limit', async () => {
    const client = await Raw.connect(broker.url);
    await client.send(`POST /hooks/github HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: ${sign('')}\r\nContent-Length: 2000000\r\n\r\n`);
    const { status, json } = await client.response();
    assert.equal(status, 413);
    assert.match(json.detail, /github\.body_bytes_max/);
    client.socket.destroy();
  });

  it('SP-13: a schedule delegates each slot once', async () => {
    // It was not delegated while there was no supervisor, and was made up for by the restart above.
    const [note] = await until(async () => (await lifecycle.inbox()).json.notifications, (list) => list.length > 0);
    const { json: got } = await lifecycle.read(note.id);
    assert.equal(got.event_context.event_type, 'periodic_trigger');
    assert.equal(got.task.description, 'Look for issues without an answer');
    await broker.kill();
    await broker.run();
    // What is answered now comes after all that the start has made.
    assert.equal((await hook('issues', await payload('issues'))).json.duplicate, true);
    // The one that was read is its own; a second would wait.
    assert.equal(await count(lifecycle), 0);
  });

  it('SP-13: shows its secret to nobody', async () => {
    assert.ok(!broker.stderr.includes(secret));
    const { stdout } = await promisify(execFile)(binary, ['config', 'show', '--json', '--data', broker.data]);
    assert.ok(stdout.includes('github.secret_file') && !stdout.includes(secret));
  });
});

describe('events of GitHub without a secret', () => {
  it('SP-13: has no hook', async () => {
    const broker = await Broker.start();
    const body = await payload('ping');
    const { status } = await broker.call('POST', '/hooks/github', {
      token: null, body, headers: { 'X-GitHub-Event': 'ping', 'X-GitHub-Delivery': 'd', 'X-Hub-Signature-256': sign(body) } });
    assert.equal(status, 404);
    await broker.remove();
  });
});

// SPDX-License-Identifier: Apache-2.0
// SP-01, SP-07, SP-08, SP-13: from a signed webhook to the decision of a person, at the real binary, which is killed
// and started again between each pair of steps.
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Broker, until } from './harness.mjs';

const secret = 'the-secret-of-the-webhook-0815';

describe('a task of superprompt', () => {
  let broker, triage, orchestrator, mia, max, body, delegation, completion, approval;

  const human = async (name, rights) => {
    const { json } = await broker.call('POST', '/v1/humans', { body: { name, rights } });
    return { call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
  };
  // What waits for someone, whole, each by its type; nothing of it is settled.
  const waiting = async (who) => {
    const { json } = await who.call('GET', '/v1/inbox?limit=100');
    const found = [];
    for (const { id } of json.notifications) found.push((await who.call('GET', `/v1/messages/${id}`)).json);
    return found;
  };
  const got = (who, type) => until(async () => (await waiting(who)).find((each) => each.message_type === type));
  const again = async () => {
    await broker.kill();
    await broker.run();
  };

  before(async () => {
    const data = await mkdtemp(join(tmpdir(), 'parley-e2e-'));
    await writeFile(join(data, 'hook.secret'), `${secret}\n`, { mode: 0o600 });
    await writeFile(join(data, 'parley.toml'), `
[github]
secret_file = "${join(data, 'hook.secret')}"

[[github.route]]
event = "issues.opened"
worker = "triage"
confidence_threshold = 0.95
timeout = "10m"
`);
    broker = await Broker.start({ data });
    orchestrator = await broker.addAgent('orchestrator', { dialect: 'superprompt', role: 'orchestrator' });
    triage = await broker.addAgent('triage', { dialect: 'superprompt', role: 'worker' });
    [mia, max] = [await human('mia', ['approver']), await human('max', ['maintainer'])];
    assert.equal((await max.call('PUT', '/v1/topics/audit.event_logged/subscription')).status, 200);
    body = await readFile(new URL('../github/issues.json', import.meta.url), 'utf8');
  });
  after(() => broker.remove());

  it('SP-13: begins with a signed webhook', async () => {
    const { status, json, text } = await broker.call('POST', '/hooks/github', {
      token: null, body,
      headers: { 'Content-Type': 'application/json', 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': 'd-77',
        'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
    });
    assert.equal(status, 202, text);
    delegation = json.id;
    await again();
  });

  it('SP-01: is a delegation for its worker', async () => {
    const message = await got(triage, 'task_delegation');
    assert.equal(message.message_id, delegation);
    assert.equal(message.task.confidence_threshold, 0.95);
    assert.equal(message.event_context.event_type, 'issues.opened');
    await again();
  });

  it('SP-07: an answer that is less sure than was asked for waits for a person', async () => {
    completion = randomUUID();
    const sent = await triage.call('POST', '/v1/messages', { body: {
      message_type: 'task_completion', message_id: completion, in_reply_to: delegation, timestamp: new Date().toISOString(),
      from_agent: 'triage', to_agent: 'orchestrator', task_id: delegation, status: 'success', confidence_score: 0.6,
      execution_time_ms: 2543, actions_taken: [], rationale: 'It looks like a duplicate', requires_human_review: false, next_steps: [], error: null } });
    assert.equal(sent.status, 202, sent.text);
    await again();
    assert.deepEqual((await waiting(orchestrator)).filter((each) => each.message_type === 'task_completion'), []);
    const { json } = await mia.call('GET', '/v1/approvals?state=pending&for=me');
    assert.equal(json.total, 1);
    approval = json.items[0];
    assert.equal(approval.from, 'triage');
    const { json: shown } = await mia.call('GET', `/v1/approvals/${approval.id}`);
    assert.equal(shown.proposal.action.rationale, 'It looks like a duplicate');
    assert.equal((await triage.call('POST', `/v1/approvals/${approval.id}/decision`, { body: { decision: 'approve' } })).status, 403);
    await again();
  });

  it('SP-08: a person modifies it, and that is final', async () => {
    const modification = { label: 'needs-triage' };
    const decided = await mia.call('POST', `/v1/approvals/${approval.id}/decision`,
      { body: { decision: 'modify', modification, comment: 'label it first', digest: approval.digest } });
    assert.equal(decided.status, 200, decided.text);
    await again();
    const told = await got(triage, 'hitl_approval_decision');
    assert.equal(told.decision, 'modified');
    assert.equal(told.decided_by, 'human:mia');
    assert.deepEqual(typeof told.modification === 'string' ? JSON.parse(told.modification) : told.modification, modification);
    await again();
    const passed = await got(orchestrator, 'task_completion');
    assert.equal(passed.message_id, completion);
    assert.equal(passed.in_reply_to, delegation);
    assert.equal((await mia.call('POST', `/v1/approvals/${approval.id}/decision`, { body: { decision: 'approve' } })).json.code, 'CONFLICT');
    const { json: state } = await triage.delivery(completion);
    assert.deepEqual(state.deliveries.map(({ receiver, state: how }) => [receiver, how]), [['orchestrator', 'read']]);
  });

  it('SP-08: the audit has who decided what', async () => {
    const events = await until(async () => {
      const found = (await waiting(max)).map((each) => each.payload?.body).filter((each) => each?.approval === approval.id || each?.subject === String(approval.id));
      return found.length >= 2 ? found : undefined;
    });
    const text = JSON.stringify(events);
    assert.match(text, /approval_asked/);
    assert.match(text, /approval_modified/);
    assert.match(text, /human:mia/);
  });
});

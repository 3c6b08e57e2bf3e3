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
    assert.equal(shown.question.message_id, delegation);
    assert.match(shown.question.title, /issue #/);
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
    const mail = [];  // in the order in which it is read
    const passed = await until(async () => {
      mail.push(...await waiting(orchestrator));
      return mail.find((each) => each.message_type === 'task_completion');
    });
    assert.equal(passed.message_id, completion);
    assert.equal(passed.in_reply_to, delegation);
    const order = mail.filter((each) => each.in_reply_to === completion || each.message_id === completion);
    assert.deepEqual(order.map((each) => each.message_type), ['hitl_approval_decision', 'task_completion'], 'the decision comes first');
    assert.deepEqual([order[0].option, order[0].decision, order[0].asker, order[0].modification], ['modify', 'modified', 'triage', modification]);
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

describe('between supervisor and workers', () => {
  let broker, orchestrator, triage, scribe, mia, tim;

  before(async () => {
    broker = await Broker.start();
    orchestrator = await broker.addAgent('orchestrator', { dialect: 'superprompt', role: 'orchestrator' });
    [triage, scribe] = await Promise.all(['triage', 'scribe'].map((name) => broker.addAgent(name, { dialect: 'superprompt', role: 'worker' })));
    for (const [name, right] of [['mia', 'approver'], ['tim', 'moderator']]) {
      const { json } = await broker.call('POST', '/v1/humans', { body: { name, rights: [right] } });
      const person = { call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
      if (name === 'mia') mia = person; else tim = person;
    }
  });
  after(() => broker.remove());

  const post = (who, body, headers = {}) => who.call('POST', '/v1/messages', { headers, body: { message_id: randomUUID(), timestamp: new Date().toISOString(), from_agent: who.id, ...body } });
  const got = (who, wanted) => until(async () => {
    const { json } = await who.call('GET', '/v1/inbox?limit=100');
    for (const { id } of json.notifications) {
      const message = (await who.call('GET', `/v1/messages/${id}`)).json;
      if (wanted(message)) return message;
    }
    return undefined;
  });
  const delegate = async (to, task = {}) => {
    const { status, json, text } = await post(orchestrator, { message_type: 'task_delegation', to_agent: to,
      event_context: { event_type: 'issues.opened' }, task: { description: 'look at it', ...task } });
    assert.equal(status, 202, text);
    return json;
  };
  const complete = (who, task, extra = {}) => post(who, { message_type: 'task_completion', in_reply_to: task, task_id: task, to_agent: 'orchestrator',
    status: 'success', confidence_score: 0.5, rationale: 'the secret plan', ...extra });

  it('SP-02: workers reach each other by no way', async () => {
    const direct = await post(triage, { message_type: 'agent_health_check', to_agent: 'scribe', status: 'healthy' });
    assert.deepEqual([direct.status, direct.json.code], [403, 'NOT_VIA_ORCHESTRATOR']);
    const session = await triage.call('POST', '/v1/sessions', { body: { id: 's1', participants: ['scribe'], task: 'talk' } });
    assert.deepEqual([session.status, session.json.code], [403, 'NOT_VIA_ORCHESTRATOR'], session.text);
    const own = await triage.call('POST', '/v1/sessions', { body: { id: 's2', participants: ['orchestrator'], task: 'talk' } });
    assert.equal(own.status, 201, own.text);
    const invited = await triage.call('POST', '/v1/sessions/s2/participants', { body: { agent: 'scribe' }, headers: { 'If-Match': '*' } });
    assert.equal(invited.json.code, 'NOT_VIA_ORCHESTRATOR', invited.text);
    const agent = await until(async () => {
      const { json } = await broker.call('GET', '/v1/agents/triage');
      return json.violations >= 1 ? json : undefined;
    });
    assert.deepEqual(agent.violations_by_code, { NOT_VIA_ORCHESTRATOR: agent.violations });
  });

  it('SP-07: what people did not let pass is read by nobody', async () => {
    for (const decision of [undefined, 'reject', 'withdraw']) {
      const { id, thread } = await delegate('triage', { requires_hitl: true });
      const plan = `the secret plan ${decision ?? 'approve'}`;
      const sent = await complete(triage, id, { rationale: plan });
      assert.equal(sent.status, 202, sent.text);
      if (decision) {
        const { json } = await mia.call('GET', '/v1/approvals?state=pending');
        const decider = decision === 'withdraw' ? triage : mia;
        const done = await decider.call('POST', `/v1/approvals/${json.items[0].id}/decision`, { body: { decision } });
        assert.equal(done.status, 200, done.text);
      }
      await broker.historyIsWhole();
      if (decision === 'reject') {
        const told = await got(orchestrator, (each) => each.message_type === 'task_completion' && each.in_reply_to === id);
        assert.deepEqual([told.from_agent, told.made_by, told.status], ['triage', 'parley', 'failure']);
        assert.deepEqual([told.error.error_type, told.error.decision, told.error.decided_by], ['approval_rejected', 'rejected', 'human:mia']);
        const heard = await got(triage, (each) => each.message_type === 'hitl_approval_decision' && each.in_reply_to === sent.json.id);
        assert.deepEqual([heard.decision, heard.decided_by], ['rejected', 'human:mia']);
      }
      const read = await orchestrator.read(sent.json.id);
      assert.ok([404, 409].includes(read.status), `${decision}: ${read.text}`);
      for (const path of [`/v1/threads/${thread}`, '/v1/messages?limit=100', '/v1/inbox']) {
        assert.ok(!(await orchestrator.call('GET', path)).text.includes(plan), `${decision} ${path}`);
      }
      if (!decision) {
        const { json } = await mia.call('GET', '/v1/approvals?state=pending');
        await mia.call('POST', `/v1/approvals/${json.items[0].id}/decision`, { body: { decision: 'approve' } });
        await until(async () => (await orchestrator.read(sent.json.id)).status === 200);
        await broker.historyIsWhole();
        assert.ok((await orchestrator.call('GET', `/v1/threads/${thread}`)).text.includes(plan));
      }
    }
  });

  it('SP-08: who waits for an answer that people change gets the change with it', async () => {
    const task = randomUUID();
    const asked = orchestrator.call('POST', '/v1/messages?wait=120s', { body: { message_type: 'task_delegation', message_id: task,
      timestamp: new Date().toISOString(), from_agent: 'orchestrator', to_agent: 'triage', event_context: { event_type: 'issues.opened' },
      task: { description: 'look at it', requires_hitl: true } } });
    await got(triage, (each) => each.message_id === task);
    const sent = await complete(triage, task);
    const { json: { items } } = await mia.call('GET', '/v1/approvals?state=pending');
    const modification = { label: 'needs-triage' };
    const decided = await mia.call('POST', `/v1/approvals/${items.find((each) => each.message_id === sent.json.id).id}/decision`,
      { body: { decision: 'modify', modification, comment: 'label it first' } });
    assert.equal(decided.status, 200, decided.text);
    const { status, json, text } = await asked;
    assert.equal(status, 200, text);
    assert.equal(json.response.message_id, sent.json.id);
    assert.equal(json.response.modification, undefined, 'its sender did not write it');
    assert.deepEqual([json.provenance.mark, json.decided_by, json.comment, json.modification], ['modified', 'human:mia', 'label it first', modification]);
    // Both are acknowledged: it is told neither of them again.
    await until(async () => (await triage.delivery(sent.json.id)).json.deliveries[0].state === 'answered'
      || (await triage.delivery(sent.json.id)).json.deliveries[0].state === 'acked');
    const { json: inbox } = await orchestrator.call('GET', '/v1/inbox?limit=100');
    for (const { id } of inbox.notifications) {
      const message = (await orchestrator.call('GET', `/v1/messages/${id}`)).json;
      assert.notEqual(message.in_reply_to, sent.json.id, JSON.stringify(message));
    }
  });

  it('SP-08: those who are tagged decide, in a way that was offered', async () => {
    const { json: { token } } = await broker.call('POST', '/v1/humans', { body: { name: 'max', rights: ['approver'] } });
    const max = { call: (method, path, options) => broker.call(method, path, { token, ...options }) };
    const request = { message_id: randomUUID(), timestamp: new Date().toISOString(), message_type: 'hitl_approval_request', to_agent: 'orchestrator', approval_needed_for: 'close_issue',
      proposed_action: { issue: 123 }, rationale: 'a duplicate', human_decision_options: ['approve', 'modify'], approvers_tagged: ['@max', '@maintainer1'] };
    const asked = await post(triage, request);
    assert.equal(asked.status, 202, asked.text);
    assert.match(asked.json.warnings.join(), /approvers_tagged: "@maintainer1" may not approve/);
    const path = `/v1/approvals/${asked.json.approval}`;
    const { json: shown } = await max.call('GET', path);
    assert.deepEqual([shown.approvers, shown.options], [['human:max'], ['approve', 'modify']]);
    assert.equal(Date.parse(shown.deadline) - Date.parse(shown.created_at), 72 * 3_600_000, 'where it does not say');
    assert.equal((await mia.call('POST', `${path}/decision`, { body: { decision: 'approve' } })).status, 404);
    const refused = await max.call('POST', `${path}/decision`, { body: { decision: 'reject' } });
    assert.deepEqual([refused.status, refused.json.field], [400, '/decision']);
    assert.match(refused.json.detail, /reject is none of the options of this approval: choose one of approve, modify/);
    assert.equal((await max.call('POST', `${path}/decision`, { body: { decision: 'modify', modification: { label: 'duplicate' } } })).json.state, 'modified');
    const told = await got(triage, (each) => each.message_type === 'hitl_approval_decision' && each.in_reply_to === request.message_id);
    assert.deepEqual([told.decision, told.option, told.decided_by, told.modification], ['modified', 'modify', 'human:max', { label: 'duplicate' }]);
    assert.deepEqual((await post(triage, request)).json.duplicate, true);
  });

  it('SP-03, SP-04: what a completion must have and may have at most is refused by its field', async () => {
    const { id } = await delegate('triage');
    const action = { action_type: 'label_applied', timestamp: new Date().toISOString(), details: { label: 'bug' }, confidence: 0.98 };
    for (const [extra, field] of [[{ rationale: undefined }, '/rationale'], [{ confidence_score: undefined }, '/confidence_score'], [{ rationale: 'é'.repeat(1_001) }, '/rationale'],
      [{ actions_taken: Array(51).fill(action) }, '/actions_taken'], [{ timestamp: 'yesterday' }, '/timestamp'], [{ message_id: '' }, '/message_id']]) {
      const { status, json } = await complete(triage, id, extra);
      assert.deepEqual([status, json.code, json.field], [422, 'VALIDATION_FAILED', field]);
    }
    const whole = { message_id: randomUUID(), timestamp: new Date().toISOString(), rationale: 'é'.repeat(1_000), actions_taken: Array(50).fill(action), confidence_score: 1 };
    const sent = await complete(triage, id, whole);
    assert.equal(sent.status, 202, sent.text);
    assert.equal((await complete(triage, id, whole)).json.duplicate, true);
    assert.equal((await complete(triage, id, { ...whole, rationale: 'something else' })).json.code, 'DUPLICATE_ID');
    const passed = await got(orchestrator, (each) => each.message_id === whole.message_id);
    assert.deepEqual([passed.rationale, passed.actions_taken, passed.in_reply_to, passed.task_id], [whole.rationale, whole.actions_taken, id, id]);
  });

  it('SP-02: reply_to is no way around the orchestrator', async () => {
    const task = { message_type: 'task_delegation', event_context: { event_type: 'issues.opened' }, task: { description: 'look at it' } };
    const before = (await broker.call('GET', '/v1/agents/triage')).json.violations;
    for (const [who, to] of [[triage, 'orchestrator'], [orchestrator, 'triage']]) {
      const { status, json, text } = await post(who, { ...task, to_agent: to, foreign: { reply_to: 'scribe' } });
      assert.deepEqual([status, json.code, json.field], [403, 'NOT_VIA_ORCHESTRATOR', '/foreign/reply_to'], text);
      assert.match(json.detail, /"triage" is a worker, and so is "scribe"/);
    }
    const agent = await until(async () => {
      const { json } = await broker.call('GET', '/v1/agents/triage');
      return json.violations > before ? json : undefined;
    });
    assert.equal(agent.violations, before + 1, 'one is its own, one is the orchestrator\'s');
    const own = await post(triage, { ...task, to_agent: 'orchestrator', foreign: { reply_to: 'triage' } });
    assert.equal(own.status, 202, own.text);
  });

  it('SP-14: of what is refused, docs/reference/hub.md says what counts', async () => {
    const violations = async () => (await broker.call('GET', '/v1/agents/scribe')).json.violations_by_code;
    const health = { message_type: 'agent_health_check', to_agent: 'orchestrator', status: 'healthy' };
    const before = await violations();
    for (const [body, code] of [[{ ...health, status: 'fine' }, 'VALIDATION_FAILED'], [{ ...health, warnings: ['x'.repeat(110_000)] }, 'PAYLOAD_TOO_LARGE'],
      [{ ...health, message_type: 'system_notice' }, 'FORBIDDEN'], [{ ...health, in_reply_to: 'nothing' }, 'NOT_FOUND']]) {
      assert.equal((await post(scribe, body)).json.code, code);
    }
    await until(async () => ((await violations()).VALIDATION_FAILED ?? 0) === (before.VALIDATION_FAILED ?? 0) + 4);
    for (const [body, code] of [[{ ...health, from_agent: 'triage' }, 'SENDER_MISMATCH'], ['no object', undefined]]) {
      const refused = typeof body === 'string' ? await scribe.call('POST', '/v1/messages', { body: JSON.stringify(body) }) : await post(scribe, body);
      assert.ok(refused.status >= 400, refused.text);
      if (code) assert.equal(refused.json.code, code);
    }
    const flag = await post(scribe, { message_type: 'coc_violation_flag', violation: 'none of this is right' });
    assert.equal(flag.status, 202, flag.text);
    assert.equal((await post(scribe, health)).status, 202);
    assert.equal((await violations()).VALIDATION_FAILED, (before.VALIDATION_FAILED ?? 0) + 4);
    const { text: metrics } = await broker.call('GET', '/metrics');
    const codes = [...metrics.matchAll(/^parley_protocol_violations\{code="(\w+)"\}/gm)].map(([, code]) => code);
    assert.deepEqual(codes.sort(), ['NOT_VIA_ORCHESTRATOR', 'VALIDATION_FAILED']);
    const page = await readFile(new URL('../../docs/reference/hub.md', import.meta.url), 'utf8');
    const table = page.slice(page.indexOf('## Violations'), page.indexOf('## Whom'));
    assert.deepEqual([...new Set([...table.matchAll(/\| `(\w+)` \|$/gm)].map(([, code]) => code))].sort(), codes);
  });

  it('SP-05: who has a task gets more time, and nobody else', async () => {
    const { id } = await delegate('triage', { timeout_seconds: 300 });
    const due = async () => Date.parse((await orchestrator.delivery(id)).json.request.due);
    const first = await due();
    const extend = (who, requested_seconds, extra = {}) => post(who, { message_type: 'timeout_extension_request', to_agent: 'orchestrator', task_id: id,
      requested_seconds, reason: 'the index is built anew', ...extra });
    const sent = await extend(triage, 600);
    assert.equal(sent.status, 202, sent.text);
    assert.equal(await due() - first, 600_000);
    const told = await got(orchestrator, (each) => each.message_type === 'timeout_extension_request' && each.message_id === sent.json.id);
    assert.deepEqual([told.requested_seconds, told.reason, told.from_agent, told.task_id], [600, 'the index is built anew', 'triage', id]);
    assert.deepEqual([(await extend(scribe, 60)).status, (await extend(triage, 86_400)).json.code], [403, 'LIMIT_REACHED']);
    assert.equal((await extend(triage, 0)).json.code, 'VALIDATION_FAILED');
    await broker.kill();
    await broker.run();
    assert.equal(await due() - first, 600_000);
    assert.equal((await complete(triage, id, { confidence_score: 0.99 })).status, 202);
    assert.equal((await extend(triage, 60)).json.code, 'CONFLICT');
  });

  it('SP-08: a request that nobody decided expires, and its asker hears so in its own words', async () => {
    const asked = await post(triage, { message_type: 'hitl_approval_request', to_agent: 'orchestrator', approval_needed_for: 'close_issue',
      proposed_action: { issue: 124 }, rationale: 'a duplicate', confidence: 0.99, timeout_hours: 0.001 });
    assert.equal(asked.status, 202, asked.text);
    await broker.kill();
    await broker.run();
    const { json } = await triage.call('GET', `/v1/approvals/${asked.json.approval}?wait=60s`);
    assert.equal(json.state, 'expired', JSON.stringify(json));
    const told = await got(triage, (each) => each.message_type === 'hitl_approval_decision' && each.in_reply_to === asked.json.id);
    assert.deepEqual([told.decision, told.decided_by, told.option, told.modification], ['expired', 'parley', undefined, undefined]);
    const late = await mia.call('POST', `/v1/approvals/${asked.json.approval}/decision`, { body: { decision: 'approve' } });
    assert.equal(late.json.code, 'CONFLICT');
  });

  it('SP-10: the figures that an agent claims stand beside what the broker saw', async () => {
    const worker = await broker.addAgent('lifecycle', { dialect: 'superprompt', role: 'worker' });
    for (const how of [{ confidence_score: 0.9 }, { confidence_score: 0.7 }, { status: 'failure', confidence_score: undefined, error: { error_type: 'api_error', error_message: 'no' } }]) {
      const { id } = await delegate('lifecycle');
      assert.equal((await complete(worker, id, how)).status, 202);
    }
    const claim = async (performance_metrics) => {
      const sent = await post(worker, { message_type: 'agent_health_check', to_agent: 'orchestrator', status: 'healthy', uptime_seconds: 86_400, performance_metrics });
      assert.equal(sent.status, 202, sent.text);
      const { json } = await broker.call('GET', '/v1/agents/lifecycle');
      assert.equal(json.health.report, sent.json.seq);
      return json.health;
    };
    const seen = await claim({ tasks_completed_last_hour: 12, error_rate_percentage: 0.5, confidence_score_average: 0.92 });
    assert.deepEqual([seen.tasks_completed_last_hour, seen.tasks_failed_last_hour, seen.error_rate_ppm, seen.confidence_average_ppm], [2, 1, 333_333, 800_000]);
    assert.deepEqual(seen.claimed, { tasks_completed_last_hour: 12, error_rate_percentage: 0.5, confidence_score_average: 0.92 });
    assert.deepEqual(seen.differs, ['tasks_completed_last_hour', 'error_rate_percentage', 'confidence_score_average']);
    const honest = await claim({ tasks_completed_last_hour: 2, error_rate_percentage: 33.3, confidence_score_average: 0.8 });
    assert.deepEqual(honest.differs, []);
    const slow = await claim({ average_response_time_ms: 3_600_000 });
    assert.deepEqual(slow.differs, ['average_response_time_ms']);
    await got(orchestrator, (each) => each.message_type === 'agent_health_check' && each.performance_metrics?.tasks_completed_last_hour === 12);
  });

  it('SP-07: what is less sure than was asked for is less by its digits', async () => {
    const { id } = await delegate('triage', { confidence_threshold: 0.95 });
    const exact = await complete(triage, id, { confidence_score: 0.95 });
    assert.equal(exact.status, 202, exact.text);
    await got(orchestrator, (each) => each.message_id === exact.json.id);
    const { id: other } = await delegate('triage', { confidence_threshold: 0.95 });
    const body = JSON.stringify({ message_id: randomUUID(), timestamp: new Date().toISOString(), from_agent: 'triage', message_type: 'task_completion', to_agent: 'orchestrator',
      in_reply_to: other, status: 'success', confidence_score: 12345, rationale: 'nearly' }).replace('12345', '0.94999999999999999999');
    const under = await triage.call('POST', '/v1/messages', { body });
    assert.equal(under.status, 202, under.text);
    assert.equal((await triage.delivery(under.json.id)).json.deliveries[0].held, 'approval');
    const { json: { items: [{ id: approval }] } } = await mia.call('GET', '/v1/approvals?state=pending&for=me');
    const comment = `look again: ${'é'.repeat(300)}`;
    assert.equal((await mia.call('POST', `/v1/approvals/${approval}/decision`, { body: { decision: 'reject', comment } })).status, 200);
    const told = await got(orchestrator, (each) => each.message_type === 'task_completion' && each.in_reply_to === other);
    assert.ok(told.error.comment.endsWith('é…') && Buffer.byteLength(told.error.comment) <= 256, told.error.comment);
    assert.equal(told.body.comment, comment, 'all of it stands in the body');
  });

  it('SP-07: nobody claims in a completion that the broker made it', async () => {
    const { id } = await delegate('triage');
    const { status, json } = await complete(triage, id, { made_by: 'parley' });
    assert.deepEqual([status, json.code, json.field], [403, 'FORBIDDEN', '/made_by']);
  });

  it('SP-05, SP-06: after the last try the orchestrator gets one failure, with what the worker said last', async () => {
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { 'superprompt.retries_max': 0 } })).status, 200);
    const { id } = await delegate('triage');
    const sent = await complete(triage, id, { status: 'failure', confidence_score: undefined,
      error: { error_type: 'api_error', error_message: 'rate limited', is_recoverable: true } });
    assert.equal(sent.status, 202, sent.text);
    const told = await got(orchestrator, (each) => each.message_type === 'task_completion' && each.in_reply_to === id);
    assert.deepEqual([told.from_agent, told.made_by, told.status], ['triage', 'parley', 'failure']);
    assert.deepEqual([told.error.error_type, told.error.error_message, told.error.retry_count, told.error.is_recoverable], ['api_error', 'rate limited', 0, true]);
    assert.match(told.error.suggested_action, /^look at why it fails, or give it to another$/);
    const { json: escalations } = await broker.call('GET', '/v1/escalations');
    const item = escalations.escalations.find((each) => each.cause === 'task_failed');
    assert.equal(item.why, 'triage failed, asked 1 time: rate limited');
    assert.equal((await orchestrator.read(sent.json.id)).status, 404, 'it is told once');
    // Long words are cut where that is to be seen, and people find all of them.
    const { id: other } = await delegate('triage');
    const words = `rate limited ${'x'.repeat(600)}`;
    await complete(triage, other, { status: 'failure', confidence_score: undefined, error: { error_type: 'api_error', error_message: words, is_recoverable: true } });
    const cut = await got(orchestrator, (each) => each.message_type === 'task_completion' && each.in_reply_to === other);
    assert.equal(cut.error.error_message, `${words.slice(0, 253)}…`);
    assert.equal(cut.body.detail, `${words.slice(0, 509)}…`);
    const { json: { escalations: all } } = await broker.call('GET', '/v1/escalations');
    const about = all.find((each) => each.cause === 'task_failed' && each.id !== item.id).message;
    assert.equal((await broker.call('GET', `/v1/messages/${about.seq}?dialect=superprompt`)).json.error?.error_message, words);
  });

  it('SP-07: a completion that people should look at is an item for maintainers, and passes on', async () => {
    const { id } = await delegate('triage');
    const sent = await complete(triage, id, { requires_human_review: true, human_review_reason: 'it deletes a branch' });
    assert.equal(sent.status, 202, sent.text);
    const { json: escalations } = await broker.call('GET', '/v1/escalations');
    const item = escalations.escalations.find((each) => each.cause === 'review_wanted');
    assert.deepEqual([item.state, item.agent, item.why], ['open', 'triage', 'it deletes a branch']);
    await got(orchestrator, (each) => each.message_type === 'task_completion' && each.message_id === sent.json.id);
    const resolved = await broker.call('POST', `/v1/escalations/${item.id}/resolve`, { body: { resolution: 'fine' } });
    assert.equal(resolved.status, 200, resolved.text);
  });

  it('SP-09: a flag in the words of another dialect is for moderators, too', async () => {
    const flag = { message_type: 'coc_violation_flag', to_agent: 'orchestrator', privacy_level: 'PRIVATE_TO_MODERATORS',
      violation: { severity: 'high', confidence: 0.8, violation_type: 'harassment', location: 'MARK-4711' } };
    const before = (await tim.call('GET', '/v1/moderation/flags')).json.total;
    const sent = [await post(triage, flag), await post(triage, flag, { 'Parley-Dialect': 'flow' }),
      await triage.call('POST', '/v1/messages', { headers: { 'Parley-Dialect': 'inbox' }, body: { type: 'coc_violation_flag', to: 'orchestrator', content: 'MARK-4711' } }),
      await complete(triage, (await delegate('triage')).id, { flags: { coc_concern: 'MARK-4711 is rude' } })];
    for (const { status, text } of sent) {
      assert.equal(status, 202, text);
      assert.doesNotMatch(text, /MARK-4711/);
    }
    assert.equal((await tim.call('GET', '/v1/moderation/flags')).json.total, before + sent.length);
    await broker.historyIsWhole();
    for (const path of ['/v1/dead-letters?limit=100', '/v1/messages?limit=500', '/v1/health']) {
      assert.doesNotMatch((await broker.call('GET', path)).text, /MARK-4711/, path);
    }
  });

  it('SP-09: a concern in a completion is for moderators, and the rest of it for the orchestrator', async () => {
    const before = (await tim.call('GET', '/v1/moderation/flags')).json.total;
    for (const concern of ['MARK-0815 is rude', true, false]) {
      const { id } = await delegate('triage');
      const message_id = randomUUID();
      const sent = await complete(triage, id, { message_id, timestamp: new Date().toISOString(), flags: { coc_concern: concern, documentation_gap: 'FAQ' } });
      assert.equal(sent.status, 202, sent.text);
      const passed = await got(orchestrator, (each) => each.message_id === message_id);
      assert.deepEqual([passed.flags, passed.rationale, passed.in_reply_to], [{ documentation_gap: 'FAQ' }, 'the secret plan', id]);
    }
    const { json: flags } = await tim.call('GET', '/v1/moderation/flags');
    assert.equal(flags.total, before + 2, 'false is no concern');
    const texts = await Promise.all(flags.items.map(async ({ id }) => (await tim.call('GET', `/v1/moderation/flags/${id}`)).text));
    assert.ok(texts.some((text) => text.includes('MARK-0815')), 'moderators read it');
    await broker.historyIsWhole();
    for (const path of ['/v1/dead-letters?limit=100', '/v1/messages?limit=500', '/v1/inbox']) {
      assert.doesNotMatch((await broker.call('GET', path)).text, /MARK-0815/, path);
    }
  });

  it('SP-09: a concern in another form, or in a completion that is corrected, is for moderators alone', async () => {
    const before = (await tim.call('GET', '/v1/moderation/flags')).json.total;
    const concern = { coc_concern: 'MARK-0816 is rude' };
    for (const flags of [[concern], JSON.stringify(concern)]) {
      const { id } = await delegate('triage');
      const sent = await complete(triage, id, { flags });
      assert.equal(sent.status, 202, sent.text);
      const passed = await got(orchestrator, (each) => each.in_reply_to === id);
      assert.equal(passed.flags, undefined);
    }
    const { id } = await delegate('triage');
    const message_id = randomUUID();
    const wrong = await complete(triage, id, { message_id, timestamp: new Date().toISOString(), status: 'sucess', flags: concern });
    assert.equal(wrong.status, 422, wrong.text);
    const right = await complete(triage, id, { message_id, timestamp: new Date().toISOString(), flags: concern });
    assert.equal(right.status, 202, right.text);
    await got(orchestrator, (each) => each.message_id === message_id);
    assert.equal((await tim.call('GET', '/v1/moderation/flags')).json.total, before + 4, 'both of the last');
    await broker.historyIsWhole();
    const { json: { dead_letters: items } } = await broker.call('GET', '/v1/dead-letters?limit=100');
    assert.ok(items.length > 0);
    for (const letter of items) {
      assert.doesNotMatch((await broker.call('GET', `/v1/dead-letters/${letter.id}`)).text, /MARK-/);
    }
  });

  it('SP-09: many flags at once are each stored once, and cost others nothing', async () => {
    const before = (await tim.call('GET', '/v1/moderation/flags?limit=1')).json.total;
    const spent = async (who) => (await broker.call('GET', '/v1/health')).json.seq - who;
    const seq = await spent(0);
    const raised = await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 ? scribe : triage).call('POST', '/v1/moderation/flags', { body: { flag: n } })));
    assert.deepEqual([...new Set(raised.map(({ status }) => status))], [202]);
    assert.equal((await tim.call('GET', '/v1/moderation/flags?limit=1')).json.total, before + 40);
    assert.ok(await spent(seq) < 200, `${await spent(seq)} entries`);
  });

  it('SP-11: a superprompt agent that writes in another dialect has its secrets redacted, too', async () => {
    const token = ['gh', 'p_', '0123456789abcdefghijABCDEFGHIJ012345'].join('');
    const { status, json, text } = await orchestrator.call('POST', '/v1/messages?lenient=true', { headers: { 'Parley-Dialect': 'flow' },
      body: { type: 'notification', receiver: 'triage', payload: { content_type: 'text', body: `use ${token}` } } });
    assert.equal(status, 202, text);
    const read = await triage.read(json.id);
    assert.equal(read.status, 200, read.text);
    assert.match(read.text, /use \[redacted:github_token\]/);
    assert.doesNotMatch(read.text, new RegExp(token));
  });
});

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
    assert.equal((await mia.call('POST', `${path}/decision`, { body: { decision: 'approve' } })).status, 404);
    const refused = await max.call('POST', `${path}/decision`, { body: { decision: 'reject' } });
    assert.deepEqual([refused.status, refused.json.field], [400, '/decision']);
    assert.match(refused.json.detail, /reject is none of the options of this approval: choose one of approve, modify/);
    assert.equal((await max.call('POST', `${path}/decision`, { body: { decision: 'modify', modification: { label: 'duplicate' } } })).json.state, 'modified');
    const told = await got(triage, (each) => each.message_type === 'hitl_approval_decision' && each.in_reply_to === request.message_id);
    assert.deepEqual([told.decision, told.option, told.decided_by, told.modification], ['modified', 'modify', 'human:max', { label: 'duplicate' }]);
    assert.deepEqual((await post(triage, request)).json.duplicate, true);
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
    const { json: escalations } = await broker.call('GET', '/v1/escalations');
    const item = escalations.escalations.find((each) => each.cause === 'task_failed');
    assert.equal(item.why, 'triage failed, asked 1 time: rate limited');
    assert.equal((await orchestrator.read(sent.json.id)).status, 404, 'it is told once');
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

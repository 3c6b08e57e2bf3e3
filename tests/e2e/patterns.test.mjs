// SPDX-License-Identifier: Apache-2.0
// The four patterns against the real binary: request-reply, publish-subscribe, pipeline,
// scatter-gather; and roll calls and escalations.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Broker, message, until } from './harness.mjs';

describe('patterns', () => {
  let broker, ana, bo, cy, dee;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'flow.roll_call_window=300ms'] });
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
    cy = await broker.addAgent('cy');
    dee = await broker.addAgent('dee');
  });
  after(() => broker.remove());

  // The next message for the agent, read; settled unless it is to be answered.
  async function next(agent, wanted = () => true) {
    return until(async () => {
      const { json } = await agent.inbox('?wait=10s');
      assert.ok(json.notifications.length > 0, 'no mail within 10 s');
      for (const { id } of json.notifications) {
        const read = await agent.read(id);
        const found = { ...read.json, provenance: JSON.parse(read.headers.get('parley-provenance')) };
        if (found.type !== 'request' && found.type !== 'query') await agent.ack(id);
        if (wanted(found)) return found;
      }
      return undefined;
    });
  }
  const event = (name) => (found) => found.payload.body.event === name;
  const request = (to, extra = {}) => ({ ...message('ana', to, { text: 'please' }), type: 'request', ...extra });
  async function answer(agent, name, to, question, { status = 'success', body = { text: 'done' } } = {}) {
    const reply = { ...message(name, to, body), type: 'response', status };
    reply.conversation_id = question.conversation_id;
    reply.metadata.in_reply_to = question.id;
    const sent = await agent.call('POST', '/v1/messages', { body: reply });
    assert.equal(sent.status, 202, sent.text);
    return sent.json;
  }
  const post = (agent, path, body) => agent.call('POST', path, { body });

  // FL-03, FL-04, FL-08
  it('answers the caller who blocks, and the one who does not', async () => {
    const waiting = ana.call('POST', '/v1/messages?wait=10s', { body: request('bo') });
    const question = await next(bo);
    await answer(bo, 'bo', 'ana', question, { body: { text: 'here' } });
    const { status, json } = await waiting;
    assert.equal(status, 200);
    assert.deepEqual(json.response.payload.body, { text: 'here' });
    assert.equal(json.response.status, 'success');
    const sent = await ana.call('POST', '/v1/messages', { body: request('bo') });
    const states = await ana.call('GET', `/v1/messages/${sent.json.id}/delivery`);
    assert.equal(states.json.request.state, 'waiting');
    const asked = await next(bo);
    await answer(bo, 'bo', 'ana', asked, { status: 'declined' });
    const reply = await next(ana, (found) => found.type === 'response');
    assert.equal(reply.status, 'declined');
    assert.equal(reply.metadata.in_reply_to, sent.json.id);
  });

  // FL-03, FL-07
  it('tells of a timeout, and marks the answer that comes late and the one that comes twice', async () => {
    const body = request('bo', { type: 'query', response_timeout: '150ms' });
    const blocked = await ana.call('POST', '/v1/messages?wait=10s', { body });
    assert.equal(blocked.status, 504, blocked.text);
    assert.equal(blocked.json.code, 'TIMEOUT');
    const notice = await next(ana, event('request_timed_out'));
    assert.equal(notice.payload.body.receiver, 'bo');
    assert.equal(notice.payload.body.timeout, '150ms');
    const question = await next(bo);
    await answer(bo, 'bo', 'ana', question);
    const late = await next(ana, (found) => found.type === 'response');
    assert.equal(late.provenance.mark, 'late');
    await answer(bo, 'bo', 'ana', question);
    assert.equal((await next(ana, (found) => found.type === 'response')).provenance.mark, 'duplicate');
  });

  // FL-03
  it('asks again with on_timeout retry', async () => {
    const body = request('bo', { response_timeout: '200ms', on_timeout: 'retry' });
    const sent = await ana.call('POST', '/v1/messages', { body });
    const first = await next(bo);
    await bo.ack(first.id);
    const again = await next(bo);
    assert.equal(again.id, first.id);
    await answer(bo, 'bo', 'ana', again);
    assert.equal((await next(ana, (found) => found.type === 'response')).metadata.in_reply_to, sent.json.id);
  });

  // FL-03
  it('escalates with on_timeout escalate, until a person says what was decided', async () => {
    const may = await broker.call('POST', '/v1/humans', { body: { name: 'may', rights: ['maintainer'] } });
    const sent = await ana.call('POST', '/v1/messages', {
      body: request('dee', { response_timeout: '100ms', on_timeout: 'escalate' }),
    });
    await next(ana, event('request_timed_out'));
    const list = () => broker.call('GET', '/v1/escalations?state=open', { token: may.json.token });
    const { json } = await list();
    assert.equal(json.count, 1);
    const [escalation] = json.escalations;
    assert.equal(escalation.cause, 'request_timed_out');
    assert.equal(escalation.message.id, sent.json.id);
    const refused = await post(ana, `/v1/escalations/${escalation.id}/resolve`, { resolution: 'mine' });
    assert.equal(refused.status, 403);
    assert.equal((await ana.call('GET', '/v1/escalations')).json.count, 1);
    assert.equal((await bo.call('GET', '/v1/escalations')).json.count, 0);
    const resolved = await broker.call('POST', `/v1/escalations/${escalation.id}/resolve`, {
      token: may.json.token, body: { resolution: 'cy does it' },
    });
    assert.equal(resolved.status, 200, resolved.text);
    const told = await next(ana, event('escalation_resolved'));
    assert.equal(told.payload.body.resolution, 'cy does it');
    assert.equal((await list()).json.count, 0);
    await next(dee);
  });

  // FL-09
  it('publishes in order to those who subscribe', async () => {
    await cy.call('PUT', '/v1/topics/build.done/subscription');
    for (const n of [1, 2, 3]) {
      const sent = await ana.call('POST', '/v1/messages', { body: message('ana', 'build.done', { n }) });
      assert.equal(sent.status, 202, sent.text);
    }
    for (const n of [1, 2, 3]) assert.equal((await next(cy)).payload.body.n, n);
  });

  // FL-06
  it('calls the roll and reports once', async () => {
    const call = { ...message('ana', '*', { text: 'who is there?' }), type: 'broadcast' };
    call.metadata.requires_ack = true;
    const sent = await ana.call('POST', '/v1/messages', { body: call });
    assert.equal(sent.status, 202, sent.text);
    await next(bo, (found) => found.type === 'broadcast');
    const report = await next(ana, event('roll_called'));
    assert.deepEqual(report.payload.body.acknowledged, ['bo']);
    assert.equal(report.payload.body.called, 3);
    assert.equal(report.payload.body.silent_count + report.payload.body.offline_count, 2);
    await next(cy);
    await next(dee);
  });

  // FL-10
  it('runs a pipeline through its stages, over a restart in the middle', async () => {
    const start = { stages: ['bo', 'cy', 'dee'], message: { payload: { content_type: 'json', body: { n: 1 } } } };
    const sent = await post(ana, '/v1/pipelines?lenient=true', start);
    assert.equal(sent.status, 202, sent.text);
    const show = async () => (await ana.call('GET', `/v1/pipelines/${sent.json.id}`)).json;
    const first = await next(bo);
    assert.deepEqual(first.payload.body, { n: 1 });
    assert.equal((await show()).stages[0].state, 'working');
    await answer(bo, 'bo', 'ana', first, { body: { n: 2 } });
    const second = await next(cy);
    assert.deepEqual(second.payload.body, { n: 2 });
    assert.equal(second.sender, 'ana');
    assert.equal(second.conversation_id, first.conversation_id);
    assert.equal(second.provenance.via, 'broker');
    await broker.kill();
    await broker.run(broker.flags);
    assert.equal((await show()).stage, 2);
    await answer(cy, 'cy', 'ana', second, { body: { n: 3 } });
    const third = await next(dee);
    await answer(dee, 'dee', 'ana', third, { body: { n: 4 } });
    const ended = await next(ana, event('pipeline_ended'));
    assert.equal(ended.payload.body.state, 'completed');
    assert.deepEqual((await show()).stages.map(({ state }) => state), ['done', 'done', 'done']);
    assert.equal((await bo.call('GET', `/v1/pipelines/${sent.json.id}`)).status, 404);
  });

  // FL-10: how a stage is asked is the owner's word; what it is asked, the last answer.
  it('asks each stage in the words of the first message and the content of the answer', async () => {
    const asked = request('bo', { priority: 'high' });
    Object.assign(asked.metadata, {
      ttl: '2h', correlation_id: 'release-7',
    });
    const sent = await post(ana, '/v1/pipelines', { stages: ['bo', 'cy'], message: asked });
    assert.equal(sent.status, 202, sent.text);
    const first = await next(bo);
    const reply = { ...message('bo', 'ana', 'plain words'), type: 'response', status: 'success', priority: 'low' };
    Object.assign(reply.metadata, {
      in_reply_to: first.id, ttl: '1h', correlation_id: 'other',
    });
    const answered = await bo.call('POST', '/v1/messages', { body: reply });
    assert.equal(answered.status, 202, answered.text);
    const second = await next(cy);
    assert.deepEqual(second.payload, { content_type: 'text', body: 'plain words' });
    assert.equal(second.conversation_id, asked.conversation_id);
    assert.equal(second.priority, 'high');
    for (const key of ['ttl', 'correlation_id']) {
      assert.equal(second.metadata[key], first.metadata[key], key);
    }
    assert.equal(second.provenance.sender_kind, 'agent');
    assert.deepEqual(second.provenance.on_behalf_of, ['ana', 'bo']);
    await answer(cy, 'cy', 'ana', second);
    await next(ana, event('pipeline_ended'));
  });

  // FL-10: what the broker itself cannot send ends what it was for. A collab agent takes 512 KB.
  it('ends a pipeline whose next stage cannot take the answer, and says so', async () => {
    await broker.addAgent('col', { dialect: 'collab', role: 'worker' });
    const sent = await post(ana, '/v1/pipelines', { stages: ['bo', 'col', 'dee'], message: request('bo') });
    assert.equal(sent.status, 202, sent.text);
    await answer(bo, 'bo', 'ana', await next(bo), { body: { text: 'x'.repeat(600 * 1024) } });
    const ended = await next(ana, event('pipeline_ended'));
    assert.equal(ended.payload.body.state, 'failed');
    assert.match(ended.payload.body.error, /stage 2, "col": .*collab\.message_bytes_max/);
    const { json } = await ana.call('GET', `/v1/pipelines/${sent.json.id}`);
    assert.deepEqual([json.state, json.error], ['failed', ended.payload.body.error]);
    assert.deepEqual(json.stages.map(({ state }) => state), ['done', 'failed', 'to_come']);
    const open = await broker.call('GET', '/v1/escalations?state=open');
    const escalated = open.json.escalations.find(({ why }) => why === json.error);
    assert.equal(escalated?.cause, 'pipeline_failed', open.text);
    assert.equal(escalated.receiver, 'col');
  });

  // FL-10
  it('halts a pipeline at a failing stage and escalates', async () => {
    const start = { stages: ['bo', 'cy'], message: request('bo') };
    const sent = await post(ana, '/v1/pipelines', start);
    await answer(bo, 'bo', 'ana', await next(bo), { status: 'error' });
    const ended = await next(ana, event('pipeline_ended'));
    assert.equal(ended.payload.body.state, 'failed');
    assert.match(ended.payload.body.error, /stage 1, "bo"/);
    const { json } = await broker.call('GET', '/v1/escalations?state=open');
    assert.equal(json.escalations[0].cause, 'pipeline_failed');
    assert.equal((await ana.call('GET', `/v1/pipelines/${sent.json.id}`)).json.state, 'failed');
  });

  // FL-10
  it('pauses a pipeline while its next stage is busy', async () => {
    await cy.call('POST', '/v1/agents/cy/heartbeat', { body: { status: 'busy' } });
    const sent = await post(ana, '/v1/pipelines', { stages: ['bo', 'cy'], message: request('bo') });
    await answer(bo, 'bo', 'ana', await next(bo));
    const show = async () => (await ana.call('GET', `/v1/pipelines/${sent.json.id}`)).json;
    assert.equal((await show()).state, 'paused');
    assert.equal((await show()).waits_for, 'cy');
    await cy.call('POST', '/v1/agents/cy/heartbeat', { body: { status: 'idle' } });
    await answer(cy, 'cy', 'ana', await next(cy));
    await next(ana, event('pipeline_ended'));
    assert.equal((await show()).state, 'completed');
  });

  // FL-10
  it('waits before a first stage that is busy, as a collab agent is that works', async () => {
    const col = await broker.addAgent('colin', { dialect: 'collab', role: 'worker' });
    const beat = (status) => col.call('POST', '/v1/agents/colin/heartbeat', { body: { status } });
    await beat('working');
    const start = { stages: ['colin', 'bo'], message: request('colin', { priority: 'high' }) };
    const sent = await post(ana, '/v1/pipelines', start);
    assert.equal(sent.status, 202, sent.text);
    assert.deepEqual(sent.json.warnings, ['"colin" is busy: the pipeline waits before it']);
    const before = (await ana.delivery(sent.json.id)).json;
    assert.deepEqual([before.pipeline, before.recipient_count], ['paused', 0]);
    const show = async () => (await ana.call('GET', `/v1/pipelines/${sent.json.id}`)).json;
    const waiting = await show();
    assert.deepEqual([waiting.state, waiting.stage, waiting.waits_for], ['paused', 1, 'colin']);
    assert.deepEqual(waiting.stages.map(({ state }) => state), ['paused', 'to_come']);
    assert.equal((await col.inbox()).json.count, 0);
    await broker.kill();
    await broker.run(broker.flags);
    assert.equal((await show()).state, 'paused');
    await beat('idle');
    const { json } = await col.inbox('?wait=10s');
    assert.equal(json.count, 1);
    const asked = (await col.read(json.notifications[0].id)).json;
    assert.deepEqual([asked.from, asked.payload], ['ana', { text: 'please' }]);
    assert.equal((await show()).stages[0].state, 'working');
    // What the owner sent is with the stage, whichever message brought it there.
    const after = (await ana.delivery(sent.json.id)).json;
    assert.deepEqual(after.deliveries.map(({ receiver }) => receiver), ['colin']);
    assert.deepEqual([after.id, after.pipeline, after.request.state], [sent.json.id, 'running', 'waiting']);
    const again = await post(ana, '/v1/pipelines', start);
    assert.deepEqual([again.json.duplicate, again.json.warnings], [true, []]);
  });

  // FL-11
  it('scatters and gathers by majority', async () => {
    const sent = await post(ana, '/v1/scatter?lenient=true', {
      receivers: ['bo', 'cy', 'dee'], strategy: 'majority',
      message: { payload: { content_type: 'text', body: 'good?' } },
    });
    assert.equal(sent.status, 202, sent.text);
    await answer(bo, 'bo', 'ana', await next(bo));
    await answer(cy, 'cy', 'ana', await next(cy), { status: 'declined' });
    const open = (await ana.call('GET', `/v1/scatter/${sent.json.id}`)).json;
    assert.equal(open.state, 'open');
    assert.deepEqual(open.members.map(({ state }) => state), ['answered', 'refused', 'waiting']);
    await answer(dee, 'dee', 'ana', await next(dee));
    const gathered = await next(ana, event('gathered'));
    assert.equal(gathered.payload.body.state, 'complete');
    assert.deepEqual(gathered.payload.body.answered, ['bo', 'dee']);
    assert.equal((await ana.call('GET', `/v1/scatter/${sent.json.id}`)).json.good, 2);
  });

  // FL-11
  it('ends a gather at its window, as on_partial says', async () => {
    const ask = (more) => post(ana, '/v1/scatter', { receivers: ['bo', 'cy'], message: request('bo'), timeout: '150ms', ...more });
    const failing = await ask({ on_partial: 'fail' });
    const failed = await next(ana, event('gathered'));
    assert.equal(failed.payload.body.state, 'failed');
    assert.deepEqual(failed.payload.body.missing, ['bo', 'cy']);
    const partial = await ask({ timeout: '1s', strategy: 'quorum(2)' });
    assert.equal(failing.status, 202);
    await answer(bo, 'bo', 'ana', await next(bo, (found) => found.id === partial.json.id));
    const proceeded = await next(ana, event('gathered'));
    assert.equal(proceeded.payload.body.state, 'partial');
    assert.deepEqual(proceeded.payload.body.answered, ['bo']);
    const over = (await ana.call('GET', `/v1/scatter/${partial.json.id}`)).json;
    assert.deepEqual(over.members.map(({ state }) => state), ['answered', 'missing']);
  });

  describe('with inbox specialists, who answer by the taskId that they read', () => {
    let sam, sue;
    before(async () => {
      sam = await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
      sue = await broker.addAgent('sue', { dialect: 'inbox', role: 'specialist' });
    });
    const task = (taskId) => ({ taskId, title: `Do ${taskId}`, description: 'All of it' });
    const asking = (to, taskId, extra = {}) => ({ ...message('ana', to, task(taskId)), type: 'request', ...extra });
    // Reads the next task, settles it as some do who begin to work, and reports.
    async function work(agent, taskId, extra = {}) {
      const { json } = await agent.inbox('?wait=10s');
      const { id } = json.notifications.find(({ type }) => type === 'task');
      const { from, content, threadId } = (await agent.read(id)).json;
      assert.equal(JSON.parse(content).taskId, taskId);
      await agent.ack(id);
      const result = JSON.stringify({ taskId, status: 'complete', result: 'ok' });
      const sent = await post(agent, '/v1/messages', { to: from, type: 'result', content: result, threadId, ...extra });
      assert.equal(sent.status, 202, sent.text);
      return sent.json.warnings;
    }
    const show = async (path) => (await ana.call('GET', path)).json;

    // FL-11, IN-09
    it('gathers their results', async () => {
      const ask = (taskId) => post(ana, '/v1/scatter', { receivers: ['sam', 'sue'], strategy: 'all', message: asking('sam', taskId) });
      const sent = (await ask('s-1')).json;
      const status = (taskId) => post(sam, '/v1/messages',
        { to: 'ana', type: 'status', content: JSON.stringify({ taskId, status: 'in_progress', message: 'half' }) });
      assert.deepEqual((await status('s-1')).json.warnings, []);
      assert.match((await status('s-0')).json.warnings[0], /^you have no task of this taskId/);
      assert.deepEqual(await work(sam, 's-1'), []);
      assert.deepEqual(await work(sue, 's-1', { threadId: undefined }), []);
      const { state, good, members } = await show(`/v1/scatter/${sent.id}`);
      assert.deepEqual([state, good, members.map((each) => each.state)], ['complete', 2, ['answered', 'answered']]);
      // Under the same name it can be asked again.
      const again = (await ask('s-1')).json;
      for (const agent of [sue, sam]) assert.deepEqual(await work(agent, 's-1', { threadId: undefined }), []);
      assert.equal((await show(`/v1/scatter/${again.id}`)).good, 2);
      // So it can where one of them has done a task of that name.
      assert.equal((await post(ana, '/v1/messages', asking('sam', 's-2'))).status, 202);
      await work(sam, 's-2');
      const other = (await ask('s-2')).json;
      for (const agent of [sam, sue]) assert.deepEqual(await work(agent, 's-2'), []);
      assert.equal((await show(`/v1/scatter/${other.id}`)).good, 2);
    });

    // FL-10, IN-09
    it('goes on after a first stage that was busy', async () => {
      const beat = (status) => sue.call('POST', '/v1/agents/sue/heartbeat', { body: { status } });
      await beat('busy');
      const message = asking('sue', 'p-1');
      const sent = (await post(ana, '/v1/pipelines', { stages: ['sue', 'cy'], message })).json;
      await broker.kill();
      await broker.run(broker.flags);
      await beat('idle');
      assert.deepEqual(await work(sue, 'p-1'), []);
      assert.equal((await show(`/v1/pipelines/${sent.id}`)).stages[0].state, 'done');
      await answer(cy, 'cy', 'ana', await next(cy, (found) => found.conversation_id === message.conversation_id));
      await next(ana, event('pipeline_ended'));
      assert.equal((await show(`/v1/pipelines/${sent.id}`)).state, 'completed');
    });
  });

  // FL-10, FL-11: the message is in the dialect of who sends it, and so are its words.
  it('takes the message of a collab or an inbox sender', async () => {
    const cora = await broker.addAgent('cora', { dialect: 'collab', role: 'coordinator' });
    const dan = await broker.addAgent('dan', { dialect: 'inbox', role: 'director' });
    const content = JSON.stringify({ taskId: 'd-1', title: 'Look', description: 'All of it' });
    for (const [owner, name, words, left] of [
      [cora, 'cora', { type: 'command', to: 'bo', action: 'look', payload: { n: 1 } }, { action: 'look', payload: { n: 2 } }],
      [cora, 'cora', { type: 'query', action: 'look', payload: { n: 3 } }, { to: 'bo', action: 'look', payload: { n: 4 } }],
      [dan, 'dan', { type: 'task', to: 'bo', content }, { content: content.replace('d-1', 'd-2') }],
    ]) {
      const asked = await post(owner, '/v1/scatter?lenient=true', { receivers: ['bo', 'cy'], message: words });
      assert.equal(asked.status, 202, `${name}: ${asked.text}`);
      await answer(bo, 'bo', name, await next(bo, (found) => found.sender === name));
      await answer(cy, 'cy', name, await next(cy, (found) => found.sender === name));
      const { state, good } = (await owner.call('GET', `/v1/scatter/${asked.json.id}`)).json;
      assert.deepEqual([state, good], ['complete', 2], name);
      const started = await post(owner, '/v1/pipelines?lenient=true', { stages: ['bo', 'cy'], message: left });
      assert.equal(started.status, 202, `${name}: ${started.text}`);
      await answer(bo, 'bo', name, await next(bo, (found) => found.sender === name));
      await answer(cy, 'cy', name, await next(cy, (found) => found.sender === name));
      await until(() => owner.call('GET', `/v1/pipelines/${started.json.id}`), ({ json }) => json.state === 'completed');
    }
    for (const [owner, type, wanted] of [[cora, 'event', 'a command or a query'], [dan, 'status', 'a task'], [ana, 'command', 'a request or a query']]) {
      const { json } = await post(owner, '/v1/scatter?lenient=true', { receivers: ['bo'], message: { type } });
      assert.deepEqual([json.code, json.field, json.detail], ['BAD_REQUEST', '/message/type', `what is to be answered is ${wanted}`]);
    }
  });

  it('takes beside its message what a message takes', async () => {
    await broker.addAgent('out');
    const { json: session } = await ana.call('POST', '/v1/sessions', { body: { participants: ['bo'] } });
    const scattered = await ana.call('POST', `/v1/scatter?lenient=true&session=${session.id}&on_unavailable=queue`,
      { body: { receivers: ['bo'], message: { payload: { content_type: 'text', body: 'in it?' } } } });
    assert.equal(scattered.status, 202, scattered.text);
    const { json: shown } = await ana.call('GET', `/v1/sessions/${session.id}`);
    assert.deepEqual(shown.messageLog.map(({ seq }) => seq), [scattered.json.seq]);
    const outside = await ana.call('POST', `/v1/pipelines?lenient=true&session=${session.id}`,
      { body: { stages: ['out', 'bo'], message: { payload: { content_type: 'text', body: 'in it?' } } } });
    assert.equal(outside.json.code, 'NOT_A_PARTICIPANT', outside.text);
    const wrong = await ana.call('POST', '/v1/scatter?lenient=true&on_unavailable=often',
      { body: { receivers: ['bo'], message: { payload: { content_type: 'text', body: 'x' } } } });
    assert.deepEqual([wrong.status, wrong.json.field], [400, '/on_unavailable']);
  });

  it('says what is wrong with a pattern', async () => {
    const bad = async (path, body, status, field) => {
      const { json } = await post(ana, path, body);
      assert.equal(json.status, status, JSON.stringify(json));
      assert.equal(json.field, field, JSON.stringify(json));
    };
    await bad('/v1/scatter', { message: request('bo') }, 400, '/receivers');
    await bad('/v1/scatter', { receivers: ['bo'], message: request('bo'), strategy: 'most' }, 400, '/strategy');
    await bad('/v1/scatter', { receivers: ['bo'], message: request('bo'), strategy: 'quorum' }, 400, '/quorum');
    await bad('/v1/scatter', { receivers: ['bo'], message: request('bo'), on_partial: 'x' }, 400, '/on_partial');
    await bad('/v1/scatter', { receivers: ['bo'] }, 400, '/message');
    await bad('/v1/scatter', { receivers: ['bo', 'bo'], message: request('bo') }, 400, '/receivers');
    await bad('/v1/scatter', { receivers: ['nobody'], message: request('bo') }, 404, '/receivers');
    await bad('/v1/pipelines', { stages: ['bo'], message: request('bo') }, 400, '/stages');
    await bad('/v1/pipelines', { stages: ['bo', 'nobody'], message: request('bo') }, 404, '/stages');
    assert.equal((await ana.call('GET', `/v1/scatter/${randomUUID()}`)).status, 404);
  });
});

describe('rules that keep nothing of what is settled', () => {
  let broker, ana;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'settled_max=0', '--set', 'topic.retention=0s'] });
    ana = await broker.addAgent('ana');
  });
  after(() => broker.remove());

  // FL-08, FL-09: whoever waits for what nobody heard is told so, and the broker goes on.
  it('say that no answer can come', async () => {
    const body = { ...message('ana', 'nobody.listens', { n: 1 }), type: 'broadcast' };
    const waited = await ana.call('POST', '/v1/messages?wait=1s', { body });
    assert.deepEqual([waited.status, waited.json.code], [502, 'NOT_ANSWERED'], waited.text);
    assert.match(waited.json.detail, /settled_max/);
    const sent = await ana.call('POST', '/v1/messages', { body: { ...body, id: randomUUID() } });
    assert.equal(sent.status, 202, sent.text);
  });

  // FL-10: nor does a pipeline need what is settled.
  it('let a pipeline run', async () => {
    const [bo, cy] = [await broker.addAgent('bo'), await broker.addAgent('cy')];
    const started = await ana.call('POST', '/v1/pipelines?lenient=true', {
      body: { stages: ['bo', 'cy'], message: { payload: { content_type: 'text', body: 'go' } } },
    });
    assert.equal(started.status, 202, started.text);
    for (const agent of [bo, cy]) {
      const { id } = (await agent.inbox('?wait=10s')).json.notifications[0];
      const asked = (await agent.read(id)).json;
      const reply = { ...message(agent.id, 'ana', { by: agent.id }), type: 'response', status: 'success' };
      reply.conversation_id = asked.conversation_id;
      reply.metadata.in_reply_to = id;
      assert.equal((await agent.call('POST', '/v1/messages', { body: reply })).status, 202);
    }
    const shown = await ana.call('GET', `/v1/pipelines/${started.json.seq}`);
    assert.equal(shown.json.state, 'completed', shown.text);
  });
});

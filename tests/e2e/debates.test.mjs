// SPDX-License-Identifier: Apache-2.0
// SQ-02, SQ-04 to SQ-07, SQ-12, SQ-13: debates, what goes before people, what is overdue and the sessions of
// agents, at the real binary, which is killed and started again in between.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, until } from './harness.mjs';

const run = promisify(execFile);
const main = 'agent:main:main';
const worker = 'agent:main:subagent:a';
const reviewer = 'agent:main:reviewer';

let count = 0;
// A message of squad; each has an id of its own.
const squad = (from, to, type, { body = {}, ...rest } = {}) => ({
  id: `MSG-20260201-${String(100000 + ++count).slice(-6)}-${randomBytes(2).toString('hex')}`,
  timestamp: new Date().toISOString(), from, to, type, priority: 'P2', subject: `${type} ${count}`, status: 'pending', body, ...rest });
const challenge = (from, to, rest = {}) => squad(from, to, 'challenge', { ...rest,
  body: { claim_challenged: 'X is the best approach', grounds: 'it ignores the cost', evidence: ['the budget'], severity: 'moderate', ...rest.body } });
const defence = (from, to, reply_to, rest = {}) => squad(from, to, 'response', { reply_to, ...rest,
  body: { result: 'defend', summary: 'time is saved', evidence: ['the measurements'] } });

describe('squads', () => {
  let broker, mia, who;

  const sent = async (message) => {
    const { status, text } = await who[message.from].call('POST', '/v1/messages', { body: message });
    assert.equal(status, 202, text);
    return message.id;
  };
  const got = (agent, id) => until(async () => {
    const { json } = await who[agent].call('GET', '/v1/inbox?limit=100');
    if (!json.notifications.some((note) => note.id === id)) return undefined;
    return (await who[agent].call('GET', `/v1/messages/${id}`)).json;
  });
  const debates = async (thread, by = mia) => (await by.call('GET', `/v1/debates/${thread}`)).json.items;
  const escalations = async (query = '', by = mia) => (await by.call('GET', `/v1/escalations${query}`)).json.escalations;
  const parley = async (...args) => (await run(binary, [...args, '--url', broker.url, '--token', broker.admin], { env: { ...process.env, HOME: broker.data } })).stdout;

  before(async () => {
    broker = await Broker.start();
    const human = async (name, rights) => {
      const { json } = await broker.call('POST', '/v1/humans', { body: { name, rights } });
      return { call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
    };
    mia = await human('mia', ['maintainer']);
    who = {
      [main]: await broker.addAgent(main, { dialect: 'squad', role: 'main' }),
      [worker]: await broker.addAgent(worker, { dialect: 'squad', role: 'subagent' }),
      [reviewer]: await broker.addAgent(reviewer, { dialect: 'squad', role: 'reviewer' }),
      eve: await broker.addAgent('eve'),
      pia: await human('pia', []),
    };
  });
  after(() => broker.remove());

  it('SQ-06: put a debate before people after two rounds, and both hear the decision', async () => {
    const thread_id = 'THREAD-rounds';
    const claim = await sent(squad(worker, main, 'response', { thread_id, reply_to: await sent(squad(main, worker, 'query', { thread_id })), body: { result: 'completed', summary: 'X' } }));
    let said = await sent(challenge(main, worker, { thread_id, reply_to: claim }));
    for (const round of [1, 2]) {
      await got(worker, said);
      said = await sent(defence(worker, main, said, { thread_id }));
      const [debate] = await debates(thread_id);
      assert.deepEqual([debate.rounds, debate.state], [round, round === 1 ? 'open' : 'escalated']);
      if (round === 1) said = await sent(challenge(main, worker, { thread_id, reply_to: said }));
      await broker.kill();
      await broker.run();
    }
    const [debate] = await debates(thread_id);
    assert.deepEqual(debate.steps.map((step) => step.act), ['claim', 'challenge', 'defend', 'challenge', 'defend']);
    assert.equal(debate.steps[1].body.grounds, 'it ignores the cost');
    const open = await escalations('?state=open');
    assert.deepEqual(open.map(({ cause, debate: about }) => [cause, about]), [['debate', debate.id]]);
    const notice = await until(async () => {
      const { json } = await mia.call('GET', '/v1/inbox?limit=100');
      for (const { id } of json.notifications) {
        const text = JSON.stringify((await mia.call('GET', `/v1/messages/${id}`)).json);
        if (text.includes('debate_log')) return text;
      }
      return undefined;
    });
    for (const step of debate.steps) assert.ok(notice.includes(step.message_id), step.message_id);
    const resolved = await mia.call('POST', `/v1/escalations/${open[0].id}/resolve`, { body: { resolution: 'X it is' } });
    assert.equal(resolved.status, 200, resolved.text);
    assert.deepEqual((({ state, outcome }) => [state, outcome])((await debates(thread_id))[0]), ['resolved', 'X it is']);
    for (const side of [main, worker]) {
      await until(async () => {
        const { json } = await who[side].call('GET', '/v1/inbox?limit=100');
        const texts = await Promise.all(json.notifications.map(async ({ id }) => (await who[side].call('GET', `/v1/messages/${id}`)).text));
        return texts.some((text) => text.includes('X it is'));
      });
    }
  });

  it('SQ-06: end a debate by a revision, and nobody is asked', async () => {
    const before_ = (await escalations()).length;
    const thread_id = 'THREAD-price';
    const handoff = await sent(squad(main, worker, 'handoff', { thread_id, body: { task: 'price it at 50' } }));
    await got(worker, handoff);
    const disputed = await sent(challenge(worker, main, { thread_id, reply_to: handoff }));
    await got(main, disputed);
    await sent(squad(main, worker, 'response', { thread_id, reply_to: disputed, subject: 'price it at 65', body: { result: 'revise', summary: 'approved' } }));
    const [debate] = await debates(thread_id, who[worker]);
    assert.deepEqual([debate.state, debate.outcome, debate.ended_by], ['revised', 'price it at 65', main]);
    assert.equal((await escalations()).length, before_);
    await sent(squad(worker, main, 'response', { thread_id, reply_to: handoff, body: { result: 'completed', summary: 'listed at 65' } }));
    const { json } = await who[main].call('GET', `/v1/messages/${handoff}/delivery`);
    assert.equal(json.deliveries[0].status, 'completed');
  });

  it('show a debate to those who take part, and to nobody else', async () => {
    assert.equal((await who.eve.call('GET', '/v1/debates/THREAD-rounds')).status, 404);
    assert.deepEqual((await who.eve.call('GET', '/v1/debates')).json, { items: [], total: 0 });
    assert.equal((await who[reviewer].call('GET', '/v1/debates')).json.total, 0);
    const { items, total, next } = (await who[main].call('GET', '/v1/debates?limit=1')).json;
    assert.deepEqual([items.length, total, typeof next], [1, 2, 'string']);
    const rest = (await who[main].call('GET', `/v1/debates?cursor=${next}`)).json;
    assert.deepEqual(rest.items.map((each) => each.thread), ['THREAD-rounds']);
    assert.equal((await who[main].call('GET', '/v1/debates?state=unresolved')).json.total, 0);
    assert.equal((await who[main].call('GET', '/v1/debates?state=ended')).status, 400);
    assert.equal((await who.eve.call('GET', '/v1/escalations/1')).status, 404);
  });

  it('SQ-02: hold the work of a thread while a reviewer finds it wrong', async () => {
    const thread_id = 'THREAD-held';
    const shown = await sent(squad(main, reviewer, 'query', { thread_id }));
    const handoff = await sent(squad(main, worker, 'handoff', { thread_id, body: { task: 'delete it' } }));
    await got(reviewer, shown);
    const disputed = await sent(challenge(reviewer, main, { thread_id, reply_to: shown, body: { severity: 'critical' } }));
    const held = async () => (await who[main].call('GET', `/v1/messages/${handoff}/delivery`)).json.deliveries[0].held;
    assert.equal(await held(), 'challenge');
    assert.notEqual((await who[worker].call('GET', `/v1/messages/${handoff}`)).status, 200);
    await broker.kill();
    await broker.run();
    assert.equal(await held(), 'challenge');
    await got(main, disputed);
    await sent(squad(main, reviewer, 'ack', { thread_id, reply_to: disputed, body: {} }));
    assert.equal(await held(), undefined);
    assert.equal((await got(worker, handoff)).body.task, 'delete it');
  });

  it('SQ-07: ask the human whom an agent names, who decides', async () => {
    const asked = await sent(squad(worker, 'human:pia', 'escalation', { thread_id: 'THREAD-ask', subject: 'which of the two', body: { reason: 'they are the same' } }));
    await until(async () => (await who.pia.call('GET', '/v1/inbox')).json.notifications.find((note) => note.preview.includes('they are') || note.id));
    const [mine] = await escalations('?state=open', who.pia);
    assert.deepEqual([mine.cause, mine.why, mine.people], ['requested', 'which of the two', ['human:pia']]);
    assert.equal((await who.pia.call('GET', `/v1/escalations/${mine.id}`)).json.id, mine.id);
    const said = await who.pia.call('POST', `/v1/escalations/${mine.id}/resolve`, { body: { resolution: 'the first' } });
    assert.equal(said.status, 200, said.text);
    assert.ok(asked);
    const urgent = await sent(squad(main, worker, 'handoff', { priority: 'P0', body: { task: 'now' } }));
    const unsure = await sent(squad(worker, main, 'response', { reply_to: urgent, body: { result: 'completed', summary: 'perhaps', confidence: 0.4 } }));
    const causes = (await escalations('?state=open')).map((each) => each.cause).sort();
    assert.deepEqual(causes, ['critical', 'low_confidence']);
    assert.ok(unsure);
  });

  it('SQ-04, SQ-05: list what nobody reacts to in time', async () => {
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { 'squad.response_time.p2': '1s' } })).status, 200);
    const late = await sent(squad(main, worker, 'handoff', { thread_id: 'THREAD-late', body: { task: 'soon' } }));
    const found = await until(async () => (await who[worker].call('GET', '/v1/overdue')).json.items.find((each) => each.message_id === late));
    assert.deepEqual([found.from, found.to, found.kind, found.status], [main, worker, 'request', 'pending']);
    assert.ok((await parley('overdue')).includes(late));
    assert.deepEqual((await who.eve.call('GET', '/v1/overdue')).json, { items: [], total: 0 });
    await got(worker, late);
    await sent(squad(worker, main, 'ack', { thread_id: 'THREAD-late', reply_to: late, body: {} }));
    assert.equal((await who[worker].call('GET', '/v1/overdue')).json.items.some((each) => each.message_id === late), false);
    const outbox = (await who[main].call('GET', '/v1/outbox?limit=100')).text;
    assert.ok(outbox.includes('"status":"in_progress"'), outbox);
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { 'squad.response_time.p2': '4h' } })).status, 200);
  });

  it('SQ-12: begin and end the session of an agent', async () => {
    const thread_id = 'THREAD-session';
    assert.match(await parley('agent', 'start', worker), /works since/);
    const waits = await sent(squad(main, worker, 'handoff', { thread_id, body: { task: 'one more' } }));
    const disputed = await sent(challenge(main, worker, { thread_id }));
    assert.equal((await who.eve.call('POST', `/v1/agents/${worker}/session`, { body: { event: 'end' } })).status, 403);
    assert.equal((await who[worker].call('POST', `/v1/agents/${worker}/session`, { body: { event: 'stop' } })).status, 400);
    const ended = await who[worker].call('POST', `/v1/agents/${worker}/session`, { body: { event: 'end' } });
    assert.equal(ended.status, 200, ended.text);
    assert.deepEqual([ended.json.state, ended.json.archived >= 2], ['ended', true]);
    // The broker may still have something to say: the debate that ended with the session has changed.
    const { json: { notifications } } = await who[worker].call('GET', '/v1/inbox');
    assert.deepEqual(notifications.filter(({ from }) => from !== 'parley'), []);
    assert.equal((await debates(thread_id))[0].state, 'escalated');
    await until(async () => {
      const { json } = await who[main].call('GET', '/v1/inbox?limit=100');
      const texts = await Promise.all(json.notifications.map(async ({ id }) => (await who[main].call('GET', `/v1/messages/${id}`)).text));
      return texts.some((text) => text.includes('agent_session_ended') && text.includes(waits));
    });
    assert.equal((await who[worker].call('POST', `/v1/agents/${worker}/session`, { body: { event: 'end' } })).status, 409);
    assert.ok(disputed);
  });

  it('SQ-13: put before people what nobody read while it lived', async () => {
    const id = await sent(squad(worker, main, 'query', { ttl_hours: 1 / 3600 }));
    await until(async () => (await escalations('?state=open')).find((each) => each.cause === 'expired'));
    const { json } = await who[worker].call('GET', `/v1/messages/${id}/delivery`);
    assert.deepEqual([json.deliveries[0].state, json.deliveries[0].status], ['expired', 'expired']);
    assert.deepEqual((await broker.call('GET', '/v1/dead-letters')).json.dead_letters.filter((each) => each.reason === 'ttl_expired'), []);
  });

  it('say all that on the command line', async () => {
    assert.match(await parley('debates', 'list', '--state', 'resolved'), /THREAD-rounds/);
    assert.match(await parley('debates', 'show', 'THREAD-rounds'), /X it is/);
    assert.match(await parley('escalations', 'show', '1'), /rounds of defence/);
    assert.match(await parley('escalations', 'list', '--from', '2020-01-01T00:00:00Z', '--to', '2100-01-01T00:00:00Z'), /debate/);
  });
});

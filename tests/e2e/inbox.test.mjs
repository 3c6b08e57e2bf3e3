// SPDX-License-Identifier: Apache-2.0
// Directors and specialists that speak inbox against the real binary: among themselves, and with
// agents that speak flow.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Broker, binary, message, tool, until } from './harness.mjs';

const post = (agent, body, query = '', headers = {}) =>
  agent.call('POST', `/v1/messages${query}`, { body, headers });

const task = (taskId, extra = {}) => JSON.stringify({ taskId, title: `Do ${taskId}`, description: 'All of it', ...extra });
const result = (taskId, extra = {}) => JSON.stringify({ taskId, status: 'complete', result: 'done', ...extra });
const status = (taskId, extra = {}) => JSON.stringify({ taskId, progress: 60, currentPhase: 'research', ...extra });
const error = (taskId, extra = {}) => JSON.stringify({ taskId, errorType: 'failed', description: 'no access', ...extra });

async function send(agent, to, type, content, extra = {}) {
  const answer = await post(agent, { to, type, content, ...extra });
  assert.equal(answer.status, 202, answer.text);
  return answer.json;
}

// The next notification, and the message itself.
async function next(agent, headers = {}) {
  const { json } = await agent.call('GET', '/v1/inbox?wait=10s&limit=1', { headers });
  assert.equal(json.shown, 1, 'no mail within 10 s');
  const [listed] = json.notifications;
  const { status: code, json: found } =
    await agent.call('GET', `/v1/messages/${encodeURIComponent(listed.id)}`, { headers });
  assert.equal(code, 200);
  return { listed, found };
}

describe('inbox agents', () => {
  let broker, dan, sam, sue, flo;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'inbox.silence=1h'] });
    const add = (id, role) => broker.addAgent(id, { dialect: 'inbox', role });
    dan = await add('dan', 'director');
    sam = await add('sam', 'specialist');
    sue = await add('sue', 'specialist');
    flo = await broker.addAgent('flo');
  });
  after(() => broker.remove());

  it('say which they mean of two messages with one id that wait', async () => {
    const { seq } = await send(dan, 'sam', 'status', 'from dan', { id: 'same' });
    await send(sue, 'sam', 'status', 'from sue', { id: 'same' });
    const both = await sam.read('same');
    assert.deepEqual([both.status, both.json.code], [409, 'CONFLICT'], both.text);
    assert.match(both.json.detail, /from different senders .* have the id same; name the one you mean by its seq/);
    assert.equal((await sam.read(seq)).json.content, 'from dan');
    assert.equal((await sam.read('same')).json.content, 'from sue');  // the other is settled
  });

  // IN-01, IN-02, IN-03
  it('list what waits without its content, high priority first, and read it whole', async () => {
    await send(dan, 'sam', 'status', 'later is fine', { priority: 'low' });
    await send(dan, 'sam', 'task', task('t-1'), { id: 'msg-1', threadId: 'thread-1' });
    await send(dan, 'sam', 'error', 'the disk is full', { priority: 'high' });
    const { json } = await sam.inbox();
    assert.equal(json.count, 3);
    assert.deepEqual(json.notifications.map((each) => [each.type, each.priority, each.preview]),
      [['error', 'high', 'the disk is full'], ['task', 'normal', 'Do t-1'], ['status', 'low', 'later is fine']]);
    for (const each of json.notifications) {
      assert.equal(each.from, 'dan');
      assert.match(each.timestamp, /^\d{4}-\d\d-\d\dT/);
      assert.equal(each.content, undefined);
    }
    const { json: { traceparent, createdAt, ...found } } = await sam.read('msg-1');
    assert.deepEqual(found, {
      id: 'msg-1', from: 'dan', to: 'sam', content: task('t-1'), type: 'task', threadId: 'thread-1', priority: 'normal',
    });
    assert.match(createdAt, /Z$/);
    // Only its receiver and its sender may.
    assert.equal((await sue.read('msg-1')).status, 404);
    assert.equal((await dan.read('msg-1')).status, 200);
    assert.equal((await sam.ack('msg-1')).status, 200);
    await next(sam);
    await next(sam);
    assert.equal((await sam.inbox()).json.count, 0);
  });

  // IN-04
  it('are told who may send what', async () => {
    const wrong = await post(sam, { to: 'sue', type: 'task', content: task('t-2') });
    assert.equal(wrong.status, 403);
    assert.equal(wrong.json.code, 'ROLE_FORBIDDEN');
    assert.match(wrong.json.detail, /given by a director to a specialist/);
    assert.equal(wrong.json.field, '/from');
    const back = await post(dan, { to: 'sam', type: 'result', content: result('t-2') });
    assert.equal(back.json.code, 'ROLE_FORBIDDEN');
    assert.equal(back.json.field, '/to');
    assert.equal((await sue.inbox()).json.count, 0);
  });

  // IN-05, IN-09: content that is none is refused, told by an error message, and kept.
  it('hear of what cannot be parsed, at once and by mail', async () => {
    const refused = await post(dan, { to: 'sam', type: 'task', content: 'just do it' });
    assert.equal(refused.status, 422);
    assert.equal(refused.json.code, 'VALIDATION_FAILED');
    assert.equal(refused.json.field, '/content');
    const { found } = await next(dan);
    assert.equal(found.type, 'error');
    const content = JSON.parse(found.content);
    assert.equal(content.errorType, 'failed');
    assert.match(content.body.detail, /no JSON/);
    const { json } = await broker.call('GET', '/v1/dead-letters');
    assert.ok(json.dead_letters.some((letter) => letter.reason === 'malformed'));
    assert.equal((await sam.inbox()).json.count, 0);
    const half = await post(dan, { to: 'sam', type: 'task', content: JSON.stringify({ taskId: 't' }) });
    assert.equal(half.json.field, '/content/title');
    await next(dan);
  });

  // IN-06
  it('go on in the thread of the task', async () => {
    const given = await send(dan, 'sam', 'task', task('t-6'));
    await next(sam);
    const told = await send(sam, 'dan', 'status', status('t-6'));
    assert.equal(told.thread, given.thread);
    const other = await send(dan, 'sam', 'status', JSON.stringify({ taskId: 't-6', notes: 'hurry' }));
    assert.equal(other.thread, given.thread);
    const done = await send(sam, 'dan', 'result', result('t-6'));
    assert.equal(done.thread, given.thread);
    assert.notEqual((await send(dan, 'sam', 'status', 'hello')).thread, given.thread);
    for (let n = 0; n < 2; ++n) { await next(sam); await next(dan); }
  });

  // IN-08
  it('keep a content under 10 KB', async () => {
    await send(dan, 'sam', 'status', 'x'.repeat(10 * 1024 - 1));
    const large = await post(dan, { to: 'sam', type: 'status', content: 'x'.repeat(10 * 1024) });
    assert.equal(large.status, 413);
    assert.equal(large.json.code, 'PAYLOAD_TOO_LARGE');
    await next(sam);
    await next(dan);
    const fromFlow = await flo.send('sam', { text: 'x'.repeat(11_000) });
    assert.equal(fromFlow.json.code, 'PAYLOAD_TOO_LARGE');
    assert.match(fromFlow.json.detail, /speaks inbox/);
    await flo.ack((await next(flo)).found.id);  // is told by mail as well
  });

  // IN-09: the same again is skipped; one without a role is warned of.
  it('skip what was done already', async () => {
    await send(dan, 'sam', 'task', task('t-9'));
    await next(sam);
    await send(sam, 'dan', 'result', result('t-9'));
    await next(dan);
    assert.equal((await send(dan, 'sam', 'task', task('t-9'))).duplicate, true);
    assert.equal((await sam.inbox()).json.count, 0);
    const key = { headers: { 'Idempotency-Key': 'once' } };
    const body = { to: 'sam', type: 'status', content: 'once' };
    await dan.call('POST', '/v1/messages', { body, ...key });
    assert.equal((await dan.call('POST', '/v1/messages', { body, ...key })).json.duplicate, true);
    await next(sam);
    const stranger = await post(flo, { to: 'sam', type: 'status', content: 'hi' }, '', { 'Parley-Dialect': 'inbox' });
    assert.match(stranger.json.warnings[0], /no role in inbox/);
    assert.equal((await next(sam)).found.content, 'hi');
  });

  // IN-07: across a crash; reading settles what needs no answer, a result settles the task.
  it('get a task again that nobody finished, and nothing that was', async () => {
    await send(dan, 'sam', 'task', task('t-7'), { id: 'give-7' });
    await send(dan, 'sam', 'status', 'read me');
    await next(sam);
    await next(sam);
    await broker.kill();
    await broker.run(['--set', 'inbox.silence=1h']);
    assert.equal((await sam.inbox()).json.count, 0, 'the lease goes on, and what was read is read');
    const { json: held } = await dan.delivery('give-7');
    assert.equal(held.deliveries[0].state, 'read');
    // A short lease ends as if its reader had died.
    await sam.call('POST', '/v1/messages/give-7/extend', { body: { lease: '1ms' } });
    const again = await next(sam);
    assert.equal(again.found.id, 'give-7');
    await send(sam, 'dan', 'result', result('t-7'));
    assert.equal((await dan.delivery('give-7')).json.deliveries[0].state, 'answered');
    await broker.kill();
    await broker.run(['--set', 'inbox.silence=1h']);
    assert.equal((await sam.inbox()).json.count, 0);
    await next(dan);
  });

  // IN-10
  it('see how a task goes on, and give it to another', async () => {
    await send(dan, 'sam', 'task', task('t-10'));
    assert.equal((await dan.call('GET', '/v1/tasks/t-10')).json.state, 'assigned');
    await next(sam);
    await send(sam, 'dan', 'status', status('t-10', { notes: '2 of 3' }));
    let { json: seen } = await dan.call('GET', '/v1/tasks/t-10');
    assert.equal(seen.state, 'in_progress');
    assert.equal(seen.status.content.progress, 60);
    assert.equal(seen.silent, false);
    await send(sam, 'dan', 'error', error('t-10', { suggestedAction: 'ask sue' }));
    ({ json: seen } = await dan.call('GET', '/v1/tasks/t-10'));
    assert.equal(seen.state, 'failed');
    assert.equal(seen.outcome.content.suggestedAction, 'ask sue');
    assert.equal((await sue.call('GET', '/v1/tasks/t-10')).status, 404);
    assert.equal((await sam.call('POST', '/v1/tasks/t-10/reassign', { body: { to: 'sue' } })).status, 403);
    const moved = await dan.call('POST', '/v1/tasks/t-10/reassign', { body: { to: 'sue' } });
    assert.equal(moved.status, 200, moved.text);
    assert.equal(moved.json.specialist, 'sue');
    assert.deepEqual(moved.json.reassignments.map(({ from, to, by }) => [from, to, by]), [['sam', 'sue', 'dan']]);
    const told = await next(sam);
    assert.equal(JSON.parse(told.found.content).taskId, 't-10');
    assert.equal(JSON.parse(told.found.content).body.specialist, 'sue');
    const given = await next(sue);
    assert.equal(JSON.parse(given.found.content).taskId, 't-10');
    await send(sue, 'dan', 'result', result('t-10'));
    assert.equal((await sue.call('GET', '/v1/tasks/t-10')).json.state, 'completed');
    // Nobody is away: the receipt of the same task again counts who has it and who had it.
    const again = await send(dan, 'sam', 'task', task('t-10'));
    assert.equal(again.duplicate, true);
    assert.deepEqual(again.warnings.filter((each) => each.includes('away')), []);
    assert.deepEqual([again.recipient_count, again.recipients.length], [2, 2]);
    const { json: all } = await dan.call('GET', '/v1/tasks?agent=sue');
    assert.deepEqual(all.tasks.map((each) => each.id), ['t-10']);
    for (let n = 0; n < 3; ++n) await next(dan);
  });

  it('name the others when one is given to another', async () => {
    await send(dan, 'sam', 'task', task('t-14'), { id: 't-14-1', threadId: 'first' });
    await sam.read('t-14-1');
    await send(sam, 'dan', 'result', result('t-14'));
    await send(dan, 'sam', 'task', task('t-14'), { id: 't-14-2', threadId: 'second' });
    const moved = await dan.call('POST', '/v1/tasks/t-14/reassign', { body: { to: 'sue' } });
    assert.deepEqual([moved.json.thread, moved.json.others_count], ['second', 1], moved.text);
    assert.deepEqual(moved.json.others.map(({ thread, state }) => [thread, state]), [['first', 'completed']]);
    await next(sue);
    await send(sue, 'dan', 'result', result('t-14'), { threadId: 'second' });
    await next(sam);
    for (let n = 0; n < 2; ++n) await next(dan);
  });

  // IN-10: by the command line, with a task of which nothing is heard.
  it('are shown by parley task', async () => {
    const parley = async (...args) =>
      (await promisify(execFile)(binary, args, { env: { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: dan.token } })).stdout;
    await send(dan, 'sam', 'task', task('t-11'));
    await broker.call('PATCH', '/v1/rules', { body: { 'inbox.silence': '1ms' } });
    assert.match(await parley('task', 't-11'), /t-11: assigned, silent for/);
    assert.match(await parley('task', 'list', '--silent'), /t-11/);
    assert.match(await parley('task', 'reassign', 't-11', '--to', 'sue'), /reassigned from sam to sue by dan/);
    await broker.call('PATCH', '/v1/rules', { body: { 'inbox.silence': '1h' } });
    await next(sue);
    await sue.ack((await dan.call('GET', '/v1/tasks/t-11')).json.message);
    assert.equal((await dan.call('GET', '/v1/tasks/t-11')).json.state, 'acknowledged');
    await next(sam);
  });

  // XD-01: a flow agent asks, an inbox specialist answers, and the other way around.
  it('talk with agents of other dialects', async () => {
    const asked = await flo.send('sam', { text: 'translate it' }, { type: 'request' });
    const { listed, found } = await next(sam);
    assert.equal(listed.type, 'task');
    const { taskId, body } = JSON.parse(found.content);
    assert.deepEqual(body, { text: 'translate it' });
    await send(sam, 'flo', 'result', result(taskId, { result: 'übersetzt' }));
    const { found: answer } = await next(flo);
    assert.equal(answer.type, 'response');
    assert.equal(answer.status, 'success');
    assert.equal(answer.metadata.in_reply_to, asked.json.id);
    assert.equal(answer.payload.body.result, 'übersetzt');
    await flo.ack(answer.id);
    await send(dan, 'flo', 'task', task('t-12'));
    const { found: request } = await next(flo);
    assert.equal(request.type, 'request');
    assert.equal(request.payload.body.taskId, 't-12');
    await flo.call('POST', '/v1/messages', { body: message('flo', 'dan', { ok: true },
      { type: 'response', metadata: { timestamp: new Date().toISOString(), in_reply_to: request.id } }) });
    const { found: back } = await next(dan);
    assert.equal(back.type, 'result');
    assert.equal(JSON.parse(back.content).status, 'complete');
    assert.equal(JSON.parse(back.content).taskId, 't-12');
    assert.equal((await dan.call('GET', '/v1/tasks/t-12')).json.state, 'completed');
  });

  // The three calls work for an agent of any dialect that says so.
  it('can be spoken to by the header alone', async () => {
    const inbox = { 'Parley-Dialect': 'inbox' };
    const sent = await post(flo, { to: 'sam', type: 'task', content: task('t-13') }, '', inbox);
    assert.equal(sent.status, 202, sent.text);
    await next(sam);
    await send(sam, 'flo', 'status', status('t-13'));
    const { listed, found } = await next(flo, inbox);
    assert.equal(listed.type, 'status');
    assert.equal(JSON.parse(found.content).progress, 60);
    assert.equal((await flo.inbox()).json.count, 0);
    const { json } = await sam.delivery(found.id);
    assert.equal(json.deliveries[0].state, 'acked');
    await send(sam, 'flo', 'result', result('t-13'));
    assert.equal((await next(flo, inbox)).found.type, 'result');
  });
});

describe('tasks of inbox agents', () => {
  let broker, dan, eve, sam, sue, flo;
  const add = (id, role) => broker.addAgent(id, { dialect: 'inbox', role });
  const stateOf = async (id) => (await dan.call('GET', `/v1/tasks/${id}`)).json.state;
  before(async () => {
    broker = await Broker.start();
    dan = await add('dan', 'director');
    eve = await add('eve', 'director');
    sam = await add('sam', 'specialist');
    sue = await add('sue', 'specialist');
    flo = await broker.addAgent('flo');
  });
  after(() => broker.remove());
  const empty = async (...agents) => {
    for (const agent of agents) {
      for (const { id } of (await agent.inbox()).json.notifications) {
        await agent.read(encodeURIComponent(id));
        await agent.ack(encodeURIComponent(id));
      }
    }
  };

  // IN-04: status and error from anyone to anyone; a result to a director only; a task to one.
  it('may be told of by anyone, and are given to one specialist', async () => {
    for (const [from, to] of [[sam, 'sue'], [sue, 'dan'], [dan, 'eve'], [dan, 'sue']]) {
      await send(from, to, 'status', 'hello');
      await send(from, to, 'error', 'trouble');
    }
    const aside = await post(sam, { to: 'sue', type: 'result', content: result('t-1') });
    assert.equal(aside.json.code, 'ROLE_FORBIDDEN');
    assert.match(aside.json.detail, /from a specialist to a director/);
    const all = await post(dan, { to: '*', type: 'task', content: task('t-all') });
    assert.equal(all.status, 403);
    assert.match(all.json.detail, /name one specialist/);
    assert.equal(all.json.field, '/to');
    assert.equal((await dan.call('GET', '/v1/tasks/t-all')).status, 404);
    await empty(dan, eve, sam, sue);
  });

  // IN-07, IN-09: the words of a task are those that came last.
  it('are replaced by other words, and settled whole by the result', async () => {
    await send(dan, 'sam', 'task', task('t-2'), { id: 'first' });
    const again = await send(dan, 'sam', 'task', task('t-2', { description: 'Only half of it' }), { id: 'second' });
    assert.equal(again.duplicate, undefined);
    const { json } = await sam.inbox();
    assert.deepEqual(json.notifications.map(({ id }) => id), ['second']);
    const [former] = (await dan.delivery('first')).json.deliveries;
    assert.equal(former.state, 'dead');
    assert.match(former.last_error, /superseded: the task was given again/);
    await sam.read('second');
    await send(sam, 'dan', 'result', result('t-2'));
    assert.equal(await stateOf('t-2'), 'completed');
    assert.equal((await sam.inbox()).json.count, 0);
    assert.equal((await broker.call('GET', '/v1/dead-letters')).json.dead_letters.length, 0);
    await empty(dan);
  });

  // IN-09: a task is its giver, its thread and its taskId.
  it('are others in other threads', async () => {
    await send(dan, 'sam', 'task', task('same'), { id: 'same-1', threadId: 'one' });
    await sam.read('same-1');
    await send(dan, 'sam', 'task', task('same'), { id: 'same-2', threadId: 'two' });
    // Without a thread the one that was read is meant.
    const first = await send(sam, 'dan', 'result', result('same'));
    assert.equal(first.thread, 'one');
    assert.deepEqual(first.warnings, []);
    const show = async (query = '') => (await dan.call('GET', `/v1/tasks/same${query}`)).json;
    assert.equal((await show('?thread=one')).state, 'completed');
    assert.equal((await dan.delivery('same-1')).json.deliveries[0].state, 'answered');
    const open = await show();
    assert.deepEqual([open.thread, open.state, open.others_count], ['two', 'assigned', 1]);
    assert.deepEqual([open.others[0].thread, open.others[0].state], ['one', 'completed']);
    assert.equal((await dan.call('GET', '/v1/tasks/same?thread=three')).status, 404);
    assert.deepEqual((await sam.inbox()).json.notifications.map(({ id }) => id), ['same-2']);
    await send(dan, 'sue', 'task', task('same'), { id: 'same-3', threadId: 'three' });
    const which = await dan.call('POST', '/v1/tasks/same/reassign', { body: { to: 'sam' } });
    assert.equal(which.status, 409, which.text);
    assert.match(which.json.detail, /"dan" in thread "two", "dan" in thread "three"/);
    assert.equal(which.json.field, '/thread');
    const moved = await dan.call('POST', '/v1/tasks/same/reassign', { body: { to: 'sue', thread: 'two' } });
    assert.deepEqual([moved.json.thread, moved.json.specialist], ['two', 'sue']);
    assert.equal(moved.json.others_count, 0);  // as for ?thread=two
    // A report that finds no task of its sender's says so.
    const lost = await send(sam, 'dan', 'status', { taskId: 'same', progress: 5 }, { threadId: 'two' });
    assert.equal(lost.warnings.length, 1, JSON.stringify(lost));
    assert.match(lost.warnings[0], /you have no task of this taskId/);
    for (const thread of ['two', 'three']) await send(sue, 'dan', 'result', result('same'), { threadId: thread });
    assert.deepEqual([(await show('?thread=two')).state, (await show('?thread=three')).state], ['completed', 'completed']);
    await empty(dan, sam, sue);
  });

  // IN-09: what another dialect asks for is known by the taskId that its specialist reads.
  it('are known by the taskId in what another dialect asks', async () => {
    const sent = await flo.send('sam', JSON.parse(task('from-flow')), { type: 'request' });
    assert.equal(sent.status, 202, sent.text);
    const { found } = await next(sam);
    assert.equal(JSON.parse(found.content).taskId, 'from-flow');
    assert.deepEqual((await send(sam, 'flo', 'status', { taskId: 'from-flow', progress: 50 })).warnings, []);
    assert.equal((await flo.call('GET', '/v1/tasks/from-flow')).json.state, 'in_progress');
    await send(sam, 'flo', 'result', result('from-flow'));
    assert.equal((await flo.call('GET', '/v1/tasks/from-flow')).json.state, 'completed');
    assert.equal((await flo.delivery(sent.json.id)).json.request.state, 'answered');
    // A question gives no task: its answer names the message.
    const asked = await flo.send('sam', JSON.parse(task('a-question')), { type: 'query' });
    const question = (await next(sam)).found;
    const { taskId, body } = JSON.parse(question.content);
    assert.deepEqual([taskId, body.taskId], [asked.json.id, 'a-question']);
    await send(sam, 'flo', 'result', result(taskId));
    assert.equal((await flo.delivery(asked.json.id)).json.request.state, 'answered');
    await empty(sam);
  });

  // IN-09: nothing that was not sent reads as if it was.
  it('say so when a name is used again and nothing was sent', async () => {
    await send(dan, 'sam', 'task', task('task-1'));
    await next(sam);
    await send(sam, 'dan', 'result', result('task-1'));
    const same = await send(dan, 'sam', 'task', task('task-1'));
    assert.equal(same.duplicate, true);
    assert.equal(same.skipped, undefined);
    assert.match(same.warnings[0], /nothing was sent again/);
    const other = await send(dan, 'sue', 'task', task('task-1', { title: 'Something else' }));
    assert.equal(other.skipped, true);
    assert.match(other.warnings[0], /nothing was sent: task "task-1" of this thread is completed.*use another taskId, or a threadId/);
    assert.equal((await sue.inbox()).json.count, 0);
    const anew = await send(dan, 'sue', 'task', task('task-1', { title: 'Something else' }), { threadId: 'its own' });
    assert.deepEqual(anew.warnings, []);
    assert.equal((await next(sue)).found.threadId, 'its own');
    await send(sue, 'dan', 'result', result('task-1'));
    await empty(dan);
  });

  // IN-12: the same for a model, which reads errors rather than members.
  it('are an error over MCP when nothing was sent', async () => {
    const give = (to, words) => tool(dan, 'sendMessage', { to, type: 'task', content: task('mcp-1', words) });
    assert.equal((await give('sam', {})).json.result.isError, undefined);
    await next(sam);
    await send(sam, 'dan', 'result', result('mcp-1'));
    const same = (await give('sam', {})).json.result;
    assert.notEqual(same.isError, true);
    assert.match(same.structuredContent.warnings[0], /nothing was sent again/);
    const other = (await give('sue', { title: 'Something else' })).json.result;
    assert.equal(other.isError, true);
    assert.match(other.content[0].text, /nothing was sent: task "mcp-1".*use another taskId/);
    assert.equal((await sue.inbox()).json.count, 0);
    await empty(dan);
  });

  // IN-10: help is asked of a colleague; only what the director gets ends the task.
  it('go on when their specialist asks another for help', async () => {
    await send(dan, 'sam', 'task', task('help-1'), { id: 'help' });
    await next(sam);
    const asked = await send(sam, 'sue', 'error', error('help-1', { errorType: 'blocked', description: 'can you help?' }));
    assert.match(asked.warnings[0], /task "help-1" stays open: "dan"/);
    assert.equal(await stateOf('help-1'), 'in_progress');
    assert.equal((await dan.delivery('help')).json.deliveries[0].state, 'read');
    const told = await send(sam, 'dan', 'error', error('help-1'));
    assert.deepEqual(told.warnings, []);
    assert.equal(await stateOf('help-1'), 'failed');
    await empty(dan, sue);
  });

  // IN-10: a task that its specialist holds is taken away; each reads what is true for it.
  it('are taken from one who holds them', async () => {
    await send(dan, 'sam', 'task', task('held-1'), { id: 'held' });
    assert.equal((await next(sam)).found.to, 'sam');
    const moved = await dan.call('POST', '/v1/tasks/held-1/reassign', { body: { to: 'sue' } });
    assert.equal(moved.status, 200, moved.text);
    const refused = await sam.ack('held');
    assert.equal(refused.status, 409);
    assert.equal(refused.json.code, 'ALREADY_SETTLED');
    const former = await sam.read('held');
    assert.equal(former.json.to, 'sam');
    assert.deepEqual(JSON.parse(former.headers.get('parley-delivery')),
      { state: 'dead', note: 'superseded: the task was given to "sue"' });
    const given = await sue.read('held');
    assert.equal(given.json.to, 'sue');
    assert.equal(JSON.parse(given.headers.get('parley-provenance')).redirected_from, 'sam');
    assert.equal(given.headers.get('parley-delivery'), null);
    const shown = (await tool(sam, 'readMessage', { messageId: 'held' })).json.result.structuredContent;
    assert.match(shown.delivery.note, /given to "sue"/);
    await send(sue, 'dan', 'result', result('held-1'));
    assert.equal(await stateOf('held-1'), 'completed');
    await empty(dan, sam, sue);
  });

  // XD-01: what is asked in another dialect has the title that its specialist reads.
  it('have a title in whatever words they were given', async () => {
    const { json: { id } } = await flo.send('sam', 'which file?', { type: 'request' });
    const { listed, found } = await next(sam);
    assert.equal(JSON.parse(found.content).title, 'which file?');
    assert.equal(listed.preview, 'which file?');
    const { json: seen } = await flo.call('GET', `/v1/tasks/${id}`);
    assert.equal(seen.title, 'which file?');
    const { json: odd } = await flo.send('sam', { x: 1 }, { type: 'request' });
    const second = await next(sam);
    const { title } = JSON.parse(second.found.content);
    assert.equal(second.listed.preview, title);
    assert.equal((await flo.call('GET', `/v1/tasks/${odd.id}`)).json.title, title);
    await empty(sam);
  });

  it('are listed by a state that there is, and given in words', async () => {
    const wrong = await dan.call('GET', '/v1/tasks?state=foo');
    assert.equal(wrong.status, 400);
    assert.match(wrong.json.detail, /assigned, in_progress.*completed/);
    assert.equal((await dan.call('GET', '/v1/tasks?state=completed')).status, 200);
    const blank = await post(dan, { to: 'sam', type: 'status', content: ' \n\t ' });
    assert.equal(blank.status, 422);
    assert.equal(blank.json.field, '/content');
    await empty(dan);
  });

  // IN-09: who has no role is warned of where the operators look.
  it('are logged when a stranger sends them', async () => {
    const ops = await broker.addAgent('ops', { role: 'orchestrator' });
    assert.equal((await ops.call('PUT', '/v1/topics/audit.event_logged/subscription')).status, 200);
    await post(flo, { to: 'sam', type: 'status', content: 'hi' }, '', { 'Parley-Dialect': 'inbox' });
    const { found: { payload: { body } } } = await until(() => next(ops), ({ found }) => found.payload.body.action === 'unknown_sender');
    assert.equal(body.by, 'flo');
    assert.equal(body.subject, 'sam');
    await empty(sam, ops);
  });

  // One giver does not take the places of all.
  it('leave room for those of other directors', async () => {
    await broker.call('PATCH', '/v1/rules', { body: { tasks_max: '50', 'task.giver_percent': '4' } });
    await send(eve, 'sue', 'task', task('e-1'));
    await send(eve, 'sue', 'task', task('e-2'));
    const over = await post(eve, { to: 'sue', type: 'task', content: task('e-3') });
    assert.equal(over.json.code, 'LIMIT_REACHED');
    assert.match(over.json.detail, /"eve" has given 2 tasks that are not done.*task\.giver_percent/);
    await send(dan, 'sue', 'task', task('d-1'));
    await broker.call('PATCH', '/v1/rules', { body: { tasks_max: '10000', 'task.giver_percent': '20' } });
    await empty(sue);
  });

  // A name is a post: see docs/inbox.md.
  it('stay with the name when its holder changes, who sees nothing of the former\'s', async () => {
    const ned = await add('ned', 'specialist');
    await send(dan, 'ned', 'task', task('post-1'), { threadId: 'post' });
    await next(ned);
    await broker.call('DELETE', '/v1/agents/ned');
    assert.equal(await stateOf('post-1'), 'failed');
    const anew = await add('ned', 'specialist');
    assert.equal((await ned.inbox()).status, 401);
    assert.equal((await anew.inbox()).json.count, 0);
    assert.equal((await anew.call('GET', '/v1/tasks/post-1')).json.code, 'NOT_FOUND');
    await send(dan, 'ned', 'task', task('post-1', { description: 'Again' }), { threadId: 'post' });
    await next(anew);
    assert.equal((await anew.call('GET', '/v1/tasks/post-1')).json.title, 'Do post-1');
    await send(anew, 'dan', 'result', result('post-1'));
    assert.equal(await stateOf('post-1'), 'completed');
  });
});

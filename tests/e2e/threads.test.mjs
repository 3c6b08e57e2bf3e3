// SPDX-License-Identifier: Apache-2.0
// Conversations: their limits, how they stand, their tree, and how they are closed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, until } from './harness.mjs';

const run = promisify(execFile);

describe('threads', () => {
  let broker, ana, bo, cy, mia;
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy] = await Promise.all(['ana', 'bo', 'cy'].map((name) => broker.addAgent(name)));
    const human = await broker.call('POST', '/v1/humans', { body: { name: 'mia', rights: ['maintainer'] } });
    mia = { call: (method, path) => broker.call(method, path, { token: human.json.token }) };
  });
  after(() => broker.remove());

  const state = async (thread, who = ana) => (await who.call('GET', `/v1/threads/${thread}`)).json.state;
  // The broker's news about a thread in someone's inbox; long polls until it is there.
  const closing = (who, thread) => until(async () => {
    const { json } = await who.inbox('?wait=5s&limit=500');
    for (const note of json.notifications.filter((each) => each.from === 'parley')) {
      const { json: message } = await who.read(note.id);
      await who.ack(note.id);
      if (message.payload.body.event === 'thread_closed' && message.payload.body.thread === thread) return message;
    }
    return undefined;
  });

  it('FL-17: is created, active while a request waits, and resolved with its response', async () => {
    const thread = 'states';
    const root = (await ana.send('bo', { n: 1 }, { conversation_id: thread })).json;
    assert.equal(await state(thread), 'created');
    const asked = (await ana.send('bo', 'well?', { conversation_id: thread, type: 'request', metadata: { in_reply_to: root.id } })).json;
    assert.equal(await state(thread), 'active');
    await bo.read(asked.id);
    const answer = (await bo.send('ana', 'yes', { conversation_id: thread, type: 'response', status: 'success', metadata: { in_reply_to: asked.id } })).json;
    assert.equal(await state(thread), 'resolved');
    const { json } = await bo.call('GET', `/v1/threads/${thread}`);
    assert.equal(json.owner, 'ana');
    assert.equal(json.root, root.id);
    assert.equal(json.message_count, 3);
    assert.deepEqual(json.participants, ['ana', 'bo']);
    assert.ok(Date.parse(json.closes_at) - Date.parse(json.created) === 24 * 3600e3);
    assert.deepEqual(json.messages.map(({ id, type, sender, in_reply_to, state: s, children }) => ({ id, type, sender, in_reply_to, s, children })), [
      { id: root.id, type: 'notification', sender: 'ana', in_reply_to: undefined, s: 'queued', children: [asked.id] },
      { id: asked.id, type: 'request', sender: 'ana', in_reply_to: root.id, s: 'answered', children: [answer.id] },
      { id: answer.id, type: 'response', sender: 'bo', in_reply_to: asked.id, s: 'queued', children: [] },
    ]);
  });

  it('FL-17: takes 20 messages; the 21st is refused and says how to go on', async () => {
    const thread = 'long';
    const asked = (await ana.send('bo', 'well?', { conversation_id: thread, type: 'request' })).json;
    for (let n = 1; n < 20; ++n) assert.equal((await ana.send('bo', { n }, { conversation_id: thread })).status, 202);
    const refused = await ana.send('bo', { n: 21 }, { conversation_id: thread });
    assert.equal(refused.status, 409);
    assert.equal(refused.json.code, 'THREAD_FULL');
    assert.match(refused.json.detail, /new conversation_id with metadata\.correlation_id "long"/);
    assert.equal(refused.json.field, '/conversation_id');
    // A response to the pending request is taken all the same.
    await bo.read(asked.id);
    const response = { conversation_id: thread, type: 'response', status: 'success', metadata: { in_reply_to: asked.id } };
    assert.equal((await bo.send('ana', 'yes', response)).status, 202);
    assert.equal((await bo.send('ana', 'once more', response)).json.code, 'THREAD_FULL');
    // FL-18: as advised.
    assert.equal((await ana.send('bo', { n: 21 }, { conversation_id: 'long-2', metadata: { correlation_id: 'long' } })).status, 202);
    const { json } = await ana.call('GET', '/v1/threads?correlation_id=long');
    assert.deepEqual(json.threads.map((each) => [each.id, each.message_count]), [['long-2', 1], ['long', 21]]);
  });

  it('FL-17: is closed by its owner, which is told to those who take part', async () => {
    const thread = 'closed by ana';
    const path = `/v1/threads/${encodeURIComponent(thread)}`;
    await ana.send('bo', { n: 1 }, { conversation_id: thread });
    assert.equal((await bo.call('POST', `${path}/close`)).status, 403);
    assert.equal((await cy.call('POST', `${path}/close`)).status, 404);
    assert.deepEqual((await ana.call('POST', `${path}/close`)).json, { state: 'closed' });
    assert.equal((await ana.call('POST', `${path}/close`)).status, 200);
    const refused = await bo.send('ana', { n: 2 }, { conversation_id: thread });
    assert.equal(refused.status, 409);
    assert.equal(refused.json.code, 'THREAD_CLOSED');
    assert.match(refused.json.detail, /closed by "ana"/);
    const news = await closing(bo, thread);
    assert.deepEqual([news.sender, news.conversation_id, news.payload.body.closed_by], ['parley', thread, 'ana']);
    const { json } = await bo.call('GET', path);
    assert.deepEqual([json.state, json.closed_by, json.message_count], ['closed', 'ana', 1]);
    assert.ok(Date.parse(json.closed_at) >= Date.parse(json.created), json.closed_at);
    assert.equal(json.closes_at, undefined);
    assert.equal((await mia.call('POST', '/v1/threads/nothing/close')).status, 404);
  });

  it('is for those who take part, maintainers and admins', async () => {
    await ana.send('bo', { n: 1 }, { conversation_id: 'private' });
    assert.equal((await cy.call('GET', '/v1/threads/private')).status, 404);
    assert.equal((await cy.call('GET', '/v1/threads/nothing')).status, 404);
    assert.ok(!(await cy.call('GET', '/v1/threads')).json.threads.some((each) => each.id === 'private'));
    assert.equal((await mia.call('GET', '/v1/threads/private')).json.owner, 'ana');
    assert.equal((await broker.call('GET', '/v1/threads/private')).status, 200);
    assert.ok((await mia.call('GET', '/v1/threads?agent=bo')).json.threads.some((each) => each.id === 'private'));
    assert.equal((await ana.call('GET', '/v1/threads?state=odd')).status, 400);
    const active = (await ana.call('GET', '/v1/threads?state=active')).json;
    assert.ok(active.threads.every((each) => each.state === 'active'));
  });

  it('shows each the messages that it sent or received, and its sums to those who take part', async () => {
    const thread = 'shared';
    await cy.call('PUT', '/v1/topics/shared.news/subscription');
    const first = (await ana.send('bo', 'for bo', { conversation_id: thread })).json;
    const second = (await ana.send('cy', 'for cy', { conversation_id: thread })).json;
    const heard = (await bo.send('shared.news', 'for all', { conversation_id: thread, type: 'broadcast' })).json;
    const of = async (who) => (await who.call('GET', `/v1/threads/${thread}`)).json;
    const ids = ({ messages }) => messages.map((each) => each.id);
    await until(() => of(mia), (found) => found.messages.length === 3);
    assert.deepEqual(ids(await of(ana)), [first.id, second.id]);
    assert.deepEqual(ids(await of(bo)), [first.id, heard.id]);
    assert.deepEqual(ids(await of(cy)), [second.id, heard.id]);
    assert.deepEqual(ids(await of(mia)), [first.id, second.id, heard.id]);
    const di = await broker.addAgent('di');
    assert.equal((await di.call('GET', `/v1/threads/${thread}`)).status, 404);
    await di.call('PUT', '/v1/topics/shared.news/subscription');  // which gives it what is retained
    assert.equal((await di.read(heard.id)).status, 200);
    await broker.historyIsWhole();
    const part = await of(di);
    assert.deepEqual([part.partial, part.message_count, part.owner, part.participants], [true, 1, undefined, undefined]);
    assert.deepEqual(ids(part), [heard.id]);
  });

  it('is not entered by those who take no part, also not with an answer', async () => {
    const [eve, fay] = await Promise.all(['eve', 'fay'].map((name) => broker.addAgent(name)));
    const thread = 'between two';
    const path = `/v1/threads/${encodeURIComponent(thread)}`;
    const said = (await ana.send('bo', 'just us', { conversation_id: thread })).json;
    const before = (await ana.call('GET', path)).json;
    const asked = (await eve.send('fay', 'well?', { type: 'request' })).json;
    await fay.read(asked.id);
    const answer = await fay.send('eve', 'yes', { type: 'response', status: 'success', conversation_id: thread, metadata: { in_reply_to: asked.id } });
    assert.equal(answer.status, 202, answer.text);
    for (let n = 0; n < 25; ++n) assert.equal((await eve.send('fay', { n }, { conversation_id: thread })).status, 202);
    const seen = await eve.call('GET', path);
    assert.ok(!/ana|bo|just us/.test(seen.text), seen.text);
    assert.equal(seen.json.message_count, 26);
    assert.deepEqual((await ana.call('GET', path)).json, before);
    assert.deepEqual(before.messages.map((each) => each.id), [said.id]);
    assert.equal((await eve.call('POST', `${path}/close`)).status, 404);
    assert.ok(!(await eve.call('GET', '/v1/threads')).json.threads.some((each) => each.id === thread));
  });

  it('is not joined by who writes to those who take part, only by who is written to', async () => {
    const [ivo, joe] = await Promise.all(['ivo', 'joe'].map((name) => broker.addAgent(name)));
    const thread = 'not for ivo';
    const words = { conversation_id: thread, metadata: { correlation_id: 'nightfall' } };
    await ana.send('bo', 'just us', words);
    for (let n = 0; n < 25; ++n) assert.equal((await ivo.send('bo', { n }, { conversation_id: thread })).status, 202);
    await broker.historyIsWhole();
    const seen = await ivo.call('GET', `/v1/threads/${encodeURIComponent(thread)}`);
    assert.ok(!/"ana"|nightfall/.test(seen.text), seen.text);
    assert.deepEqual([seen.json.partial, seen.json.message_count, seen.json.participants], [true, 25, undefined]);
    const own = (await ana.call('GET', `/v1/threads/${encodeURIComponent(thread)}`)).json;
    assert.deepEqual([own.message_count, own.participants], [1, ['ana', 'bo']]);
    assert.equal((await bo.send('ana', 'it is not full', words)).status, 202);
    // Who is written to in it takes part.
    await bo.send('joe', 'join us', words);
    assert.equal((await joe.send('ana', 'here I am', words)).status, 202);
    const { json } = await joe.call('GET', `/v1/threads/${encodeURIComponent(thread)}`);
    assert.deepEqual([json.message_count, json.participants], [4, ['ana', 'bo', 'joe']]);
  });

  it('draws a thread on the command line, lists and closes it', async () => {
    const parley = async (who, ...words) => (await run(binary, [...words, '--url', broker.url, '--token', who.token])).stdout;
    const thread = 'drawn';
    const first = (await ana.send('bo', { n: 1 }, { conversation_id: thread, metadata: { correlation_id: 'plan 9' } })).json;
    const second = (await bo.send('ana', { n: 2 }, { conversation_id: thread, metadata: { in_reply_to: first.id } })).json;
    const third = (await bo.send('ana', { n: 3 }, { conversation_id: thread, metadata: { in_reply_to: second.id } })).json;
    const fourth = (await bo.send('ana', { n: 4 }, { conversation_id: thread, metadata: { in_reply_to: first.id } })).json;
    const drawn = (await parley(ana, 'thread', thread)).split('\n');
    assert.match(drawn[0], /^thread drawn: created, 4 messages, begun by ana /);
    assert.ok(drawn.includes('participants: ana, bo'));
    assert.ok(drawn.includes('correlation ids: plan 9'));
    const tree = drawn.slice(-5, -1).map((line) => line.slice(0, line.indexOf('notification')) + line.match(/[0-9a-f-]{36}/)[0]);
    assert.deepEqual(tree, [first.id, `├─ ${second.id}`, `│  └─ ${third.id}`, `└─ ${fourth.id}`]);
    assert.match(await parley(ana, 'threads', '--correlation', 'plan 9'), /^drawn +created +4 +ana /m);
    assert.match(await parley(ana, 'threads', '--agent', 'bo', '--state', 'created'), /^drawn /m);
    assert.equal(await parley(ana, 'thread', 'close', thread), 'closed thread drawn\n');
    assert.equal(await state(thread), 'closed');
    await assert.rejects(parley(ana, 'thread'), (error) => error.code === 2);
    await assert.rejects(parley(cy, 'thread', thread), (error) => error.code === 1 && /NOT_FOUND/.test(error.stderr));
  });

  it('FL-17: outlives a crash', async () => {
    const thread = 'crashed';
    await ana.send('bo', 'well?', { conversation_id: thread, type: 'request' });
    await ana.call('POST', '/v1/threads/private/close');
    await broker.kill();
    await broker.run();
    assert.equal(await state(thread), 'active');
    assert.equal(await state('private'), 'closed');
  });

  it('FL-17: is closed by itself when it is old, but not while a request is pending', async () => {
    const waiting = (await ana.send('bo', 'well?', { conversation_id: 'old-asked', type: 'request' })).json;
    await ana.send('bo', { n: 1 }, { conversation_id: 'old' });
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { thread_duration_max: '1ms' } })).status, 200);
    const news = await closing(bo, 'old');
    assert.deepEqual([news.payload.body.closed_by, news.payload.body.owner], ['system', 'ana']);
    await closing(ana, 'old');
    assert.equal(await state('old'), 'closed');
    assert.equal(await state('old-asked'), 'active');
    const refused = await ana.send('bo', { n: 2 }, { conversation_id: 'old-asked' });
    assert.match(refused.json.detail, /closes when its pending requests have ended/);
    await bo.read(waiting.id);
    assert.equal((await bo.send('ana', 'yes', { conversation_id: 'old-asked', type: 'response', status: 'success', metadata: { in_reply_to: waiting.id } })).status, 202);
    await closing(bo, 'old-asked');
    assert.equal(await state('old-asked'), 'closed');
  });

  it('FL-18: finds by correlation id what only the history knows', async () => {
    await broker.call('PATCH', '/v1/rules', { body: { thread_duration_max: '24h', threads_max: 3, share_percent: 100 } });  // one has a pending request, one is eve's
    await ana.send('bo', { n: 1 }, { conversation_id: 'first', metadata: { correlation_id: 'release' } });
    await ana.send('bo', { n: 2 }, { conversation_id: 'second', metadata: { correlation_id: 'release' } });
    const { json } = await bo.call('GET', '/v1/threads?correlation_id=release');
    assert.deepEqual(json.threads.map((each) => [each.id, each.archived ?? false]), [['second', false], ['first', true]]);
    assert.equal(json.threads[1].owner, 'ana');
    const old = (await bo.call('GET', '/v1/threads/first')).json;
    assert.deepEqual([old.archived, old.messages.length], [true, 1]);
    // One who begins another of its name gets nothing of it, and locks nobody out.
    const gil = await broker.addAgent('gil');
    await gil.send('cy', 'mine now', { conversation_id: 'first', metadata: { correlation_id: 'release' } });
    const taken = await gil.call('GET', '/v1/threads/first');
    assert.deepEqual([taken.json.owner, taken.json.messages.length], ['gil', 1]);
    assert.ok(!/ana|"bo"/.test(taken.text), taken.text);
    const kept = (await bo.send('ana', 'still ours', { conversation_id: 'first' }));
    assert.equal(kept.status, 202, kept.text);
    const ours = await until(() => ana.call('GET', '/v1/threads/first'), ({ json: { messages } }) => messages.length === 2);
    assert.ok(!/gil|mine now/.test(ours.text), ours.text);
    assert.deepEqual((await cy.call('GET', '/v1/threads?correlation_id=release')).json.threads.map((each) => each.owner), ['gil']);
    assert.ok(!/ana|"bo"/.test((await cy.call('GET', '/v1/threads/first')).text));
    assert.equal((await cy.call('GET', '/v1/threads/second')).status, 404);
  });
});

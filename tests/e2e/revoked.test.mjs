// SPDX-License-Identifier: Apache-2.0
// XD-04: a call that waits ends with the token it was made with. Whoever has the name next gets its
// own mail, and the former one nothing of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, Raw, message, tool, until } from './harness.mjs';

const ask = (agent, query) => agent.send('bo', 'which?', { type: 'request' }, query);

// Each waits for something, and is answered by an error that says why it ended.
const refused = ({ status, json }) => {
  assert.equal(status, 401);
  assert.equal(json.code, 'UNAUTHORIZED');
};
const failed = ({ text }) => {
  assert.match(text, /"isError":true/);
  assert.match(text, /UNAUTHORIZED: your token is good no more/);
};
const waits = {
  'GET /v1/inbox': [(agent) => agent.inbox('?wait=60s'), refused],
  'POST /v1/messages': [(agent) => ask(agent, '?wait=60s'), refused],
  'PUT /v1/locks': [(agent) => agent.call('PUT', '/v1/locks/held?wait=60s', { body: {} }), refused],
  'waitForMessage, one answer': [(agent) => tool(agent, 'waitForMessage', { seconds: 60 }, 'application/json'), failed],
  'waitForMessage, a stream': [
    (agent) => tool(agent, 'waitForMessage', { seconds: 60 }, 'application/json, text/event-stream'), failed],
  'request': [(agent) => tool(agent, 'request', { to: 'bo', content: 'which?', seconds: 60 }, 'application/json'), failed],
};

describe('XD-04: a token that is good no more', () => {
  let broker, bo;
  before(async () => {
    broker = await Broker.start();
    bo = await broker.addAgent('bo');
    assert.equal((await bo.call('PUT', '/v1/locks/held', { body: { lease: '10m' } })).status, 200);
  });
  after(() => broker.remove());

  const waiting = async () =>
    Number(/^parley_calls_waiting (\d+)$/m.exec((await broker.call('GET', '/metrics')).text)[1]);
  for (const [what, [wait, check]] of Object.entries(waits)) {
    it(`ends ${what} when its agent is removed`, async () => {
      const former = await broker.addAgent('ana');
      let ended = false;
      const pending = (async () => {
        const answer = await wait(former);
        ended = true;
        return answer;
      })();
      await until(waiting, (count) => count > 0);
      assert.equal(ended, false);
      assert.equal((await broker.call('DELETE', '/v1/agents/ana')).status, 200);
      const anew = await broker.addAgent('ana');
      assert.equal((await bo.send('ana', 'for the new one')).status, 202);
      const answer = await pending;
      assert.doesNotMatch(answer.text, /for the new one/);
      check(answer);
      assert.equal(await waiting(), 0);
      const { json } = await anew.inbox();
      assert.deepEqual(json.notifications.map(({ preview }) => preview), ['for the new one']);
      await broker.call('DELETE', '/v1/agents/ana');
      for (const { id } of (await bo.inbox()).json.notifications) await bo.ack(id);
    });

    it(`ends ${what} when its agent gets another token`, async () => {
      const former = await broker.addAgent('eve');
      const pending = wait(former);
      await until(waiting, (count) => count > 0);
      const again = await broker.call('POST', '/v1/agents', { body: { id: 'eve', dialect: 'flow', rotate_token: true } });
      assert.ok(again.status < 300, again.text);
      check(await pending);
      await broker.call('DELETE', '/v1/agents/eve');
      for (const { id } of (await bo.inbox()).json.notifications) await bo.ack(id);
    });
  }

  // A wait shows what there is when it ends, so it ends with the right that it began with.
  for (const [right, path, raise] of [
    ['moderator', '/v1/moderation/flags?wait=60s', () => bo.call('POST', '/v1/moderation/flags', { body: { flag: 'SECRET', summary: 'SECRET' } })],
    ['maintainer', '/v1/approvals?state=pending&wait=60s', () => bo.call('POST', '/v1/approvals', { body: { summary: 'SECRET' } })],
  ]) {
    it(`ends GET ${path} when the right ${right} is taken`, async () => {
      const rights = (all) => broker.call('POST', '/v1/humans', { body: { name: 'tim', rights: all } });
      const { json: { token } } = await rights([right]);
      const pending = broker.call('GET', path, { token });
      await until(waiting, (count) => count > 0);
      await rights([]);
      assert.ok((await raise()).status < 300);
      const answer = await pending;
      refused(answer);
      assert.doesNotMatch(answer.text, /SECRET/);
      await broker.call('DELETE', '/v1/agents/human:tim');
    });
  }

  // The answer is in line behind another's on the connection, so what becomes of it is known late:
  // when the name is another's, which has the message by a reading of its own.
  for (const [what, end] of Object.entries({
    written: async (raw) => { await bo.call('DELETE', '/v1/locks/line'); await raw.response(); await raw.response(); },
    lost: async (raw) => { raw.socket.destroy(); await until(waiting, (count) => count === 0); },
  })) {
    it(`settles nothing for the next one of the name when its answer is ${what}`, async () => {
      const former = await broker.addAgent('ana');
      const cy = await broker.addAgent('cy');
      assert.equal((await bo.call('PUT', '/v1/locks/line', { body: { lease: '10m' } })).status, 200);
      const question = message('ana', 'bo', 'which?', { type: 'request' });
      const head = (token, method, path, body) => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`
        + `Authorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const raw = await Raw.connect(broker.url);
      await raw.send(head(cy.token, 'PUT', '/v1/locks/line?wait=100s', '')
        + head(former.token, 'POST', '/v1/messages?wait=100s', JSON.stringify(question)));
      await until(() => bo.inbox('?wait=10s'), ({ json }) => json.notifications.some(({ id }) => id === question.id));
      await bo.read(question.id);
      const { json: { id } } = await bo.send('ana', 'this', { type: 'response', status: 'success', metadata: { in_reply_to: question.id } });
      const state = async () => (await bo.delivery(id)).json.deliveries[0].state;
      await until(state, (found) => found === 'read');
      await broker.call('DELETE', '/v1/agents/ana');
      const anew = await broker.addAgent('ana');
      const { json: { dead_letters: letters } } = await broker.call('GET', '/v1/dead-letters');
      const letter = letters.find(({ message_id, resolution }) => message_id === id && !resolution) ?? letters[0];
      assert.equal((await broker.call('POST', `/v1/dead-letters/${letter.id}/retry`)).status, 200);
      assert.equal((await anew.read(id)).status, 200);
      await end(raw);
      assert.equal((await anew.call('POST', '/v1/agents/ana/heartbeat', { body: {} })).status, 200);
      assert.equal(await state(), 'read');
      assert.equal((await anew.ack(id)).status, 200);
      raw.end();
      for (const name of ['ana', 'cy']) await broker.call('DELETE', `/v1/agents/${name}`);
      await bo.call('DELETE', '/v1/locks/line');
    });
  }

  it('is followed by a new one when the agent is removed and registered in one go', async () => {
    await broker.addAgent('dee');
    const head = (method, path, body) => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`
      + `Authorization: Bearer ${broker.admin}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const raw = await Raw.connect(broker.url);
    await raw.send(head('DELETE', '/v1/agents/dee', '') + head('POST', '/v1/agents', JSON.stringify({ id: 'dee', dialect: 'flow' })));
    assert.equal((await raw.response()).status, 200);
    const { status, json } = await raw.response();
    assert.equal(status, 201, JSON.stringify(json));
    assert.equal((await broker.call('GET', '/v1/inbox', { token: json.token })).status, 200);
    raw.end();
  });
});

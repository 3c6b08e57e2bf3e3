// SPDX-License-Identifier: Apache-2.0
// XD-04: a call that waits ends with the token it was made with. Whoever has the name next gets its
// own mail, and the former one nothing of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, tool, until } from './harness.mjs';

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
});

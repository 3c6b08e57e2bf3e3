// SPDX-License-Identifier: Apache-2.0
// What a route does not take is refused everywhere: a typing error must not change what is done.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker, Raw, frame, message } from './harness.mjs';

describe('a request', () => {
  let broker, ana, operations;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana');
    const api = (await broker.call('GET', '/openapi.json')).json;
    const resolve = (node) => (node?.$ref ? node.$ref.slice(2).split('/').reduce((at, step) => at[step], api) : node);
    operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, '7'),
      parameters: (operation.parameters ?? []).map(resolve).filter((p) => p.in === 'query').map((p) => p.name),
      body: resolve(operation.requestBody?.content['application/json'].schema),
    })));
    assert.ok(operations.length > 50);
  });
  after(() => broker.remove());

  // As an admin, who may use every route.
  async function refused(operation, { query = '', body }, field) {
    const answer = await broker.call(operation.method, operation.path + query, { body });
    const what = `${operation.name}${query} ${body ?? ''}: ${answer.text}`;
    assert.equal(answer.status, 400, what);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json', what);
    assert.equal(answer.json.code, 'BAD_REQUEST', what);
    assert.equal(answer.json.field, field, what);
    return answer.json.detail;
  }

  it('with a parameter that its route does not have is refused', async () => {
    for (const operation of operations) {
      const detail = await refused(operation, { query: '?unheard_of=1' }, 'unheard_of');
      const [first] = operation.parameters;
      assert.match(detail, first ? /the nearest is "/ : /takes none/, operation.name);
      if (first) assert.match(await refused(operation, { query: `?${first}x=1` }, `${first}x`), new RegExp(`"${first}"`));
    }
  });

  it('with a parameter that is not well formed, or there twice, is refused', async () => {
    for (const operation of operations) {
      for (const name of operation.parameters) {
        await refused(operation, { query: `?${name}=%zz` }, name);
        await refused(operation, { query: `?${name}=%ff` }, name);
      }
    }
    const threads = operations.find(({ name }) => name === 'GET /v1/threads');
    await refused(threads, { query: '?agent=a&agent=a' }, 'agent');
  });

  it('with a member that its route does not have is refused', async () => {
    for (const operation of operations.filter(({ method, body }) => method !== 'GET' && (!body || body.additionalProperties === false))) {
      if (operation.path === '/mcp') continue;
      const [first] = Object.keys(operation.body?.properties ?? {});
      const detail = await refused(operation, { body: { [`${first ?? 'reason'}x`]: 1 } }, `/${first ?? 'reason'}x`);
      assert.match(detail, first ? new RegExp(`the nearest is "${first}"`) : /takes no body/, operation.name);
    }
  });

  it('over a WebSocket with a member that its operation does not have is refused, and does nothing', async () => {
    const bo = await broker.addAgent('bo');
    const { id, seq } = (await ana.send('bo', { n: 1 })).json;
    const raw = await Raw.connect(broker.url);
    assert.equal((await raw.upgrade('/v1/ws?window=0', bo.token)).status, 101);
    const answer = async (operation) => {
      await raw.send(frame(JSON.stringify(operation)));
      return JSON.parse((await raw.frame()).payload);
    };
    for (const [operation, wrong, nearest] of [
      [{ op: 'send', message: message('bo', 'ana', {}) }, 'on_unavailabel', 'on_unavailable'],
      [{ op: 'send', message: message('bo', 'ana', {}) }, 'idempotencyKey', 'idempotency_key'],
      [{ op: 'ack', seq }, 'up_to', 'upto'],
      [{ op: 'ack', seq }, 'reason', 'ref'],
      [{ op: 'nack', id }, 'retryafter', 'retry_after'],
      [{ op: 'reject', id }, 'reasons', 'reason'],
      [{ op: 'extend', seq }, 'leese', 'lease'],
      [{ op: 'subscribe' }, 'topics', 'topic'],
      [{ op: 'unsubscribe', topic: 'a.b' }, 'Topic', 'topic'],
      [{ op: 'heartbeat' }, 'current_task', 'currentTask'],
    ]) {
      const { ref, ok, error } = await answer({ ...operation, [wrong]: 'x', ref: wrong });
      const what = `${JSON.stringify(operation)}: ${JSON.stringify(error)}`;
      assert.deepEqual([ref, ok, error?.code, error?.field], [wrong, false, 'BAD_REQUEST', `/${wrong}`], what);
      assert.equal(error.detail, `there is no member "${wrong}" here; the nearest is "${nearest}"`);
    }
    // What names a message must be what it is, and one of the two.
    for (const [named, field] of [
      [{ seq: String(seq), id }, '/seq'], [{ seq: -1, id }, '/seq'], [{ seq: null, id }, '/seq'], [{ seq: [] }, '/seq'],
      [{ seq, id }, '/seq'], [{ seq, id: 5 }, '/id'], [{ id: 5 }, '/id'],
    ]) {
      for (const op of ['ack', 'nack', 'reject', 'extend']) {
        const { ok, error } = await answer({ op, ...named, ref: 1 });
        const what = `${op} ${JSON.stringify(named)}: ${JSON.stringify(error)}`;
        assert.deepEqual([ok, error?.code, error?.field], [false, 'BAD_REQUEST', field], what);
      }
    }
    // In an array the others are done.
    assert.equal((await answer([{ op: 'ack', seq, sek: 1 }, { op: 'heartbeat', ref: 2 }])).error.field, '/sek');
    const { ref, ok } = JSON.parse((await raw.frame()).payload);
    assert.deepEqual([ref, ok], [2, true]);
    assert.equal((await bo.inbox()).json.count, 1, 'nothing was settled');
    assert.equal((await ana.inbox()).json.count, 0, 'nothing was sent');
    raw.end();
  });

  it('that names a fence badly does not release the lock', async () => {
    const { fence } = (await ana.call('PUT', '/v1/locks/kept', { body: {} })).json;
    for (const query of ['?fence=%zz', '?fense=1', `?fence=${fence}&fence=${fence}`]) {
      assert.equal((await ana.call('DELETE', `/v1/locks/kept${query}`)).status, 400, query);
    }
    assert.equal((await ana.call('GET', '/v1/locks')).json.locks[0].fence, fence);
    assert.equal((await ana.call('DELETE', `/v1/locks/kept?fence=${fence}`)).status, 200);
  });
});

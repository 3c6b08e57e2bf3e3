// SPDX-License-Identifier: Apache-2.0
// An agent gives itself nothing that others go by, and takes nothing of the broker's or of another's.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, message, Raw } from './harness.mjs';

describe('standing', () => {
  let broker, ana, eve;
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana', { dialect: 'collab', role: 'worker', capabilities: ['review'] });
    eve = await broker.addAgent('eve', { dialect: 'collab', role: 'worker' });
  });
  after(() => broker.remove());

  const shown = async (id) => (await broker.call('GET', `/v1/agents/${id}`)).json;
  const parley = async (...args) =>
    (await promisify(execFile)(binary, args, { env: { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: broker.admin } })).stdout;

  it('capabilities of an agent\'s own are claims', async () => {
    const { status } = await eve.call('POST', '/v1/agents', { body: { id: 'eve', capabilities: ['review'] } });
    assert.equal(status, 200);
    assert.deepEqual([(await shown('eve')).capabilities, (await shown('eve')).claimed_capabilities], [[], ['review']]);
    assert.match(await parley('agent', 'show', 'eve', '--json'), /"claimed_capabilities":\s*\[\s*"review"\s*\]/);
    const { json } = await broker.call('GET', '/v1/agents?capability=review');
    assert.deepEqual(json.agents.map(({ id }) => id), ['ana']);
    // A change of something else leaves them as they are.
    await eve.call('POST', '/v1/agents', { body: { id: 'eve', name: 'Eve' } });
    assert.deepEqual((await shown('eve')).claimed_capabilities, ['review']);
    await ana.call('POST', '/v1/agents', { body: { id: 'ana', name: 'Ana' } });
    assert.deepEqual((await shown('ana')).capabilities, ['review']);
    await broker.call('POST', '/v1/agents', { body: { id: 'eve', capabilities: ['review'] } });
    assert.deepEqual([(await shown('eve')).capabilities, (await shown('eve')).claimed_capabilities], [['review'], undefined]);
  });

  it('the dialect and the role are an admin\'s to change', async () => {
    for (const body of [{ dialect: 'flow', role: '' }, { dialect: 'inbox', role: 'director' }, { role: 'coordinator' }]) {
      const { status, json } = await eve.call('POST', '/v1/agents', { body: { id: 'eve', ...body } });
      assert.equal(status, 403);
      assert.match(json.detail, /only an admin can change/);
    }
    assert.equal((await broker.call('POST', '/v1/agents', { body: { id: 'eve', dialect: 'flow', role: '' } })).status, 200);
    assert.equal((await shown('eve')).dialect, 'flow');
  });

  it('names that people would take for another\'s are refused', async () => {
    for (const id of ['PARLEY', 'system', 'Аdmin', 'Human:ann', 'an\u200ba', 'ｓｙｓｔｅｍ']) {
      assert.equal((await broker.call('POST', '/v1/agents', { body: { id } })).status, 400, id);
    }
    assert.equal((await broker.call('POST', '/v1/agents', { body: { id: 'аna' } })).status, 409);
    for (const id of ['规划者', 'مخطط', 'Zoë']) await broker.addAgent(id);
  });

  it('nobody holds the lock of another\'s parley run', async () => {
    const bo = await broker.addAgent('bo');
    const { status, json } = await eve.call('PUT', '/v1/locks/!run:bo', { body: {} });
    assert.equal(status, 403);
    assert.match(json.detail, /begin with !/);
    assert.equal((await eve.call('PUT', '/v1/locks/!x', { body: {} })).status, 403);
    await ana.call('POST', '/v1/agents', { body: { id: 'ana' } });
    const run = spawn(binary, ['run', '--agent', 'bo', '--url', broker.url, '--once', '--', 'true'],
      { env: { ...process.env, PARLEY_TOKEN: bo.token, PARLEY_DATA: broker.data }, stdio: 'ignore' });
    const ended = once(run, 'exit');
    const flo = await broker.addAgent('flo');
    assert.equal((await flo.send('bo', 'go')).status, 202);
    assert.deepEqual(await ended, [0, null]);
  });
});

describe('bytes of one agent', () => {
  let broker, ana;
  before(async () => {
    broker = await Broker.start({ flags: ['--set', 'guard.bytes_per_min=1MB', '--set', 'flow.rate.agent_out_per_min=0', '--set', 'flow.rate.pair_per_min=0'] });
    ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
  });
  after(() => broker.remove());

  it('are counted, shown and bounded, also for one that waits for no answer', async () => {
    const body = 'x'.repeat(100_000);
    const budget = async () => (await broker.call('GET', '/v1/agents/ana')).json.budget;
    assert.equal((await ana.send('bo', body)).status, 202);
    assert.ok((await budget()).bytes > 100_000);
    assert.equal((await budget()).bytes_max, 4 * 1024 ** 3);
    const raw = await Raw.connect(broker.url);
    const [first, later] = [20, 80];
    const request = () => {
      const text = JSON.stringify(message('ana', 'bo', body));
      return `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ana.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    };
    // What is on its way when the limit is reached may be written; nothing that comes then is.
    const statuses = async (count) => {
      raw.send(Array.from({ length: count }, request).join(''));
      const answers = [];
      for (let n = 0; n < count; ++n) answers.push(await raw.response());
      for (const { status, json } of answers.filter((each) => each.status !== 202)) {
        assert.deepEqual([status, json.code], [429, 'BUDGET_EXCEEDED']);
        assert.match(json.detail, /guard\.bytes_per_min/);
      }
      return answers.map(({ status }) => status);
    };
    assert.ok((await statuses(first)).includes(429));
    assert.ok((await statuses(later)).every((status) => status === 429));
    raw.end();
    const { text } = await broker.call('GET', '/metrics');
    const written = Number(/^parley_journal_written_bytes_total (\S+)$/m.exec(text)[1]);
    assert.ok(written < (first + 2) * body.length, `${written} bytes were written`);
    // What frees something passes, and an admin lets it go on.
    assert.equal((await ana.inbox()).status, 200);
    assert.equal((await ana.send('bo', 'x')).status, 429);
    assert.equal((await broker.call('POST', '/v1/agents/ana/reset')).status, 200);
    assert.equal((await ana.send('bo', 'x')).status, 202);
  });
});

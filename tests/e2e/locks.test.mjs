// SPDX-License-Identifier: Apache-2.0
// CO-09: named locks: one owner, a lease, a line, one order; over a crash as well.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Agent, binary, Broker, Raw, until } from './harness.mjs';

const run = promisify(execFile);

describe('locks', () => {
  let broker, ana, bo, cy;
  const tokens = {};
  const meet = () => { [ana, bo, cy] = ['ana', 'bo', 'cy'].map((name) => new Agent(broker, name, tokens[name])); };
  before(async () => {
    broker = await Broker.start();
    for (const name of ['ana', 'bo', 'cy']) tokens[name] = (await broker.addAgent(name)).token;
    meet();
  });
  after(() => broker.remove());

  const take = (who, name, { lease, wait } = {}) => who.call('PUT', `/v1/locks/${name}${wait ? `?wait=${wait}` : ''}`, { body: { lease } });
  const release = (who, name, query = '') => who.call('DELETE', `/v1/locks/${name}${query}`);
  const locks = async () => Object.fromEntries((await ana.call('GET', '/v1/locks')).json.locks.map((lock) => [lock.name, lock]));
  // Polls until so many wait in line.
  async function inLine(name, count) {
    await until(locks, (all) => all[name]?.waiting.length === count);
  }

  it('CO-09: has one owner, whom others are told of, and is renewed by it', async () => {
    const first = await take(ana, 'build', { lease: '30s' });
    assert.equal(first.status, 200, first.text);
    assert.deepEqual([first.json.name, first.json.owner], ['build', 'ana']);
    const refused = await take(bo, 'build');
    assert.deepEqual([refused.status, refused.json.code, refused.json.owner, refused.json.ends_at], [409, 'LOCK_HELD', 'ana', first.json.ends_at]);
    assert.ok(refused.json.retry_after);
    const renewed = await take(ana, 'build', { lease: '50s' });
    assert.equal(renewed.json.fence, first.json.fence);
    assert.ok(renewed.json.ends_at > first.json.ends_at);
    assert.equal((await release(bo, 'build')).json.code, 'FORBIDDEN');
    assert.equal((await release(ana, 'build', `?fence=${first.json.fence - 1}`)).json.code, 'CONFLICT');
    assert.equal((await release(ana, 'build', `?fence=${first.json.fence}`)).status, 200);
    assert.equal((await release(ana, 'build')).json.code, 'NOT_FOUND');
    const second = await take(bo, 'build');
    assert.ok(second.json.fence > first.json.fence);
    assert.equal(Date.parse(second.json.ends_at) - Date.parse(second.json.since), 60e3);
    await release(bo, 'build');
    for (const [body, code] of [[{ lease: 'long' }, 'BAD_REQUEST'], [{ lease: '2h' }, 'BAD_REQUEST'], ['[]', 'BAD_REQUEST']]) {
      assert.equal((await ana.call('PUT', '/v1/locks/build', { body })).json.code, code);
    }
    assert.equal((await take(ana, 'build', { wait: '11m' })).json.code, 'BAD_REQUEST');
  });

  it('CO-09: is refused out of order, with the order', async () => {
    await take(ana, 'm');
    const refused = await take(ana, 'b');
    assert.deepEqual([refused.status, refused.json.code], [409, 'LOCK_ORDER']);
    assert.match(refused.json.detail, /you hold "m", and "b" comes before "m"/);
    assert.equal((await take(ana, 'n')).status, 200);
    await release(ana, 'm');
    await release(ana, 'n');
  });

  it('CO-09: is passed on in line, and at the end of a lease', async () => {
    await take(ana, 'deploy');
    const second = take(bo, 'deploy', { lease: '300ms', wait: '60s' });
    await inLine('deploy', 1);
    const third = take(cy, 'deploy', { wait: '60s' });
    await inLine('deploy', 2);
    assert.deepEqual((await locks()).deploy.waiting.map(({ agent }) => agent), ['bo', 'cy']);
    assert.equal((await take(bo, 'zed')).json.code, 'LOCK_ORDER');
    await release(ana, 'deploy');
    const bos = await second;
    assert.deepEqual([bos.status, bos.json.owner], [200, 'bo']);
    const cys = await third;  // after the lease of bo
    assert.deepEqual([cys.status, cys.json.owner], [200, 'cy']);
    assert.ok(cys.json.fence > bos.json.fence);
    // One who waits in vain is told who has it.
    const vain = await take(ana, 'deploy', { wait: '200ms' });
    assert.deepEqual([vain.status, vain.json.code, vain.json.owner], [409, 'LOCK_HELD', 'cy']);
    await release(cy, 'deploy');
  });

  it('CO-09: is not for one who hung up', async () => {
    await take(ana, 'line');
    const raw = await Raw.connect(broker.url);
    await raw.send(`PUT /v1/locks/line?wait=60s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bo.token}\r\nContent-Length: 0\r\n\r\n`);
    await inLine('line', 1);
    const third = take(cy, 'line', { wait: '60s' });
    await inLine('line', 2);
    raw.socket.destroy();
    await inLine('line', 1);
    await release(ana, 'line');
    assert.equal((await third).json.owner, 'cy');
    await release(cy, 'line');
  });

  it('CO-09: says what was wrong with a call, and when to ask again', async () => {
    for (const body of [{ lease: '0s' }, { leese: '5s' }, { lease: 5 }]) {
      const wrong = await ana.call('PUT', '/v1/locks/wrong', { body });
      assert.deepEqual([wrong.status, wrong.json.code], [400, 'BAD_REQUEST'], JSON.stringify(body));
    }
    await take(ana, 'wrong', { lease: '60s' });
    assert.equal((await release(ana, 'wrong', '?fence=0')).json.code, 'BAD_REQUEST');
    assert.deepEqual(await release(bo, 'wrong').then(({ status, json }) => [status, json.code]), [403, 'FORBIDDEN']);
    const late = await take(bo, 'wrong', { wait: '50ms' });
    assert.deepEqual([late.status, late.json.code, late.json.owner], [409, 'LOCK_HELD', 'ana']);
    assert.match(late.json.retry_after, /^\d/);
    assert.equal((await release(ana, 'wrong')).status, 200);
  });

  it('CO-09: goes with its owner', async () => {
    const gone = await broker.addAgent('gone');
    await take(gone, 'mine');
    const next = take(bo, 'mine', { wait: '60s' });
    await inLine('mine', 1);
    assert.equal((await broker.call('DELETE', '/v1/agents/gone')).status, 200);
    assert.equal((await next).json.owner, 'bo');
    assert.equal((await broker.call('DELETE', '/v1/locks/mine')).status, 200);
  });

  it('CO-09: never has two owners, however many want it', async () => {
    let inside = 0;
    let fence = 0;
    await Promise.all([ana, bo, cy].map(async (who) => {
      for (let n = 0; n < 10; ++n) {
        const taken = await take(who, 'critical', { wait: '60s' });
        assert.equal(taken.status, 200, taken.text);
        assert.equal(++inside, 1);
        assert.ok(taken.json.fence > fence);
        fence = taken.json.fence;
        await who.call('GET', '/v1/health');
        --inside;
        assert.equal((await release(who, 'critical')).status, 200);
      }
    }));
  });

  it('CO-09: is held over SIGKILL; who waited asks again', async () => {
    const held = await take(ana, 'kept', { lease: '10m' });
    const waiting = take(bo, 'kept', { wait: '60s' }).catch(() => 'gone');
    await inLine('kept', 1);
    await broker.kill();
    assert.equal(await waiting, 'gone');
    await broker.run();
    meet();
    const { kept } = await locks();
    assert.deepEqual([kept.owner, kept.fence, kept.ends_at, kept.waiting], ['ana', held.json.fence, held.json.ends_at, []]);
    assert.equal((await take(bo, 'kept')).json.code, 'LOCK_HELD');
    assert.equal((await release(ana, 'kept', `?fence=${held.json.fence}`)).status, 200);
  });

  it('CO-09: has a command line', async () => {
    const cli = async (who, ...words) => (await run(binary, [...words, '--url', broker.url, '--token', who.token])).stdout;
    const fence = (await cli(ana, 'lock', 'take', 'shell', '--lease', '30s', '--wait', '1s')).trim();
    assert.match(fence, /^\d+$/);
    assert.match(await cli(bo, 'lock', 'list'), new RegExp(`shell +ana +${fence}`));
    await assert.rejects(cli(bo, 'lock', 'take', 'shell'), /LOCK_HELD/);
    assert.equal(await cli(ana, 'lock', 'release', 'shell', '--fence', fence), 'released shell\n');
  });
});

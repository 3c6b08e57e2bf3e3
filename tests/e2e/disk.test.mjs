// SPDX-License-Identifier: Apache-2.0
// A disk that is nearly full, and one that is full: on a small file system of its own, which only root
// can mount.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { openSync, writeSync, closeSync } from 'node:fs';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Broker, until } from './harness.mjs';

const megabyte = 1024 * 1024;
const disk = await mkdtemp(join(tmpdir(), 'parley-disk-'));
let skip = false;
try {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=320m,mode=0700', 'parley-e2e', disk], { stdio: 'pipe' });
} catch (error) {
  skip = `NOT TESTED: a small disk cannot be mounted here: ${String(error.stderr ?? error).trim()}`;
  console.error(skip);
}

// Takes all that is left of the disk, or all but some bytes.
function fill(path) {
  const file = openSync(path, 'w');
  try {
    for (const piece of [megabyte, 4096, 1]) {
      const bytes = Buffer.alloc(piece, 1);
      try { for (;;) writeSync(file, bytes); } catch (error) { assert.equal(error.code, 'ENOSPC'); }
    }
  } finally {
    closeSync(file);
  }
}

describe('a full disk', { skip }, () => {
  let broker, ana, bo;
  const flags = ['--set', 'disk.reserve=64MB'];
  before(async () => {
    broker = await Broker.start({
      data: join(disk, 'data'), flags,
      raise: Object.fromEntries(['flow.rate.agent_in_per_min', 'flow.rate.agent_out_per_min', 'flow.rate.pair_per_min', 'guard.bytes_per_min']
        .map((rule) => [rule, [0, 'the disk is filled on purpose']])),
    });
    ana = await broker.addAgent('ana');
    bo = await broker.addAgent('bo');
  });
  after(async () => {
    if (broker) await broker.remove();
    execFileSync('umount', [disk]);
    await rm(disk, { recursive: true, force: true });
  });

  const health = async () => (await broker.call('GET', '/v1/health')).json;
  const metric = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await broker.call('GET', '/metrics')).text)[1]);
  const body = 'x'.repeat(megabyte - 4096);

  it('nothing new is taken before it is full, and health says so', async () => {
    const refused = await until(() => ana.send('bo', body), ({ status }) => status !== 202);
    assert.deepEqual([refused.status, refused.json.code], [507, 'STORAGE_FULL']);
    assert.match(refused.json.detail, /disk\.reserve/);
    const { status, disk_trouble } = await health();
    assert.equal(status, 'degraded');
    assert.match(disk_trouble, /nearly full/);
    assert.equal((await broker.call('GET', '/readyz', { token: null })).status, 507);
    // Of the reserve the history may have taken a part.
    assert.ok(await metric('parley_disk_free_bytes') > 4 * megabyte);
    assert.equal(await metric('parley_disk_reserve_bytes'), 64 * megabyte);
    // Others of the broker's agents are told the same.
    assert.equal((await bo.send('ana', 'hi')).json.code, 'STORAGE_FULL');
  });

  it('it starts again on what others have filled to the last byte, and says so', async () => {
    await broker.kill();
    fill(join(disk, 'junk'));
    broker.stderr = '';
    await broker.run(flags);
    assert.match(broker.stderr, /is full/);
    assert.match(broker.stderr, /kept for a start is used now/);
    assert.equal((await health()).status, 'degraded');
    assert.equal((await bo.inbox('?limit=1')).status, 200);
    await rm(join(disk, 'junk'));
  });

  it('what waits is settled, its space comes back, and messages are taken again', async () => {
    await until(async () => {
      const { json } = await bo.inbox('?limit=50');
      for (const { id } of json.notifications) {
        assert.equal((await bo.read(id)).status, 200);
        assert.equal((await bo.ack(id)).status, 200);
      }
      return json.notifications.length;
    }, (left) => left === 0);
    await until(async () => (await broker.call('GET', '/readyz', { token: null })).status, (status) => status === 200);
    assert.equal((await ana.send('bo', 'again')).status, 202);
    assert.equal((await health()).disk_trouble, undefined);
  });

  it('what is kept for a start is made again, without another start', async () => {
    await until(() => access(join(broker.data, 'reserve')).then(() => true, () => false));
  });
});

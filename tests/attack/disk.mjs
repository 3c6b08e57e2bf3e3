// SPDX-License-Identifier: Apache-2.0
// Attacks on the disk: 12 of the issue.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { megabyte, told } from './ground.mjs';

const run = promisify(execFile);
const body = 'x'.repeat(1_000_000);
const large = () => ({ type: 'notification', priority: 'critical', receiver: 'eve', payload: { content_type: 'text', body } });

// How much one agent may write in all: it must be refused at some point, by a quota that has a name.
async function diskBytes(g) {
  await g.start();
  const eve = await g.agent('eve');
  const rules = (await g.broker.call('GET', '/v1/rules')).json;
  const quotas = rules.rules.map(({ name, value }) => [name, value]).filter(([name]) => /bytes_per_(day|hour|min)|disk/.test(name));
  g.note(`quotas: ${quotas.map(([name, value]) => `${name} ${value}`).join(', ') || 'none'}`);
  await g.warm();
  const before = (await statfs(g.broker.data)).bavail;
  let found;
  await g.during(async () => {
    found = await g.flood(eve, g.many, large, { batch: 1, parallel: 4, seconds: g.short ? 5 : 60 });
  });
  const after = await statfs(g.broker.data);
  g.note(`${told(found)}; ${Math.round((before - after.bavail) * after.bsize / megabyte)} MB of disk in ${(g.took / 1000).toFixed(1)} s`);
  if (found.refused === 0 && quotas.length === 0) g.loses(`the disk: ${found.accepted} MB of one agent, and nothing bounds it`);
  // The quota does what it says, without a gigabyte for the proof.
  const [name] = quotas.find(([each]) => /bytes_per_day/.test(each)) ?? [];
  if (name) {
    const set = await g.broker.call('PATCH', '/v1/rules', { body: { [name]: String(32 * megabyte) } });
    if (set.status !== 200) g.loses(`${name} cannot be set: ${set.json?.code ?? set.status}`);
    const ivy = await g.agent('ivy');
    const bound = await g.flood(ivy, 64, () => ({ ...large(), receiver: 'ivy' }), { batch: 1, parallel: 4 });
    g.note(`with ${name} 32 MB: ${told(bound)}`);
    if (bound.accepted > 40) g.loses(`the disk: ${bound.accepted} MB though ${name} is 32 MB`);
  }
}

// A small disk is filled. What was acknowledged stays, health says it, and the broker starts again.
async function diskFull(g) {
  const data = await mkdtemp(join(tmpdir(), 'parley-attack-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=224m,mode=700', 'parley-attack', data]);
  } catch (error) {
    await rm(data, { recursive: true });
    g.skip = `no right to mount a small disk: ${String(error.stderr ?? error).trim()}`;
    return;
  }
  // Also when the attack was not over in time.
  g.afterwards = async () => {
    await run('umount', ['-l', data]).catch(() => {});
    await rm(data, { recursive: true, force: true });
  };
  await g.start({ data });
  const [ana, bo, eve] = await g.agents('ana', 'bo', 'eve');
  const kept = [];
  for (let n = 0; n < 20; ++n) kept.push((await ana.send('bo', `before ${n}`)).json.id);
  await g.during(async () => {
    for (let round = 0; round < 3; ++round) {
      g.note(told(await g.flood(eve, 150, large, { batch: 1, parallel: 4, seconds: 10 })));
    }
    // Small ones fill what the large ones left.
    g.note(`small: ${told(await g.flood(eve, 2_000, () => ({ ...large(), payload: { content_type: 'text', body: 'x'.repeat(4_000) } }), { batch: 100, seconds: 5 }))}`);
  });
  const free = await statfs(data);
  g.note(`${Math.round(free.bavail * free.bsize / 1024)} KB free`);
  const sent = await ana.send('bo', 'after');
  g.note(`ana's next message: ${sent.json?.code ?? sent.status}`);
  if (sent.status === 202) kept.push(sent.json.id);
  const health = await g.broker.call('GET', '/v1/health');
  const readyz = await fetch(`${g.broker.url}/readyz`);
  g.note(`health ${health.json?.status}, readyz ${readyz.status}`);
  if (health.json?.status === 'healthy') g.loses('the truth: health says healthy on a full disk');
  // A disk that is smaller than one agent's quotas is full for all: she is told so, and what waits can be settled.
  if (sent.status !== 202 && sent.json?.code !== 'STORAGE_FULL') g.loses(`ana cannot send: ${sent.json?.code ?? sent.status}`);
  await bo.read(kept[0]);
  const settled = await bo.ack(kept.shift());
  if (settled.status !== 200) g.loses(`bo cannot settle what waits: ${settled.json?.code ?? settled.status}`);
  const stopped = await g.broker.stop();
  g.note(`stopped with ${stopped.code ?? stopped.signal}`);
  try {
    g.broker.stderr = '';
    await g.broker.run();
    const { json } = await bo.inbox('?limit=1');
    if (json.count < kept.length) g.loses(`${kept.length - json.count} of ${kept.length} acknowledged messages`);
    for (const id of kept) if ((await bo.read(id)).status !== 200) { g.loses(`acknowledged message ${id}`); break; }
  } catch (error) {
    g.loses(`the broker does not start again: ${error.message.trim().split('\n').at(-1).slice(0, 160)}`);
  }
}

export const disk = [
  { name: 'disk_bytes', issue: '12', does: 'one agent writes {} messages of 1 MB', many: [200, 600], run: diskBytes, own: true },
  { name: 'disk_full', issue: '12', does: 'one agent fills a disk of 224 MB; the broker starts again', run: diskFull, own: true },
];

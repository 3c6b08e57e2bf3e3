// SPDX-License-Identifier: Apache-2.0
// A hundred attackers of all kinds at once, for five minutes at length. Two others go on with their work: what was
// acknowledged to them arrives, and a bystander hardly notices.
import { megabyte, published, request, sending, sleep } from './ground.mjs';

const count = 100;
const p99_max_ms = 20;
const sent_max = 500;  // of ana; the inbox of bo has room for more
const text = (body) => ({ content_type: 'text', body });

// Each is one greedy act, done again and again.
const kinds = {
  publishes: (g, eve, n) => g.flood(eve, 500, (at) => published(`noise.t${n * 500 + at}`, { conversation_id: `c-${n}-${at}` }), { parallel: 1 }),
  unknown: (g, eve, n) => g.flood(eve, 10, (at) => ({ type: 'notification', priority: 'critical', receiver: `nobody-${n}-${at}`, payload: text('x') }), { parallel: 1 }),
  escalates: (g, eve) => g.flood(eve, 100, () => ({ type: 'request', priority: 'critical', receiver: eve.id, response_timeout: '1ms', on_timeout: 'escalate', metadata: { ttl: '1s' }, payload: text('x') }), { parallel: 1 }),
  writes: (g, eve) => g.flood(eve, 4, () => ({ type: 'notification', priority: 'critical', receiver: eve.id, metadata: { ttl: '10s' }, payload: text('x'.repeat(megabyte / 2)) }), { batch: 1, parallel: 1 }),
  lists: (g, eve) => pipelined(g, request(eve, 'GET', '/v1/inbox?limit=1000').repeat(40)),
  history: (g, eve) => pipelined(g, request(eve, 'GET', '/v1/messages?limit=500').repeat(4)),
  threads: (g, eve) => pipelined(g, request(eve, 'GET', '/v1/threads?state=active&limit=1').repeat(500)),
  waits: (g, eve) => pipelined(g, request(eve, 'GET', '/v1/inbox?wait=1s&limit=1').repeat(1024)),
  strangers: (g) => pipelined(g, 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(50), { read: false }),
  comes_and_goes: async (g) => { for (const socket of await g.sockets(20)) socket.destroy(); },
};

async function pipelined(g, bytes, options) {
  const socket = await g.socket(options);
  socket.write(bytes);
  await sleep(1_500);
  socket.destroy();
}

async function crowd(g) {
  const [ana, bo] = [await g.agent('ana', { dialect: 'inbox', role: 'director' }), await g.agent('bo', { dialect: 'inbox', role: 'specialist' })];
  const eves = [];
  for (let n = 0; n < count; ++n) eves.push(await (n % 2 ? g.agent(`eve-${n}`) : g.greedy(`eve-${n}`)));
  const acts = Object.values(kinds);
  const end = Date.now() + g.seconds * 1000;
  let work;
  await g.during(async () => {
    const attackers = eves.map(async (eve, n) => {
      while (Date.now() < end) {
        await acts[n % acts.length](g, eve, n).catch(() => {});
        await sleep(1);
      }
    });
    const sender = sending(ana, bo, Math.max(50, g.seconds * 1000 / sent_max));
    await Promise.all(attackers);
    work = await sender.end();
  });
  const { json } = await bo.inbox('?limit=1');
  if (json.count !== work.sent) g.loses(`${work.sent - json.count} of ${work.sent} acknowledged messages`);
  if (work.refused > 0) g.loses(`${work.refused} messages of ana were refused`);
  if (g.p99 - g.control.p99 >= p99_max_ms) g.loses(`the bystander's p99: ${g.p99.toFixed(1)} ms, where another waited ${g.control.p99.toFixed(1)} ms`);
  g.note(`${count} attackers for ${g.seconds} s, ${Object.keys(kinds).join(', ')}; ana sent ${work.sent}, each in ${work.middle.toFixed(1)} ms, p99 ${work.p99.toFixed(1)} ms; in all ${Math.round(g.grown / megabyte)} MB`);
  // A bound for each attacker, and for the bystander's p99 in place of its longest wait.
  g.grown /= count;
  g.stall_ms_max = Infinity;
}

export const crowds = [
  { name: 'crowd', issue: 'all', does: '100 attackers of all kinds at once', run: crowd, long: true },
];

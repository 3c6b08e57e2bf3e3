// SPDX-License-Identifier: Apache-2.0
// Bodies and moments that cost the broker more than their sender: what is looked at once for each
// byte, or for each message, must not be looked at once for each pair of them.
import { published, told } from './ground.mjs';

const half = 400_000;

// Bodies in which very much looks like a secret, or where it stands is told by a very long name.
const suspicious = {
  'long name': () => ({ ['n'.repeat(half)]: Array.from({ length: 8_000 }, (_, n) => `AKIA${String(n).padStart(16, 'Q')}`) }),
  'long names': () => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`password-${n}-${'n'.repeat(2_000)}`, `hunter-${n}-zx9Qv`])),
  'placeholders': () => 'password = changeme-example-placeholder-xxxxxxxx; '.repeat(half / 25),
  'nearly': () => 'api_key: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", '.repeat(half / 25),
  'names': () => 'key='.repeat(half / 4),
  'texts of JSON': () => ({ all: Array.from({ length: 16 }, () => JSON.stringify(Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`flags-${n}`, 'n'])))) }),
  'deep': () => JSON.parse('{"n":'.repeat(60) + JSON.stringify(Array.from({ length: 20_000 }, () => 'token: ghp_0')) + '}'.repeat(60)),
};

async function costlySecrets(g) {
  const eve = await g.greedy('eve');
  await g.during(async () => {
    for (const [name, make] of Object.entries(suspicious)) {
      const value = make();
      const text = typeof value === 'string' ? value : undefined;
      const payload = text ? { content_type: 'text', body: text } : { content_type: 'json', body: value };
      const found = await g.flood(eve, g.many, () => ({ type: 'notification', receiver: 'eve', payload }), { batch: 1, parallel: 2, seconds: 10 });
      g.note(`${name}: ${told(found)}`);
    }
  });
}

// What is proposed for an approval is walked and written anew.
async function costlyProposals(g) {
  const eve = await g.agent('eve');
  const shapes = {
    'long name': { ['n'.repeat(half)]: Array.from({ length: 200_000 }, () => 1) },
    'many members': Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`member-${n}`, n])),
    'spaces': JSON.parse('['.repeat(60) + ']'.repeat(60)),
  };
  await g.during(async () => {
    for (const [name, action] of Object.entries(shapes)) {
      const body = JSON.stringify({ summary: 'x', action });
      const statuses = await g.calls(g.many, () => g.ask(eve, 'POST', '/v1/approvals', body), { parallel: 2, seconds: 10 });
      g.note(`${name} (${Math.round(body.length / 1024)} KB): ${JSON.stringify(statuses)}`);
    }
  });
}

// Very much waits for a rate with many subscribers; then something urgent takes it along.
async function urgentBehind(g) {
  const eve = await g.agent('eve');
  const crowd = await g.agents(...Array.from({ length: g.many }, (_, n) => `sub-${n}`));
  for (const each of crowd) await each.call('PUT', '/v1/topics/eve.news/subscription');
  g.note(told(await g.flood(eve, 900, () => published('eve.news'), { batch: 100, parallel: 1 })));
  await g.during(async () => {
    g.note(`urgent: ${told(await g.flood(eve, 5, () => published('eve.news', { priority: 'critical' }), { batch: 1, parallel: 1 }))}`);
  }, { after: 2_000 });
}

// Eve fills ana's inbox and has the rest tried again: bo, who has nothing there, must get in.
async function inboxByTries(g) {
  const [ana, bo] = await g.agents('ana', 'bo');
  const eve = await g.agent('eve', { dialect: 'collab', role: 'worker' });
  let n = 0;
  const make = () => ({ id: `t-${n++}`, version: '1.0', from: 'eve', to: 'ana', type: 'event', priority: 1, timestamp: new Date().toISOString(), action: 'note', payload: {} });
  await g.during(async () => {
    g.note(told(await g.flood(eve, 3_000, make, { batch: 100, parallel: 2, path: '/v1/messages' })));
  }, { after: g.short ? 4_000 : 20_000 });
  const { json } = await ana.inbox('?limit=1');
  const sent = await bo.send('ana', 'is there room?');
  g.note(`${json.count ?? json.total ?? '?'} wait with ana; bo's: ${sent.json?.code ?? sent.status}`);
  if (sent.status !== 202) g.loses(`bo finds no room with ana: ${sent.json?.code ?? sent.status}`);
}

export const costly = [
  { name: 'costly_secrets', issue: 'new', does: '{} bodies each of 800 KB in which much looks like a secret', many: [4, 20], run: costlySecrets },
  { name: 'costly_proposals', issue: 'new', does: '{} proposals each that cost more to check than to send', many: [10, 60], run: costlyProposals },
  { name: 'urgent_behind', issue: 'new', does: '900 publications wait for {} subscribers; something urgent takes them along', many: [20, 100], run: urgentBehind },
  { name: 'inbox_by_tries', issue: 'new', does: 'fills an inbox with what is tried again', run: inboxByTries },
];

// SPDX-License-Identifier: Apache-2.0
// Attacks on tables that all share: 9 of the issue. Each fills one, and looks whether what another has
// in it is there still, and whether another may add to it.
import { until } from '../e2e/harness.mjs';
import { published, sleep, told } from './ground.mjs';

const seconds = (g) => (g.short ? 8 : 60);

async function deadLetters(g) {
  const [ana, eve] = [await g.agent('ana'), await g.greedy('eve')];
  await ana.send('nobody', 'important');
  const all = async () => (await g.broker.call('GET', '/v1/dead-letters/1')).status;
  const before = await all();
  await g.during(async () => {
    g.note(told(await g.flood(eve, 10_001, (n) => ({ type: 'notification', receiver: `nobody-${n}`, payload: { content_type: 'text', body: 'x' } }), { seconds: seconds(g) })));
  });
  const after = await all();
  if (before === 200 && after !== 200) g.loses(`ana's dead letter: ${after}`);
}

async function escalations(g) {
  const [ana] = await g.agents('ana', 'bo', 'zed', 'zoe');
  const eve = await g.greedy('eve');
  const mia = await g.human('mia', ['approver', 'moderator', 'maintainer']);
  const asks = () => ana.send('bo', 'there?', { type: 'request', response_timeout: '50ms', on_timeout: 'escalate' }, '?wait=5s');
  const metric = async () => Number(/^parley_escalations_open(?:\{[^}]*\})? (\d+)$/m.exec((await g.broker.call('GET', '/metrics')).text)?.[1] ?? 0);
  await asks();
  const first = await until(async () => (await g.broker.call('GET', '/v1/escalations')).json.escalations?.[0]);
  let open = 0;
  await g.during(async () => {
    // Two receivers, because an inbox takes 10,000.
    const make = (n) => ({ type: 'request', receiver: n % 2 ? 'zoe' : 'zed', response_timeout: '1ms', on_timeout: 'escalate', payload: { content_type: 'text', body: 'x' } });
    g.note(told(await g.flood(eve, 10_400, make, { seconds: seconds(g) })));
    for (const end = Date.now() + seconds(g) * 500; open < 10_000 && Date.now() < end;) {
      open = await metric();
      await sleep(200);
    }
  });
  g.note(`${open} are open`);
  const { status, json } = await mia.call('POST', `/v1/escalations/${first.id}/resolve`, { body: { resolution: 'ask cy' } });
  if (status !== 200) g.loses(`ana's open escalation: the decision gets ${json?.code ?? status}`);
}

async function idempotencyKeys(g) {
  const [ana, bo] = await g.agents('ana', 'bo');
  const eve = await g.greedy('eve');
  const order = () => ana.call('POST', '/v1/messages?lenient=true', { headers: { 'Idempotency-Key': 'order-17' },
    body: { type: 'notification', receiver: 'bo', payload: { content_type: 'text', body: 'buy 100' } } });
  const first = await order();
  await bo.read(first.json.id);
  await bo.ack(first.json.id);
  await g.warm();
  await g.during(async () => {
    g.note(told(await g.flood(eve, g.many, () => published('noise.made'), { batch: 1_000, seconds: g.short ? 12 : 60 })));
  });
  const again = await order();
  if (!again.json.duplicate) g.loses("ana's idempotency key: the order is delivered twice");
}

async function finishedTasks(g) {
  const dan = await g.agent('dan', { dialect: 'inbox', role: 'director' });
  const sam = await g.agent('sam', { dialect: 'inbox', role: 'specialist' });
  const give = (agent, to, taskId) => agent.call('POST', '/v1/messages', { body: { to, type: 'task', content: { taskId, title: 'T', description: 'D' } } });
  const result = { to: 'dan', type: 'result', content: { taskId: 'mine', status: 'complete', result: 'ok' } };
  await give(dan, 'sam', 'mine');
  await sam.call('POST', '/v1/messages', { body: result });
  const pairs = [];
  for (let n = 0; n < 3; ++n) {
    pairs.push([await g.agent(`eve-${n}`, { dialect: 'inbox', role: 'director' }), await g.agent(`zed-${n}`, { dialect: 'inbox', role: 'specialist' })]);
  }
  const total = { given: 0, ended: 0, codes: {} };
  await g.during(async () => {
    const end = Date.now() + seconds(g) * 1000;
    for (let round = 0; round < 4 && Date.now() < end; ++round) {
      for (const [eve, zed] of pairs) {
        const id = (n) => `${eve.id}-${round}-${n}`;
        const given = await g.flood(eve, 1_000, (n) => ({ to: zed.id, type: 'task', content: { taskId: id(n), title: 'T', description: 'D' } }), { path: '/v1/messages', batch: 250 });
        const ended = await g.flood(zed, 1_000, (n) => ({ to: eve.id, type: 'result', content: { taskId: id(n), status: 'complete', result: 'ok' } }), { path: '/v1/messages', batch: 250 });
        total.given += given.accepted;
        total.ended += ended.accepted;
        Object.assign(total.codes, given.codes, ended.codes);
      }
    }
  });
  g.note(`${total.given} given, ${total.ended} ended by 3 attackers ${JSON.stringify(total.codes)}`);
  const { status, json } = await dan.call('GET', '/v1/tasks/mine');
  if (status !== 200) g.loses(`dan's finished task: ${json?.code ?? status}`);
  const again = await give(dan, 'sam', 'mine');
  if (!again.json.duplicate) g.loses("dan's finished task is given anew when it is repeated");
}

async function threads(g) {
  const [ana, bo] = await g.agents('ana', 'bo');
  const eve = await g.greedy('eve');
  await ana.send('bo', 'first', { conversation_id: 'plan', metadata: { correlation_id: 'plan 9' } });
  const before = (await ana.call('GET', '/v1/threads/plan')).json;
  await g.during(async () => {
    g.note(told(await g.flood(eve, 101_000, (n) => published('noise.made', { conversation_id: `t-${n}` }), { seconds: seconds(g) })));
  });
  const after = (await ana.call('GET', '/v1/threads/plan')).json;
  if (after.state !== before.state || after.archived) g.loses(`ana's thread: it was ${before.state}, and is ${after.state}${after.archived ? ', archived' : ''}`);
  const found = (await ana.call('GET', `/v1/threads?correlation_id=${encodeURIComponent('plan 9')}`)).json;
  if (!found.threads?.length) g.loses("ana's thread is not found by its correlation id");
  const next = await bo.send('ana', 'second', { conversation_id: 'plan' });
  if (next.status !== 202) g.loses(`bo's word in its thread: ${next.json.code}`);
}

async function topics(g) {
  const [ana, bo] = await g.agents('ana', 'bo');
  const eve = await g.greedy('eve');
  await g.during(async () => {
    g.note(told(await g.flood(eve, 10_100, (n) => published(`noise.t${n}`), { seconds: seconds(g) })));
  });
  const made = await ana.send('build.done', 'green', { type: 'broadcast' });
  if (made.status !== 202) g.loses(`ana's new topic: ${made.json.code}`);
  const listens = await bo.call('PUT', '/v1/topics/deploy.done/subscription');
  if (listens.status >= 300) g.loses(`bo's subscription to a new topic: ${listens.json.code}`);
}

// A table whose rows are made by one call each.
const oneByOne = (route, body) => async (g) => {
  const [ana] = await g.agents('ana', 'bo', 'zed');
  const eve = await g.greedy('eve');
  const ask = (who, to) => g.ask(who, 'POST', `${route}?lenient=true`, JSON.stringify(body(to)));
  await g.during(async () => {
    g.note(JSON.stringify(await g.calls(10_100, () => ask(eve, 'zed'), { parallel: 48, seconds: g.short ? 3 : 60 })));
  });
  const { status, text } = await ask(ana, 'bo');
  if (status >= 300) g.loses(`ana's own: ${/"code":"(\w+)"/.exec(text)?.[1] ?? status}`);
};
const asking = { type: 'request', payload: { content_type: 'text', body: 'x' } };

// `critical` waits for no rate; another's critical mail must get through all the same, and a rate of
// its own must bind it.
async function criticalRate(g) {
  const [ana, eve] = await g.agents('ana', 'eve', 'bo');
  const found = await g.flood(eve, 2_000, () => ({ type: 'notification', priority: 'critical', receiver: 'bo', payload: { content_type: 'text', body: 'x' } }), { batch: 500 });
  g.note(told(found));
  const depth = (await g.broker.call('GET', '/v1/agents/bo')).json;
  g.note(`bo has ${depth.queue_depth ?? depth.unsettled} waiting, ${depth.throttled ?? 0} throttled of its own`);
  const throttled = (await g.broker.call('GET', '/v1/agents/eve')).json.throttled ?? 0;
  if (found.accepted === 2_000 && throttled === 0) g.loses('2,000 critical messages of one agent pass all rates at once');
  const sent = await ana.send('bo', 'fire', { priority: 'critical' });
  if (sent.status !== 202) g.loses(`ana's critical message: ${sent.json.code}`);
}

export const tables = [
  { name: 'dead_letters', issue: '9', does: '10,001 dead letters beside one of ana', run: deadLetters },
  { name: 'escalations', issue: '9', does: "10,400 escalations beside ana's open one; a human decides", run: escalations },
  { name: 'idempotency_keys', issue: '9', does: '{} publishes; ana repeats an order with its key', many: [60_000, 275_000], run: idempotencyKeys },
  { name: 'finished_tasks', issue: '9', does: '12,000 tasks that are given and ended beside one of dan', run: finishedTasks },
  { name: 'threads', issue: '9', does: '101,000 threads beside one of ana', run: threads, long: true },
  { name: 'topics', issue: '9', does: '10,100 topics; ana makes one', run: topics },
  { name: 'critical_rate', issue: '9', does: '2,000 critical messages at once', run: criticalRate },
  { name: 'scatters', issue: '9', does: '10,100 scatters; ana makes one', run: oneByOne('/v1/scatter', (to) => ({ receivers: [to], timeout: '1h', message: { ...asking, receiver: to } })), long: true },
  { name: 'pipelines', issue: '9', does: '10,100 pipelines; ana makes one', run: oneByOne('/v1/pipelines', (to) => ({ stages: [to, to], message: { ...asking, receiver: to } })), long: true },
];

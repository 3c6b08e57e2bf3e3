// SPDX-License-Identifier: Apache-2.0
// Whoever abuses the loop must not hold up the others: the worst turn under each abuse. What is held
// to a bound is the processor time of a turn and the records that the loop itself read from the disk:
// both are the same on a busy machine. PARLEY_TURNS=1 prints what each abuse did.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { assertMemory, Broker, Raw, message, slowness, taken, until } from './harness.mjs';

// Nothing should take over 5 ms. A processor that others use at the same time has cold caches, and
// takes longer for the same work.
const turnMax = 0.015 * slowness;
const prints = taken('PARLEY_TURNS');

const load = Object.fromEntries([
  'flow.rate.agent_in_per_min', 'flow.rate.agent_out_per_min', 'flow.rate.pair_per_min', 'flow.rate.topic_per_min',
  'guard.bytes_per_day', 'guard.bytes_per_min', 'guard.fan_out_per_min', 'guard.messages_per_day', 'guard.tokens_per_day', 'guard.ping_pong_max', 'thread_messages_max',
].map((rule) => [rule, [rule === 'thread_messages_max' ? 1_000_000 : 0, 'the abuse is of the loop, not of this limit']]));
load['breaker.queue_percent'] = [0, 'the inbox is filled on purpose'];
load.queue_max = [12_500, 'one sender has four fifths of an inbox, and fills it with 10,000'];

async function metrics(broker) {
  const { text } = await broker.call('GET', '/metrics');
  const value = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    cpu: value('parley_loop_cpu_worst_seconds'),
    work: value('parley_loop_work_worst_seconds'),
    turn: value('parley_loop_turn_worst_seconds'),
    read: value('parley_records_read_by_loop_total'),
    readBehind: value('parley_records_read_behind_total'),
  };
}

// A new life: nothing is in memory but what the machine holds, and no turn was long yet.
async function again(broker) {
  await broker.stop();
  await broker.run();
}

class LongTurn extends Error {}

function report(name, found, bound = turnMax) {
  if (prints) console.log(`${name}: ${JSON.stringify(found)}`);
  if (found.cpu > bound) throw new LongTurn(`${name}: a turn took ${found.cpu * 1000} ms of the processor`);
}

// What others do at the same time makes a turn longer, never shorter. So after a long turn the abuse
// is tried again, with a new broker: a turn that does too much is long each time.
const triesMax = 3;

function worst(title, abuse) {
  it(title, async () => {
    for (let tries = 1; ; ++tries) {
      const broker = await Broker.start({ raise: load });
      try {
        await abuse(broker);
        return;
      } catch (error) {
        if (!(error instanceof LongTurn) || tries === triesMax) throw error;
      } finally {
        await broker.remove();
      }
    }
  });
}

async function fill(broker, from, to, count, body, batch = 100) {
  for (let sent = 0; sent < count; sent += batch) {
    const drafts = Array.from({ length: batch }, (_, n) => message(from.id, to.id, { n: sent + n, ...body }));
    const { status, json } = await from.call('POST', '/v1/messages', { body: drafts });
    assert.equal(status, 202);
    assert.ok(json.results.every(({ seq }) => seq), JSON.stringify(json.results[0]));
  }
}

// Ends the process with more records behind those of before than it keeps in memory (32 MiB): a new
// life reads them on its way, and forgets the older ones.
async function cool(broker) {
  const sender = await broker.addAgent('sender');
  const sink = await broker.addAgent('sink');
  await fill(broker, sender, sink, 40, { text: 'x'.repeat(950_000) }, 1);
  await again(broker);
}

// In seconds, of all threads of the process.
async function processorTime(broker) {
  const stat = await readFile(`/proc/${broker.process.pid}/stat`, 'utf8');
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13).map(Number);
  return (user + system) / 100;
}

it('a broker that nobody asks for anything takes no time of the processor', async () => {
  const broker = await Broker.start();
  try {
    const bo = await broker.addAgent('bo');
    await bo.inbox('?wait=1s');
    const began = await processorTime(broker);
    await bo.inbox('?wait=2s');
    const taken = await processorTime(broker) - began;
    assert.ok(taken < 0.1 * slowness, `it took ${taken} s of the processor within 2 s`);
  } finally {
    await broker.remove();
  }
});

describe('the worst turn', () => {
  worst('when an inbox of a thousand cold messages is listed', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    await fill(broker, ana, bo, 1000, { text: 'x'.repeat(8_000) });
    await cool(broker);
    const lists = await Promise.all(Array.from({ length: 4 }, () => bo.inbox('?limit=1000')));
    for (const { status, json } of lists) {
      assert.equal(status, 200);
      assert.equal(json.shown, 1000);
      assert.equal(json.notifications.length, 1000);
      assert.deepEqual(json.notifications.map(({ seq }) => seq), json.notifications.map(({ seq }) => seq).sort((a, b) => a - b));
    }
    const found = await metrics(broker);
    report('inbox', found);
    assert.ok(found.read <= 8, `the loop read ${found.read} records`);
    assert.ok(found.readBehind >= 1000, `${found.readBehind} were read beside it`);
  });

  worst('when a stream opens over a thousand cold messages', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    await fill(broker, ana, bo, 1000, { text: 'x'.repeat(2_000) });
    await cool(broker);
    const raw = await Raw.connect(broker.url);
    assert.equal((await raw.upgrade('/v1/ws?window=1000', bo.token)).status, 101);
    const seqs = [];
    while (seqs.length < 1000) {
      const got = JSON.parse((await raw.frame()).payload);
      if (got.op === 'message') seqs.push(got.seq);
    }
    raw.end();
    assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b));
    const found = await metrics(broker);
    report('stream', found);
    assert.ok(found.read <= 8, `the loop read ${found.read} records`);
    assert.ok(found.readBehind >= 1000, `${found.readBehind} were read beside it`);
  });

  worst('when a list is asked for and nobody waits for it', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    await fill(broker, ana, bo, 500, { text: 'x'.repeat(8_000) });
    await cool(broker);
    for (let n = 0; n < 20; ++n) {
      const raw = await Raw.connect(broker.url);
      await raw.send(`GET /v1/inbox?limit=500 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bo.token}\r\n\r\n`);
      raw.end();
    }
    assert.equal((await bo.inbox('?limit=500')).json.shown, 500);
    report('gone', await metrics(broker));
  });

  worst('when an agent with a full inbox changes its dialect again and again', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    await fill(broker, ana, bo, 5000, {});
    await again(broker);
    for (let n = 0; n < 20; ++n) {
      const { status, text } = await broker.call('POST', '/v1/agents', { body: { id: 'bo', ...(n % 2 ? { dialect: 'flow', role: '' } : { dialect: 'collab', role: 'worker' }) } });
      assert.equal(status, 200, text);
    }
    assert.equal((await bo.inbox('?limit=1')).json.count, 5000);
    report('dialect', await metrics(broker));
  });

  worst('when one client pipelines thousands of requests', async (broker) => {
    const bo = await broker.addAgent('bo');
    const raw = await Raw.connect(broker.url);
    const count = 4000;
    const get = `GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bo.token}\r\n\r\n`;
    await raw.send(get.repeat(count));
    const answers = (text) => text.toString('latin1').split('HTTP/1.1 200 ').length - 1;
    await raw.until((got) => answers(got) >= count);
    raw.end();
    report('pipelined', await metrics(broker));
  });

  // Each with as many calls that wait as it may have.
  const waiters = async (broker, wait) => {
    const agents = [];
    const clients = [];
    for (let n = 0; n < 8; ++n) {
      agents.push(await broker.addAgent(`w${n}`, { subscriptions: ['load.wake'] }));
      const get = `GET /v1/inbox?limit=1&wait=${wait} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${agents[n].token}\r\n\r\n`;
      for (let c = 0; c < 4; ++c) {
        clients.push(await Raw.connect(broker.url));
        await clients.at(-1).send(get.repeat(64));
      }
    }
    const waiting = /^parley_calls_waiting (\d+)$/m;
    await until(async () => Number(waiting.exec((await broker.call('GET', '/metrics')).text)[1]), (calls) => calls === 2048);
    return { agents, clients };
  };
  const answered = async (clients) => {
    for (const client of clients) {
      for (let n = 0; n < 64; ++n) assert.equal((await client.response()).status, 200);
      client.end();
    }
  };

  worst('when thousands of calls stop waiting at once', async (broker) => {
    const { clients } = await waiters(broker, '5s');
    await answered(clients);
    report('waits end', await metrics(broker));
  });

  worst('when one message wakes thousands of calls', async (broker) => {
    const ana = await broker.addAgent('ana');
    const { clients } = await waiters(broker, '60s');
    assert.equal((await ana.send('load.wake', {})).status, 202);
    await answered(clients);
    report('waits woken', await metrics(broker));
  });

  worst('when those who wait hang up', async (broker) => {
    const { clients } = await waiters(broker, '60s');
    for (const client of clients) client.end();
    await until(async () => /^parley_calls_waiting 0$/m.test((await broker.call('GET', '/metrics')).text));
    report('waits gone', await metrics(broker));
  });

  worst('when an agent asks for large answers and reads none', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const { json } = await ana.send('bo', { text: 'x'.repeat(900_000) });
    const before = await broker.rss();
    const get = `GET /v1/messages/${json.id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bo.token}\r\n\r\n`;
    const clients = await Promise.all(Array.from({ length: 50 }, () => Raw.connect(broker.url)));
    for (const client of clients) {
      client.socket.pause();
      await client.send(get.repeat(10));
    }
    // Each is read no further, or ends at twice server.buffered_max; meanwhile all of it stays small.
    await until(async () => (await broker.call('GET', '/v1/agents/bo')).json.holds, ({ connections, unread_bytes }) => {
      assert.ok(unread_bytes < 34 * 1024 * 1024, `${unread_bytes} bytes wait`);
      return connections === 0 || unread_bytes > 0;
    });
    assertMemory(await broker.rss() - before, 100 * 1024 * 1024, 'for answers that an agent does not read');
    for (const client of clients) client.end();
    report('unread', await metrics(broker));
  });

  worst('when many small messages come in at once', async (broker) => {
    const agents = await Promise.all(['ana', 'bo', 'cy', 'di'].map((id) => broker.addAgent(id)));
    await Promise.all(agents.map((agent, n) => fill(broker, agent, agents[(n + 1) % 4], 2000, {})));
    report('small', await metrics(broker));
  });

  worst('when hundreds of cold tasks are listed', async (broker) => {
    const director = await broker.addAgent('director', { dialect: 'inbox', role: 'director' });
    const specialist = await broker.addAgent('specialist', { dialect: 'inbox', role: 'specialist' });
    const count = 300;
    for (let n = 0; n < count; ++n) {
      const content = JSON.stringify({ taskId: `task${n}`, title: `title ${n}`, description: 'd'.repeat(4000) });
      const { status, text } = await director.call('POST', '/v1/messages', { body: { to: 'specialist', type: 'task', content } });
      assert.equal(status, 202, text);
    }
    await cool(broker);
    const { json } = await specialist.call('GET', '/v1/tasks?limit=1000');
    assert.equal(json.count, count);
    assert.equal(json.tasks.length, count);
    assert.equal(json.tasks[0].title, `title ${count - 1}`);
    const found = await metrics(broker);
    report('tasks', found);
    assert.ok(found.read <= 8, `the loop read ${found.read} records`);
    assert.ok(found.readBehind >= count, `${found.readBehind} were read beside it`);
  });

  worst('when an agent is removed for whom thousands of messages wait', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const count = 9_900;
    await fill(broker, ana, bo, count, {});
    await again(broker);
    assert.equal((await broker.call('DELETE', '/v1/agents/bo')).status, 200);
    // Who has the name next has nothing of it, also while the rest still ends.
    const next = await broker.addAgent('bo');
    assert.equal((await next.inbox('?limit=1')).json.count, 0);
    const told = async () => (await ana.inbox('?limit=1')).json.count;
    for (let asked = 0; await told() < count; ++asked) assert.ok(asked < 10_000, 'not all have ended');
    const letters = /^parley_dead_letters_total\{[^}]*receiver_not_found[^}]*\} (\d+)$/m.exec((await broker.call('GET', '/metrics')).text);
    assert.equal(Number(letters?.[1]), count);
    report('removal', await metrics(broker));
  });

  worst('when someone subscribes to a topic that retains thousands of messages', async (broker) => {
    const ana = await broker.addAgent('ana');
    const count = 10_000;
    await fill(broker, ana, { id: 'load.news' }, count, {});
    await again(broker);
    for (const id of ['bo', 'cy']) {
      const late = await broker.addAgent(id);
      const { status, text } = await late.call('PUT', '/v1/topics/load.news/subscription');
      assert.equal(status, 200, text);
      assert.equal((await late.inbox('?limit=1')).json.count, count);
    }
    report('late subscriber', await metrics(broker));
  });

  worst('when a stream with the largest window opens, and is resumed', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    const count = 4_096;
    await fill(broker, ana, bo, count + 4, {});
    await again(broker);
    let mark;
    for (const pushed of [count, count / 2]) {  // the second one saw the first half
      const raw = await Raw.connect(broker.url);
      const after = mark === undefined ? '' : `&after=${mark}`;
      assert.equal((await raw.upgrade(`/v1/ws?window=${count}${after}`, bo.token)).status, 101);
      for (let got = 0; got < pushed;) {
        const frame = JSON.parse((await raw.frame()).payload);
        got += frame.op === 'message' ? 1 : 0;
        if (got === count / 2) mark = frame.mark;
      }
      raw.end();
    }
    report('window', await metrics(broker), turnMax / 2);  // all in one turn take nearly the other bound
  });

  // They share the inbox message by message, so what the second gives back goes between what the first
  // gave back.
  worst('when two streams that share an inbox are lost', async (broker) => {
    const ana = await broker.addAgent('ana');
    const bo = await broker.addAgent('bo');
    await fill(broker, ana, bo, 8_200, {});
    await again(broker);
    const open = async () => {
      const raw = await Raw.connect(broker.url);
      assert.equal((await raw.upgrade('/v1/ws?window=4096', bo.token)).status, 101);
      return raw;
    };
    for (let cycle = 0; cycle < 3; ++cycle) {
      const streams = [await open(), await open()];
      for (const raw of streams) raw.end();
    }
    const depth = async () => (await broker.call('GET', '/v1/agents/bo')).json.queue_depth;
    assert.equal(await depth(), 8_200);
    report('two streams', await metrics(broker));
  });

  worst('when what is published to hundreds expires at once', async (broker) => {
    const ana = await broker.addAgent('ana');
    for (let n = 0; n < 100; ++n) {
      await broker.addAgent(`s${n}`, { subscriptions: ['load.news'] });
    }
    // The earliest ends when the last was sent, so that one moment is due for all.
    const at = Date.now() + 3_000;
    const drafts = Array.from({ length: 100 }, (_, n) =>
      message('ana', 'load.news', { n }, { metadata: { ttl: `${at - Date.now()}ms` } }));
    const { status } = await ana.call('POST', '/v1/messages', { body: drafts });
    assert.equal(status, 202);
    const ended = /^parley_dead_letters_total\{[^}]*ttl_expired[^}]*\} (\d+)$/m;
    await until(async () => Number(ended.exec((await broker.call('GET', '/metrics')).text)?.[1]), (count) => count === 10_000);
    report('expiry', await metrics(broker));
  });

  worst('when hundreds of cold scatters are open and one of those asked reports', async (broker) => {
    const ana = await broker.addAgent('ana');
    const sam = await broker.addAgent('sam', { dialect: 'inbox', role: 'specialist' });
    await broker.addAgent('sue', { dialect: 'inbox', role: 'specialist' });
    const count = 300;
    const ids = [];
    for (let n = 0; n < count; ++n) {
      const task = { taskId: `s-${n}`, title: `title ${n}`, description: 'd'.repeat(4000) };
      const { status, text, json } = await ana.call('POST', '/v1/scatter', { body: {
        receivers: ['sam', 'sue'], timeout: '1h', message: message('ana', 'sam', task, { type: 'request' }) } });
      assert.equal(status, 202, text);
      ids.push(json.id);
    }
    await cool(broker);
    const tell = (type, content) => sam.call('POST', '/v1/messages', { body: { to: 'ana', type, content: JSON.stringify(content) } });
    for (let n = 0; n < 50; ++n) {
      assert.equal((await tell('status', { taskId: `unknown-${n}`, status: 'in_progress', message: 'half' })).status, 202);
    }
    const found = await metrics(broker);
    report('scatters', found);
    assert.ok(found.read <= 8, `the loop read ${found.read} records`);
    // The name alone finds the right one.
    const { status, text } = await tell('result', { taskId: 's-7', status: 'complete', result: 'ok' });
    assert.equal(status, 202, text);
    assert.equal((await ana.call('GET', `/v1/scatter/${ids[7]}`)).json.good, 1);
  });

  worst('when messages have sixty thousand members', async (broker) => {
    const ana = await broker.addAgent('ana');
    await broker.addAgent('bo');
    const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
    const send = async (members, to = 'bo') => (await ana.call('POST', '/v1/messages',
      { body: { ...message('ana', to, members.body ?? 'x', { metadata: members.metadata ?? {} }), ...members.beside } })).json;
    assert.equal((await send({ body: many(60_000) })).state, 'accepted');
    // Beside those that the dialect has: a thousand in all.
    assert.equal((await send({ beside: many(1_000) })).state, 'accepted');
    for (const members of [{ beside: many(60_000) }, { metadata: many(60_000) }, { beside: many(600), metadata: many(401) },
      { metadata: { foreign: many(60_000) } }, { metadata: { foreign: { extra: many(60_000) } } }]) {
      const { code, detail } = await send(members);
      assert.deepEqual([code, detail], ['VALIDATION_FAILED', "over 1000 members are none of the dialect's; put them into the body"]);
    }
    report('members', await metrics(broker));
  });
});

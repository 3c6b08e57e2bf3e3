// SPDX-License-Identifier: Apache-2.0
// Attacks that starve or stall others: 6 to 8, 10, 11 and 13 of the issue.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { binary } from '../e2e/harness.mjs';
import { listed, megabyte, published, request, sleep, told } from './ground.mjs';

const run = promisify(execFile);

// Waits until something came and no more does on any of the sockets, for `seconds` at most.
async function quiet(sockets, seconds) {
  const end = Date.now() + seconds * 1000;
  for (let before = 0; Date.now() < end;) {
    const got = sockets.reduce((sum, each) => sum + each.got, 0);
    if (got > 0 && got === before) return;
    before = got;
    await sleep(400);
  }
}

async function longPolls(g) {
  const eve = await g.agent('eve');
  await g.during(async () => {
    const sockets = await g.sockets(120);
    const all = request(eve, 'GET', '/v1/inbox?limit=1&wait=5m').repeat(1024);
    for (const socket of sockets) socket.write(all);
    await sleep(g.short ? 1_500 : 4_000);  // all of them wait, or were refused
    await eve.send('eve', 'now', { priority: 'critical' });
    await quiet(sockets, g.short ? 6 : 60);
    g.note(`${sockets.length} connections, ${Math.round(sockets.reduce((sum, each) => sum + each.got, 0) / 1024)} KB of answers`);
    for (const socket of sockets) socket.destroy();
  }, { after: 500 });
  const { ms, answer } = await g.timed(() => g.bystander.inbox());
  if (answer?.status !== 200) g.loses(`a new call: ${answer?.status}`);
  g.note(`a call afterwards ${ms.toFixed(0)} ms`);
}

async function strangersUnread(g) {
  let sockets = [];
  await g.during(async () => {
    sockets = await g.sockets(400, { read: false });
    const all = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200);
    for (const socket of sockets) socket.write(all);
    await sleep(g.short ? 2_000 : 10_000);
    const { ms, answer } = await g.timed(() => g.bystander.inbox(), 5_000);
    if (answer?.status !== 200) g.loses(`a new connection of a known caller: ${answer?.status ?? 'no answer'}`);
    g.note(`a new call ${ms.toFixed(0)} ms`);
    for (const socket of sockets) socket.destroy();
  }, { after: 1_000 });
  const { now } = await g.memory();
  g.note(`${Math.round(now / megabyte)} MB held after they hung up`);
}

// The broker takes 10,000 connections, so that many are all.
async function strangersIdle(g) {
  await g.during(async () => {
    const sockets = await g.sockets(10_100);
    const half = sockets.filter((_, n) => n % 2 === 0);
    for (const socket of half) socket.write('GET /livez HTTP/1.1\r\nHost: lo');
    await sleep(500);
    const { ms, answer } = await g.timed(() => g.ask(g.bystander, 'GET', '/v1/inbox?limit=1'), 5_000);
    if (answer?.status !== 200) g.loses(`a known caller who connects now: ${answer?.status ?? 'no answer within 5 s'}`);
    const open = sockets.filter((each) => !each.destroyed && !each.readableEnded).length;
    g.note(`${open} of ${sockets.length} stay open; a new call ${ms.toFixed(0)} ms`);
    for (const socket of sockets) socket.destroy();
  }, { after: 500 });
}

const names = (message) => Array.from({ length: 1_000 }, (_, n) => `nobody-${message}-${n}-${'x'.repeat(20)}`);

async function unknownReceivers(g) {
  const eve = await g.agent('eve', { dialect: 'collab', role: 'worker' });
  const make = (n) => listed('eve', names(n), `m-${n}`);
  await g.during(async () => {
    g.note(`95: ${told(await g.flood(eve, 95, make, { batch: 32, parallel: 1, path: '/v1/messages' }))}`);
    g.note(`300: ${told(await g.flood(eve, 300, (n) => make(n + 1_000), { batch: 32, parallel: 4, path: '/v1/messages' }))}`);
  }, { after: g.short ? 1_000 : 5_000 });
  const { start } = await g.restart();
  g.note(`restart ${(start / 1000).toFixed(1)} s, ${Math.round((await g.memory()).now / megabyte)} MB then`);
  if (start > 2_000) g.loses(`the broker is away for ${(start / 1000).toFixed(1)} s at a restart`);
}

// Mail of a megabyte each in the attacker's own inbox, of herself and of friends, since each may have
// 256 MB stored in a minute.
async function mailbox(g, eve, count) {
  const body = 'x'.repeat(1_000_000);
  const senders = [eve];
  while (senders.length * 240 < count) senders.push(await g.agent(`friend-${senders.length}`));
  const all = await Promise.all(senders.map((from) => g.flood(from, Math.ceil(count / senders.length),
    () => ({ type: 'notification', priority: 'critical', receiver: 'eve', metadata: { ttl: '1h' }, payload: { content_type: 'text', body } }),
    { batch: 1, parallel: 2, seconds: g.short ? 6 : 60 })));
  const codes = Object.assign({}, ...all.map((each) => each.codes));
  const sum = (key) => all.reduce((total, each) => total + each[key], 0);
  return { accepted: sum('accepted'), refused: sum('refused'), asked: sum('asked'), codes };
}

async function coldLists(g) {
  const eve = await g.agent('eve');
  g.note(`mailbox ${told(await mailbox(g, eve, g.many))}`);
  await g.restart();  // nothing of it is in memory
  await g.during(async () => {
    const socket = await g.socket();
    socket.write(request(eve, 'GET', '/v1/inbox?limit=1000').repeat(40));
    await quiet([socket], g.short ? 5 : 30);
    g.note(`${Math.round(socket.got / 1024)} KB of answers`);
    socket.destroy();
  });
  await g.during(async () => {
    const socket = await g.socket();
    for (const path of ['/v1/tasks?limit=500', '/v1/sessions?limit=500', '/v1/escalations?limit=500', '/v1/dead-letters?limit=500']) {
      socket.write(request(eve, 'GET', path).repeat(20));
    }
    await quiet([socket], g.short ? 2 : 10);
    socket.destroy();
  });
}

async function historyQueue(g) {
  const eve = await g.agent('eve');
  const ana = await g.agent('ana');
  await ana.send('bystander', 'hello');
  g.note(`mailbox ${told(await mailbox(g, eve, g.many))}`);
  await g.broker.historyIsWhole();
  let worst = 0;
  await g.during(async () => {
    const sockets = await g.sockets(120);
    for (const socket of sockets) socket.write(request(eve, 'GET', '/v1/messages?limit=500'));
    const end = Date.now() + (g.short ? 3_000 : 20_000);
    do {
      const { ms, answer } = await g.timed(() => g.ask(ana, 'GET', '/v1/outbox?limit=1'), g.short ? 5_000 : 60_000);
      worst = Math.max(worst, ms);
      if (answer?.status !== 200) g.loses(`ana's list of her outbox: ${answer?.status ?? 'no answer yet'} ${answer?.text?.slice(0, 80) ?? ''}`);
      await sleep(20);
    } while (Date.now() < end && sockets.some((each) => each.got === 0));
    await quiet(sockets, g.short ? 2 : 20);
    g.note(`${Math.round(sockets.reduce((sum, each) => sum + each.got, 0) / megabyte)} MB of answers`);
    for (const socket of sockets) socket.destroy();
  });
  g.note(`another's list of the history took up to ${worst.toFixed(0)} ms`);
  if (worst > 1_000) g.loses(`ana's list of the history waits ${(worst / 1000).toFixed(1)} s`);
}

async function runLock(g) {
  const [bo, eve] = await g.agents('bo', 'eve');
  const held = await eve.call('PUT', `/v1/locks/${encodeURIComponent('!run:bo')}`, { body: { lease: '1h' } });
  await g.agent('ana').then((ana) => ana.send('bo', 'work'));
  const env = { ...process.env, PARLEY_TOKEN: bo.token, PARLEY_URL: g.broker.url };
  const { stderr, code } = await run(binary, ['run', '--agent', 'bo', '--once', '--no-wait', '--', 'true'], { env, timeout: 10_000 })
    .then((done) => ({ ...done, code: 0 }), (error) => error);
  g.note(`PUT lock !run:bo: ${held.json?.code ?? held.status}; run ended with ${code}`);
  if (code !== 0) g.loses(`bo's parley run does not start: ${String(stderr).trim().split('\n').at(-1)}`);
}

async function pipelinedTurn(g) {
  const eve = await g.greedy('eve');
  g.note(told(await g.flood(eve, g.short ? 30_000 : 100_000, (n) => published('noise.made', { conversation_id: `t-${n}` }), { seconds: g.short ? 4 : 30 })));
  for (const path of ['/v1/threads?state=active&limit=1', '/v1/threads?limit=500', '/v1/agents?limit=1000', '/v1/topics?limit=1000', '/v1/locks?limit=1000', '/metrics', '/v1/health']) {
    const before = g.stall;
    g.stall = 0;
    await g.during(async () => {
      const socket = await g.socket();
      const one = request(eve, 'GET', path);
      socket.write(one.repeat(Math.floor(256 * 1024 / one.length)));
      await quiet([socket], g.short ? 1 : 8);
      socket.destroy();
    }, { after: 100 });
    if (g.stall > 10) g.note(`${path}: ${g.stall.toFixed(0)} ms`);
    g.stall = Math.max(g.stall, before ?? 0);
  }
}

// Each opening hands out again all that the one before held, and each of these is a fact for the history.
async function streamLoop(g) {
  const [eve, ana, bo] = await g.agents('eve', 'ana', 'bo');
  const mal = await g.agent('mal', { dialect: 'collab', role: 'worker' });
  g.note(`mail: ${told(await g.flood(mal, 8_000, (n) => ({ ...listed('mal', ['eve'], `s-${n}`), priority: 1 })))}`);
  const first = await g.socket();
  let text = '';
  first.on('data', (bytes) => { text = text.slice(-4_096) + bytes.toString('latin1'); });
  first.write(request(eve, 'GET', '/v1/stream?window=4096'));
  await quiet([first], 10);
  first.destroy();
  const mark = [...text.matchAll(/^id: ?(\S+)/gm)].at(-1)?.[1];
  const sends = { accepted: 0, codes: {} };
  const statuses = {};
  await g.during(async () => {
    const end = Date.now() + g.many * 1_000;
    const opens = async () => {
      while (Date.now() < end) {
        const socket = await g.socket({ read: false });
        const head = new Promise((done) => { socket.once('data', (bytes) => done(bytes.toString('latin1', 9, 12))); socket.once('close', () => done('lost')); });
        socket.resume();
        socket.write(request(eve, 'GET', `/v1/stream?window=4096&after=${mark}`));
        const status = await head;
        statuses[status] = (statuses[status] ?? 0) + 1;
        socket.destroy();
      }
    };
    const looks = async () => {
      for (; Date.now() < end; await sleep(500)) {
        const { status, json } = await ana.send('bo', 'hello', { priority: 'critical' });
        if (status === 202) sends.accepted += 1;
        else sends.codes[json?.code ?? status] = (sends.codes[json?.code ?? status] ?? 0) + 1;
      }
    };
    await Promise.all([looks(), ...Array.from({ length: 16 }, opens)]);
  });
  g.note(`streams by status: ${JSON.stringify(statuses)}; sends of ana: ${JSON.stringify(sends)}`);
  if (Object.keys(sends.codes).length > 0) g.loses(`messages of ana: ${JSON.stringify(sends.codes)}`);
  await bo.inbox();
}

// Long lists that are made at once would all be in memory at once.
async function approvalLists(g) {
  const eve = await g.agent('eve');
  const summary = 's'.repeat(1_000);
  const asked = await g.calls(g.many, () => g.ask(eve, 'POST', '/v1/approvals', JSON.stringify({ summary, action: 1 })));
  await g.during(async () => {
    const sockets = await g.sockets(4);
    const end = Date.now() + (g.short ? 1_500 : 10_000);
    while (Date.now() < end) {
      for (const socket of sockets) socket.write(request(eve, 'GET', '/v1/approvals?limit=1000').repeat(64));
      await quiet(sockets, 5);
    }
    g.note(`asked ${JSON.stringify(asked)}; ${Math.round(sockets.reduce((sum, each) => sum + each.got, 0) / megabyte)} MB of answers`);
    for (const socket of sockets) socket.destroy();
  });
}

// Nothing is done: what a bystander waits on this machine anyway.
async function control(g) {
  await g.during(() => sleep(g.short ? 1_000 : 5_000));
}

export const starving = [
  { name: 'control', issue: '-', does: 'nothing: what a bystander waits on this machine anyway', run: control },
  { name: 'long_polls', issue: '6', does: '122,880 pipelined waits on 120 connections that end at once', run: longPolls },
  { name: 'strangers_unread', issue: '7', does: 'no token: 400 connections ask 200 times for /openapi.json and read nothing', run: strangersUnread, strangers: true },
  { name: 'strangers_idle', issue: '7', does: 'no token: 10,100 connections that rest, half of them amid a head', run: strangersIdle, strangers: true },
  { name: 'unknown_receivers', issue: '8', does: '95, then 300 messages to 1,000 names that nobody has', run: unknownReceivers },
  { name: 'cold_lists', issue: '10', does: '40 lists of an inbox of {} messages of 1 MB, cold; tasks, sessions, escalations likewise', many: [120, 1_000], run: coldLists },
  { name: 'history_queue', issue: '10', does: '120 lists of the history at once, of {} messages of 1 MB', many: [120, 1_000], run: historyQueue },
  { name: 'approval_lists', issue: '10', does: '256 lists at once of {} approvals, again and again', many: [300, 1_000], run: approvalLists },
  { name: 'stream_loop', issue: '10', does: 'opens and closes streams with a large window for {} s', many: [5, 30], run: streamLoop },
  { name: 'run_lock', issue: '11', does: "holds the lock !run:bo; bo's parley run", run: runLock },
  { name: 'pipelined_turn', issue: '13', does: '256 KB of pipelined lists of threads, agents, topics, locks, metrics', run: pipelinedTurn },
];

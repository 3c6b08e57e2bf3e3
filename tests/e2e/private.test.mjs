// SPDX-License-Identifier: Apache-2.0
// SP-09: a private flag is seen by moderators and by nobody else. A word that stands nowhere but in
// flags is looked for in all that every other principal can get: routes, tools, streams, commands,
// metrics, logs and the file of the views. New routes are walked by themselves.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Broker, binary, tool, until } from './harness.mjs';

const run = promisify(execFile);
const marker = `hush${randomUUID().slice(0, 8)}`;

const flag = (extra = {}) => ({
  severity: 'high', location: `issue #123, comment by @${marker}`, excerpt: `${marker} words`, ...extra,
});

describe('a private flag', () => {
  let broker, community, people, sent, ears;

  before(async () => {
    broker = await Broker.start();
    community = await broker.addAgent('community');
    const others = {
      orchestrator: await broker.addAgent('orchestrator', { role: 'orchestrator' }),
      triage: await broker.addAgent('triage', { dialect: 'inbox', role: 'specialist' }),
      ana: await broker.addAgent('ana'),
    };
    for (const [name, rights] of [['mia', ['maintainer', 'approver']], ['ada', ['admin', 'maintainer', 'approver']], ['mod', ['moderator']]]) {
      const { status, json } = await broker.call('POST', '/v1/humans', { body: { name, rights } });
      assert.equal(status, 201);
      others[name] = { id: json.id, token: json.token, broker,
        call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
    }
    others.admin = { id: 'admin', token: broker.admin, broker, call: (...args) => broker.call(...args) };
    people = others;
    ears = [];
    for (const name of ['orchestrator', 'mia', 'ada', 'ana']) {
      await people[name].call('PUT', `/v1/topics/${encodeURIComponent('>')}/subscription`);
      const stop = new AbortController();
      const ear = { name, heard: '', stop };
      const response = await fetch(`${broker.url}/v1/stream`,
        { headers: { Authorization: `Bearer ${people[name].token}` }, signal: stop.signal });
      assert.equal(response.status, 200);
      ear.listening = (async () => {
        try { for await (const part of response.body) ear.heard += Buffer.from(part); } catch { /* closed */ }
      })();
      ears.push(ear);
    }
  });
  after(async () => {
    for (const ear of ears ?? []) { ear.stop.abort(); await ear.listening; }
    await broker?.remove();
  });

  const raise = (words, message_id = randomUUID()) => community.call('POST', '/v1/moderation/flags',
    { body: { flag: words, summary: `rude: ${marker}`, message_id } });

  it('is accepted, wakes a moderator who waits, and its sender learns no more than that', async () => {
    const waiting = people.mod.call('GET', '/v1/moderation/flags?state=open&wait=60s');
    const first = randomUUID();
    const other = await people.ana.send('human:mod', 'other mail is not what is waited for');
    assert.equal(other.status, 202, other.text);
    const { status, json, text } = await raise(flag(), first);
    assert.equal(status, 202, text);
    assert.ok(!text.includes(marker), text);
    assert.equal(json.id, first);
    const woken = await waiting;
    assert.equal(woken.json.total, 1);
    assert.equal(woken.json.items[0].from, 'community');
    const again = await raise(flag(), first);
    assert.deepEqual([again.status, again.json.duplicate], [202, true]);
    const { json: state } = await community.delivery(json.id);
    assert.deepEqual(state.deliveries.map((each) => [each.receiver, each.state]), [['moderators', 'queued']]);
    sent = json;
  });

  it('is one link of a chain, whatever it says', async () => {
    const more = [
      await raise(marker), await raise([marker]), await raise({ [marker]: 1 }, 'mine'),
      await raise(flag({ excerpt: marker.repeat(20_000) })),
    ];
    for (const { status, text } of more) {
      assert.equal(status, 202, text);
      assert.ok(!text.includes(marker), text);
    }
    const wrong = await raise({ [marker]: 2 }, 'mine');
    assert.deepEqual([wrong.status, wrong.json.code], [409, 'DUPLICATE_ID']);
    assert.ok(!wrong.text.includes(marker), wrong.text);
    const { json } = await people.mod.call('GET', '/v1/moderation/flags');
    assert.equal(json.total, 1 + more.length);
    let last = '0'.repeat(64);
    for (const item of json.items.toReversed()) {
      const { json: whole, text } = await people.mod.call('GET', `/v1/moderation/flags/${item.id}`);
      assert.ok(text.includes(marker), text);
      assert.equal(whole.intact, true);
      assert.equal(whole.previous_hash, last);
      last = whole.hash;
    }
    const page = await people.mod.call('GET', '/v1/moderation/flags?limit=2');
    assert.deepEqual(page.json.items.map((each) => each.id), json.items.slice(0, 2).map((each) => each.id));
    const next = await people.mod.call('GET', `/v1/moderation/flags?limit=100&cursor=${page.json.next}`);
    assert.deepEqual(next.json.items.map((each) => each.id), json.items.slice(2).map((each) => each.id));
    assert.equal(next.json.next, undefined);
  });

  const values = () => ({
    id: ['1', '2', sent.id, String(sent.seq), 'community', 'orchestrator'], taskId: ['1', sent.id], agent: ['community'],
    topic: ['>', 'audit.event_logged'], name: ['gate'],
  });
  const bodies = {
    '/v1/moderation/flags': () => ({}),
    '/v1/moderation/flags/{id}/resolve': () => ({ resolution: 'mine' }),
  };

  const walk = async (who) => {
    const { json: { paths } } = await who.call('GET', '/openapi.json');
    let asked = 0;
    for (const [path, methods] of Object.entries(paths)) {
      if (['/v1/stream', '/v1/ws', '/mcp'].includes(path)) continue;
      for (const method of Object.keys(methods)) {
        if (method === 'delete' || path === '/v1/humans' || path === '/v1/rules' || path === '/v1/workspaces') continue;
        let real = [path];
        for (const [hole, name] of path.matchAll(/\{([^}]+)\}/g)) {
          const known = values()[name];
          assert.ok(known, `this test has nothing to put into ${hole} of ${path}: add it to \`values\``);
          real = real.flatMap((one) => known.map((value) => one.replace(hole, encodeURIComponent(value))));
        }
        for (const one of real) {
          const body = ['post', 'put', 'patch'].includes(method) ? bodies[path]?.(who) ?? {} : undefined;
          const { text, headers, status } = await who.call(method.toUpperCase(), one, { body });
          assert.ok(!(text + JSON.stringify([...headers])).includes(marker), `${who.id}: ${method} ${one} tells of a flag`);
          if (path.startsWith('/v1/moderation') && !(method === 'post' && path === '/v1/moderation/flags')) assert.equal(status, 404, `${who.id}: ${method} ${one}`);
          ++asked;
        }
      }
    }
    assert.ok(asked > 60, `only ${asked} requests`);
  };

  for (const name of ['orchestrator', 'triage', 'ana', 'mia', 'ada', 'admin']) {
    it(`is seen by no route with the token of ${name}`, () => walk(people[name]));
  }

  it('is seen by its sender no more than by others', () => walk({ id: 'community', call: (...args) => community.call(...args) }));

  it('is seen by no tool', async () => {
    for (const who of [people.orchestrator, people.ana, community]) {
      const list = await who.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } },
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' } });
      const { result: { tools } } = JSON.parse(list.text);
      assert.ok(tools.length > 8);
      for (const { name } of tools) {
        for (const args of [{}, { messageId: sent.id }, { messageId: String(sent.seq) }, { limit: 10 }, { action: 'list' }]) {
          const { text } = await tool(who, name, args);
          assert.ok(!text.includes(marker), `the tool ${name} tells ${who.id} of a flag`);
        }
      }
    }
  });

  it('is in no stream, no metric, no log and no view', async () => {
    await people.ana.send('ana', 'the end');
    await until(() => ears.find((each) => each.name === 'ana').heard.includes('the end'));
    for (const { name, heard } of ears) assert.ok(!heard.includes(marker), `a stream tells ${name}`);
    await broker.historyIsWhole();
    const { text: metrics } = await broker.call('GET', '/metrics');
    assert.ok(!metrics.includes(marker));
    assert.ok(!broker.stderr.includes(marker), 'the log');
    for (const file of (await readdir(broker.data)).filter((each) => each.startsWith('history'))) {
      assert.ok(!(await readFile(join(broker.data, file))).includes(marker), file);
    }
    const env = { ...process.env, PARLEY_TOKEN: broker.admin, PARLEY_URL: broker.url };
    const list = await run(binary, ['flags', 'list'], { env }).catch((error) => error);
    assert.equal(list.code, 1, list.stderr);
    assert.match(list.stderr, /nothing at this path/);
    const { stdout } = await run(binary, ['flags', 'show', '1'], { env: { ...env, PARLEY_TOKEN: people.mod.token } });
    assert.ok(stdout.includes(marker));
  });

  it('is in no dump, is there after a crash, and is resolved once', async () => {
    await broker.kill();
    const dump = await run(binary, ['journal', 'dump', '--data', broker.data], { maxBuffer: 1 << 28 });
    assert.match(dump.stdout, /private record/);
    assert.ok(!dump.stdout.includes(marker), 'journal dump');
    await broker.run();
    const before = await people.mod.call('GET', '/v1/moderation/flags/1');
    assert.ok(before.text.includes(marker));
    const done = await people.mod.call('POST', '/v1/moderation/flags/1/resolve', { body: { resolution: 'talked to both' } });
    assert.deepEqual([done.status, done.json.state, done.json.resolved_by], [200, 'resolved', 'human:mod']);
    assert.equal((await people.mod.call('POST', '/v1/moderation/flags/1/resolve', { body: { resolution: 'again' } })).status, 409);
    const { json } = await community.delivery(sent.id);
    assert.deepEqual(json.deliveries.map((each) => each.state), ['acked']);
  });
});

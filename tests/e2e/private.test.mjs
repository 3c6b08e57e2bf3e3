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
import { Broker, Raw, binary, frame, message, tool, until } from './harness.mjs';

const run = promisify(execFile);
const marker = `hush${randomUUID().slice(0, 8)}`;

const flag = (extra = {}) => ({
  severity: 'high', location: `issue #123, comment by @${marker}`, excerpt: `${marker} words`, ...extra,
});

describe('a private flag', () => {
  let broker, community, warden, people, sent, completion, ears;

  before(async () => {
    broker = await Broker.start();
    community = await broker.addAgent('community');
    warden = await broker.addAgent('warden', { dialect: 'superprompt', role: 'worker' });
    const others = {
      orchestrator: await broker.addAgent('orchestrator', { role: 'orchestrator' }),
      supervisor: await broker.addAgent('supervisor', { dialect: 'superprompt', role: 'orchestrator' }),
      triage: await broker.addAgent('triage', { dialect: 'inbox', role: 'specialist' }),
      ana: await broker.addAgent('ana'),
    };
    await broker.addAgent('walked');
    for (const [name, rights] of [['mia', ['maintainer', 'approver']], ['ada', ['admin', 'maintainer', 'approver']], ['mod', ['moderator']]]) {
      const { status, json } = await broker.call('POST', '/v1/humans', { body: { name, rights } });
      assert.equal(status, 201);
      others[name] = { id: json.id, token: json.token, broker,
        call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
    }
    others.admin = { id: 'admin', token: broker.admin, broker, call: (...args) => broker.call(...args) };
    people = others;
    ears = [];
    for (const name of ['orchestrator', 'supervisor', 'mia', 'ada', 'ana']) {
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

  const violation = (extra = {}) => ({
    message_type: 'coc_violation_flag', message_id: randomUUID(), timestamp: new Date().toISOString(), from_agent: 'warden', to_agent: 'supervisor',
    privacy_level: 'PRIVATE_TO_MODERATORS', violation: { severity: 'high', confidence: 0.9, violation_type: 'harassment', location: `by @${marker}` },
    context: { excerpt: `${marker} words` }, ...extra,
  });
  const concern = { coc_concern: `${marker} is rude`, documentation_gap: 'FAQ' };
  const completed = (task, extra = {}) => ({
    message_type: 'task_completion', message_id: randomUUID(), timestamp: new Date().toISOString(), from_agent: 'warden', to_agent: 'supervisor', in_reply_to: task,
    status: 'success', confidence_score: 0.9, rationale: 'looked at it', flags: concern, ...extra,
  });
  const delegate = async (to) => {
    const { status, json, text } = await people.supervisor.call('POST', '/v1/messages', { body: { message_type: 'task_delegation', message_id: randomUUID(),
      timestamp: new Date().toISOString(), from_agent: 'supervisor', to_agent: to, event_context: { event_type: 'issues.opened' }, task: { description: 'look at it' } } });
    assert.equal(status, 202, text);
    return json.id;
  };
  const total = async () => (await people.mod.call('GET', '/v1/moderation/flags?limit=1')).json.total;
  // What an agent says over HTTP; all of it must be taken.
  const post = (who, path, body, headers = {}) => async () => {
    const { status, text } = await who().call('POST', path, { body, headers });
    assert.equal(status, 202, text);
    return text;
  };
  const webSocket = (text) => async () => {
    const client = await Raw.connect(broker.url);
    assert.equal((await client.upgrade('/v1/ws', warden.token)).status, 101);
    await client.send(frame(text));
    for (;;) {
      const { payload } = await client.frame();
      const answer = payload.toString();
      if (!answer.includes('"op":"')) {
        client.end();
        assert.equal(JSON.parse(answer).ok, true, answer);
        return answer;
      }
    }
  };
  const mcp = (who, name, args) => async () => {
    const { text } = await tool(who(), name, args);
    return text;
  };
  const odd = `{"message_type":"coc_violation_flag", "violation": {"location":"@${marker}"},,}`;
  const inFlow = (body) => message('community', 'supervisor', body);
  const ways = {
    'a message': () => post(() => warden, '/v1/messages', violation()),
    'a malformed message': () => post(() => warden, '/v1/messages', violation({ violation: marker, privacy_level: 'PUBLIC' })),
    'a text that is no JSON': () => post(() => warden, '/v1/messages', odd),
    'a text that is no JSON, by an agent of another dialect': () => post(() => community, '/v1/messages', odd),
    'a request with a wrong parameter': () => post(() => warden, '/v1/messages?lenent=true', violation()),
    'a request in a dialect that is none': () => post(() => warden, '/v1/messages', violation(), { 'Parley-Dialect': 'klingon' }),
    'a batch': () => post(() => warden, '/v1/messages', [violation()]),
    'a batch that asks for an answer': () => post(() => warden, '/v1/messages?wait=1s', [violation()]),
    'a text in a batch': () => post(() => warden, '/v1/messages', [`coc_violation_flag: ${marker}`]),
    'a scatter': () => post(() => warden, '/v1/scatter', { receivers: ['supervisor'], message: violation() }),
    'a malformed scatter': () => post(() => warden, '/v1/scatter', { receivers: ['supervisor'], message: { privacy_level: 'private to moderators', words: marker } }),
    'a scatter to nobody': () => post(() => warden, '/v1/scatter', { recievers: [], message: violation() }),
    'a scatter that is no JSON': () => post(() => warden, '/v1/scatter', `{"receivers":["supervisor"],"message":${odd}`),
    'a scatter of a text': () => post(() => warden, '/v1/scatter', { receivers: ['supervisor'], message: `coc violation: ${marker}` }),
    'a pipeline': () => post(() => warden, '/v1/pipelines', { stages: ['supervisor', 'warden'], message: violation() }),
    'a pipeline of one stage': () => post(() => warden, '/v1/pipelines', { stages: ['supervisor'], message: violation({ message_type: 'coc-violation' }) }),
    'a WebSocket': () => webSocket(JSON.stringify({ op: 'send', ref: 1, message: violation() })),
    'a malformed message by WebSocket': () => webSocket(JSON.stringify({ op: 'send', ref: 1, message: violation({ violation: marker }) })),
    'a frame that is no JSON': () => webSocket(`{"op":"send","message":${odd}`),
    'an operation that is none': () => webSocket(JSON.stringify([{ op: 'sned', ref: 1, message: violation() }])),
    'an operation with a wrong member': () => webSocket(JSON.stringify({ op: 'send', ref: 1, mesage: violation() })),
    'an operation with a wrong value': () => webSocket(JSON.stringify({ op: 'send', ref: 1, lenient: 'yes', message: violation() })),
    'a text in an operation': () => webSocket(JSON.stringify({ op: 'send', ref: 1, message: `coc_violation_flag: ${marker}` })),
    'a body of flow': () => post(() => community, '/v1/messages', inFlow(violation())),
    'a text in a body of flow': () => post(() => community, '/v1/messages', inFlow(JSON.stringify(violation()))),
    'a broken message of flow': () => post(() => community, '/v1/messages', { ...inFlow(violation()), type: 'notifcation' }),
    'a tool': () => mcp(() => community, 'sendMessage', { to: 'supervisor', type: 'coc_violation_flag', content: `${marker} words` }),
    'an object by a tool': () => mcp(() => community, 'sendMessage', { to: 'supervisor', type: 'message', content: violation() }),
    'a text by a tool': () => mcp(() => community, 'publish', { topic: 'build.done', content: JSON.stringify(violation()) }),
  };
  for (const [way, plant] of Object.entries(ways)) {
    it(`goes to the moderators alone by ${way}`, async () => {
      const before = await total();
      const answer = await plant()();
      assert.ok(!answer.includes(marker), answer);
      assert.equal(await total(), before + 1, answer);
      const { json: { items: [{ id, summary }] } } = await people.mod.call('GET', '/v1/moderation/flags?limit=1');
      assert.ok(!summary.includes(marker), summary);
      assert.ok((await people.mod.call('GET', `/v1/moderation/flags/${id}`)).text.includes(marker));
    });
  }

  const concerns = {
    'a completion': (task) => post(() => warden, '/v1/messages', completed(task)),
    'a completion by WebSocket': (task) => webSocket(JSON.stringify({ op: 'send', ref: 1, message: completed(task) })),
    'a completion in a batch': (task) => post(() => warden, '/v1/messages', [completed(task)]),
    'a malformed completion': (task) => async () => {
      const { status, text } = await warden.call('POST', '/v1/messages', { body: completed(task, { status: 'sucess' }) });
      assert.equal(status, 422, text);
      return text;
    },
    'an answer in flow': (task) => post(() => community, '/v1/messages', message('community', 'supervisor',
      { status: 'success', rationale: 'looked at it', flags: concern }, { type: 'response', metadata: { in_reply_to: task } })),
    'a malformed answer in flow': (task) => async () => {
      const { status, text } = await community.call('POST', '/v1/messages', { body: message('community', 'supervisor',
        { flags: concern }, { type: 'respnse', metadata: { in_reply_to: task } }) });
      assert.equal(status, 422, text);
      return text;
    },
    'an answer by a tool': (task) => mcp(() => community, 'sendMessage',
      { to: 'supervisor', type: 'message', content: JSON.stringify({ message_type: 'task_completion', in_reply_to: task, flags: concern }) }),
    'an object by a tool': () => mcp(() => community, 'sendMessage', { to: 'supervisor', type: 'message', content: { text: 'see', flags: [concern] } }),
  };
  for (const [way, plant] of Object.entries(concerns)) {
    it(`is a concern in ${way}`, async () => {
      const before = await total();
      const answer = await plant(await delegate(way.includes('flow') || way.includes('tool') ? 'community' : 'warden'))();
      assert.ok(!answer.includes(marker), answer);
      assert.equal(await total(), before + 1, answer);
      const { json: { items: [{ id }] } } = await people.mod.call('GET', '/v1/moderation/flags?limit=1');
      assert.ok((await people.mod.call('GET', `/v1/moderation/flags/${id}`)).text.includes(marker));
      if (way === 'an answer in flow') completion = JSON.parse(answer).id;
    });
  }

  it('leaves the rest of a message to its receiver', async () => {
    const { json, text } = await people.supervisor.call('GET', `/v1/messages/${completion}`);
    assert.equal(json.message_type, 'task_completion', text);
    assert.match(text, /documentation_gap/);
    assert.doesNotMatch(text, /coc_concern/);
  });

  const values = () => ({
    id: ['1', '2', sent.id, String(sent.seq), completion, 'community', 'orchestrator'], taskId: ['1', sent.id], agent: ['community'],
    topic: ['>', 'audit.event_logged'], name: ['gate'], thread: ['THREAD-walked', sent.thread],
  });
  // The bodies of the walk are the examples of /openapi.json; names in them are those of this test.
  let made = 0;
  const example = (schemas, schema) => {
    const whole = schema.$ref ? schemas[schema.$ref.split('/').pop()] : schema;
    return whole.examples?.[0] ?? Object.fromEntries((whole.required ?? []).map((key) => [key, whole.properties[key]?.enum?.[0] ?? 'any']));
  };
  const asked = (who) => message(who.id, 'walked', 'walked by', { type: 'request' });
  const bodies = {
    '/v1/messages': (who) => (who.id === 'triage' ? { to: 'walked', type: 'message', content: 'walked by' }
      : who.id === 'supervisor' ? { message_type: 'agent_health_check', message_id: randomUUID(), timestamp: new Date().toISOString(), from_agent: who.id, to_agent: 'warden', status: 'healthy' }
        : message(who.id, 'walked', 'walked by')),
    '/v1/agents': () => ({ id: `walked-${++made}` }),
    '/v1/humans': () => ({ name: `walked-${++made}` }),
    '/v1/workspaces': () => ({ name: `walked-${++made}` }),
    '/v1/sessions': (_, own) => ({ ...own, id: `walk-${++made}`, participants: ['walked'] }),
    '/v1/sessions/{id}/participants': () => ({ agent: 'walked' }),
    '/v1/scatter': (who, own) => ({ ...own, receivers: ['walked'], message: asked(who) }),
    '/v1/pipelines': (who, own) => ({ ...own, stages: ['walked', 'walked'], message: asked(who) }),
    '/v1/rules': () => ({ attempts_max: 7 }),
    '/v1/approvals': () => ({ summary: 'walked by', action: { a: 1 } }),
    '/v1/moderation/flags': () => ({}),
    '/mcp': () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  };
  const taken = new Map();  // by path and method: whether someone's body was one that the route takes

  const walk = async (who) => {
    const { json: { paths, components: { schemas } } } = await who.call('GET', '/openapi.json');
    let asked = 0;
    for (const [path, methods] of Object.entries(paths)) {
      if (['/v1/stream', '/v1/ws', '/mcp'].includes(path)) continue;
      for (const method of Object.keys(methods)) {
        if (method === 'delete') continue;
        let real = [path];
        for (const [hole, name] of path.matchAll(/\{([^}]+)\}/g)) {
          const known = values()[name];
          assert.ok(known, `this test has nothing to put into ${hole} of ${path}: add it to \`values\``);
          real = real.flatMap((one) => known.map((value) => one.replace(hole, encodeURIComponent(value))));
        }
        for (const one of real) {
          const wanted = methods[method].requestBody?.content['application/json']?.schema;
          const own = wanted && example(schemas, wanted);
          const body = wanted ? bodies[path]?.(who, own) ?? own : undefined;
          const { text, headers, status } = await who.call(method.toUpperCase(), one,
            { body, headers: path.startsWith('/v1/sessions/') && wanted ? { 'If-Match': '*' } : {} });
          if (wanted) taken.set(`${method} ${path}`, taken.get(`${method} ${path}`) || ![400, 415, 422].includes(status));
          assert.ok(!(text + JSON.stringify([...headers])).includes(marker), `${who.id}: ${method} ${one} tells of a flag`);
          if (path.startsWith('/v1/moderation') && !(method === 'post' && path === '/v1/moderation/flags')) assert.equal(status, 404, `${who.id}: ${method} ${one}`);
          ++asked;
        }
      }
    }
    assert.ok(asked > 60, `only ${asked} requests`);
  };

  for (const name of ['orchestrator', 'supervisor', 'triage', 'ana', 'mia', 'ada', 'admin']) {
    it(`is seen by no route with the token of ${name}`, () => walk(people[name]));
  }

  it('is seen by its sender no more than by others', () => walk({ id: 'community', call: (...args) => community.call(...args) }));

  it('was looked for with bodies that the routes take', () => {
    const refused = [...taken].filter(([way, good]) => !good && way !== 'post /v1/moderation/flags').map(([way]) => way);
    assert.deepEqual(refused, []);
    assert.ok(taken.size > 20, `${taken.size} routes`);
  });

  it('is seen by no tool', async () => {
    for (const who of [people.orchestrator, people.ana, community]) {
      const list = await who.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } },
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' } });
      const { result: { tools } } = JSON.parse(list.text);
      assert.ok(tools.length > 8);
      for (const { name } of tools) {
        for (const args of [name === 'waitForMessage' ? { seconds: 1 } : {}, { messageId: sent.id }, { messageId: String(sent.seq) }, { limit: 10 }, { action: 'list' }]) {
          const { text } = await tool(who, name, args);
          assert.ok(!text.includes(marker), `the tool ${name} tells ${who.id} of a flag`);
        }
      }
    }
  });

  it('is in no stream, no metric, no log and no view', async () => {
    await people.ana.send('ana', 'the end');
    await until(async () => {  // a stream hands out only so much before some of it is settled
      const { json: { notifications } } = await people.ana.inbox('?limit=100');
      for (const { id } of notifications) await people.ana.ack(id);
      return ears.find((each) => each.name === 'ana').heard.includes('the end');
    });
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

// SPDX-License-Identifier: Apache-2.0
// CO-10: sessions. Who sees them, who may what, two writers at once, what a pause stops, what is left
// after the broker is killed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Agent, binary, Broker, until } from './harness.mjs';

const run = promisify(execFile);

describe('sessions', () => {
  let broker, ana, bo, cy, dee;
  before(async () => {
    broker = await Broker.start();
    [ana, bo, cy, dee] = await Promise.all(['ana', 'bo', 'cy', 'dee'].map((name) => broker.addAgent(name)));
  });
  after(() => broker.remove());

  const start = (who, id, participants, task) => who.call('POST', '/v1/sessions', { body: { id, participants, task } });
  const show = (who, id) => who.call('GET', `/v1/sessions/${id}`);
  const write = (who, id, what, body, match = '*') =>
    who.call('POST', `/v1/sessions/${id}/${what}`, { body, headers: match === null ? {} : { 'If-Match': match } });
  const status = (who, id, to, summary) => write(who, id, 'status', { status: to, summary });
  // The broker's news of this kind in someone's inbox; long polls until it is there.
  async function news(who, event, session) {
    return until(async () => {
      const { json } = await who.inbox('?wait=5s&limit=500');
      for (const note of json.notifications.filter((each) => each.from === 'parley')) {
        const body = (await who.read(note.id)).json.payload.body;
        await who.ack(note.id);
        if (body.event === event && body.session === session) return body;
      }
      return undefined;
    });
  }

  it('CO-10: keeps task, decisions, artifacts and findings, each with who wrote it and which version it made', async () => {
    const started = await start(ana, 'plan', ['bo'], { goal: 'ship' });
    assert.equal(started.status, 201, started.text);
    assert.equal(started.headers.get('etag'), '"1"');
    assert.equal((await news(bo, 'session_changed', 'plan')).change, 'add_participant');
    const decided = await write(bo, 'plan', 'decisions', { by: 'bo', decision: 'use YAML', rationale: 'people read it', version: 99 }, '"1"');
    assert.equal(decided.status, 201, decided.text);
    assert.deepEqual(decided.json, { id: 'plan', version: 2, status: 'active' });
    assert.equal(decided.headers.get('etag'), '"2"');
    await write(ana, 'plan', 'artifacts', { name: 'plan.md', tags: ['a', { b: 1 }] }, '2');
    await write(bo, 'plan', 'findings', { severity: 'high', description: 'slow "build"' });
    const { json, headers } = await show(bo, 'plan');
    assert.equal(headers.get('etag'), '"4"');
    assert.deepEqual([json.coordinator, json.participants, json.status, json.version], ['ana', ['ana', 'bo'], 'active', 4]);
    const { task, decisions, artifacts, findings } = json.context;
    assert.deepEqual(task, { goal: 'ship' });
    const at = ({ at: when, ...rest }) => { assert.ok(Date.parse(when)); return rest; };
    assert.deepEqual(decisions.map(at), [{ version: 2, by: 'bo', decision: 'use YAML', rationale: 'people read it' }]);
    assert.deepEqual(artifacts.map(at), [{ version: 3, by: 'ana', name: 'plan.md', tags: ['a', { b: 1 }] }]);
    assert.deepEqual(findings.map(at), [{ version: 4, by: 'bo', severity: 'high', description: 'slow "build"' }]);
    assert.equal(Date.parse(json.endsAt) - Date.parse(json.startedAt), 3600e3);
  });

  it('CO-10: does not exist for those who take no part', async () => {
    await start(ana, 'secret', ['bo']);
    const wanted = (await show(dee, 'no-such-session')).text;
    assert.equal((await show(dee, 'secret')).status, 404);
    assert.equal((await show(dee, 'secret')).text, wanted);
    const bodies = { decisions: { decision: 'x' }, status: { status: 'paused' }, participants: { agent: 'dee' } };
    for (const [what, body] of Object.entries(bodies)) {
      const answer = await write(dee, 'secret', what, body);
      assert.deepEqual([answer.status, answer.text], [404, wanted], what);
    }
    assert.deepEqual((await dee.call('GET', '/v1/sessions')).json, { count: 0, sessions: [] });
    assert.ok((await broker.call('GET', '/v1/sessions')).json.sessions.some(({ id }) => id === 'secret'));
    assert.equal((await dee.send('bo', 'hi', {}, '?session=secret')).json.code, 'NOT_A_PARTICIPANT');
  });

  it('CO-10: refuses a change without a version, of a stale one, in another name, and of one who may not', async () => {
    await start(ana, 'rights', ['bo']);
    assert.deepEqual(await write(bo, 'rights', 'decisions', { decision: 'x' }, null).then(({ status: s, json }) => [s, json.code]), [428, 'VERSION_REQUIRED']);
    await write(bo, 'rights', 'findings', { n: 1 }, '1');
    const stale = await write(ana, 'rights', 'findings', { n: 2 }, '"1"');
    assert.deepEqual([stale.status, stale.json.code, stale.json.version, stale.headers.get('etag')], [412, 'VERSION_CONFLICT', 2, '"2"']);
    for (const [who, what, body, match, code] of [
      [bo, 'findings', { n: 1 }, 'two', 'BAD_REQUEST'],
      [bo, 'findings', { n: 1, by: 'ana' }, '*', 'SENDER_MISMATCH'],
      [bo, 'findings', {}, '*', 'BAD_REQUEST'],
      [bo, 'decisions', { rationale: 'why not' }, '*', 'BAD_REQUEST'],
      [bo, 'participants', { agent: 'cy' }, '*', 'FORBIDDEN'],
      [bo, 'status', { status: 'completed' }, '*', 'FORBIDDEN'],
      [ana, 'status', { status: 'asleep' }, '*', 'BAD_REQUEST'],
      [ana, 'status', { status: 'active' }, '*', 'CONFLICT'],
      [ana, 'participants', { agent: 'nobody' }, '*', 'RECEIVER_NOT_FOUND'],
      [ana, 'findings', { text: 'x'.repeat(33 * 1024) }, '*', 'PAYLOAD_TOO_LARGE'],
    ]) {
      assert.equal((await write(who, 'rights', what, body, match)).json.code, code, `${what} ${JSON.stringify(body).slice(0, 80)}`);
    }
    assert.equal((await show(ana, 'rights')).json.version, 2);
  });

  it('CO-10: lets one of two who write at once win, and loses nothing', async () => {
    await start(ana, 'race', ['bo', 'cy']);
    const writers = [ana, bo, cy];
    const rounds = 15;
    let conflicts = 0;
    // Each reads, writes with what it read, and tries again when another was faster.
    await Promise.all(writers.map(async (who) => {
      for (let n = 0; n < rounds;) {
        const version = (await show(who, 'race')).headers.get('etag');
        const answer = await write(who, 'race', 'findings', { who: who.id, n }, version);
        if (answer.status === 201) ++n; else { assert.equal(answer.status, 412, answer.text); ++conflicts; }
      }
    }));
    const { json } = await show(ana, 'race');
    assert.ok(conflicts > 0, 'nobody met');
    assert.equal(json.version, 1 + writers.length * rounds);
    assert.deepEqual(json.context.findings.map(({ version }) => version), [...Array(writers.length * rounds).keys()].map((n) => n + 2));
    for (const { id } of writers) {
      assert.deepEqual(json.context.findings.filter(({ by }) => by === id).map(({ n, who }) => [n, who]), [...Array(rounds).keys()].map((n) => [n, id]));
    }
  });

  it('CO-10: hands out nothing inside a paused session, and all of it in order when it goes on', async () => {
    await start(ana, 'pause', ['bo']);
    const first = (await ana.send('bo', { n: 1 }, {}, '?session=pause')).json;
    assert.equal((await status(bo, 'pause', 'paused')).json.code, 'FORBIDDEN');
    assert.equal((await status(ana, 'pause', 'paused')).json.status, 'paused');
    const second = (await ana.send('bo', { n: 2 }, { priority: 'critical' }, '?session=pause')).json;
    const outside = (await ana.send('bo', { n: 3 })).json;
    const waiting = async () => (await bo.inbox('?limit=500')).json.notifications.map(({ id }) => id).filter((id) => [first, second, outside].some((each) => each.id === id));
    assert.deepEqual(await waiting(), [outside.id]);
    assert.deepEqual(await bo.read(first.id).then(({ status: s, json }) => [s, json.code]), [409, 'SESSION_PAUSED']);
    assert.equal((await ana.delivery(first.id)).json.deliveries[0].state, 'queued');
    await bo.read(outside.id);
    await bo.ack(outside.id);
    assert.equal((await status(ana, 'pause', 'active')).json.status, 'active');
    assert.deepEqual((await waiting()).sort(), [first.id, second.id].sort());
    assert.equal((await bo.read(first.id)).status, 200);
    assert.deepEqual((await show(bo, 'pause')).json.messageLog.map(({ id, from, to }) => [id, from, to]), [[first.id, 'ana', 'bo'], [second.id, 'ana', 'bo']]);
  });

  it('CO-10: says what was said in it and among whom', async () => {
    await start(ana, 'talk', ['bo', 'cy']);
    assert.equal((await ana.send('dee', 'hi', {}, '?session=talk')).json.code, 'NOT_A_PARTICIPANT');
    const all = await ana.send('*', 'to all', { type: 'broadcast' }, '?session=talk');
    assert.equal(all.status, 202, all.text);
    assert.deepEqual(all.json.recipients.map(({ receiver }) => receiver).sort(), ['bo', 'cy']);
    assert.equal((await write(ana, 'talk', 'participants', { agent: 'dee' })).status, 201);
    assert.equal((await ana.send('dee', 'hi', {}, '?session=talk')).status, 202);
    const left = await dee.call('DELETE', '/v1/sessions/talk/participants/dee', { headers: { 'If-Match': '*' } });
    assert.equal(left.status, 200, left.text);
    assert.equal((await show(dee, 'talk')).status, 404);
    const { json } = await show(ana, 'talk');
    assert.deepEqual(json.changes.map(({ version, change, by, subject }) => [version, change, by, subject]),
      [[2, 'add_participant', 'ana', 'dee'], [3, 'remove_participant', 'dee', 'dee']]);
    assert.equal(json.messageCount, 2);
  });

  it('CO-10: holds the answers to what was asked in it, whether they say so or not', async () => {
    await start(ana, 'asked', ['bo']);
    const ask = async (query = '') => (await ana.send('bo', 'well?', { type: 'request' }, `?session=asked${query}`)).json;
    const answer = (id, extra = {}) => bo.send('ana', 'so', { type: 'response', metadata: { in_reply_to: id }, ...extra });
    const { id } = await ask();
    await bo.read(id);
    const answered = (await answer(id)).json;
    const log = async () => (await show(ana, 'asked')).json.messageLog.map((each) => each.id);
    assert.deepEqual(await log(), [id, answered.id]);
    // So it waits while the session does, and whoever blocks for it is told why.
    const later = (await ask()).id;
    await bo.read(later);
    await status(ana, 'asked', 'paused');
    const parked = (await answer(later)).json;
    assert.deepEqual(await ana.read(parked.id).then(({ status: s, json }) => [s, json.code]), [409, 'SESSION_PAUSED']);
    await status(ana, 'asked', 'active');
    assert.equal((await ana.read(parked.id)).status, 200);
    // One who left answers still, outside of it.
    const last = (await ask()).id;
    await bo.read(last);
    await ana.call('DELETE', '/v1/sessions/asked/participants/bo', { headers: { 'If-Match': '*' } });
    assert.equal((await answer(last)).status, 202);
    assert.deepEqual(await log(), [id, answered.id, later, parked.id, last]);
  });

  it('CO-10: sends no answer to one who takes no part', async () => {
    await start(ana, 'closed', ['bo']);
    const asked = await ana.send('bo', 'well?', { type: 'request', metadata: { foreign: { reply_to: 'dee' } } }, '?session=closed');
    assert.deepEqual([asked.status, asked.json.code], [403, 'NOT_A_PARTICIPANT']);
  });

  it('CO-10: names what was said by the ids that the reader knows', async () => {
    const [eli, fay] = await Promise.all(['eli', 'fay'].map((name) => broker.addAgent(name, { dialect: 'collab', role: 'worker' })));
    await start(eli, 'words', ['fay', 'ana']);
    await eli.call('POST', '/v1/messages?lenient=true', { body: { id: 'x1', type: 'event', to: 'fay', action: 'note', sessionId: 'words' } });
    assert.equal((await show(fay, 'words')).json.messageLog[0].id, 'x1');
    assert.match((await show(ana, 'words')).json.messageLog[0].id, /^[0-9a-f]{8}-/);
    // An ack of what waits in a paused session says why not.
    await status(eli, 'words', 'paused');
    assert.equal((await fay.ack('x1')).json.code, 'SESSION_PAUSED');
  });

  it('CO-10: takes no word that it does not know, and lets nobody write what the broker says of an entry', async () => {
    const typo = await ana.call('POST', '/v1/sessions', { body: { id: 'typo', particpants: ['bo'] } });
    assert.deepEqual([typo.status, typo.json.field], [400, '/particpants']);
    assert.match(typo.json.detail, /nearest is "participants"/);
    await start(ana, 'escaped', []);
    await ana.call('POST', '/v1/sessions/escaped/findings', { body: '{"x":1,"\\u0076ersion":99,"b\\u0079":"bo"}', headers: { 'If-Match': '*' } });
    assert.equal((await show(ana, 'escaped')).text.match(/u0076|u0079/), null);
  });

  it('CO-10: is shown in parts where it is large', async () => {
    await start(ana, 'large', []);
    for (let n = 0; n < 70; ++n) await write(ana, 'large', 'findings', { n, text: 'x'.repeat(30_000) });
    const seen = [];
    let pages = 0;
    for (let after = 0; after !== undefined; ++pages) {
      const { json, text } = await ana.call('GET', `/v1/sessions/large?after=${after}`);
      assert.ok(text.length < 1.2e6, `${text.length} bytes`);
      seen.push(...json.context.findings.map(({ n }) => n));
      after = json.next;
    }
    assert.deepEqual(seen, [...Array(70).keys()]);
    assert.equal(pages, 2);
  });

  it('CO-10: ends with a summary that its participants are told, and can be read after', async () => {
    await start(ana, 'end', ['bo']);
    await write(bo, 'end', 'decisions', { decision: 'stop' });
    assert.equal((await status(ana, 'end', 'completed', 'we have a plan')).json.version, 3);
    const told = await news(bo, 'session_ended', 'end');
    assert.deepEqual([told.status, told.by, told.summary, told.decisions, told.version], ['completed', 'ana', 'we have a plan', 1, 3]);
    const { json } = await show(bo, 'end');
    assert.deepEqual([json.status, json.endedBy, json.summary, json.context.decisions.length], ['completed', 'ana', 'we have a plan', 1]);
    assert.equal((await write(bo, 'end', 'decisions', { decision: 'late' })).json.code, 'SESSION_ENDED');
    assert.equal((await ana.send('bo', 'late', {}, '?session=end')).json.code, 'SESSION_ENDED');
  });

  it('CO-10: warns before its time is over, and ends then', async () => {
    const rules = { 'collab.session_duration_max': '1500ms', 'collab.session_warning': '1s' };
    await broker.call('PATCH', '/v1/rules', { body: rules });
    await start(cy, 'short', ['dee']);
    const warning = await news(dee, 'session_warning', 'short');
    assert.ok(Date.parse(warning.ends_at));
    assert.match(warning.left, /^\d+(ms|s)$/);
    const ended = await news(dee, 'session_ended', 'short');
    assert.deepEqual([ended.status, ended.by], ['failed', 'system']);
    await broker.call('PATCH', '/v1/rules', { body: { 'collab.session_duration_max': '1h', 'collab.session_warning': '5m' } });
  });

  it('CO-10: has a command line', async () => {
    const cli = async (who, ...words) => (await run(binary, [...words, '--url', broker.url, '--token', who.token])).stdout;
    assert.equal(await cli(ana, 'session', 'start', '--id', 'cli', '--with', 'bo', '--task', 'ship it'), 'cli\n');
    assert.equal(await cli(bo, 'session', 'add-decision', 'cli', 'use YAML', '--rationale', 'readable', '--version', '1'), 'version 2\n');
    assert.equal(await cli(bo, 'session', 'add-finding', 'cli', 'slow'), 'version 3\n');
    assert.equal(await cli(bo, 'session', 'add-artifact', 'cli', 'plan.md'), 'version 4\n');
    assert.equal(await cli(ana, 'session', 'join', 'cli', 'cy'), 'version 5\n');
    assert.equal(await cli(cy, 'session', 'leave', 'cli', 'cy'), 'version 6\n');
    assert.equal(await cli(ana, 'session', 'pause', 'cli'), 'version 7\n');
    assert.match(await cli(ana, 'send', '--to', 'bo', '--session', 'cli', 'hello'), /^[0-9a-f-]{36}\n$/);
    assert.equal(await cli(ana, 'session', 'resume', 'cli'), 'version 8\n');
    assert.match(await cli(bo, 'session', 'list', '--status', 'active'), /cli +active +8 +ana/);
    const shown = await cli(bo, 'session', 'show', 'cli');
    for (const part of ['cli: active, version 8, 1 messages', 'task: ship it', 'decision: use YAML, rationale: readable', 'ana -> bo']) {
      assert.ok(shown.includes(part), `${part} in ${shown}`);
    }
    await assert.rejects(cli(bo, 'session', 'add-finding', 'cli', 'x', '--version', '3'), /VERSION_CONFLICT/);
    assert.equal(await cli(ana, 'session', 'complete', 'cli', '--summary', 'done'), 'version 9\n');
    await assert.rejects(cli(ana, 'session', 'fail', 'cli'), /SESSION_ENDED/);
  });
});

describe('a broker that is killed in the middle of a session', () => {
  let broker;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());

  it('CO-10: has every write that was accepted, without a gap, and stays paused', async () => {
    const tokens = {};
    for (const name of ['ana', 'bo', 'cy']) tokens[name] = (await broker.addAgent(name)).token;
    const agent = (name) => new Agent(broker, name, tokens[name]);
    await agent('ana').call('POST', '/v1/sessions', { body: { id: 's', participants: ['bo', 'cy'], task: 'survive' } });
    const accepted = new Map();  // version -> what was written
    for (let life = 0; life < 3; ++life) {
      // Both write as fast as they can until the broker is gone.
      const writers = ['bo', 'cy'].map(async (name) => {
        for (let n = 0; ; ++n) {
          try {
            const { status, json } = await agent(name).call('POST', '/v1/sessions/s/findings', { body: { life, n }, headers: { 'If-Match': '*' } });
            if (status !== 201) return;
            accepted.set(json.version, `${name} ${life} ${n}`);
          } catch { return; }
        }
      });
      for (const goal = accepted.size + 40; accepted.size < goal;) await agent('ana').call('GET', '/v1/health');
      if (life === 2) await agent('ana').call('POST', '/v1/sessions/s/status', { body: { status: 'paused' }, headers: { 'If-Match': '*' } });
      if (life === 2) await agent('ana').send('bo', 'wait for it', {}, '?session=s');
      await broker.kill();
      await Promise.all(writers);
      await broker.run();
      const { json } = await agent('cy').call('GET', '/v1/sessions/s');
      const found = new Map(json.context.findings.map(({ version, by, life: l, n }) => [version, `${by} ${l} ${n}`]));
      for (const [version, what] of accepted) assert.equal(found.get(version), what, `version ${version}`);
      const versions = [...found.keys(), ...json.changes.map(({ version }) => version)].sort((a, b) => a - b);
      assert.deepEqual(versions, [...Array(json.version - 1).keys()].map((n) => n + 2));
      assert.equal(json.context.task, 'survive');
    }
    const inbox = async () => (await agent('bo').inbox()).json.notifications.filter(({ from }) => from === 'ana').length;
    assert.equal(await inbox(), 0);
    await agent('ana').call('POST', '/v1/sessions/s/status', { body: { status: 'active' }, headers: { 'If-Match': '*' } });
    assert.equal(await inbox(), 1);
  });
});

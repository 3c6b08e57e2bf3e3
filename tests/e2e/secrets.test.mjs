// SPDX-License-Identifier: Apache-2.0
// SP-11: secrets in what agents send are refused, redacted or warned of by policy. A token that stands
// nowhere else is planted by every way in, and looked for in all files of the broker, its answers, its
// metrics and its log.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Broker, Raw, binary, frame, message, tool, until } from './harness.mjs';

const run = promisify(execFile);
// Put together, so that no token stands in the sources in one piece.
const words = randomBytes(18).toString('hex');
const token = ['gh', 'p_', words].join('');
const escaped = [...token].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const inPlace = '[redacted:github_token]';

async function filesWith(broker, text) {
  const found = [];
  for (const entry of await readdir(broker.data, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(text)) found.push(path);
  }
  return found;
}

async function start(policy) {
  const broker = await Broker.start({ flags: ['--set', `secrets.policy=${policy}`] });
  const ana = await broker.addAgent('ana');
  const bo = await broker.addAgent('bo');
  return { broker, ana, bo };
}

// Sends one operation on a WebSocket and resolves with its answer.
async function operate(agent, operation) {
  const raw = await Raw.connect(agent.broker.url);
  await raw.upgrade('/v1/ws?window=0', agent.token);
  await raw.send(frame(JSON.stringify({ ref: 'r', ...operation })));
  const { payload } = await raw.frame();
  raw.end();
  return { text: payload.toString(), json: JSON.parse(payload) };
}

for (const policy of ['redact', 'refuse']) {
  describe(`SP-11: with the policy ${policy}`, () => {
    let broker, ana, bo;
    const texts = [];  // of all answers
    const redacts = policy === 'redact';

    before(async () => { ({ broker, ana, bo } = await start(policy)); });
    after(() => broker?.remove());

    const refused = ({ status, json, text }, field) => {
      texts.push(text);
      assert.deepEqual([status, json.code, json.field], [422, 'SECRET_FOUND', field], text);
    };
    // What a send is answered, and what its receiver gets.
    const check = async ({ status, json, text }, place, body) => {
      if (!redacts) return refused({ status, json, text }, place);
      texts.push(text);
      assert.equal(status, 202, text);
      assert.equal(json.warnings.length, 1, text);
      assert.ok(json.warnings[0].startsWith(`github_token at ${place} `), text);
      const got = await bo.read(json.id);
      texts.push(got.text);
      assert.deepEqual(got.json.payload.body, body);
    };

    it('a name with a token is refused: another name would not be the same', async () => {
      const { status, json, text } = await ana.send('bo', { n: 1 }, { conversation_id: `about ${token}` });
      texts.push(text);
      assert.deepEqual([status, json.code], [422, 'SECRET_FOUND'], text);
    });

    it('a token over HTTP is not stored', async () => {
      await check(await ana.send('bo', { note: `use ${token} now`, n: 1 }), '/payload/body/note',
        { note: `use ${inPlace} now`, n: 1 });
    });

    it('nor is one that is escaped', async () => {
      const body = JSON.stringify(message('ana', 'bo', { note: 'HERE' })).replace('HERE', escaped);
      assert.ok(!body.includes(token));
      await check(await ana.call('POST', '/v1/messages', { body }), '/payload/body/note', { note: inPlace });
    });

    it('nor one in a batch, and the others pass', async () => {
      const { status, json, text } = await ana.call('POST', '/v1/messages',
        { body: [message('ana', 'bo', { a: token }), message('ana', 'bo', { a: 'nothing' })] });
      texts.push(text);
      assert.equal(status, 202, text);
      const [first, second] = json.results;
      if (redacts) assert.equal(first.warnings.length, 1, text);
      else assert.deepEqual([first.code, first.field], ['SECRET_FOUND', '/payload/body/a']);
      assert.deepEqual([second.state, second.warnings], ['accepted', []]);
    });

    it('nor one over a WebSocket', async () => {
      const { json, text } = await operate(ana, { op: 'send', message: message('ana', 'bo', { a: token }) });
      texts.push(text);
      assert.equal(json.ok, redacts, text);
      if (redacts) assert.ok(json.warnings[0].startsWith('github_token at /payload/body/a '), text);
      else assert.deepEqual([json.error.code, json.error.field], ['SECRET_FOUND', '/payload/body/a']);
    });

    it('nor one by a tool of MCP', async () => {
      const { text } = await tool(ana, 'sendMessage', { to: 'bo', type: 'status', content: `here is ${token}` });
      texts.push(text);
      assert.ok(text.includes(redacts ? 'was replaced' : 'SECRET_FOUND'), text);
    });

    it('nor one to several', async () => {
      const { status, json, text } = await ana.call('POST', '/v1/scatter', { body: {
        receivers: ['bo'], message: { ...message('ana', 'bo', { a: token }), type: 'request' } } });
      texts.push(text);
      if (!redacts) assert.deepEqual([status, json.code], [422, 'SECRET_FOUND'], text);
      else assert.equal(status, 202, text);
    });

    it('nor one in a message that is wrong, wherever it stands', async () => {
      for (const wrong of [{ type: token }, { priority: token }, { [token]: 1 }, { receiver: token }, { conversation_id: [token] }]) {
        const { status, text } = await ana.call('POST', '/v1/messages', { body: { ...message('ana', 'bo', 'x'), ...wrong } });
        texts.push(text);
        assert.ok(redacts || status === 422, text);
      }
    });

    it('nor one in a reason, an approval, a session or the name of a lock', async () => {
      for (const way of ['http', 'websocket']) {
        const { json: { id } } = await ana.send('bo', { n: way });
        await bo.read(id);
        const reason = `no: ${token}`;
        const answer = way === 'http'
          ? await bo.call('POST', `/v1/messages/${id}/reject`, { body: { reason } })
          : await operate(bo, { op: 'reject', id, reason });
        texts.push(answer.text);
        const code = answer.json.code ?? answer.json.error?.code;
        assert.equal(code, redacts ? undefined : 'SECRET_FOUND', answer.text);
      }
      const asked = await ana.call('POST', '/v1/approvals', { body: { summary: 'deploy', action: { env: { KEY: token } } } });
      if (!redacts) refused(asked, '/action/env/KEY');
      else {
        assert.equal(asked.status, 202, asked.text);
        const shown = await ana.call('GET', `/v1/approvals/${asked.json.id}`);
        texts.push(asked.text, shown.text);
        assert.equal(shown.json.proposal.action.env.KEY, inPlace);
      }
      const session = await ana.call('POST', '/v1/sessions', { body: { id: randomUUID(), participants: ['bo'], task: { goal: token } } });
      if (!redacts) refused(session, '/task/goal');
      else assert.equal(session.status, 201, session.text);
      const lock = await ana.call('PUT', `/v1/locks/${token}`, { body: {} });
      texts.push(lock.text);
      assert.deepEqual([lock.status, lock.json.code], [422, 'SECRET_FOUND'], lock.text);
    });

    it('what has none passes without a word', async () => {
      const { status, json } = await ana.send('bo', { commit: '3f786850e387550fdab836ed7e6dc881de23001b', password: '<your password>' });
      assert.deepEqual([status, json.warnings], [202, []]);
    });

    it('there is nothing of it in files, answers, metrics and the log', async () => {
      await broker.historyIsWhole();
      for (const path of ['/metrics', '/v1/dead-letters?limit=1000', '/v1/health', '/v1/approvals', '/v1/locks', '/v1/sessions']) {
        texts.push((await broker.call('GET', path)).text);
      }
      const { json: { dead_letters: letters } } = await broker.call('GET', '/v1/dead-letters?limit=1000');
      for (const { id } of letters) texts.push((await broker.call('GET', `/v1/dead-letters/${id}`)).text);
      for (const text of texts) assert.ok(!text.includes(words), text);
      await broker.stop();
      assert.ok(!broker.stderr.includes(words), 'the log');
      assert.deepEqual(await filesWith(broker, words), []);
      assert.deepEqual(await filesWith(broker, escaped), []);
      const { stdout } = await run(binary, ['journal', 'dump', '--data', broker.data], { maxBuffer: 1 << 28 });
      assert.ok(stdout.length > 1000 && !stdout.includes(words), 'journal dump');
    });
  });
}

describe('SP-11: with the policy warn', () => {
  let broker, ana, bo;
  before(async () => { ({ broker, ana, bo } = await start('warn')); });
  after(() => broker?.remove());

  it('the sender hears of it, and what is kept of a wrong message has none', async () => {
    const wrong = await ana.call('POST', '/v1/messages', { body: { ...message('ana', 'bo', { a: token }), type: token } });
    assert.equal(wrong.status, 422, wrong.text);
    assert.ok(!wrong.text.includes(words), wrong.text);
    const letter = await until(async () => (await broker.call('GET', '/v1/dead-letters')).json.dead_letters
      .find((each) => each.reason === 'malformed'));
    const shown = await broker.call('GET', `/v1/dead-letters/${letter.id}`);
    assert.ok(shown.text.includes(inPlace) && !shown.text.includes(words), shown.text);
    await broker.historyIsWhole();
    assert.deepEqual(await filesWith(broker, words), []);
    const { status, json } = await ana.send('bo', { a: token });
    assert.equal(status, 202);
    assert.ok(json.warnings[0].startsWith('github_token at /payload/body/a '), json.warnings[0]);
    assert.ok(!json.warnings[0].includes(words));
    assert.equal((await bo.read(json.id)).json.payload.body.a, token);
    // This is how it would look in the tests above if it were stored.
    assert.notDeepEqual(await filesWith(broker, words), []);
  });

  it('a private flag keeps what it says', async () => {
    const { json: mod } = await broker.call('POST', '/v1/humans', { body: { name: 'mod', rights: ['moderator'] } });
    await broker.call('PATCH', '/v1/rules', { body: { 'secrets.policy': 'refuse' } });
    const raised = await ana.call('POST', '/v1/moderation/flags', { body: { flag: { excerpt: token }, message_id: randomUUID() } });
    assert.equal(raised.status, 202, raised.text);
    const { text } = await broker.call('GET', '/v1/moderation/flags/1', { token: mod.token });
    assert.ok(text.includes(token), text);
  });
});

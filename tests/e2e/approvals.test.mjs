// SPDX-License-Identifier: Apache-2.0
// SP-08: what an agent may do only if people say so, at the real binary: asked, shown, decided once by
// one who may, told to the asker, kept over a crash.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, until } from './harness.mjs';

const run = promisify(execFile);

describe('approvals', () => {
  let broker, ana, bo, people;

  const human = async (name, rights) => {
    const { json } = await broker.call('POST', '/v1/humans', { body: { name, rights } });
    return { name: `human:${name}`, token: json.token, call: (method, path, options) => broker.call(method, path, { token: json.token, ...options }) };
  };
  const ask = async (who, body) => who.call('POST', '/v1/approvals', { body: { summary: 'close issue 123', ...body } });
  const decide = (who, id, body) => who.call('POST', `/v1/approvals/${id}/decision`, { body });
  const told = (who, event) => until(async () => {
    const { json } = await who.call('GET', '/v1/inbox?limit=100');
    for (const { id } of json.notifications) {
      const { json: whole } = await who.call('GET', `/v1/messages/${id}`);
      const message = whole.message ?? whole;
      if (message.payload?.body?.event === event) return message.payload.body;
    }
    return undefined;
  });

  before(async () => {
    broker = await Broker.start();
    [ana, bo] = await Promise.all(['ana', 'bo'].map((name) => broker.addAgent(name)));
    people = { mia: await human('mia', ['approver']), max: await human('max', ['approver']), tim: await human('tim', ['moderator']) };
  });
  after(() => broker.stop());

  it('SP-08: is modified by one who may, and the asker gets what was allowed', async () => {
    const asked = await ask(ana, { action: { close: 123, reason: 'duplicate' }, rationale: 'same steps', confidence: 0.96, message_id: 'a1' });
    assert.equal(asked.status, 202, asked.text);
    const { id, digest } = asked.json;
    assert.equal((await ask(ana, { action: { close: 123, reason: 'duplicate' }, rationale: 'same steps', confidence: 0.96, message_id: 'a1' })).json.id, id);
    assert.equal((await ask(ana, { action: { close: 124 }, message_id: 'a1' })).json.code, 'DUPLICATE_ID');
    assert.equal((await ask(ana, { action: { close: 123, reason: 'duplicate' }, rationale: 'same steps', confidence: 0.96, message_id: 'a1', timeout: '1h' })).json.code, 'DUPLICATE_ID');
    const notice = await told(people.mia, 'approval_asked');
    assert.equal(notice.approval, id);
    const shown = await people.mia.call('GET', `/v1/approvals/${id}`);
    assert.deepEqual(shown.json.proposal, { action: { close: 123, reason: 'duplicate' }, rationale: 'same steps', confidence: 0.96 });
    assert.equal(shown.json.may_decide, true);
    assert.equal((await decide(people.mia, id, { decision: 'approve', digest: '00' })).json.code, 'CONFLICT');
    const done = await decide(people.mia, id, { decision: 'modify', modification: { label: 'duplicate' }, comment: 'label it', digest });
    assert.equal(done.status, 200, done.text);
    assert.equal(done.json.state, 'modified');
    const heard = await told(ana, 'approval_decided');
    assert.deepEqual([heard.decision, heard.decided_by, heard.comment, JSON.parse(heard.modification)], ['modified', 'human:mia', 'label it', { label: 'duplicate' }]);
    assert.deepEqual((await ana.call('GET', `/v1/approvals/${id}`)).json.modification, { label: 'duplicate' });
    assert.equal((await decide(people.max, id, { decision: 'approve' })).json.code, 'CONFLICT');
  });

  it('SP-08: nobody else sees or decides it', async () => {
    const { json: { id } } = await ask(ana, { approvers: ['human:max'] });
    for (const [who, status, decided] of [[bo, 404, 404], [people.tim, 404, 404], [people.mia, 404, 404], [ana, 200, 403], [broker, 200, 403]]) {
      assert.equal((await who.call('GET', `/v1/approvals/${id}`)).status, status);
      assert.equal((await decide(who, id, { decision: 'approve' })).status, decided);
    }
    assert.equal((await bo.call('GET', '/v1/approvals')).json.total, 0);
    assert.deepEqual((await people.mia.call('GET', '/v1/approvals?for=me&state=pending')).json.items, []);
    assert.equal((await decide(people.max, id, { decision: 'reject' })).json.state, 'rejected');
  });

  it('SP-08: is decided in a way that was offered', async () => {
    assert.equal((await ask(ana, { options: ['approve', 'ignore'] })).json.field, '/options');
    const { json: { id, options } } = await ask(ana, { options: ['approve'] });
    assert.deepEqual(options, ['approve']);
    const refused = await decide(people.mia, id, { decision: 'reject' });
    assert.deepEqual([refused.status, refused.json.code, refused.json.field], [400, 'BAD_REQUEST', '/decision']);
    assert.equal((await decide(people.mia, id, { decision: 'approve' })).json.state, 'approved');
  });

  it('wakes one who waits for something to decide', async () => {
    const waiting = people.max.call('GET', '/v1/approvals?for=me&state=pending&wait=60s');
    const { json: { id } } = await ask(bo, {});
    assert.deepEqual((await waiting).json.items.map((each) => each.id), [id]);
    assert.equal((await decide(bo, id, { decision: 'withdraw' })).json.state, 'withdrawn');
  });

  it('waits for an approval, and for no other mail', async () => {
    let ended = false;
    const waiting = people.max.call('GET', '/v1/approvals?for=me&state=pending&wait=60s').finally(() => { ended = true; });
    for (let n = 0; n < 5; ++n) {
      const { json: { id } } = await bo.send('human:max', { n });
      await until(async () => (await people.max.call('GET', '/v1/inbox?limit=100')).json.notifications.some((each) => each.id === id));
    }
    assert.equal(ended, false);
    const { json: { id } } = await ask(bo, {});
    assert.deepEqual((await waiting).json.items.map((each) => each.id), [id]);
    assert.equal((await decide(bo, id, { decision: 'withdraw' })).json.state, 'withdrawn');
    assert.deepEqual((await people.max.call('GET', '/v1/approvals?for=me&state=pending&wait=1s')).json, { items: [], total: 0 });
  });

  it('lists very many page by page, each once', async () => {
    const asked = [];
    for (let n = 0; n < 150; ++n) asked.push((await ask(bo, { approvers: ['human:max'] })).json.id);
    const found = [];
    for (let cursor = ''; cursor !== undefined;) {
      const { json } = await people.max.call('GET', `/v1/approvals?for=me&state=pending&limit=70${cursor && `&cursor=${cursor}`}`);
      assert.equal(json.total, 150);
      found.push(...json.items.map((each) => each.id));
      cursor = json.next;
    }
    assert.deepEqual(found, asked.reverse());
    for (const id of asked) assert.equal((await decide(bo, id, { decision: 'withdraw' })).status, 200);
  });

  it('SP-08: an admin who was not named rejects, and allows nothing', async () => {
    const { json: { id } } = await ask(ana, { approvers: ['human:max'] });
    assert.equal((await decide(broker, id, { decision: 'approve' })).status, 403);
    assert.equal((await decide(broker, id, { decision: 'modify', modification: 1 })).status, 403);
    assert.equal((await decide(broker, id, { decision: 'reject' })).json.state, 'rejected');
  });

  it('SP-08: shows what is proposed, and not how it was written', async () => {
    const forged = `{"summary":"close\\n\\nit","action":{"close":1,${'\n'.repeat(40)}   "note": "\u202e\u200bx"},\t"rationale":"ok"}`;
    const { status, text: refusal, json: { id, digest } } = await ana.call('POST', '/v1/approvals', { body: forged });
    assert.equal(status, 202, refusal);
    const proposal = '{"action":{"close":1,"note":"\\u202e\\u200bx"},"rationale":"ok"}';
    const { text } = await people.mia.call('GET', `/v1/approvals/${id}`);
    assert.ok(text.includes(`"proposal":${proposal}`), text);
    assert.equal(createHash('sha256').update(proposal).digest('hex'), digest);
    const { stdout } = await run(binary, ['approvals', 'show', String(id)], { env: { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: people.mia.token } });
    assert.ok(stdout.startsWith('close\\x0a\\x0ait\n\n{\n  "action": {\n    "close": 1,\n    "note": "\\u202e\\u200bx"\n  },\n  "rationale": "ok"\n}\n'), stdout);
    for (const [body, field] of [['{"summary":"x","action":{"a":[{"b/c":1,"b/c":2}]}}', '/action/a/0/b~1c'], ['{"summary":"x","action":1,"action":2}', '/action']]) {
      const { status: code, json } = await ana.call('POST', '/v1/approvals', { body });
      assert.deepEqual([code, json.code, json.field], [400, 'BAD_REQUEST', field], JSON.stringify(json));
    }
    const twice = await people.mia.call('POST', `/v1/approvals/${id}/decision`, { body: '{"decision":"modify","modification":{"a":1,"a":2}}' });
    assert.deepEqual([twice.status, twice.json.field], [400, '/modification/a']);
    assert.equal((await decide(people.mia, id, { decision: 'reject' })).json.state, 'rejected');
  });

  it('SP-08: silence approves nothing, and a pending one outlives a crash', async () => {
    const { json: { id } } = await ask(ana, { timeout: '1h' });
    const { json: short } = await ask(bo, { timeout: '1ms' });
    assert.equal((await until(async () => {
      const { json } = await bo.call('GET', `/v1/approvals/${short.id}`);
      return json.state === 'pending' ? undefined : json;
    })).state, 'expired');
    assert.equal((await told(bo, 'approval_decided')).decision, 'expired');
    await broker.kill();
    await broker.run();
    assert.equal((await ana.call('GET', `/v1/approvals/${id}`)).json.state, 'pending');
    assert.equal((await bo.call('GET', `/v1/approvals/${short.id}`)).json.state, 'expired');
    assert.equal((await decide(people.mia, short.id, { decision: 'approve' })).json.code, 'CONFLICT');
    assert.equal((await decide(people.mia, id, { decision: 'approve' })).json.state, 'approved');
  });

  it('names what is wrong with a question', async () => {
    for (const [body, field] of [[{ summary: '' }, '/summary'], [{ confidence: 2 }, '/confidence'], [{ priority: 'urgent' }, '/priority'],
      [{ approvers: ['human:tim'] }, '/approvers/0'], [{ needed: 3 }, '/needed'], [{ timeout: '9000h' }, '/timeout']]) {
      const { status, json } = await ask(ana, body);
      assert.deepEqual([status, json.field], [400, field], JSON.stringify(json));
    }
  });

  it('SP-08: modify opens the editor on what is proposed, for its user alone', async () => {
    const env = { ...process.env, PARLEY_URL: broker.url, PARLEY_TOKEN: people.mia.token, VISUAL: '', EDITOR: '' };
    const { json: { id } } = await ask(ana, { action: { label: 'bug', issue: 123 } });
    const seen = `${broker.data}/seen`;
    const editor = async (name, script) => {
      const path = `${broker.data}/${name}`;
      await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return path;
    };
    const modify = (more) => run(binary, ['approvals', 'modify', String(id)], { env: { ...env, ...more } });
    const fails = await editor('fails', 'exit 3');
    await assert.rejects(modify({ EDITOR: fails }), (error) => error.code !== 0 && /Nothing was decided/.test(error.stderr));
    const nonsense = await editor('nonsense', 'echo no JSON > "$1"');
    await assert.rejects(modify({ EDITOR: nonsense }), (error) => error.code !== 0 && /JSON/.test(error.stderr));
    assert.equal((await ana.call('GET', `/v1/approvals/${id}`)).json.state, 'pending');
    const edits = await editor('edits', `stat -c %a "$2" > ${seen}; cat "$2" >> ${seen}; sed -i s/bug/duplicate/ "$2"; test "$1" = --wait`);
    const { stdout } = await modify({ VISUAL: `${edits} --wait`, EDITOR: fails });
    assert.equal(stdout, `modified approval ${id}\n`, 'VISUAL comes before EDITOR');
    const [mode, ...text] = (await readFile(seen, 'utf8')).split('\n');
    assert.equal(mode, '600');
    assert.deepEqual(JSON.parse(text.join('\n')), { label: 'bug', issue: 123 });
    const { json } = await ana.call('GET', `/v1/approvals/${id}`);
    assert.deepEqual([json.state, json.modification], ['modified', { label: 'duplicate', issue: 123 }]);
  });

  it('is asked and decided from the command line', async () => {
    const env = { ...process.env, PARLEY_URL: broker.url };
    const as = (who) => ({ env: { ...env, PARLEY_TOKEN: who.token } });
    const { stdout } = await run(binary, ['approvals', 'ask', 'merge it', '--why', 'green'], as(ana));
    const id = stdout.trim();
    const picture = (await run(binary, ['approvals', 'show', id], as(people.mia))).stdout;
    assert.match(picture, /^merge it\n/);
    assert.match(picture, /"rationale": ?"green"/);
    assert.match(picture, new RegExp(`parley approvals approve ${id}`));
    const editor = `${broker.data}/editor`;
    await writeFile(editor, '#!/bin/sh\necho \'"merge it tomorrow"\' > "$1"\n', { mode: 0o755 });
    const modified = await run(binary, ['approvals', 'modify', id], { env: { ...as(people.mia).env, VISUAL: '', EDITOR: editor } });
    assert.equal(modified.stdout, `modified approval ${id}\n`);
    assert.equal((await ana.call('GET', `/v1/approvals/${id}`)).json.modification, 'merge it tomorrow');
    assert.match((await run(binary, ['approvals', 'list'], as(people.mia))).stdout, /modified/);
    await assert.rejects(run(binary, ['approvals', 'approve', id], as(people.max)), (error) => error.code === 1 && /modified/.test(error.stderr));
  });
});

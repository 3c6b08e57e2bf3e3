// SPDX-License-Identifier: Apache-2.0
// SQ-08: people are told by [[notify]] that they are wanted. The receiver here is one of our own, on
// loopback.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, Broker, Changes, message, until } from './harness.mjs';

const execute = promisify(execFile);

// Takes what it is sent; `answers` says how, one after the other, then 200.
class Receiver {
  static async start({ answers = [] } = {}) {
    const receiver = new Receiver();
    Object.assign(receiver, { requests: [], answers, changes: new Changes() });
    receiver.server = http.createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      receiver.requests.push({ path: request.url, headers: request.headers, text, json: JSON.parse(text) });
      response.writeHead(receiver.answers.shift() ?? 200);
      response.end('{"ok":true}');
      receiver.changes.changed();
    });
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}`;
    return receiver;
  }
  until(count) { return this.changes.until(() => this.requests[count - 1]); }
  remove() { this.server.closeAllConnections(); this.server.close(); }
}

// Puts the dead letter that is open before people.
async function passOn(broker) {
  const letters = await until(async () => (await broker.call('GET', '/v1/dead-letters')).json, ({ dead_letters: all }) => all.some(({ resolution }) => resolution.status === 'pending'));
  const letter = letters.dead_letters.find(({ resolution }) => resolution.status === 'pending');
  const { status, text } = await broker.call('POST', `/v1/dead-letters/${letter.id}/escalate`);
  assert.equal(status, 200, text);
}

describe('notify', () => {
  const running = [];
  after(async () => { for (const each of running) await each.remove(); });

  const begin = async (table, { answers } = {}) => {
    const receiver = await Receiver.start({ answers });
    const data = await mkdtemp(join(tmpdir(), 'parley-notify-'));
    await writeFile(join(data, 'parley.toml'), `webhook.allowed_networks = ["127.0.0.0/8"]\nwebhook.retry_first = "20ms"\n${table(receiver.url)}`);
    running.push(receiver);
    const broker = await Broker.start({ data });
    running.push(broker);
    const ana = await broker.addAgent('ana');
    // A person passes on a critical message that reached nobody.
    const escalate = async () => {
      await broker.call('POST', '/v1/messages', { token: ana.token, body: message('ana', 'nobody', 'lost', { priority: 'critical' }) });
      await passOn(broker);
    };
    const ask = (priority) => broker.call('POST', '/v1/approvals', {
      token: ana.token, body: { action: { run: 'deploy' }, summary: `deploy ${priority}`, rationale: 'it is green', priority },
    });
    return { receiver, broker, ana, escalate, ask };
  };

  it('an escalation is told once, signed, and not again after a restart (SQ-08)', async () => {
    const { receiver, broker, escalate } = await begin((url) => `[[notify]]\nurl = "${url}/hook?x=1"\nsecret = "s3cret"\nfor = "human:mia"\n`);
    await escalate();
    const { headers, text, json, path } = await receiver.until(1);
    assert.equal(path, '/hook?x=1');
    assert.equal(json.type, 'parley.escalation.opened');
    assert.equal(json.id, headers['webhook-id']);
    assert.equal(json.data.escalation, 1);
    assert.equal(json.data.priority, 'P0');
    assert.equal(json.data.agent, 'ana');
    assert.equal(json.data.for, 'human:mia');
    const signed = createHmac('sha256', 's3cret').update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`).digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${signed}`);
    // It is written down before anyone could wait for it here, or a moment later.
    const notified = join(broker.data, 'notified');
    await until(() => readFile(notified, 'utf8').catch(() => ''), (found) => / escalation 1$/m.test(found));
    assert.equal((await stat(notified)).mode & 0o777, 0o600);
    assert.equal((await readFile(notified, 'utf8')).includes('127.0.0.1'), false);
    await broker.kill();
    await broker.run(broker.flags);
    await escalate();
    const second = await receiver.until(2);
    assert.equal(second.json.data.escalation, 2);
    assert.notEqual(second.json.id, json.id);
  });

  it('what fails is tried again with the same id, and never holds up the broker (SQ-08)', async () => {
    const { receiver, broker, escalate } = await begin((url) => `[[notify]]\nurl = "${url}/"\n`, { answers: [500, 503, 200] });
    await escalate();
    await receiver.until(3);
    assert.equal(new Set(receiver.requests.map(({ json }) => json.id)).size, 1);
    assert.match(broker.stderr, /the notification at http:\/\/127\.0\.0\.1:\d+ fails and is tried again/);
    await escalate();
    assert.equal((await receiver.until(4)).json.data.escalation, 2);
  });

  it('what is resolved meanwhile is not told any more', async () => {
    const { receiver, broker, escalate } = await begin((url) => `[[notify]]\nurl = "${url}/"\n`, { answers: [503] });
    await broker.call('GET', '/livez', { token: null });
    await escalate();
    await receiver.until(1);
    await broker.call('POST', '/v1/escalations/1/resolve', { body: { resolution: 'done' } });
    await escalate();
    const told = await receiver.changes.until(() => receiver.requests.find(({ json }) => json.data.escalation === 2));
    assert.equal(told.json.data.agent, 'ana');
  });

  it('Slack and Telegram get their own forms (SQ-08)', async () => {
    const { receiver, escalate } = await begin((url) => `[[notify]]\nurl = "${url}/services/T/B"\nform = "slack"\n
[[notify]]\nurl = "${url}/bot1:token/sendMessage"\nform = "telegram"\nchat_id = "-100"\nwhich = ["p0"]\n`);
    await escalate();
    await receiver.until(2);
    const slack = receiver.requests.find(({ path }) => path === '/services/T/B');
    assert.deepEqual(Object.keys(slack.json), ['text']);
    assert.match(slack.json.text, /^P0 ESCALATION 1: /);
    const telegram = receiver.requests.find(({ path }) => path === '/bot1:token/sendMessage');
    assert.equal(telegram.json.chat_id, '-100');
    assert.match(telegram.json.text, /^P0 ESCALATION 1: /);
    assert.match(telegram.json.text, /parley escalations resolve 1$/);
  });

  it('an approval is told to whom it is for (SQ-08)', async () => {
    const { receiver, broker, ask, escalate } = await begin((url) => `[[notify]]\nurl = "${url}/mia"\nwhich = ["approvals"]\nfor = "human:mia"\n
[[notify]]\nurl = "${url}/p0"\nwhich = ["p0"]\n`);
    await broker.call('POST', '/v1/humans', { body: { name: 'mia', rights: ['approver'] } });
    assert.ok((await ask('normal')).status < 300);
    const { path, json } = await receiver.until(1);
    assert.equal(path, '/mia');
    assert.equal(json.type, 'parley.approval.asked');
    assert.equal(json.data.subject, 'deploy normal');
    await escalate();
    assert.equal((await receiver.until(2)).path, '/p0');
  });

  it('a target that does not answer holds up no other', async () => {
    const { receiver, escalate } = await begin((url) => `[[notify]]\nurl = "http://127.0.0.1:1/"\n
[[notify]]\nurl = "${url}/"\n`);
    await escalate();
    assert.equal((await receiver.until(1)).json.data.escalation, 1);
  });

  it('a wrong table, or a URL that may not be reached, is told at the start', async () => {
    const data = await mkdtemp(join(tmpdir(), 'parley-notify-'));
    const cases = [
      ['[[notify]]\nurl = "https://10.0.0.1/x-secret"\n', /\[\[notify\]\] number 1: .*may not be reached/],
      ['[[notify]]\nurl = "http://example.org/x-secret"\n', /http is for loopback only/],
      ['[[notify]]\nlink = "https://example.org"\n', /parley\.toml:2: \[\[notify\]\] has no key "link"/],
      ['[[notify]]\nurl = "https://example.org/x-secret"\nform = "sms"\n', /form takes json, slack or telegram/],
    ];
    for (const [text, wanted] of cases) {
      await writeFile(join(data, 'parley.toml'), text);
      const { stderr } = await execute(binary, ['serve', '--data', data, '--listen', '127.0.0.1:0'], { timeout: 60_000 }).then(() => assert.fail('it starts'), (error) => error);
      assert.match(stderr, wanted);
      assert.equal(stderr.includes('x-secret'), false, stderr);
    }
    await rm(data, { recursive: true });
  });
});

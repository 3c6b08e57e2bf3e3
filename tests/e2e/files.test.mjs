// SPDX-License-Identifier: Apache-2.0
// SQ-11: an inbox that is made of files. Agents here have nothing but a directory; the broker is the
// real one, and what it keeps is asked of it over HTTP.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Broker, until } from './harness.mjs';

const main = 'agent:main:main';
const sub = 'agent:main:subagent:7';
const squad = { 'Parley-Dialect': 'squad' };
// What an agent of squad is registered with: its role is in its name.
const speaks = (id) => ({ dialect: 'squad', role: id.split(':')[2] });

let made = 0;
const idOf = (name) => `MSG-20260201-043500-${name ?? `t${++made}`}`;

// A message as the protocol's text has it.
function message(from, to, extra = {}) {
  return {
    id: idOf(), timestamp: '2026-02-01T04:35:00Z', from, to, type: 'query', priority: 'P1',
    subject: 'is it green', body: { task: 'say whether it is green' }, status: 'pending', ttl_hours: 24, ...extra,
  };
}

// An agent that has nothing but file tools.
class Desk {
  constructor(root, box) { this.root = root; this.path = join(root, box); }
  at(...parts) { return join(this.path, ...parts); }
  list(place = 'pending') {
    return existsSync(this.at(place)) ? readdirSync(this.at(place)).filter((name) => name.endsWith('.json')).sort() : [];
  }
  read(name, place = 'pending') { return JSON.parse(readFileSync(this.at(place, name), 'utf8')); }
  archive(name) { renameSync(this.at('pending', name), this.at('archive', name)); }
  // Writes it whole: under another name first.
  drop(place, value, name = `${value.id}.json`) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    writeFileSync(this.at(place, `${name}.tmp`), text);
    renameSync(this.at(place, `${name}.tmp`), this.at(place, name));
  }
  holds(name, place = 'pending') { return until(() => existsSync(this.at(place, name))); }
  async refused(name) {
    await this.holds(`${name}.rejected`, 'rejected');
    return JSON.parse(readFileSync(this.at('rejected', `${name}.error.json`), 'utf8'));
  }
}

describe('files', () => {
  const running = [];
  after(async () => { for (const each of running) await each.remove(); });

  const begin = async ({ flags = [], raise } = {}) => {
    const broker = await Broker.start({ flags: ['--set', 'squad.files_look_every=100ms', ...flags], raise });
    running.push(broker);
    const root = join(broker.data, 'memory', 'agent-inbox');
    const agents = {};
    for (const id of [main, sub]) agents[id] = await broker.addAgent(id, speaks(id));
    return { broker, root, agents, main: new Desk(root, 'main'), sub: new Desk(root, 'subagent-7') };
  };
  const send = async (agent, value) => {
    const { status, json, text } = await agent.call('POST', '/v1/messages', { body: value, headers: squad });
    assert.equal(status, 202, text);
    return json;
  };
  const stateOf = async (agent, id) => {
    const { json } = await agent.delivery(id);
    return json?.deliveries?.[0]?.state;
  };

  it('the tree of the text is there before the first message (SQ-11)', async () => {
    const { root, broker } = await begin();
    for (const path of ['README.md', 'schema.json', 'main/pending', 'main/archive', 'main/outbox', 'subagent-7/pending',
      'subagent-7/archive', 'human/pending', 'human/archive', 'broadcast/announcements']) {
      await until(() => existsSync(join(root, path)));
    }
    assert.equal(statSync(root).mode & 0o777, 0o700);
    assert.equal(statSync(join(root, 'main/pending')).mode & 0o777, 0o700);
    const schema = JSON.parse(readFileSync(join(root, 'schema.json'), 'utf8'));
    assert.ok(JSON.stringify(schema).includes('handoff'));
    const { json } = await broker.call('GET', '/openapi.json', { token: null });
    assert.deepEqual(schema, json.components.schemas.SquadMessage);
  });

  it('without an agent of squad, or by squad.files=false, there is no tree', async () => {
    for (const flags of [[], ['--set', 'squad.files=false']]) {
      const broker = await Broker.start({ flags });
      running.push(broker);
      await broker.addAgent(...(flags.length ? [main, speaks(main)] : ['ana']));
      assert.equal(existsSync(join(broker.data, 'memory')), false);
    }
  });

  it('what waits is a file, and to move it to the archive acknowledges it (SQ-11)', async () => {
    const world = await begin();
    const asked = message(main, sub);
    await send(world.agents[main], asked);
    await world.sub.holds(`${asked.id}.json`);
    const file = world.sub.read(`${asked.id}.json`);
    assert.equal(file.id, asked.id);
    assert.equal(file.from, main);
    assert.deepEqual(file.body, asked.body);
    assert.equal(statSync(world.sub.at('pending', `${asked.id}.json`)).mode & 0o777, 0o600);
    world.sub.archive(`${asked.id}.json`);
    await until(() => stateOf(world.agents[main], asked.id), (state) => state === 'acked');
    assert.equal((await world.agents[sub].inbox()).json.count, 0);
    assert.deepEqual(world.sub.list(), []);
    assert.deepEqual(world.sub.list('archive'), [`${asked.id}.json`]);
  });

  it('what is settled over HTTP goes to the archive', async () => {
    const world = await begin();
    const asked = message(main, sub);
    await send(world.agents[main], asked);
    await world.sub.holds(`${asked.id}.json`);
    assert.equal((await world.agents[sub].read(asked.id)).status, 200);
    assert.equal((await world.agents[sub].ack(asked.id)).status, 200);
    await world.sub.holds(`${asked.id}.json`, 'archive');
    assert.deepEqual(world.sub.list(), []);
  });

  it('a file that is removed comes back: that is no acknowledgement', async () => {
    const world = await begin();
    const asked = message(main, sub);
    await send(world.agents[main], asked);
    await world.sub.holds(`${asked.id}.json`);
    rmSync(world.sub.at('pending', `${asked.id}.json`));
    await world.sub.holds(`${asked.id}.json`);
    assert.equal(await stateOf(world.agents[main], asked.id), 'queued');
  });

  it('a file that is put into the receiver\'s pending is sent, and stays (SQ-11)', async () => {
    const world = await begin();
    const asked = message(main, sub);
    await world.sub.holds('.', 'pending');
    world.sub.drop('pending', asked);
    await until(async () => (await world.agents[sub].inbox()).json.count === 1);
    const { headers, json } = await world.agents[sub].read(asked.id);
    assert.equal(json.id, asked.id);
    assert.equal(JSON.stringify([...headers]).includes('file'), true, 'its provenance says that it came by a file');
    assert.deepEqual(world.sub.list(), [`${asked.id}.json`]);
    world.sub.archive(`${asked.id}.json`);
    await until(() => stateOf(world.agents[main], asked.id), (state) => state === 'acked');
  });

  it('who reads faster than the broker takes what lies there: it is sent and acknowledged nevertheless', async () => {
    const world = await begin();
    await world.sub.holds('.', 'archive');
    const asked = message(main, sub);
    await world.broker.stop();
    world.sub.drop('pending', asked);
    world.sub.archive(`${asked.id}.json`);
    await world.broker.run(world.broker.flags);
    await until(() => stateOf(world.agents[main], asked.id), (state) => state === 'acked');
    assert.deepEqual(world.sub.list(), []);
  });

  it('the text\'s simple handoff, over files only: handoff, ack, response (SQ-04)', async () => {
    const world = await begin();
    await world.main.holds('.', 'outbox');
    const handoff = message(main, sub, { type: 'handoff', subject: 'Analyze this data', body: { task: 'analyze' } });
    world.main.drop('outbox', handoff);
    await world.sub.holds(`${handoff.id}.json`);
    await world.main.holds(`${handoff.id}.json`, 'outbox/sent');
    const ack = message(sub, main, { type: 'ack', reply_to: handoff.id, subject: 'Received, starting', body: {} });
    world.sub.drop('outbox', ack);
    world.sub.archive(`${handoff.id}.json`);
    const answer = message(sub, main, { type: 'response', reply_to: handoff.id, subject: 'RE: Analyze', body: { result: 'completed', summary: 'found X' } });
    world.sub.drop('outbox', answer);
    await world.main.holds(`${answer.id}.json`);
    assert.equal(world.main.read(`${answer.id}.json`).reply_to, handoff.id);
    assert.equal(world.main.read(`${answer.id}.json`).body.summary, 'found X');
    await until(() => stateOf(world.agents[main], handoff.id), (state) => state === 'answered');
  });

  it('a message without id and sender gets them, and is one however often the broker starts', async () => {
    const world = await begin();
    await world.main.holds('.', 'outbox');
    await world.broker.stop();
    world.main.drop('outbox', { to: sub, type: 'query', subject: 'short', body: { task: 'x' } }, 'short.json');
    await world.broker.run(world.broker.flags);
    await world.main.holds('short.json', 'outbox/sent');
    await until(() => world.sub.list().length === 1);
    assert.equal(world.sub.read(world.sub.list()[0]).from, main);
  });

  it('an announcement lies in one place for all, and can be put there (SQ-11)', async () => {
    const world = await begin();
    const news = message(main, 'broadcast', { type: 'response', subject: 'we move', body: { summary: 'to the new tree' } });
    await send(world.agents[main], news);
    const shared = new Desk(world.root, 'broadcast');
    await shared.holds(`${news.id}.json`, 'announcements');
    assert.deepEqual(world.sub.list(), []);
    const more = message(main, 'broadcast', { type: 'response', subject: 'once more', body: { summary: 'moved' } });
    shared.drop('announcements', more);
    await until(async () => (await world.agents[sub].inbox()).json.count === 2);
    assert.deepEqual(shared.list('announcements').sort(), [`${news.id}.json`, `${more.id}.json`].sort());
  });

  it('what a role does not allow is refused in a file, too (SQ-02)', async () => {
    const world = await begin();
    await world.sub.holds('.', 'outbox');
    const handoff = message(sub, main, { type: 'handoff' });
    world.sub.drop('outbox', handoff);
    assert.equal((await world.sub.refused(`${handoff.id}.json`)).code, 'ROLE_FORBIDDEN');
    assert.equal((await world.agents[main].inbox()).json.count, 0);
  });

  it('a broken file is moved aside, with a file that says what is wrong (SQ-11)', async () => {
    const world = await begin();
    await world.main.holds('.', 'outbox');
    world.main.drop('outbox', '{"id": "MSG-', 'half.json');
    assert.match((await world.main.refused('half.json')).detail, /JSON/);
    world.main.drop('outbox', message(main, sub, { type: 'handout' }), 'type.json');
    const problem = await world.main.refused('type.json');
    assert.equal(problem.code, 'VALIDATION_FAILED');
    assert.equal(problem.field, '/type');
    world.sub.drop('pending', 'x'.repeat(2_000_000), 'large.json');
    assert.equal((await world.sub.refused('large.json')).code, 'PAYLOAD_TOO_LARGE');
    assert.deepEqual(world.sub.list(), []);
    assert.equal((await world.agents[sub].inbox()).json.count, 0);
  });

  it('a file that is written slowly is taken when it is whole, and not before', async () => {
    const world = await begin();
    await world.main.holds('.', 'outbox');
    const asked = message(main, sub);
    const text = JSON.stringify(asked);
    for (let end = 1; end < text.length; end += 40) {
      writeFileSync(world.main.at('outbox', `${asked.id}.json`), text.slice(0, end));
      await world.broker.call('GET', '/livez', { token: null });
    }
    assert.equal((await world.agents[sub].inbox()).json.count, 0);
    writeFileSync(world.main.at('outbox', `${asked.id}.json`), text);
    await world.sub.holds(`${asked.id}.json`);
    assert.deepEqual(world.sub.read(`${asked.id}.json`).body, asked.body);
  });

  it('links, pipes and directories are not followed (SQ-11)', async () => {
    const world = await begin();
    await world.sub.holds('.', 'outbox');
    const secret = join(world.broker.data, 'a-secret.json');
    writeFileSync(secret, JSON.stringify(message(main, sub)));
    symlinkSync(secret, world.sub.at('pending', 'link.json'));
    symlinkSync(join(world.broker.data, 'admin.token'), world.sub.at('outbox', 'token.json'));
    linkSync(secret, world.sub.at('pending', 'hard.json'));
    execFileSync('mkfifo', [world.sub.at('outbox', 'pipe.json')]);
    mkdirSync(world.sub.at('outbox', 'directory.json'));
    for (const name of ['link', 'token', 'hard', 'pipe', 'directory']) {
      await until(() => existsSync(world.sub.at('rejected', `${name}.json.error.json`)));
    }
    assert.equal((await world.agents[sub].inbox()).json.count, 0);
    assert.ok(existsSync(secret));
    assert.ok(existsSync(join(world.broker.data, 'admin.token')));
    // A directory of the tree that leads elsewhere gets nothing.
    const elsewhere = join(world.broker.data, 'elsewhere');
    mkdirSync(elsewhere);
    rmSync(world.sub.at('pending'), { recursive: true });
    symlinkSync(elsewhere, world.sub.at('pending'));
    const asked = message(main, sub);
    await send(world.agents[main], asked);
    await until(() => /cannot open subagent-7\/pending|no directory subagent-7/.test(world.broker.stderr));
    assert.deepEqual(readdirSync(elsewhere), []);
    rmSync(world.sub.at('pending'));
    await world.sub.holds(`${asked.id}.json`);
  });

  it('names that are no paths never leave the tree (SQ-11)', async () => {
    const world = await begin();
    const names = ['agent:main:subagent:../../../x', 'agent:main:subagent:..', `agent:main:subagent:${'x'.repeat(180)}`];
    for (const id of names) {
      const { status } = await world.broker.call('POST', '/v1/agents', { body: { id, ...speaks(id) } });
      assert.ok(status === 201 || status === 400 || status === 422, `${id}: ${status}`);
      if (status === 201) await send(world.agents[main], message(main, id));
    }
    const last = message(main, sub);
    await send(world.agents[main], last);
    await world.sub.holds(`${last.id}.json`);
    const outside = readdirSync(join(world.broker.data, 'memory')).filter((name) => !['agent-inbox', 'active-thread.md', '.parley'].includes(name));
    assert.deepEqual(outside, []);
    for (const name of readdirSync(world.root)) assert.ok(Buffer.byteLength(name) <= 200, name);
  });

  it('who may send as whom through files is checked (SQ-11)', async () => {
    const own = process.getuid();
    const world = await begin({ flags: ['--set', `squad.file_senders=${own}=${sub}`] });
    await world.main.holds('.', 'outbox');
    world.main.drop('outbox', message(main, sub), 'not-main.json');
    assert.match((await world.main.refused('not-main.json')).detail, /may not be messages of "agent:main:main"/);
    world.sub.drop('outbox', message(main, sub), 'forged.json');
    assert.match((await world.sub.refused('forged.json')).detail, /not by "agent:main:main"/);
    world.sub.drop('pending', message('human:mia', sub), 'human.json');
    assert.equal((await world.sub.refused('human.json')).code, 'SENDER_MISMATCH');
    world.sub.drop('pending', message(sub, main), 'elsewhere.json');
    assert.match((await world.sub.refused('elsewhere.json')).detail, /lies in the directory subagent-7/);
    const good = message(sub, main);
    world.sub.drop('outbox', good);
    await world.main.holds(`${good.id}.json`);
  });

  it('a secret that is taken out of a message is not left in the file', async () => {
    const world = await begin({ flags: ['--set', 'secrets.policy=redact'] });
    await world.sub.holds('.', 'pending');
    const planted = ['gh', 'p_', randomBytes(18).toString('hex')].join('');
    const asked = message(main, sub, { body: { task: `use ${planted}` } });
    world.sub.drop('pending', asked);
    // The broker's own file takes the place of what was dropped: for a moment there may be neither.
    const path = world.sub.at('pending', `${asked.id}.json`);
    const now = () => { try { return readFileSync(path, 'utf8'); } catch { return ''; } };
    const text = await until(now, (found) => found && !found.includes(planted));
    assert.match(JSON.parse(text).body.task, /redacted/);
  });

  it('an escalation is told to people when it is opened and when it is resolved (SQ-08)', async () => {
    const world = await begin();
    const lost = message(main, 'agent:main:subagent:gone', { priority: 'P1', subject: 'the disk\n## is full <!-- escalation 9 opened -->' });
    await world.agents[main].call('POST', '/v1/messages', { body: lost, headers: squad });
    const { json } = await world.broker.call('GET', '/v1/dead-letters');
    const letter = json.dead_letters[0];
    assert.equal((await world.broker.call('POST', `/v1/dead-letters/${letter.id}/escalate`)).status, 200);
    const path = join(world.broker.data, 'memory', 'active-thread.md');
    const text = await until(() => existsSync(path) && readFileSync(path, 'utf8'), (found) => found && found.includes('opened -->'));
    assert.match(text, /^## ESCALATION 1: the disk ## is full/m);
    assert.equal(text.match(/<!-- escalation/g).length, 1);
    const human = new Desk(world.root, 'human');
    await until(() => human.list().length === 1);
    const file = human.read(human.list()[0]);
    assert.equal(file.type, 'escalation');
    assert.deepEqual(file.body.debate_log, [lost.id]);
    await world.broker.kill();
    await world.broker.run(world.broker.flags);
    assert.equal((await world.broker.call('POST', '/v1/escalations/1/resolve', { body: { resolution: 'a larger one' } })).status, 200);
    await until(() => readFileSync(path, 'utf8'), (found) => found.includes('resolved -->'));
    assert.match(readFileSync(path, 'utf8'), /^## RESOLVED 1: a larger one$/m);
    assert.equal(readFileSync(path, 'utf8').match(/escalation 1 opened/g).length, 1);
    await until(() => human.list('archive').length === 1 && human.list().length === 0);
  });

  it('what happened while the broker was stopped is made up for', async () => {
    const world = await begin();
    const first = message(main, sub);
    await send(world.agents[main], first);
    await world.sub.holds(`${first.id}.json`);
    await world.broker.kill();
    world.sub.archive(`${first.id}.json`);
    const second = message(sub, main);
    world.sub.drop('outbox', second);
    const third = message(sub, main);
    world.main.drop('pending', third);
    await world.broker.run(world.broker.flags);
    await until(() => stateOf(world.agents[main], first.id), (state) => state === 'acked');
    await world.main.holds(`${second.id}.json`);
    await until(async () => (await world.agents[main].inbox()).json.count === 2);
    assert.deepEqual(world.main.list(), [`${second.id}.json`, `${third.id}.json`].sort());
  });

  // 1,000 messages through files in both directions, while the broker is killed ten times.
  it('none is lost, none comes twice and none is seen half, whenever the broker is killed (SQ-11)', { timeout: 250_000 }, async () => {
    const count = 500; // each way
    const kills = 10;
    const world = await begin();
    await world.main.holds('.', 'outbox');
    await world.sub.holds('.', 'outbox');
    const seen = { main: new Map(), sub: new Map() };
    const halves = [];
    // Reads what is there, as often as it is called, and is done with it at once.
    const readAll = (desk, book, each) => {
      for (const name of desk.list()) {
        let text;
        try { text = readFileSync(desk.at('pending', name), 'utf8'); } catch { continue; } // the broker moved it
        let value;
        try { value = JSON.parse(text); } catch { halves.push(name); continue; }
        book.set(value.id, (book.get(value.id) ?? 0) + 1);
        each?.(value);
        desk.archive(name);
      }
    };
    let sent = 0;
    const sendOne = () => {
      const asked = message(main, sub, { id: idOf(`q${sent}`) });
      // By turns into its own outbox, and into the receiver's pending.
      (sent % 2 ? world.main : world.sub).drop(sent % 2 ? 'outbox' : 'pending', asked);
      sent += 1;
    };
    const answer = (question) => world.sub.drop('outbox', message(sub, main, {
      id: idOf(question.id.slice(20).replace('q', 'r')), type: 'response', reply_to: question.id, body: { result: 'completed', summary: 'yes' },
    }));
    let killed = 0;
    let down = null;
    await until(() => {
      for (let n = 0; n < 5 && sent < count; ++n) sendOne();
      readAll(world.sub, seen.sub, answer);
      readAll(world.main, seen.main);
      const due = killed < kills && seen.main.size >= (killed + 1) * count / (kills + 2);
      if (due && !down) {
        killed += 1;
        down = world.broker.kill().then(() => world.broker.run(world.broker.flags)).then(() => { down = null; });
      }
      return seen.main.size === count && !down;
    });
    assert.equal(killed, kills);
    assert.deepEqual(halves, []);
    assert.equal(seen.sub.size, count);
    for (const book of [seen.sub, seen.main]) {
      assert.deepEqual([...book].filter(([, times]) => times > 1), [], 'nothing comes twice');
    }
    // What the broker knows of each is the same.
    await until(async () => (await world.agents[sub].inbox()).json.count + (await world.agents[main].inbox()).json.count === 0);
    for (let n = 0; n < count; n += 25) {
      assert.equal(await stateOf(world.agents[main], idOf(`q${n}`)), 'answered');
      assert.equal(await stateOf(world.agents[sub], idOf(`r${n}`)), 'acked');
    }
    assert.deepEqual(world.sub.list('rejected'), []);
    assert.deepEqual(world.main.list('rejected'), []);
  });
});

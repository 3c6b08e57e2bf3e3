// SPDX-License-Identifier: Apache-2.0
// XD-02: killed with SIGKILL at random moments under load. Every message that got its 202 is there
// after the restart, in order, and none that was acknowledged comes again.
// KILLS sets how often (50 for the long run: tools/crash-test).
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Agent, Broker, until } from './harness.mjs';

const kills = Number(process.env.KILLS ?? 5);
const senders = 4;

describe('a broker that is killed', () => {
  let broker;
  const accepted = new Map();  // sender -> numbers that got their 202, in order
  const acked = new Set();     // `sender/number` whose ack got its 200
  const tried = new Set();
  const seen = new Set();
  const newest = new Map();
  let life = 0;
  let tokens;

  before(async () => {
    broker = await Broker.start({ raise: {
      'flow.rate.agent_out_per_min': [0, 'each of four agents sends as fast as it can until the broker is gone'],
      'flow.rate.agent_in_per_min': [0, 'all of that goes to one agent, which takes it as fast as it can'],
      'flow.rate.pair_per_min': [0, 'the same, of each sender'],
      queue_max: [1_000_000, 'what fifty lives (KILLS) leave waits in one inbox'],
      attempts_max: [100, 'with each kill what was handed out counts as tried'],
    } });
    // What the receiver had read when the broker was killed is handed out again soon.
    assert.equal((await broker.call('PATCH', '/v1/rules', { body: { 'flow.lease': '1s' } })).status, 200);
    const bo = await broker.addAgent('bo');
    tokens = { bo: bo.token };
    for (let n = 0; n < senders; ++n) tokens[`s${n}`] = (await broker.addAgent(`s${n}`)).token;
  });
  after(() => broker.remove());

  // Sends numbers one after the other until the broker is gone.
  async function sendUntilGone(name, first) {
    const agent = new Agent(broker, name, tokens[name]);
    let number = first;
    await until(async () => {
      let sent;
      try { sent = await agent.send('bo', { number }); } catch { return 'gone'; }
      assert.equal(sent.status, 202, sent.text);
      accepted.get(name).push(number++);
      return undefined;
    });
  }

  // Each sender's messages of this life are first seen in the order in which they were sent. An
  // older one may come late: the broker was killed while it handed it out.
  function inOrder(sender, number) {
    const before = newest.get(sender) ?? -1;
    if (number >= life * 1_000_000 && !seen.has(`${sender}/${number}`)) {
      assert.ok(number > before, `${sender}/${number} came after ${before}`);
      newest.set(sender, number);
      seen.add(`${sender}/${number}`);
    }
  }

  // Reads and acknowledges until the broker is gone.
  async function ackUntilGone() {
    const bo = new Agent(broker, 'bo', tokens.bo);
    const ackSome = async () => {
      const { json } = await bo.inbox('?wait=1s&limit=20');
      for (const note of json.notifications) {
        const { json: whole } = await bo.read(note.id);
        const key = `${whole.sender}/${whole.payload.body.number}`;
        inOrder(whole.sender, whole.payload.body.number);
        assert.ok(!acked.has(key), `${key} came again after its ack`);
        tried.add(key);  // if the answer is lost, the ack may have counted or not
        if ((await bo.ack(note.id)).status === 200) acked.add(key);
      }
    };
    await until(async () => {
      try {
        await ackSome();
      } catch (error) {
        if (error.code === 'ERR_ASSERTION') throw error;
        return 'gone';
      }
      return undefined;
    });
  }

  it(`loses nothing in ${kills} kills`, { timeout: 600_000 }, async () => {
    for (let n = 0; n < senders; ++n) accepted.set(`s${n}`, []);
    for (let round = 0; round < kills; ++round) {
      life = round;
      const load = [ackUntilGone()];
      for (const [name] of accepted) load.push(sendUntilGone(name, round * 1_000_000));
      // At any moment once it is at work.
      const count = () => [...accepted.values()].reduce((sum, numbers) => sum + numbers.length, 0);
      const before = count();
      await until(async () => count() - before, (sent) => sent > 10);
      await new Promise((done) => setTimeout(done, Math.random() * 400));
      await broker.kill();
      await Promise.all(load);
      await broker.run();
    }
    // What was accepted and not acknowledged is all there, each sender's in its order.
    const bo = new Agent(broker, 'bo', tokens.bo);
    const found = new Map([...accepted.keys()].map((name) => [name, []]));
    const missing = () => [...accepted].some(([name, numbers]) => {
      const have = new Set(found.get(name));
      return numbers.some((number) => !tried.has(`${name}/${number}`) && !have.has(number));
    });
    for (let empty = 0; empty < 5 && missing();) {
      const { json } = await bo.inbox('?limit=100&wait=1s');
      empty = json.count === 0 ? empty + 1 : 0;
      for (const note of json.notifications) {
        const { json: whole } = await bo.read(note.id);
        assert.equal((await bo.ack(note.id)).status, 200);
        found.get(whole.sender).push(whole.payload.body.number);
      }
    }
    let total = 0;
    for (const [name, numbers] of accepted) {
      const rest = numbers.filter((number) => !tried.has(`${name}/${number}`));
      const foundSet = new Set(found.get(name));
      for (const number of rest) assert.ok(foundSet.has(number), `${name}/${number} got its 202 and is lost`);
      for (const number of foundSet) assert.ok(!acked.has(`${name}/${number}`), `${name}/${number} came again after its ack`);
      total += numbers.length;
    }
    assert.ok(total > kills * 10, `only ${total} messages were sent: the test proves little`);
  });
});

// SPDX-License-Identifier: Apache-2.0
// What each tool does and says, beyond the plain conversation of clients.test.mjs. Every structured
// answer is held to the output schema of its tool, strictly: a member that it does not name fails.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { encode } from 'gpt-tokenizer';
import { Broker } from '../e2e/harness.mjs';
import { Schemas } from '../e2e/schema.mjs';

let broker;
let schemas;  // of the answers, by tool
const told = new Map();  // by tool: how many structured answers were checked
const open = [];
before(async () => { broker = await Broker.start({ flags: ['--set', 'inbox.silence=1ms'] }); });
after(async () => {
  await Promise.all(open.map((client) => client.close()));
  await broker.remove();
});

// A client in the agent's name; `answer` is what its user says when asked.
async function connect(agent, { answer, mode = 'auto' } = {}) {
  const client = new Client({ name: 'tools', version: '1' },
    { capabilities: answer ? { elicitation: {} } : {}, versionNegotiation: { mode } });
  if (answer) client.setRequestHandler('elicitation/create', answer);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${broker.url}/mcp`),
    { requestInit: { headers: { Authorization: `Bearer ${agent.token}` } } }));
  open.push(client);
  if (!schemas) {
    const { tools } = await client.listTools();
    schemas = new Map(tools.map((tool) => [tool.name, tool.outputSchema]));
  }
  return client;
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  const schema = schemas.get(name);
  if (name === 'waitForMessage') {  // its notifications are as those of checkInbox
    schema.properties.notifications = schemas.get('checkInbox').properties.notifications;
  }
  assert.deepEqual(new Schemas(schema).faults(schema, result.structuredContent), [], name);
  told.set(name, (told.get(name) ?? 0) + 1);
  return result.structuredContent;
}

async function refused(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(result.isError, JSON.stringify(result));
  return result.content[0].text;
}

const inboxAgent = (id, role) => broker.addAgent(id, { dialect: 'inbox', role });
const task = (taskId, extra = {}) => JSON.stringify({ taskId, title: `Do ${taskId}`, description: 'All of it', ...extra });
const result = (taskId) => JSON.stringify({ taskId, status: 'complete', result: 'yes' });

// IN-04, IN-12: a question is no task, so it may go from anyone to anyone.
test('request: a specialist asks its director, a director answers, specialists ask each other', { timeout: 60_000 }, async () => {
  const [dan, sam, sue] = await Promise.all([inboxAgent('q-dan', 'director'), inboxAgent('q-sam', 'specialist'), inboxAgent('q-sue', 'specialist')]);
  const clients = { 'q-dan': await connect(dan), 'q-sam': await connect(sam), 'q-sue': await connect(sue) };
  for (const [from, to] of [['q-sam', 'q-dan'], ['q-sam', 'q-sue'], ['q-dan', 'q-sam'], ['q-dan', 'q-sue']]) {
    const asked = call(clients[from], 'request', { to, content: 'which file?', seconds: 30 });
    const mail = await call(clients[to], 'waitForMessage', { seconds: 30 });
    assert.equal(mail.count, 1);
    const [{ id, type, question, preview }] = mail.notifications;
    assert.deepEqual({ type, question, preview }, { type: 'task', question: true, preview: 'which file?' });
    const read = await call(clients[to], 'readMessage', { messageId: id });
    assert.equal(read.question, true);
    assert.match(read.note, new RegExp(`sendMessage to ${from} with type result`));
    const { taskId, description } = JSON.parse(read.message.content);
    assert.equal(description, 'which file?');
    await call(clients[to], 'sendMessage', { to: from, type: 'result', content: result(taskId) });
    const answer = await asked;
    assert.deepEqual([answer.answered, answer.from, answer.status, answer.answer], [true, to, 'success', 'yes']);
  }
  const { json } = await broker.call('GET', '/v1/tasks');
  assert.deepEqual(json.tasks, [], 'a question has become a task');
  // With none to answer it is said so.
  const late = await call(clients['q-sam'], 'request', { to: 'q-dan', content: 'anyone?', seconds: 1 });
  assert.equal(late.answered, false);
  assert.match(late.note, /late answer comes to your inbox/);
});

// FL-17 is flow's: it binds flow agents, whichever words they use, and no one else.
test('request goes on in a long conversation of inbox agents', { timeout: 60_000 }, async () => {
  const [dan, sam, flo] = await Promise.all([inboxAgent('l-dan', 'director'), inboxAgent('l-sam', 'specialist'), broker.addAgent('l-flo')]);
  const [director, specialist, flow] = await Promise.all([connect(dan), connect(sam), connect(flo)]);
  for (let n = 0; n < 25; ++n) {
    await call(n % 2 ? director : specialist, 'sendMessage', { to: n % 2 ? 'l-sam' : 'l-dan', type: 'status', content: `${n}`, threadId: 'long' });
  }
  const more = await call(specialist, 'request', { to: 'l-dan', content: 'still there?', threadId: 'long', seconds: 1 });
  assert.equal(more.answered, false);
  for (let n = 0; n < 20; ++n) {
    await call(flow, 'sendMessage', { to: 'l-dan', type: 'status', content: `${n}`, threadId: 'mine' });
  }
  for (const [tool, args] of [['sendMessage', { type: 'status' }], ['request', {}]]) {
    const text = await refused(flow, tool, { to: 'l-dan', content: 'x', threadId: 'mine', ...args });
    assert.match(text, /^THREAD_FULL: .*\(argument threadId\)\. Leave `threadId` out/);
    assert.doesNotMatch(text, /conversation_id|correlation_id|metadata/);
  }
  const whole = await call(director, 'getThread', { threadId: 'long' });
  assert.equal(whole.message_count, 26);
  assert.equal(whole.messages.length, 20);
  assert.equal(whole.more, true);
  assert.equal(whole.messages.at(-1).preview, 'still there?');
  const last = await call(director, 'getThread', { threadId: 'long', limit: 2 });
  assert.deepEqual(last.messages.map(({ from, to, preview }) => [from, to[0], preview]),
    [['l-sam', 'l-dan', '24'], ['l-sam', 'l-dan', 'still there?']]);
});

// XD-03: who takes part in a conversation sees of its messages those that are its own.
test('getThread shows no one the words that are not for it', { timeout: 60_000 }, async () => {
  const [ann, bob, cat] = await Promise.all(['t-ann', 't-bob', 't-cat'].map((id) => inboxAgent(id, 'director')));
  const [a, b] = await Promise.all([connect(ann), connect(bob), connect(cat)]);
  await call(a, 'sendMessage', { to: 't-bob', type: 'status', content: 'for bob only', threadId: 'talk' });
  await call(b, 'sendMessage', { to: 't-cat', type: 'status', content: 'for cat only', threadId: 'talk' });
  const seen = async (client) => (await call(client, 'getThread', { threadId: 'talk' })).messages.map(({ preview }) => preview);
  assert.deepEqual(await seen(a), ['for bob only']);
  assert.deepEqual(await seen(b), ['for bob only', 'for cat only']);
  const resource = await a.readResource({ uri: 'parley://threads/talk' });
  assert.deepEqual(JSON.parse(resource.contents[0].text).messages.map(({ preview }) => preview), ['for bob only']);
  await assert.rejects(a.readResource({ uri: 'parley://threads/no-such' }), /no such resource/);
});

// IN-01
test('count is what waits, shown and more say the rest', { timeout: 60_000 }, async () => {
  const [dan, sam] = await Promise.all([inboxAgent('c-dan', 'director'), inboxAgent('c-sam', 'specialist')]);
  const client = await connect(sam);
  const batch = Array.from({ length: 120 }, (_, n) => ({ to: 'c-sam', type: 'status', content: `${n}` }));
  assert.equal((await dan.call('POST', '/v1/messages', { body: batch })).status, 202);
  const of = ({ count, shown, more, notifications }) => [count, shown, more, notifications.length];
  assert.deepEqual(of(await call(client, 'checkInbox')), [120, 20, true, 20]);
  assert.deepEqual(of(await call(client, 'checkInbox', { limit: 100 })), [120, 100, true, 100]);
  assert.deepEqual(of(await call(client, 'waitForMessage')), [120, 20, true, 20]);
  assert.deepEqual(of((await sam.inbox('?limit=500')).json), [120, 120, false, 120]);
  const resource = await client.readResource({ uri: 'parley://inbox' });
  assert.deepEqual(of(JSON.parse(resource.contents[0].text)), [120, 100, true, 100]);
  assert.equal((await call(client, 'status')).waitingForYou, 120);
});

test('publish reaches a topic and never an agent', { timeout: 60_000 }, async () => {
  const [pat, sub] = await Promise.all([broker.addAgent('p-pat'), inboxAgent('p-sub', 'specialist')]);
  await sub.call('PUT', '/v1/topics/plain/subscription');
  const client = await connect(pat);
  const published = await call(client, 'publish', { topic: 'plain', content: 'news' });
  assert.equal(published.subscribers, 1);
  assert.equal((await sub.inbox()).json.count, 1);
  const toNobody = await call(client, 'publish', { topic: 'p-sub', content: 'news' });
  assert.equal(toNobody.subscribers, 0);
  assert.match(toNobody.warnings[0], /nobody subscribes/);
  assert.equal((await sub.inbox()).json.count, 1);
  assert.match(await refused(client, 'publish', { topic: 'x'.repeat(5000) + '.y', content: 'news' }), /\(argument topic\)/);
});

test('findAgents and parley://agents show a part of a crowd', { timeout: 60_000 }, async () => {
  const me = await broker.addAgent('f-me', { capabilities: ['looking'] });
  await Promise.all(Array.from({ length: 60 }, (_, n) => broker.addAgent(`crowd-${n}`, { capabilities: ['standing'] })));
  const client = await connect(me);
  const found = await call(client, 'findAgents', { name: 'CROWD', capability: 'standing' });
  assert.deepEqual([found.count, found.more, found.agents.length], [60, true, 50]);
  const one = await call(client, 'findAgents', { name: 'crowd-59' });
  assert.deepEqual([one.count, one.more, one.agents[0].id], [1, false, 'crowd-59']);
  assert.equal((await call(client, 'findAgents', { name: 'admin' })).count, 0);
  const resource = JSON.parse((await client.readResource({ uri: 'parley://agents' })).contents[0].text);
  assert.equal(resource.agents.length, 50);
  assert.ok(resource.count > 60);
  // The pages of the API.
  const page = async (after) => (await me.call('GET', `/v1/agents?name=crowd&limit=40&after=${after}`)).json;
  const first = await page('');
  const second = await page(first.agents.at(-1).id);
  assert.deepEqual([first.more, second.more, second.count], [true, false, 20]);
  assert.equal(new Set([...first.agents, ...second.agents].map(({ id }) => id)).size, 60);
  assert.equal((await me.call('GET', '/v1/agents?kind=robot')).json.code, 'BAD_REQUEST');
});

// What guards that which cannot be undone takes nothing for an answer that is none.
for (const mode of ['legacy', { pin: '2026-07-28' }]) {
  const era = mode.pin ?? mode;
  test(`askHuman counts only an answer as one: ${era}`, { timeout: 60_000 }, async () => {
    const agent = await broker.addAgent(`h-${era}`);
    let says;
    const client = await connect(agent, { mode, answer: () => says });
    const ask = () => call(client, 'askHuman', { question: 'Delete it?', options: ['yes', 'no'] });
    says = { action: 'accept', content: { answer: 'yes' } };
    assert.deepEqual(await ask(), { answered: true, from: 'user', answer: 'yes' });
    for (const content of [{ answer: 'zzz' }, { answer: '' }, {}]) {
      says = { action: 'accept', content };
      const { answered, answer, note } = await ask();
      assert.deepEqual([answered, answer], [false, undefined], JSON.stringify(content));
      assert.match(note, /the user gave no answer/);
    }
    says = { action: 'decline' };
    assert.match((await ask()).note, /decline/);
  });
}

test('askHuman waits for a user as long as it was told', { timeout: 60_000 }, async () => {
  const agent = await broker.addAgent('h-slow');
  let withdrawn;
  const gone = new Promise((done) => { withdrawn = done; });
  const client = await connect(agent, { mode: 'legacy', answer: (_, { mcpReq }) => {
    mcpReq.signal.addEventListener('abort', withdrawn);
    return new Promise(() => {});
  } });
  const { answered, note } = await call(client, 'askHuman', { question: 'Well?', seconds: 1 });
  assert.equal(answered, false);
  assert.match(note, /none within 1 s/);
  await gone;  // and its question is taken back
});

test('askHuman writes to a human where the client cannot ask, and says who there is', { timeout: 60_000 }, async () => {
  const agent = await broker.addAgent('h-mail');
  const client = await connect(agent);
  assert.match(await refused(client, 'askHuman', { question: 'Well?' }), /^NO_HUMAN: /);
  const { json: kim } = await broker.call('POST', '/v1/humans', { body: { name: 'kim' } });
  assert.match(await refused(client, 'askHuman', { question: 'Well?', to: 'human:zed' }),
    /^RECEIVER_NOT_FOUND: there is no human:zed; there are human:kim\. For an agent use request/);
  const answerAs = async () => {
    const { json } = await broker.call('GET', '/v1/inbox?wait=20s', { token: kim.token });
    const [{ id, preview }] = json.notifications;
    await broker.call('POST', '/v1/messages?lenient=true', { token: kim.token,
      body: { type: 'response', receiver: 'h-mail', payload: { content_type: 'text', body: 'do it' }, metadata: { in_reply_to: id } } });
    return preview;
  };
  for (const to of [undefined, 'human:kim', 'kim']) {
    const asked = call(client, 'askHuman', { question: 'Well?', to, seconds: 30 });
    assert.match(await answerAs(), /^Well\?/);
    const { answered, from, answer } = await asked;
    assert.deepEqual([answered, from, answer], [true, 'human:kim', 'do it']);
  }
  const chosen = call(client, 'askHuman', { question: 'Which?', options: ['red', 'blue'], seconds: 30 });
  assert.equal(await answerAs(), 'Which?\n\nAnswer with one of:\n- red\n- blue');
  assert.equal((await chosen).answered, true);
  // A client that could ask its user, but hears nothing on this call, gets the human as well.
  const deaf = await deafClient(agent.token);
  const asked = deaf('tools/call', { name: 'askHuman', arguments: { question: 'Well?', seconds: 30 } });
  await answerAs();
  assert.equal((await asked).result.structuredContent.answer, 'do it');
});

// SP-08
test('askHuman asks for an approval where its caller says so', { timeout: 60_000 }, async () => {
  const client = await connect(await broker.addAgent('h-approval'));
  const { json: lee } = await broker.call('POST', '/v1/humans', { body: { name: 'lee', rights: ['approver'] } });
  const as = (method, path, body) => broker.call(method, path, { token: lee.token, body });
  assert.match(await refused(client, 'askHuman', { question: 'Go?', kind: 'approval', options: ['yes'] }), /^BAD_ARGUMENTS: /);
  for (const [decision, expected] of [[{ decision: 'approve' }, 'approved'], [{ decision: 'reject', comment: 'too early' }, 'rejected'],
    [{ decision: 'modify', modification: { only: 'staging' } }, 'modified: {"only":"staging"}']]) {
    const asked = call(client, 'askHuman', { question: 'May I deploy?', kind: 'approval', to: 'human:lee', seconds: 60 });
    const { json } = await as('GET', '/v1/approvals?state=pending&for=me&wait=20s');
    assert.equal(json.items[0].summary, 'May I deploy?');
    await as('POST', `/v1/approvals/${json.items[0].id}/decision`, decision);
    const { answered, from, answer, note } = await asked;
    assert.deepEqual([answered, from, answer, note], [true, 'human:lee', expected, decision.comment]);
  }
  const { answered, note } = await call(client, 'askHuman', { question: 'And now?', kind: 'approval', seconds: 1 });
  assert.equal(answered, false);
  assert.match(note, /not approved; the decision comes to your inbox/);
});

// Of the older era, can be asked, and takes no event streams.
async function deafClient(token) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json' };
  let id = 0;
  const post = async (method, params) => {
    const response = await fetch(`${broker.url}/mcp`, { method: 'POST', headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }) });
    headers['Mcp-Session-Id'] ??= response.headers.get('mcp-session-id');
    return response.json();
  };
  await post('initialize', { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: { name: 'deaf', version: '1' } });
  return post;
}

// A model has no files, no headers and no other calls than the tools: it can act on what it is told.
test('refusals name the arguments and tools that help', { timeout: 60_000 }, async () => {
  const [dan, sam] = await Promise.all([inboxAgent('r-dan', 'director'), inboxAgent('r-sam', 'specialist')]);
  const [director, specialist] = await Promise.all([connect(dan), connect(sam)]);
  const texts = {};
  const see = async (client, name, args, wanted) => {
    const text = await refused(client, name, args);
    assert.match(text, wanted);
    texts[text] = true;
  };
  await see(director, 'sendMessage', { to: 'r-sam', type: 'task', content: 'no JSON' }, /^VALIDATION_FAILED: .*taskId.*title.*description.*\(argument content\)/);
  await see(director, 'sendMessage', { to: 'r-sam', type: 'task', content: '{"taskId":"t"}' }, /^VALIDATION_FAILED: title: .*\(argument content: title\)/);
  await see(specialist, 'sendMessage', { to: 'r-dan', type: 'task', content: task('t') }, /^ROLE_FORBIDDEN: .*\(argument to\)\. Anyone may ask by request/);
  await see(director, 'sendMessage', { to: 'r-samm', type: 'status', content: 'hi' }, /^RECEIVER_NOT_FOUND: there is no "r-samm" here; the nearest name is "r-sam".*findAgents/);
  await see(director, 'request', { to: 'r-samm', content: 'hi', seconds: 5 }, /^NOT_ANSWERED: .*there is no "r-samm" here; the nearest name is "r-sam".*findAgents/);
  await see(specialist, 'readMessage', { messageId: 'nothing' }, /^NOT_FOUND: /);
  const { id } = await call(director, 'sendMessage', { to: 'r-sam', type: 'task', content: task('t-1') });
  await see(specialist, 'getThread', { threadId: 'nothing' }, /^NOT_FOUND: /);
  await call(specialist, 'readMessage', { messageId: id });
  assert.deepEqual(await call(specialist, 'ackMessage', { messageId: id }), { id, outcome: 'done' });
  const { id: other } = await call(director, 'sendMessage', { to: 'r-sam', type: 'task', content: task('t-2') });
  await call(specialist, 'readMessage', { messageId: other });
  await call(specialist, 'ackMessage', { messageId: other, outcome: 'reject', reason: 'not mine' });
  await see(specialist, 'ackMessage', { messageId: other }, /^ALREADY_SETTLED: /);
  for (const text of Object.keys(texts)) {
    assert.doesNotMatch(text, /schemas\/|its delivery|conversation_id|Authorization|`parley |\(at \//, text);
  }
});

// IN-10: a director sees which of its tasks are not finished, and gives one to another.
test('status lists tasks that are not finished; the same taskId to another moves it', { timeout: 60_000 }, async () => {
  const [dan, sam, sue] = await Promise.all([inboxAgent('s-dan', 'director'), inboxAgent('s-sam', 'specialist'), inboxAgent('s-sue', 'specialist')]);
  const [director, first, second] = await Promise.all([connect(dan), connect(sam), connect(sue)]);
  const { id, threadId } = await call(director, 'sendMessage', { to: 's-sam', type: 'task', content: task('job') });
  await call(first, 'readMessage', { messageId: id });
  const { tasks: [given] } = await call(director, 'status');
  assert.match(given.silentFor, /s$/);
  delete given.silentFor;
  assert.deepEqual(given, { taskId: 'job', title: 'Do job', from: 's-dan', to: 's-sam', state: 'in_progress', threadId });
  assert.deepEqual((await call(first, 'status')).tasks.map(({ taskId, to }) => [taskId, to]), [['job', 's-sam']]);
  await call(director, 'sendMessage', { to: 's-sue', type: 'task', content: task('job') });
  const { tasks: [moved] } = await call(director, 'status');
  assert.deepEqual([moved.to, moved.state, moved.threadId], ['s-sue', 'assigned', threadId]);
  assert.match(await refused(first, 'ackMessage', { messageId: id }), /^ALREADY_SETTLED: /);
  const mail = await call(second, 'checkInbox');
  await call(second, 'readMessage', { messageId: mail.notifications[0].id });
  await call(second, 'sendMessage', { to: 's-dan', type: 'result', content: result('job') });
  assert.deepEqual((await call(director, 'status')).tasks, []);
  const { messages: [{ content }] } = await director.getPrompt({ name: 'run_as_director', arguments: { goal: 'peace' } });
  assert.match(content.text, /the same taskId/);
});

test('session: each action says what its schema says', { timeout: 60_000 }, async () => {
  const [ann, bob] = await Promise.all([broker.addAgent('e-ann'), broker.addAgent('e-bob')]);
  const [a, b] = await Promise.all([connect(ann), connect(bob)]);
  const { id } = await call(a, 'session', { action: 'start', text: 'plan' });
  await call(a, 'session', { action: 'invite', sessionId: id, participants: ['e-bob'] });
  await call(b, 'session', { action: 'find', sessionId: id, text: 'a stone' });
  const { sessions } = await call(b, 'session', { action: 'list' });
  assert.deepEqual(sessions.map((each) => each.id), [id]);
  const got = await call(b, 'session', { action: 'get', sessionId: id });
  assert.deepEqual(got.participants, ['e-ann', 'e-bob']);
  assert.equal(got.context.findings[0].text, 'a stone');
  await call(a, 'session', { action: 'artifact', sessionId: id, text: 'a wall' });
  const { version } = await call(a, 'session', { action: 'decide', sessionId: id, text: 'build' });
  const { context } = await call(b, 'session', { action: 'get', sessionId: id });
  assert.deepEqual([context.artifacts[0].text, context.decisions[0].decision], ['a wall', 'build']);
  assert.match(await refused(a, 'session', { action: 'decide', sessionId: id, text: 'late', version: version - 1 }),
    new RegExp(`^VERSION_CONFLICT: .*\\b${version}\\b`));
  assert.equal((await call(a, 'session', { action: 'pause', sessionId: id })).status, 'paused');
  assert.equal((await call(a, 'session', { action: 'resume', sessionId: id })).status, 'active');
  const done = await call(a, 'session', { action: 'complete', sessionId: id, text: 'all well' });
  assert.equal(done.status, 'completed');
  assert.equal((await call(b, 'session', { action: 'get', sessionId: id })).summary, 'all well');
  assert.match(await refused(a, 'session', { action: 'decide', sessionId: id, text: 'more' }), /^SESSION_ENDED: .*action start/);
  const other = await call(a, 'session', { action: 'start', text: 'again' });
  assert.equal((await call(a, 'session', { action: 'fail', sessionId: other.id, text: 'no stones' })).status, 'failed');
});

// What a tool reads and what its schema names are the same: a model goes by the schema.
test('every tool takes the arguments that its schema names, and no others', { timeout: 60_000 }, async () => {
  const client = await connect(await inboxAgent('a-dan', 'director'));
  const listed = (text, before) => new RegExp(`${before} ([\\w, ]+)`).exec(text)?.[1].split(', ').sort();
  let words = 0;
  for (const { name, inputSchema: { properties = {}, required = [] } } of (await client.listTools()).tools) {
    const args = Object.fromEntries(required.map((key) => [key, properties[key].enum?.[0] ?? 'x']));
    const text = await refused(client, name, { ...args, unheard_of: 1 });
    const keys = Object.keys(properties);
    assert.match(text, /^BAD_ARGUMENTS: there is no argument `unheard_of`/, name);
    assert.deepEqual(listed(text, 'there are') ?? [], keys.sort(), `${name}: ${text}`);
    if (name === 'sendMessage') continue;  // The dialect says what is wrong with a word.
    for (const key of keys.filter((each) => properties[each].enum)) {
      const wrong = await refused(client, name, { ...args, [key]: 'unheard of' });
      assert.deepEqual(listed(wrong, 'must be one of'), [...properties[key].enum].sort(), `${name}: ${wrong}`);
      ++words;
    }
  }
  assert.equal(words, 5);
});

// The last of all: each tool has been held to its schema above.
test('every tool has answered, and its schema says more than that it is an object', () => {
  for (const [name, schema] of schemas) {
    assert.ok(told.get(name) > 0, `${name} was not called`);
    assert.ok(Object.keys(schema.properties).length >= 2, name);
  }
  assert.equal(schemas.size, 12);
});

// IN-12: the whole list is paid for by every agent in every conversation.
test('tools/list stays under 2,500 tokens, and the manual says how many it has', async () => {
  const client = await connect(await broker.addAgent('counter'));
  const { tools } = await client.listTools();
  assert.ok(tools.length <= 12);
  for (const tool of tools) {
    assert.ok(tool.title && tool.description && tool.outputSchema && tool.annotations, tool.name);
  }
  const tokens = encode(JSON.stringify({ tools })).length;
  assert.ok(tokens < 2500, `${tokens} tokens`);
  const manual = await readFile(new URL('../../docs/reference/tools.md', import.meta.url), 'utf8');
  assert.ok(manual.includes(`${tokens.toLocaleString('en')} tokens`), `docs/reference/tools.md: it is ${tokens} tokens now`);
});

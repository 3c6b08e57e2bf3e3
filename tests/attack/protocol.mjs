// SPDX-License-Identifier: Apache-2.0
// By MCP, and by batches: what a call keeps until it is answered, and what one request asks for many
// times over.
import { randomUUID } from 'node:crypto';
import { message } from '../e2e/harness.mjs';
import { listed, megabyte, published, sleep, told } from './ground.mjs';

const version = '2026-07-28';

const http = (agent, body, headers) => `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${agent.token}\r\n`
  + 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
  + `${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

function modern(agent, method, params, { meta = {}, capabilities = {} } = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: {
    'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': capabilities, ...meta } } });
  const name = params.name ? `Mcp-Name: ${params.name}\r\n` : '';
  return http(agent, body, `MCP-Protocol-Version: ${version}\r\nMcp-Method: ${method}\r\n${name}`);
}

const tool = (agent, name, args, how = {}) => modern(agent, 'tools/call', { name, arguments: args, ...how.params }, how);

// Writes the text so often on each socket, as fast as it is taken, for `ms` at most.
async function pour(sockets, text, times, ms) {
  const end = Date.now() + ms;
  let sent = 0;
  await Promise.all(sockets.map(async (socket) => {
    for (let n = 0; n < times && Date.now() < end; ++n, ++sent) {
      if (!socket.write(text)) await Promise.race([new Promise((done) => { socket.once('drain', done); }), sleep(1_000)]);
    }
  }));
  return sent;
}

// Calls that wait, each with as much of its client's words as a request may have.
async function openCalls(g) {
  const eve = await g.agent('eve');
  const big = 'x'.repeat(1_900_000);
  const ways = { arguments: { params: {}, args: { more: big } }, answers: { params: { inputResponses: { a: { x: big } } } },
    token: { meta: { progressToken: big } }, client: { meta: { 'io.modelcontextprotocol/clientInfo': { name: big } } }, trace: { meta: { tracestate: big } } };
  await g.during(async () => {
    for (const [name, how] of Object.entries(ways)) {
      const sockets = await g.sockets(8);
      const sent = await pour(sockets, tool(eve, 'waitForMessage', { seconds: 300, ...how.args }, how), g.many / 8, 5_000);
      await sleep(500);
      g.note(`${name}: ${sent} calls, ${Math.round((await g.memory()).now / megabyte)} MB resident`);
      for (const socket of sockets) socket.destroy();
    }
  });
}

// A refused name, and questions to the user: what is left of a call that is over?
async function overCalls(g) {
  const eve = await g.agent('eve');
  await g.during(async () => {
    const sockets = await g.sockets(4);
    const name = tool(eve, 'request', { to: 'x'.repeat(1_900_000), content: 'x', seconds: 300 }, { meta: { progressToken: 1 } });
    const question = tool(eve, 'askHuman', { question: 'q', seconds: 600 }, { capabilities: { elicitation: {} }, meta: { progressToken: 1 } });
    g.note(`${await pour(sockets, name, g.many, g.short ? 2_000 : 12_000)} refused names`);
    g.note(`${await pour(sockets, question, g.many * 400, g.short ? 2_000 : 30_000)} questions`);
    for (const socket of sockets) socket.destroy();
  });
}

async function legacySession(eve) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const { headers: got } = await eve.call('POST', '/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method: 'initialize',
    params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'c', version: '1' } } } });
  return got.get('mcp-session-id');
}

// An array of calls that read a megabyte each, behind one that waits; and sessions that keep what they got.
async function batches(g) {
  const eve = await g.agent('eve');
  const id = randomUUID();
  await eve.call('POST', '/v1/messages', { body: message('eve', 'eve', 'x'.repeat(1_000_000), { id }) });
  const read = (n) => ({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'readMessage', arguments: { messageId: id } } });
  const wait = (seconds) => ({ jsonrpc: '2.0', id: 999, method: 'tools/call', params: { name: 'waitForMessage', arguments: { seconds }, _meta: { progressToken: 'p' } } });
  await g.during(async () => {
    const sockets = await g.sockets(2 + g.many);
    for (const [n, socket] of sockets.entries()) {
      const session = `Mcp-Session-Id: ${await legacySession(eve)}\r\n`;
      const all = n < 2 ? [...Array.from({ length: 99 }, (_, at) => read(10 + at)), wait(300)] : [wait(1), read(10)];
      socket.write(http(eve, JSON.stringify(all), session));
    }
    await sleep(g.short ? 4_000 : 12_000);
    g.note(`${Math.round((await g.memory()).now / megabyte)} MB resident; answered ${Math.round(sockets.reduce((sum, { got }) => sum + got, 0) / megabyte)} MB`);
    for (const socket of sockets) socket.destroy();
  }, { after: 500 });
}

// Four who listen on many streams to as many spellings of one thread as a request has room for.
async function listeners(g) {
  const eves = await g.agents(...Array.from({ length: 4 }, (_, n) => `eve-${n}`));
  const pal = await g.greedy('pal');
  for (const eve of eves) await eve.call('PUT', '/v1/topics/news.x/subscription');
  const thread = `abcdefgh${'z'.repeat(200)}`;
  const spelled = (n) => `parley://threads/${[...thread].map((c, at) => (at >= 8 || (n >> at) & 1 ? `%${c.charCodeAt(0).toString(16)}` : c)).join('')}`;
  const send = () => g.ask(pal, 'POST', '/v1/messages?lenient=true', JSON.stringify(
    { type: 'broadcast', receiver: 'news.x', conversation_id: thread, payload: { content_type: 'text', body: 'x' } }));
  await send();
  await g.during(async () => {
    const sockets = [];
    const uris = Array.from({ length: 256 }, (_, n) => spelled(n));
    for (const eve of eves) {
      for (const socket of await g.sockets(g.many)) {
        socket.write(modern(eve, 'subscriptions/listen', { notifications: { resourceSubscriptions: uris } }));
        sockets.push(socket);
      }
    }
    await sleep(g.short ? 500 : 3_000);
    for (let n = 0; n < 20; ++n) { await send(); await sleep(50); }
    await sleep(500);
    g.note(`${(sockets.reduce((sum, { got }) => sum + got, 0) / megabyte).toFixed(1)} MB of notices for 20 messages`);
    for (const socket of sockets) socket.destroy();
  });
}

// A thousand messages in one request that follow from one large old message; and as many repeats of a
// message whose receipt is long.
async function costlyBatches(g) {
  const eve = await g.agent('eve');
  const pal = await g.greedy('pal');
  const body = 'x'.repeat(1_000_000);
  const id = randomUUID();
  await eve.call('POST', '/v1/messages', { body: message('eve', 'eve', body, { id, metadata: { ttl: '1h' } }) });
  await g.ask(eve, 'GET', `/v1/messages/${id}`);
  g.note(`behind ${told(await g.flood(pal, 24, () => published('eve.other', { payload: { content_type: 'text', body } }), { batch: 1, parallel: 2 }))}`);
  const fay = await g.greedy('fay');
  const names = Array.from({ length: 100 }, (_, n) => `nobody-${n}-`.padEnd(250, 'x'));
  fay.headers = {};
  await g.ask(fay, 'POST', '/v1/messages', JSON.stringify(listed('fay', names, 'first')), { 'Idempotency-Key': 'k-1' });
  fay.headers = { 'Parley-Dialect': 'flow' };
  await g.during(async () => {
    const follow = Array.from({ length: 1_000 }, () => published('eve.small', { type: 'notification', receiver: 'eve', in_reply_to: id }));
    const repeat = Array.from({ length: 1_000 }, () => ({ type: 'notification', receiver: 'fay', idempotency_key: 'k-1', payload: { content_type: 'text', body: 'x' } }));
    for (let n = 0; n < g.many; ++n) {
      const followed = await g.ask(eve, 'POST', '/v1/messages?lenient=true', JSON.stringify(follow));
      const repeated = await g.ask(fay, 'POST', '/v1/messages?lenient=true', JSON.stringify(repeat));
      if (n === 0) g.note(`answers of ${Math.round(followed.text.length / 1024)} and ${Math.round(repeated.text.length / 1024)} KB`);
    }
  });
}

export const protocol = [
  { name: 'mcp_open_calls', issue: 'new', long: true, does: '{} calls of MCP that wait, each with 1.9 MB in arguments, answers, token, name or trace', many: [64, 256], run: openCalls },
  { name: 'mcp_over_calls', issue: 'new', does: 'calls of MCP that are over at once, and what they leave', many: [50, 2_000], run: overCalls },
  { name: 'mcp_batches', issue: 'new', long: true, does: 'arrays of 99 calls that read 1 MB each, and {} sessions that keep what they got', many: [16, 60], run: batches },
  { name: 'mcp_listeners', issue: 'new', does: '4 agents listen on {} streams each to 256 spellings of a thread', many: [32, 64], run: listeners },
  { name: 'costly_batches', issue: 'new', does: '{} batches of 1,000 that follow from an old message of 1 MB, or repeat one with a long receipt', many: [2, 8], run: costlyBatches },
];

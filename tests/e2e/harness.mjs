// SPDX-License-Identifier: Apache-2.0
// Starts the real binary on a free port of loopback with a data directory of its own, and stops it
// by its pid. PARLEY names the binary; by default it is build/parley.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import net from 'node:net';
import { dirname, join, resolve } from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
// A variable for the tests alone: the broker would refuse it as no key of its configuration.
export function taken(name) {
  const value = process.env[name];
  delete process.env[name];
  return value;
}

export const binary = process.env.PARLEY ?? resolve(here, '../../build/parley');
// The same with what the MCP conformance suite calls: `serve --mcp-fixtures`.
export const fixtures = taken('PARLEY_FIXTURES') ?? `${binary}_fixtures`;

// How much slower than what is shipped the binary is; CMake sets it for sanitizers. Times that a test
// waits are multiplied with it, never what it expects.
export const slowness = Number(taken('PARLEY_SLOWNESS') ?? 1);
// How long a test waits for what must come, in milliseconds: a busy machine is no failure.
export const patience = 100_000 * slowness;

// How long one broker may run, a little less than ctest gives the file. What waits for ever for a
// broker fails by name when it is gone, where ctest would only say that the file took too long.
const lifetime = 270_000 * slowness;

// Holds bytes of memory to a bound. Of a sanitized binary they say nothing: it keeps what is freed.
export function assertMemory(bytes, bound, what) {
  assert.ok(slowness > 1 || bytes < bound, `${bytes} bytes ${what}, of at most ${bound}`);
}

function late(what, last) {
  return new Error(`not within ${patience / 1000} s: ${what}; the last was ${inspect(last, { depth: 6 })}`);
}

// Asks again and again until the answer fits, and returns it.
export async function until(ask, fits = Boolean) {
  for (const end = Date.now() + patience; ;) {
    const found = await ask();
    if (fits(found)) return found;
    if (Date.now() > end) throw late(fits === Boolean ? ask : fits, found);
    await new Promise(setImmediate);  // others go on meanwhile
  }
}

// For those who wait for something that comes by itself: whoever makes it come says `changed`.
export class Changes {
  constructor() { this.waiting = new Set(); }
  changed() { for (const look of [...this.waiting]) look(); }
  // Looks until it finds something other than undefined or false, and returns it.
  async until(look) {
    for (const end = Date.now() + patience; ;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      if (Date.now() > end) throw late(look, found);
      await new Promise((done) => {
        const again = () => { clearTimeout(timer); this.waiting.delete(again); done(); };
        // Whoever is left waiting when all tests are done holds nothing up.
        const timer = setTimeout(again, end - Date.now() + 1).unref();
        this.waiting.add(again);
      });
    }
  }
}

// The flags of limits that a test raises, each with the reason why it cannot keep to the default:
// { 'flow.rate.pair_per_min': [100, 'one pair exchanges 60 messages at once'] }.
function raisedBy(limits) {
  return Object.entries(limits).flatMap(([rule, [value, reason]]) => {
    if (!/\w+ \w+/.test(reason ?? '')) throw new Error(`${rule} is raised without a reason`);
    return ['--set', `${rule}=${value}`];
  });
}

export class Broker {
  constructor(data) {
    this.data = data;
    this.limits = [];
    this.program = binary;
    this.stderr = '';
  }

  // The broker as it is installed: all limits have their defaults but those that `raise` names.
  // `under` is a command that runs the binary: ['prlimit', '--nofile=256:256'].
  static async start({ data, flags = [], listen, under, raise = {}, program = binary } = {}) {
    const broker = new Broker(data ?? (await mkdtemp(join(tmpdir(), 'parley-e2e-'))));
    broker.limits = raisedBy(raise);
    broker.program = program;
    await broker.run(flags, { listen, under });
    return broker;
  }

  // Resolves when it accepts requests.
  async run(flags = [], { listen = '127.0.0.1:0', under = [] } = {}) {
    this.flags = flags;
    const command = [...under, this.program, 'serve', '--data', this.data, '--listen', listen, ...this.limits, ...flags];
    this.process = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    this.exited = new Promise((done) => this.process.on('exit', (code, signal) => done({ code, signal })));
    this.process.stderr.on('data', (text) => { this.stderr += text; });
    const overdue = setTimeout(() => {
      console.error(`killed a broker that has run for ${lifetime / 1000} s: something waits for ever`);
      this.process.kill('SIGKILL');
    }, lifetime).unref();
    this.exited.then(() => clearTimeout(overdue));
    let out = '';
    this.url = await new Promise((done, fail) => {
      this.process.stdout.on('data', (text) => {
        out += text;
        const ready = /^ready (http\S+)$/m.exec(out);
        if (ready) done(ready[1]);
      });
      this.exited.then(({ code }) => fail(new Error(`serve ended with ${code}: ${this.stderr}`)));
    });
    this.admin = (await readFile(join(this.data, 'admin.token'), 'utf8')).trim();
  }

  async kill() {
    this.process.kill('SIGKILL');
    await this.exited;
  }

  async stop() {
    this.process.kill('SIGTERM');
    return this.exited;
  }

  async remove() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.stop();
    await rm(this.data, { recursive: true, force: true });
  }

  // Resolves when the history has all that happened. A read is promised what its caller did, and
  // what others did only soon.
  async historyIsWhole() {
    await until(async () => (await this.call('GET', '/v1/health')).json.history.behind === 0);
  }

  // Bytes of memory that the broker holds now.
  async rss() {
    const status = await readFile(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
  }

  // One request; `body` is sent as JSON unless it is a string.
  async call(method, path, { token = this.admin, body, headers = {} } = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...headers },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    let json;
    try { json = JSON.parse(text); } catch { json = undefined; }
    return { status: response.status, headers: response.headers, text, json };
  }

  async addAgent(id, extra = {}) {
    const { status, json } = await this.call('POST', '/v1/agents', { body: { id, dialect: 'flow', ...extra } });
    if (status !== 201) throw new Error(`agent ${id}: ${status} ${JSON.stringify(json)}`);
    return new Agent(this, id, json.token);
  }
}

export class Agent {
  constructor(broker, id, token) {
    Object.assign(this, { broker, id, token });
  }
  call(method, path, options = {}) {
    return this.broker.call(method, path, { token: this.token, ...options });
  }
  send(receiver, body, extra = {}, query = '') {
    return this.call('POST', `/v1/messages${query}`, { body: message(this.id, receiver, body, extra) });
  }
  inbox(query = '') { return this.call('GET', `/v1/inbox${query}`); }
  read(id) { return this.call('GET', `/v1/messages/${id}`); }
  ack(id) { return this.call('POST', `/v1/messages/${id}/ack`); }
  delivery(id) { return this.call('GET', `/v1/messages/${id}/delivery`); }
}

// A client that sends any bytes and reads any bytes. `got` is what came and was not yet taken.
export class Raw {
  constructor(socket) {
    this.socket = socket;
    this.got = Buffer.alloc(0);
    this.ended = false;
    this.changes = new Changes();
    socket.on('data', (bytes) => { this.got = Buffer.concat([this.got, bytes]); this.changes.changed(); });
    // A reset is an end like any other here; what came before it tells the tests enough.
    socket.on('error', () => {});
    socket.on('close', () => { this.ended = true; this.changes.changed(); });
    socket.on('end', () => { this.ended = true; this.changes.changed(); });
  }
  static async connect(url, options = {}) {
    const { protocol, hostname, port } = new URL(url);
    const to = { host: hostname, port: Number(port), ...options };
    const secure = protocol === 'https:';
    const socket = secure ? tls.connect(to) : net.connect(to);
    await new Promise((done, fail) => {
      socket.once(secure ? 'secureConnect' : 'connect', done);
      socket.once('error', fail);
    });
    return new Raw(socket);
  }
  send(bytes) {
    return new Promise((done) => { this.socket.write(bytes, () => done()); });
  }
  // Waits until `look(got)` finds something, and returns that; undefined when the peer ended first.
  async until(look) {
    let found;
    await this.changes.until(() => {
      found = look(this.got);
      return (found !== undefined && found !== false) || this.ended;
    });
    return found === false ? undefined : found;
  }
  async toEnd() {
    await this.until(() => this.ended);
    return this.got.toString('latin1');
  }
  // The next answer, taken out of what came; undefined when the connection ended without one.
  async response() {
    const end = await this.until((got) => { const at = got.indexOf('\r\n\r\n'); return at < 0 ? false : at + 4; });
    if (end === undefined) return undefined;
    const head = this.got.subarray(0, end).toString('latin1');
    const size = Number(/^content-length: (\d+)/mi.exec(head)?.[1] ?? 0);
    await this.until((got) => got.length >= end + size);
    const text = this.got.subarray(end, end + size).toString();
    this.got = this.got.subarray(end + size);
    let json;
    try { json = JSON.parse(text); } catch { json = undefined; }
    return { status: Number(head.slice(9, 12)), head, text, json };
  }
  async upgrade(path, token, headers = '') {
    await this.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`);
    return this.response();
  }
  // The next frame from the server, which never fragments; undefined at the end.
  async frame() {
    const read = (got) => {
      if (got.length < 2) return false;
      let size = got[1] & 0x7f;
      let at = 2;
      if (size === 126) { if (got.length < 4) return false; size = got.readUInt16BE(2); at = 4; }
      else if (size === 127) { if (got.length < 10) return false; size = Number(got.readBigUInt64BE(2)); at = 10; }
      return got.length >= at + size && { opcode: got[0] & 0x0f, first: got[0], payload: got.subarray(at, at + size), next: at + size };
    };
    const found = await this.until(read);
    if (found) this.got = this.got.subarray(found.next);
    return found;
  }
  end() { this.socket.destroy(); }
}

// A masked frame that can be wrong in any way.
export function frame(payload, { opcode = 1, fin = true, reserved = 0, masked = true, lengthBytes } = {}) {
  const bytes = Buffer.from(payload);
  const wide = lengthBytes ?? (bytes.length <= 125 ? 0 : bytes.length <= 65535 ? 2 : 8);
  const head = Buffer.alloc(2 + wide);
  head[0] = (fin ? 0x80 : 0) | reserved << 4 | opcode;
  head[1] = (masked ? 0x80 : 0) | (wide === 0 ? bytes.length : wide === 2 ? 126 : 127);
  if (wide === 2) head.writeUInt16BE(bytes.length, 2);
  if (wide === 8) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  if (!masked) return Buffer.concat([head, bytes]);
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78]);
  return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ mask[at % 4])]);
}

// One call of an MCP tool, without a session.
export function tool(agent, name, args, accept = 'application/json') {
  const version = '2026-07-28';
  const _meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} };
  return agent.call('POST', '/mcp', {
    headers: {
      'Content-Type': 'application/json', Accept: accept, 'MCP-Protocol-Version': version,
      'Mcp-Method': 'tools/call', 'Mcp-Name': name,
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } },
  });
}

// A whole flow message.
export function message(sender, receiver, body, { metadata = {}, ...extra } = {}) {
  return {
    id: randomUUID(),
    conversation_id: randomUUID(),
    type: 'notification',
    priority: 'normal',
    sender,
    receiver,
    payload: { content_type: typeof body === 'string' ? 'text' : 'json', body },
    metadata: { timestamp: new Date().toISOString(), ...metadata },
    ...extra,
  };
}

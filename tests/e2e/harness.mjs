// SPDX-License-Identifier: Apache-2.0
// Starts the real binary on a free port of loopback with a data directory of its own, and stops it
// by its pid. PARLEY names the binary; by default it is build/parley.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import net from 'node:net';
import { dirname, join, resolve } from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const binary = process.env.PARLEY ?? resolve(here, '../../build/parley');

// Tests send more than an agent may by default. One that is about the limits asks for them.
const unlimited = ['flow.rate.agent_in_per_min', 'flow.rate.agent_out_per_min', 'flow.rate.broadcast_per_min',
  'flow.rate.pair_per_min', 'flow.rate.topic_per_min', 'breaker.failures_max', 'breaker.queue_percent',
  'guard.fan_out_per_min', 'guard.messages_per_day', 'guard.ping_pong_max'].flatMap((rule) => ['--set', `${rule}=0`]);

export class Broker {
  constructor(data) {
    this.data = data;
    this.limits = unlimited;
    this.stderr = '';
  }

  // `under` is a command that runs the binary: ['prlimit', '--nofile=256:256'].
  static async start({ data, flags = [], listen, under, limited = false } = {}) {
    const broker = new Broker(data ?? (await mkdtemp(join(tmpdir(), 'parley-e2e-'))));
    broker.limits = limited ? [] : unlimited;
    await broker.run(flags, { listen, under });
    return broker;
  }

  // Resolves when it accepts requests.
  async run(flags = [], { listen = '127.0.0.1:0', under = [] } = {}) {
    this.flags = flags;
    const command = [...under, binary, 'serve', '--data', this.data, '--listen', listen, ...this.limits, ...flags];
    this.process = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    this.exited = new Promise((done) => this.process.on('exit', (code, signal) => done({ code, signal })));
    this.process.stderr.on('data', (text) => { this.stderr += text; });
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
    this.wake = () => {};
    socket.on('data', (bytes) => { this.got = Buffer.concat([this.got, bytes]); this.wake(); });
    // A reset is an end like any other here; what came before it tells the tests enough.
    socket.on('error', () => {});
    socket.on('close', () => { this.ended = true; this.wake(); });
    socket.on('end', () => { this.ended = true; this.wake(); });
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
  // Waits until `done(got)` gives something, and returns that; undefined when the peer ended first.
  async until(done) {
    for (;;) {
      const found = done(this.got);
      if (found !== undefined && found !== false) return found;
      if (this.ended) return undefined;
      await new Promise((wake) => { this.wake = wake; });
    }
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

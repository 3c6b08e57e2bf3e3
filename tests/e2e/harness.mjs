// SPDX-License-Identifier: Apache-2.0
// Starts the real binary on a free port of loopback with a data directory of its own, and stops it
// by its pid. PARLEY names the binary; by default it is build/parley.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const binary = process.env.PARLEY ?? resolve(here, '../../build/parley');

export class Broker {
  constructor(data) {
    this.data = data;
    this.stderr = '';
  }

  static async start({ data, flags = [] } = {}) {
    const broker = new Broker(data ?? (await mkdtemp(join(tmpdir(), 'parley-e2e-'))));
    await broker.run(flags);
    return broker;
  }

  // Resolves when it accepts requests.
  async run(flags = []) {
    this.flags = flags;
    this.process = spawn(
      binary, ['serve', '--data', this.data, '--listen', '127.0.0.1:0', ...flags],
      { stdio: ['ignore', 'pipe', 'pipe'] });
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

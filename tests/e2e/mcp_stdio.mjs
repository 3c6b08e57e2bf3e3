// SPDX-License-Identifier: Apache-2.0
// `parley mcp` as a client starts it, and a server that says what a test tells it to.
import { spawn } from 'node:child_process';
import http from 'node:http';
import { binary, Changes } from './harness.mjs';

export const modern = (id, method, params = {}) => ({ jsonrpc: '2.0', id, method,
  params: { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {} } } });
export const legacy = (id, method, params = {}) => ({ jsonrpc: '2.0', id, method, params });
export const note = (method, params = {}) => ({ jsonrpc: '2.0', method, params });
export const result = (id, value = {}) => ({ jsonrpc: '2.0', id, result: value });
export const initialize = (id = 0) => legacy(id, 'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } });

export class Stdio {
  // `bare` is the whole environment, where `env` is added to that of the tests.
  constructor(flags = [], env = {}, { program = binary, bare } = {}) {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_')));
    this.process = spawn(program, ['mcp', ...flags], { env: bare ?? { ...clean, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    this.exited = new Promise((done) => this.process.on('exit', (code, signal) => done({ code, signal })));
    this.stderr = '';
    this.process.stderr.on('data', (text) => { this.stderr += text; });
    this.process.stdin.on('error', () => {});
    this.lines = [];
    this.changes = new Changes();
    let rest = '';
    this.process.stdout.setEncoding('utf8').on('data', (text) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop();
      this.lines.push(...parts);
      this.changes.changed();
    });
  }
  send(...messages) {
    this.process.stdin.write(messages.map((message) =>
      `${typeof message === 'string' ? message : JSON.stringify(message)}\n`).join(''));
  }
  // The next message; it must be JSON.
  async next() {
    await this.changes.until(() => this.lines.length > 0);
    return JSON.parse(this.lines.shift());
  }
  async ask(message) {
    this.send(message);
    return this.next();
  }
  end() {
    this.process.stdin.end();
    return this.exited;
  }
}

// Hands each request to `script(asked, answer)`. `asked` has the method, the headers and the body;
// `answer` says it: json(value, headers, status), events() for a stream, status(code, text).
export class Scripted {
  static async start(script) {
    const scripted = new Scripted();
    Object.assign(scripted, { script, asked: [], changes: new Changes() });
    scripted.server = http.createServer((request, response) => scripted.take(request, response));
    await scripted.listen(0);
    return scripted;
  }
  async listen(port) {
    await new Promise((done) => this.server.listen(port, '127.0.0.1', done));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
  }
  async take(request, response) {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const asked = { verb: request.method, path: request.url, headers: request.headers, text,
      body: text ? JSON.parse(text) : undefined };
    asked.closed = new Promise((done) => response.on('close', done));
    this.asked.push(asked);
    this.changes.changed();
    this.script(asked, {
      status: (code, body = '', headers = {}) => { response.writeHead(code, headers); response.end(body); },
      json: (value, headers = {}, code = 200) => {
        response.writeHead(code, { 'Content-Type': 'application/json', ...headers });
        response.end(JSON.stringify(value));
      },
      events: (headers = {}) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream', ...headers });
        response.flushHeaders();
        return { raw: (bytes) => response.write(bytes), end: () => response.end(), break: () => response.destroy(),
          say: (value, id) => response.write(`${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(value)}\n\n`) };
      },
    });
  }
  // Waits for a request that fits.
  saw(fits) { return this.changes.until(() => this.asked.find(fits)); }
  stop() {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }
}

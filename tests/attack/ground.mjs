// SPDX-License-Identifier: Apache-2.0
// Where an attack takes place: a private broker on loopback with its limits as they are installed, a
// bystander who looks into its inbox all the time, and what was found out.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent, Broker, Raw } from '../e2e/harness.mjs';

export const megabyte = 1024 * 1024;
export const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

// What "Must show" of the issue asks for.
export const bounds = { stall_ms: 50, agent_bytes: 64 * megabyte, stranger_bytes: 200 * megabyte };

// So that it is the broker that is measured, where other programs keep the machine busy. Linux shares
// the processor between sessions first (sched_autogroup), so the broker has one of its own.
const firstInLine = process.getuid?.() === 0
  ? ['setsid', 'nice', '-n', '-10', 'sh', '-c', 'echo -19 2> /dev/null > /proc/self/autogroup; exec "$@"', 'sh'] : [];
// The bystander is before all that have no deadline, and does little.
const atOnce = process.getuid?.() === 0 && process.platform === 'linux' ? ['chrt', '--rr', '2'] : [];

function apart(script, ...values) {
  const [program, ...rest] = [...atOnce, process.execPath, '--single-threaded', fileURLToPath(new URL(script, import.meta.url)), ...values];
  return spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

function watching(url, token) {
  const { hostname, port } = new URL(url);
  return apart('bystander.mjs', hostname, port, token);
}

// One who sends to another until `end` is called, with `pause` milliseconds after each answer.
export function sending(from, to, pause) {
  const child = apart('sender.mjs', from.broker.url, from.token, to.id, String(pause));
  return { async end() { child.send('stop'); return (await once(child, 'message'))[0]; } };
}

// Another broker that nobody attacks, with a bystander of its own: what that one waits is the machine's.
export class Elsewhere {
  async start() {
    this.broker = await Broker.start({ under: firstInLine });
    this.watcher = watching(this.broker.url, (await this.broker.addAgent('bystander')).token);
    return this;
  }

  async end() {
    this.watcher.kill();
    await this.broker.remove();
  }
}

async function memoryOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)[1]) * 1024;
  return { now: of('VmRSS'), most: of('VmHWM') };
}

export class Ground {
  // `many` is how much the attack does of what it does; `elsewhere` a bystander of another broker.
  constructor({ short, seconds, many, elsewhere, strangers = false }) {
    Object.assign(this, { short, seconds, many, elsewhere, strangers, lost: [], seen: [], notes: [], grown: 0, looks: 0, control: { stall: 0, p99: 0 } });
  }

  // What of others' was lost, or denied to them.
  loses(what) { this.lost.push(what); }
  // What of others' the attacker read.
  sees(what) { this.seen.push(what); }
  note(what) { this.notes.push(what); }
  // What is known of a text that must not be in an answer.
  seesIn(text, secrets, where) {
    const found = Object.entries(secrets).filter(([, secret]) => text.includes(secret)).map(([name]) => name);
    if (found.length > 0) this.sees(`${where}: ${found.join(', ')}`);
    return found.length > 0;
  }

  async start(options = {}) {
    this.broker = await Broker.start({ under: firstInLine, ...options });
    this.bystander = await this.agent('bystander');
    this.keep = new http.Agent({ keepAlive: true, maxSockets: 64 });
    this.watch();
    return this;
  }

  // The process of the bystander; anew when the broker has another port.
  watch() {
    this.watcher?.kill();
    this.watcher = watching(this.broker.url, this.bystander.token);
  }

  // Lets the broker have what it keeps of the newest messages in memory, whoever sent them: the
  // records of the last ones and the pages of the history. That much is nobody's growth.
  async warm() {
    const ana = await this.greedy('warm');
    const body = 'w'.repeat(60_000);
    await this.flood(ana, 400, () => published('warm.made', { payload: { content_type: 'text', body } }), { batch: 20 });
    await this.broker.historyIsWhole();
  }

  // One whom flow's rates do not bind, because it has another dialect; it speaks flow all the same.
  async greedy(name) {
    const agent = await this.agent(name, { dialect: 'collab', role: 'worker' });
    agent.headers = { 'Parley-Dialect': 'flow' };
    return agent;
  }

  async restart() {
    const began = performance.now();
    await this.broker.stop();
    const stopped = performance.now();
    await this.broker.run(this.broker.flags, { under: firstInLine });
    const ready = performance.now();
    this.watch();
    this.keep.destroy();
    this.keep = new http.Agent({ keepAlive: true, maxSockets: 64 });
    return { stop: stopped - began, start: ready - stopped };
  }

  async end() {
    this.keep?.destroy();
    this.watcher?.kill();
    if (this.broker) {
      if (this.broker.process.exitCode === null && this.broker.process.signalCode === null) await this.broker.stop();
      await this.afterwards?.();
      await rm(this.broker.data, { recursive: true, force: true });
    }
  }

  agent(name, extra = {}) { return this.broker.addAgent(name, extra); }
  agents(...names) { return Promise.all(names.map((name) => this.agent(name))); }

  async human(name, rights) {
    const { json } = await this.broker.call('POST', '/v1/humans', { body: { name, rights } });
    return new Agent(this.broker, `human:${name}`, json.token);
  }

  // Milliseconds of processor time that the longest turn of the loop took since the start: a stall
  // without what the machine adds. More than one turn may be between a question and its answer.
  async longestTurn() {
    const { text } = await this.broker.call('GET', '/metrics');
    return Number(/^parley_loop_cpu_worst_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1] ?? 0) * 1000;
  }

  async memory() { return memoryOf(this.broker.process.pid); }

  // The attack itself: what the bystander waits and what memory the broker takes meanwhile, and for
  // `after` milliseconds more. Several of them add up: the worst counts.
  async during(attack, { after = 300 } = {}) {
    const { pid } = this.broker.process;
    const before = await memoryOf(pid);
    await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => {});  // the peak begins anew
    const watchers = [this.watcher, this.elsewhere].filter(Boolean);
    await Promise.all(watchers.map((each) => { each.send('start'); return once(each, 'message'); }));
    const began = performance.now();
    try {
      await attack();
      await sleep(after);
    } finally {
      const [[found], [control = { stall: 0, p99: 0 }] = []] =
        await Promise.all(watchers.map((each) => { each.send('stop'); return once(each, 'message'); }));
      this.control = { stall: Math.max(this.control.stall, control.stall), p99: Math.max(this.control.p99, control.p99) };
      this.took = (this.took ?? 0) + performance.now() - began;
      this.stall = Math.max(this.stall ?? 0, found.stall);
      this.p99 = Math.max(this.p99 ?? 0, found.p99);
      this.looks += found.looks;
      if (found.lost > 0) this.loses(`${found.lost} connections of the bystander`);
      if (found.refused > 0) this.loses(`${found.refused} looks of the bystander were refused`);
      if (this.broker.process.exitCode === null) {
        this.grown = Math.max(this.grown, (await memoryOf(pid)).most - before.now);
        this.turn = Math.max(this.turn ?? 0, await this.longestTurn());
      } else {
        this.loses('the broker itself');
      }
    }
  }

  // One request on a connection that is kept; `body` is text. Undefined when the connection was lost.
  ask(agent, method, path, body, headers = {}) {
    return new Promise((done) => {
      const request = http.request(this.broker.url + path, {
        method, agent: agent.keep ?? this.keep,
        headers: { Authorization: `Bearer ${agent.token}`, ...agent.headers, ...(body ? { 'Content-Length': Buffer.byteLength(body) } : {}), ...headers },
      }, (response) => {
        const parts = [];
        response.on('data', (bytes) => parts.push(bytes));
        response.on('error', () => done(undefined));
        response.on('end', () => done({ status: response.statusCode, text: Buffer.concat(parts).toString() }));
      });
      request.on('error', () => done(undefined));
      request.end(body);
    });
  }

  // Sends `count` messages in batches, over a few connections, for `seconds` at most. `make(n)` is a
  // message that lacks what the broker fills in. Returns how many were taken, and why not.
  async flood(agent, count, make, { batch = 500, parallel = 4, seconds = 20, path = '/v1/messages?lenient=true' } = {}) {
    const found = { accepted: 0, refused: 0, codes: {} };
    const end = Date.now() + seconds * 1000;
    let next = 0;
    const work = async () => {
      while (next < count && Date.now() < end) {
        const from = next;
        const size = Math.min(batch, count - from);
        next += size;
        const answer = await this.ask(agent, 'POST', path, JSON.stringify(Array.from({ length: size }, (_, n) => make(from + n))));
        const codes = answer === undefined ? ['CONNECTION_LOST'] : [...answer.text.matchAll(/"code":"([A-Z_]+)"/g)].map((each) => each[1]);
        const refused = answer?.status === 202 ? codes.length : size;
        found.refused += refused;
        found.accepted += size - refused;
        for (const code of codes) found.codes[code] = (found.codes[code] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    found.asked = next;
    return found;
  }

  // Many calls of one kind, `parallel` at a time.
  async calls(count, call, { parallel = 32, seconds = 20 } = {}) {
    const end = Date.now() + seconds * 1000;
    const statuses = {};
    let next = 0;
    await Promise.all(Array.from({ length: parallel }, async () => {
      while (next < count && Date.now() < end) {
        const status = (await call(next++))?.status ?? 'lost';
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }));
    return statuses;
  }

  raw() { return Raw.connect(this.broker.url); }

  // A bare socket: what comes is counted, not kept.
  async socket({ read = true } = {}) {
    const { hostname, port } = new URL(this.broker.url);
    const socket = net.connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.got = 0;
    if (read) socket.on('data', (bytes) => { socket.got += bytes.length; });
    await new Promise((done, fail) => { socket.once('connect', done); socket.once('error', fail); });
    if (!read) socket.pause();
    return socket;
  }

  async sockets(count, options) {
    const all = [];
    while (all.length < count) {
      const next = await Promise.allSettled(Array.from({ length: Math.min(200, count - all.length) }, () => this.socket(options)));
      const made = next.filter((each) => each.status === 'fulfilled').map((each) => each.value);
      all.push(...made);
      if (made.length === 0) break;
    }
    return all;
  }

  // Milliseconds that one call takes, `late` at most.
  async timed(call, late = 30_000) {
    const began = performance.now();
    const answer = await Promise.race([call(), sleep(late)]).catch((error) => ({ status: String(error) }));
    return { ms: performance.now() - began, answer };
  }
}

export const request = (agent, method, path) => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${agent.token}\r\n\r\n`;

// A message on a topic that no one listens to.
export const published = (topic, extra = {}) =>
  ({ type: 'broadcast', receiver: topic, payload: { content_type: 'text', body: 'x' }, ...extra });

// A message to a list of names, which collab has.
export const listed = (from, to, id) => ({ id, version: '1.0', from, to, type: 'event', priority: 3, timestamp: new Date().toISOString(), action: 'note', payload: {} });

export const told = (found) => `${found.accepted} of ${found.asked} taken${found.refused ? `, refused ${JSON.stringify(found.codes)}` : ''}`;

